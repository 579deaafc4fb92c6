"""A session by typed commands: each has an answer as text, and as data.

Not modelled: Python; in a script or a notebook :func:`mcusim.session` is the way.
"""

from __future__ import annotations

import cmd
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from mcusim.errors import McusimError, UsageError
from mcusim.npy_file import read_npy
from mcusim.sessions.session import MOST_INSTRUCTIONS, DeviceSession, SessionCall, SessionSnapshot
from mcusim.sessions.tensor import SessionTensor
from mcusim.sessions.traffic import LINKS
from mcusim.units import quoted

Answer = tuple[str, Mapping[str, Any]]
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
SHOWN = 32  # values of a tensor
LARGEST = 1 << 28  # bytes of a tensor
MOST_SIDES = 32
LONGEST_VALUE, LONGEST_NAME = 100, 80  # characters of a call's argument, of a tensor's name
HELP = {
    "load": "load FILE... [region=NAME] [data=NAME] [include=DIR] [flags=TEXT]   object, C, C++ or assembly files",
    "unload": "unload NAME   give a module's memory back",
    "modules": "modules   what is loaded, and its functions",
    "tensor": "tensor NAME FILE.npy|SHAPE [TYPE] [VALUE|random=SEED] [region=NAME]   tensor x 16x16x3 int8 random=1",
    "show": "show NAME   a tensor as it is there now",
    "save": "save NAME FILE.npy   write a tensor to a new file",
    "free": "free NAME   give a tensor's memory back",
    "call": "call FUNCTION [VALUE...]   integers, 0x20, tensors' names, 1.5f a float, 1.5 a double; limit=INSTRUCTIONS",
    "lazy": "lazy on|off   let calls wait in a queue until a result is wanted",
    "flush": "flush   run the calls that wait",
    "heap": "heap   memory that is given out, by region",
    "traffic": "traffic   what a cable would have carried, and how long it would have taken",
    "output": "output   what the device has printed",
    "snapshot": "snapshot [NAME]   keep the device as it is",
    "restore": "restore [NAME]   go back to a snapshot",
    "reset": "reset   a new session",
    "help": "help [COMMAND]   this list",
    "quit": "quit   end (also: exit, Ctrl-D)",
}


