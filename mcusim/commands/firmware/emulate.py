"""``mcusim emulate``."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcusim.commands.firmware.pictures import Pictures
from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import Output, check_writable, fail, write_bytes, write_file
from mcusim.commands.shared.progress import Counter, counting
from mcusim.errors import UsageError
from mcusim.files import read_guarded

if TYPE_CHECKING:
    from mcusim.results.emulation import EmulationResult

LARGEST_INPUT = 16 << 20
Step = Callable[[int, float], object]
Program = Annotated[
    Path, argument("PROGRAM", "An ELF executable, Intel HEX or S-records; plain bytes as FILE@ADDRESS.")
]
Dump = Annotated[
    list[str] | None,
    option("ADDRESS:SIZE[=FILE]", "Show memory after the run, or write it. Repeatable.", names="--dump"),
]
Most = Annotated[int | None, option("N", "Stop the program after N instructions.", names="--max-instructions", min=1)]


@dataclass(frozen=True)
class Firmware:
    """What is loaded, where it starts and ends, and what it reads."""

    image: Annotated[list[str] | None, option("PROGRAM", "A further one, loaded as well. Repeatable.")] = None
    entry: Annotated[str | None, option("SYMBOL|ADDRESS", "Start there: code, or a vector table.")] = None
    until: Annotated[str | None, option("SYMBOL|ADDRESS|TIME", 'End there, or after "1000 cycles" or "5 ms".')] = None
    stdin: Annotated[Path | None, option("FILE", "What the program reads by semihosting; - for a pipe.")] = None
    semihosting_args: Annotated[str | None, option("TEXT", "Arguments of the program's main().")] = None
    uart: Annotated[list[str] | None, option("NAME=FILE", "What a USART receives, at its baud rate. Repeatable.")] = (
        None
    )
    call: Annotated[str | None, option("FUNCTION", "Call this function (or address) instead of starting.")] = None
    args: Annotated[str | None, option("LIST", "Its arguments: integers or symbols, separated by commas.")] = None
    load: Annotated[
        list[str] | None, option("FILE@ADDRESS", "Put a file into memory first; a symbol works. Repeatable.")
    ] = None
    stack: Annotated[str | None, option("SIZE", 'How far the stack may grow: "8 KiB". Default: the ELF\'s.')] = None
    caches: Annotated[str | None, option("on|off", "At the start. Default: off after a reset, else on.")] = None
    peripherals: Annotated[
        str,
        option(
            "strict|lenient",
            "A register block not described here: a fault, or storage."
            " SDRAM that is not set up: a fault, or a finding.",
        ),
    ] = "strict"
    itm: Annotated[str, option("PORTS", 'Stimulus ports that a debugger has enabled: "0,3-5", all or none.')] = "0"
    most_resets: Annotated[
        int, option("N", "Resets by watchdogs or the program that are performed; the next ends it.")
    ] = 100
    machine_from_firmware: Annotated[
        bool,
        flag(
            "--machine-from-firmware",
            "Run again with the clocks, wait states and memory timings that the firmware sets up.",
        ),
    ] = False
    set_up_costs: Annotated[
        bool, flag("--set-up-costs", "A run for each figure set up otherwise: the cycles that it is worth.")
    ] = False

    @property
    def asked(self) -> dict[str, Any]:
        """As arguments of :func:`mcusim.emulate`. Raises UsageError."""
        return {
            "images": self.image or (),
            "entry": self.entry,
            "until": self.until,
            "stdin": _input(self.stdin),
            "semihosting_args": self.semihosting_args,
            "uart": _received(self.uart or ()),
            "call": self.call,
            "arguments": _arguments(self.args),
            "loads": self.load or (),
            "stack": self.stack,
            "caches": _caches(self.caches),
            "peripherals": _strictness(self.peripherals),
            "itm": self.itm,
            "most_resets": self.most_resets,
            "machine_from_firmware": self.machine_from_firmware,
            "set_up_costs": self.set_up_costs,
        }


@grouped
def emulate(
    program: Program,
    *,
    machine: options.Machine = "stm32f746g-disco",
    keys: MachineKeys,
    firmware: Firmware,
    dump: Dump = None,
    max_instructions: Most = None,
    top: Annotated[int, option("N", "How many functions, lines, instructions to list.", min=0)] = 10,
    assumptions: Annotated[bool, flag("--assumptions", "List every assumption behind the result.")] = False,
    callgrind: Annotated[Path | None, option("FILE", "Write a profile that KCachegrind opens.")] = None,
    pictures: Pictures,
    written: Written,
    quiet: Annotated[bool, flag("--quiet -q", "Print what the program prints, and errors; no table.")] = False,
) -> int:
    """Run a compiled program on a machine and see where the cycles go.

    It starts at its reset vector or entry point; --call runs one function. Exit status 1: a fault, too many
    instructions, --until not reached, or a status of the program that is not 0.

    \b
    Examples:
      mcusim emulate app.elf --machine stm32f746g-disco
      mcusim emulate boot.hex --image app.bin@0x08010000 --image app.elf
      mcusim emulate app.elf --call dot --args table,8 --load in.bin@table
      mcusim emulate app.elf --callgrind app.callgrind --top 5
      mcusim emulate app.elf --program app.jsonl && mcusim replay app.jsonl
    """
    output = written.to()
    dumps = [_dump(text) for text in dump or ()]
    files = [*(path for _, path in dumps), callgrind, *pictures.files]
    _check_files([program, *(firmware.image or ())], files, written)
    asked = {**firmware.asked, "dumps": [where for where, _ in dumps], "overrides": keys.overrides}
    asked |= {"record": pictures.record, "film": pictures.window}
    result = _run(program, machine, asked, max_instructions, output, quiet)
    _files(result, dumps, callgrind, written.force)
    pictures.write(result, written.force)
    return _report(result, output, top, assumptions, quiet)


def _run(
    program: Path, machine: str, asked: Mapping[str, Any], most: int | None, output: Output, quiet: bool
) -> EmulationResult:
    """Emulate with progress on standard error, Ctrl-C, and the program's output where it belongs."""
    from mcusim.api.firmware.emulate import emulate as run

    with counting(program.name, most) as counter, _stopping(counter.step) as progress:
        guest = _Guest(sys.stderr if output.to_stdout else sys.stdout, counter)
        watched: dict[str, Any] = {"output": guest.write, "progress": progress, "stage": counter.rename}
        result = run(program, machine, **asked, **watched, max_instructions=most)
    if output.to_stdout or not quiet:
        guest.end(blank=not output.to_stdout)
    return result