class SessionShell(cmd.Cmd):
    """Commands for a session, from a terminal with completion or from lines of a file (``interactive`` False, where
    the first error is raised). ``say`` gets each answer as text, ``answers`` has them as data."""

    prompt = "(mcusim) "

    def __init__(self, session: DeviceSession, say: Callable[[str], object], interactive: bool = False) -> None:
        super().__init__()
        self.session, self.say, self.interactive = session, say, interactive
        self.answers: list[dict[str, Any]] = []
        self.tensors: dict[str, SessionTensor] = {}
        self._snapshots: dict[str, tuple[SessionSnapshot, dict[str, SessionTensor]]] = {}
        self._queue, self._queues = ExitStack(), False
        self._waiting: list[SessionCall] = []

    def onecmd(self, line: str) -> bool:
        """Do a line; True ends the shell. An error is said, and raised where nobody can answer it."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            return self._refuse(UsageError(f"{line[:80]!r}: {error}"))
        if not words:
            return False
        name, *rest = words
        if name in ("quit", "exit", "EOF"):
            return True
        try:
            if name not in HELP:
                near = get_close_matches(name[:40], HELP, n=1)
                hint = f"did you mean {near[0]}? " if near else ""
                raise UsageError(f"no command {quoted(name)}: {hint}`help` lists them")
            text, data = getattr(self, f"_{name}")(rest)
        except McusimError as error:
            return self._refuse(error)
        self.answers.append({"command": name, **data})
        self.say(text)
        return False

    def close(self) -> None:
        """Run the calls that still wait, and answer them as ``flush`` does."""
        if self._waiting:
            self.onecmd("flush")

    def preloop(self) -> None:
        """A word to complete is one with its slashes and signs."""
        with suppress(ImportError):
            import readline

            readline.set_completer_delims(" ")

    def _refuse(self, error: McusimError) -> bool:
        if not self.interactive:
            raise error
        self.say(f"error: {' '.join(str(error).split())}")
        return False

    def emptyline(self) -> bool:
        """An empty line does nothing."""
        return False

    def completenames(self, text: str, *ignored: Any) -> list[str]:
        """Commands."""
        return [f"{name} " for name in HELP if name.startswith(text)]

    def completedefault(self, *ignored: Any) -> list[str]:
        """Functions, tensors, modules, regions and files, whichever the command takes."""
        text, line, *_ = ignored
        kind = line.split(" ", 1)[0]
        names = {
            "call": [*self.session.symbols, *self.tensors],
            "unload": [module.name for module in self.session.modules],
            "help": [*HELP],
            "lazy": ["on", "off"],
            "restore": [*self._snapshots],
            "tensor": [*TYPES, *(f"region={name}" for name in self.session.heap.regions)],
        }.get(kind, [*self.tensors])
        if kind in ("load", "tensor"):
            folder = Path(text).parent
            names = [*names, *(str(path) for path in folder.glob("*") if str(path).startswith(text))]
        return sorted(name for name in names if name.startswith(text))

    def _load(self, words: list[str]) -> Answer:
        files, options = _split(words, ("region", "data", "include", "flags"))
        include = [options["include"]] if "include" in options else []
        module = self.session.load(files, options.get("region"), options.get("data"), include, options.get("flags", ""))
        functions = sorted(module.symbols)
        text = f"{module.name}: {module.bytes:,} B at {module.bases[0]:#010x}: {', '.join(functions)}"
        return text, {"module": module.name, "bytes": module.bytes, "address": module.bases[0], "symbols": functions}

    def _unload(self, words: list[str]) -> Answer:
        name = _only(words, "unload")
        modules = {module.name: module for module in self.session.modules}
        if name not in modules:
            raise UsageError(f"no module {quoted(name)}; there are {_listed(modules)}")
        modules[name].unload()
        return f"{name} is unloaded", {"module": name}

    def _modules(self, words: list[str]) -> Answer:
        rows = [(m.name, m.bytes, m.bases[0], sorted(m.symbols)) for m in self.session.modules]
        lines = [f"{name}: {size:,} B at {base:#010x}: {', '.join(names)}" for name, size, base, names in rows]
        data = [{"module": name, "bytes": size, "address": base, "symbols": names} for name, size, base, names in rows]
        return "\n".join(lines) or "no modules", {"modules": data}

    def _tensor(self, words: list[str]) -> Answer:
        plain, options = _split(words, ("region", "random"))
        if len(plain) < 2 or not plain[0].isidentifier() or len(plain[0]) > LONGEST_NAME:
            raise UsageError(HELP["tensor"])
        name, what, *rest = plain
        if name in self.tensors:
            raise UsageError(f"there is a tensor {name} already; free it first")
        array = _from_file(Path(what)) if what.endswith(".npy") else _array(what, rest, options.get("random"))
        tensor = self.session.tensor(array, options.get("region"))
        self.tensors[name] = tensor
        return f"{name}: {_shape(tensor)}, {tensor.bytes:,} B at {tensor.address:#010x}", {
            "tensor": name, "shape": list(tensor.shape), "type": str(tensor.dtype), "address": tensor.address,
        }  # fmt: skip

    def _named(self, words: list[str], command: str, count: int = 1) -> list[str]:
        if len(words) != count:
            raise UsageError(HELP[command])
        if words[0] not in self.tensors:
            raise UsageError(f"no tensor {quoted(words[0])}; there are {_listed(self.tensors)}")
        return words

    def _show(self, words: list[str]) -> Answer:
        (name,) = self._named(words, "show")
        tensor = self.tensors[name]
        values = tensor.array.reshape(-1)
        more = f" ... {len(values):,} in all" if len(values) > SHOWN else ""
        shown = " ".join(map(str, values[:SHOWN].tolist()))
        return f"{name}: {_shape(tensor)}: {shown}{more}", {"tensor": name, "values": values.tolist()}

    def _save(self, words: list[str]) -> Answer:
        name, target = self._named(words, "save", 2)
        path = Path(target)
        if path.exists():
            raise UsageError(f"{path} exists; name a new file")
        try:
            with path.open("xb") as file:
                np.save(file, self.tensors[name].array)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None
        return f"{path} has {name}", {"tensor": name, "file": str(path)}

    def _free(self, words: list[str]) -> Answer:
        (name,) = self._named(words, "free")
        self.tensors.pop(name).free()
        return f"{name} is free", {"tensor": name}

    def _call(self, words: list[str]) -> Answer:
        plain, options = _split(words, ("limit",))
        if not plain:
            raise UsageError(HELP["call"])
        name, *values = plain
        limit = options.get("limit", str(MOST_INSTRUCTIONS))
        if _whole(limit) is None or not 0 < int(limit) < 1 << 62:
            raise UsageError(f"limit = {limit[:40]}: must be a number of instructions")
        call = self.session.call(name, *map(self._value, values), max_instructions=int(limit))
        if self._queues:
            self._waiting.append(call)
            return f"{name} waits, {len(self._waiting)} in the queue", {"function": name, "waits": True}
        return _called(call)

    def _value(self, text: str) -> Any:
        if text in self.tensors:
            return self.tensors[text]
        if len(text) > LONGEST_VALUE:
            raise UsageError(f"{quoted(text[:40])}...: a value has at most {LONGEST_VALUE} characters")
        with suppress(ValueError):
            return int(text, 0)
        try:
            return np.float32(text[:-1]) if text.endswith("f") else np.float64(text)
        except ValueError:
            raise UsageError(
                f"{quoted(text)} is no value: integers, 0x20, 1.5f, 1.5, tensors ({_listed(self.tensors)})"
            ) from None

    def _lazy(self, words: list[str]) -> Answer:
        if words not in (["on"], ["off"]):
            raise UsageError(HELP["lazy"])
        text, data = self._flush([])
        self._queue.close()
        self._queues = False
        if words == ["off"]:
            return text, {"lazy": False, **data}
        self._queue.enter_context(self.session.lazy())
        self._queues = True
        return "calls wait until a result is wanted", {"lazy": True}

    def _flush(self, words: list[str]) -> Answer:
        waiting, self._waiting = self._waiting, []
        answers = [_called(call) for call in waiting]
        return "\n".join(text for text, _ in answers) or "nothing waits", {"calls": [data for _, data in answers]}

    def _heap(self, words: list[str]) -> Answer:
        rows = self.session.heap.by_region()
        lines = [f"{name}: {used:,} of {size:,} B" for name, (used, size) in rows.items()]
        return "\n".join(lines), {"regions": {name: {"used": u, "size": s} for name, (u, s) in rows.items()}}

    def _traffic(self, words: list[str]) -> Answer:
        traffic = self.session.traffic
        seconds = {name: traffic.seconds(name) for name in LINKS}
        lines = [f"{traffic.bytes:,} B, {traffic.round_trips:,} round trips, {traffic.starts:,} starts of the core"]
        lines += [f"{name:5}{seconds[name]:10,.3f} s   {LINKS[name].source} [{LINKS[name].basis}]" for name in LINKS]
        data = {"bytes": traffic.bytes, "round_trips": traffic.round_trips, "starts": traffic.starts}
        return "\n".join(lines), {**data, "seconds": seconds}

    def _output(self, words: list[str]) -> Answer:
        return self.session.output.rstrip("\n"), {"output": self.session.output}

    def _snapshot(self, words: list[str]) -> Answer:
        name = words[0] if words else "snapshot"
        if len(name) > LONGEST_NAME:
            raise UsageError(f"snapshot {quoted(name[:40])}...: a name has at most {LONGEST_NAME} characters")
        self._snapshots[name] = self.session.snapshot(), dict(self.tensors)
        return f"{name} is kept", {"snapshot": name}

    def _restore(self, words: list[str]) -> Answer:
        name = words[0] if words else "snapshot"
        if name not in self._snapshots:
            raise UsageError(f"no snapshot {quoted(name)}; there are {_listed(self._snapshots)}")
        snapshot, tensors = self._snapshots[name]
        self.session.restore(snapshot)
        self.tensors = dict(tensors)
        return f"as at {name}", {"snapshot": name}

    def _reset(self, words: list[str]) -> Answer:
        self.session.reset()
        self.tensors.clear()
        self._waiting.clear()
        return "a new session", {}

    def _help(self, words: list[str]) -> Answer:
        chosen = {name: text for name, text in HELP.items() if name in words} or HELP
        return "\n".join(chosen.values()), {"commands": chosen}


def _split(words: Sequence[str], names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Words, and options ``name=value``."""
    plain, options = [], {}
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name in names:
            options[name] = value
        else:
            plain.append(word)
    return plain, options


def _listed(names: Iterable[str]) -> str:
    """Names, for a line."""
    return ", ".join(names)[:300] or "none"


def _only(words: Sequence[str], command: str) -> str:
    if len(words) != 1:
        raise UsageError(HELP[command])
    return words[0]


def _shape(tensor: SessionTensor) -> str:
    return f"{'x'.join(map(str, tensor.shape)) or 'one'} {tensor.dtype}"


def _from_file(path: Path) -> Any:
    too_large = ", more than any device's memory"
    return read_npy(
        path, LARGEST, UsageError, shown=str(path)[:200], too_large=too_large, several="save one alone as a .npy"
    )


def _array(shape: str, rest: Sequence[str], seed: str | None) -> Any:
    sides = shape.split("x")
    kind = rest[0] if rest else "int8"
    if not all(_whole(side) is not None for side in sides) or kind not in TYPES or len(rest) > 2:
        raise UsageError(f"{HELP['tensor']}; types: {', '.join(TYPES)}")
    if len(sides) > MOST_SIDES:
        raise UsageError(f"a tensor of {len(sides)} sides: at most {MOST_SIDES}")
    dtype, size = np.dtype(kind), tuple(int(side) for side in sides)
    if int(np.prod(size, dtype=object)) * dtype.itemsize > LARGEST:
        raise UsageError(f"a tensor of {shape[:80]} {kind} is larger than any device's memory")
    if seed is not None:
        if _whole(seed) is None:
            raise UsageError(f"random={seed[:40]}: must be a seed, a whole number of up to 18 digits")
        bits = np.random.default_rng(int(seed)).integers(0, 256, size=(*size, dtype.itemsize), dtype=np.uint8)
        if dtype.kind == "f":
            return np.random.default_rng(int(seed)).standard_normal(size).astype(dtype)
        return bits.view(dtype).reshape(size)
    try:
        return np.full(size, dtype.type(rest[1] if len(rest) == 2 else 0), dtype)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{rest[1][:40]!r} is no {kind}: {str(error)[:120]}") from None