def _input(path: Path | None) -> bytes:
    if path is None:
        return b""
    if str(path) != "-":
        return _bytes(path)
    data = sys.stdin.buffer.read(LARGEST_INPUT + 1)
    if len(data) > LARGEST_INPUT:
        raise UsageError(f"--stdin -: more than {LARGEST_INPUT:,} B")
    return data


def _received(texts: Sequence[str]) -> dict[str, bytes]:
    """By USART, what it receives."""
    received: dict[str, bytes] = {}
    for text in texts:
        name, _, file = text.partition("=")
        if not name or not file:
            raise UsageError(f"--uart {text[:80]!r}: needs NAME=FILE, as in USART1=input.txt")
        if name.upper() in received:
            raise UsageError(f"--uart {name[:40]} is given twice; it receives one file")
        received[name.upper()] = _bytes(Path(file))
    return received


def _bytes(path: Path) -> bytes:
    too_large = ", the most a program's input may have"
    return read_guarded(path, LARGEST_INPUT, UsageError, too_large=too_large, pipes=True)


def _caches(text: str | None) -> bool | None:
    if text not in (None, "on", "off"):
        raise UsageError(f"--caches {text!r}: must be on or off")
    return None if text is None else text == "on"


def _strictness(text: str) -> str:
    if text not in ("strict", "lenient"):
        raise UsageError(f"--peripherals {text!r}: must be strict or lenient")
    return text


def _arguments(text: str | None) -> list[int | str]:
    if text is None or not text.strip():
        return []
    arguments: list[int | str] = [part.strip() for part in text.split(",")]
    if not all(arguments):
        raise UsageError(f"--args {text!r}: an argument between two commas is missing")
    return arguments


def _dump(text: str) -> tuple[str, Path | None]:
    """The range, and the file it goes to."""
    where, equals, file = text.partition("=")
    if equals and not file:
        raise UsageError(f"--dump {text!r}: names no file after =")
    return where, Path(file) if file else None


def _check_files(programs: Sequence[str | Path], outputs: Sequence[Path | None], written: Written) -> None:
    """Refuse before the run what could not be written after it, and what would overwrite a program."""
    from mcusim.image.programs import file_of

    paths = [path for path in outputs if path is not None]
    for path in paths:
        if str(path) == "-":
            raise UsageError(
                "--dump, --callgrind and --program write to files; standard output is for the program and the table"
            )
        check_writable(path, written.force)
    wanted = [path.absolute() for path in (*paths, *([written.json] if written.json else []))]
    read = [file_of(program).absolute() for program in programs]
    for path in wanted:
        if path in read:
            raise UsageError(f"{path} is the program itself: name another file")
        if wanted.count(path) > 1:
            raise UsageError(f"{path} is named for two outputs")


class _Guest:
    """What the program prints, as it prints it."""

    def __init__(self, stream: Any, counter: Counter) -> None:
        self._stream, self._counter, self._last = stream, counter, b""

    def write(self, data: bytes) -> None:
        self._counter.clear()
        self._stream.flush()
        raw = getattr(self._stream, "buffer", None)
        if raw is None:
            self._stream.write(data.decode("utf-8", "backslashreplace"))
        else:
            raw.write(data)
        self._stream.flush()
        self._last = data[-1:] or self._last
        self._counter.line_is_open = self._last != b"\n" and self._stream.isatty()

    def end(self, blank: bool) -> None:
        """Close a line that the program left open; with ``blank`` add an empty one when it printed anything."""
        if self._last:
            self.write(b"\n" * ((self._last != b"\n") + blank))


@contextmanager
def _stopping(step: Step) -> Iterator[Step]:
    """Yields ``step``, which then raises KeyboardInterrupt after Ctrl-C: between two slices, where the run is whole."""
    if threading.current_thread() is not threading.main_thread():
        yield step
        return
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:  # a second time: at once
            raise KeyboardInterrupt
        asked.append(number)

    def checked(instructions: int, seconds: float) -> None:
        step(instructions, seconds)
        if asked:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield checked
    finally:
        signal.signal(signal.SIGINT, before)


def _files(result: EmulationResult, dumps: list[tuple[str, Path | None]], callgrind: Path | None, force: bool) -> None:
    for taken, (_, path) in zip(result.dumps, dumps, strict=True):
        if path is not None:
            write_bytes(path, taken.data, force)
    if callgrind is not None:
        from mcusim.report.export.callgrind import write_callgrind

        write_file(callgrind, lambda file: write_callgrind(result, file), force)


def _report(result: EmulationResult, output: Output, top: int, assumptions: bool, quiet: bool) -> int:
    from mcusim.report.firmware.json import emulation_json
    from mcusim.report.firmware.table import emulation_table, stop_text

    output.emit(None if quiet else lambda: emulation_table(result, top, assumptions), lambda: emulation_json(result))
    fault = result.stop.fault
    if fault is not None:
        from mcusim.report.firmware.table import where

        fail(f"{result.name}: {fault.kind} at {where(result, fault.pc)}: {fault.text}")
    elif result.exit_status:
        fail(f"{result.name}: {stop_text(result)}")
    return result.exit_status