def _whole(text: str) -> int | None:
    """A whole number of up to 18 digits."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def _returned(call: SessionCall) -> str:
    """The value by its prototype, else what registers have."""
    if call.prototype is None:
        return f"r0 = {call.signed} ({call.unsigned:#x}), s0 = {call.float32:g}"
    kind, value = call.prototype.returns, call.value
    if value is None:
        return "void"
    shown = f"{value:g}" if isinstance(value, float) else f"{value:#010x}" if kind.kind == "pointer" else str(value)
    return f"{kind.text} {shown}"


def _finite(value: int | float | None) -> int | float | None:
    return value if value is None or isfinite(value) else None


def _called(call: SessionCall) -> Answer:
    causes = dict(sorted(call.causes.items(), key=lambda item: -item[1]))
    text = (
        f"{call.name}: {_returned(call)}; {call.cycles:,.0f} cycles,"
        f" {call.instructions:,} instructions, {call.stack:,} B of stack\n  "
    ) + ", ".join(f"{name} {cycles:,.0f}" for name, cycles in causes.items())
    floats = {"float32": call.float32, "float64": call.float64}
    return text, {
        "function": call.name, "value": call.unsigned, "signed": call.signed, "returned": _finite(call.value),
        **{name: _finite(value) for name, value in floats.items()},
        "cycles": call.cycles, "causes": causes, "instructions": call.instructions, "stack": call.stack,
    }  # fmt: skip
