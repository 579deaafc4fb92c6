"""A session with an emulated device: load modules, put tensors, call functions, read what they took.

What microTVM did over a debug probe, without a probe: a module is linked where it is loaded, its undefined symbols are
those of modules loaded before. A call runs on the memory system of the machine and says its cycles and their causes.

Not modelled: a start-up code (clocks, caches and FPU are as the machine file has them, data are written by the
host), an operating system, interrupts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from mcusim.api.simulate import changed
from mcusim.cpu import state_layout as C
from mcusim.cpu.emulator import Emulator
from mcusim.cpu.profile import profile
from mcusim.errors import McusimError, UsageError
from mcusim.machine.description import Machine
from mcusim.memory import state_layout as L
from mcusim.sessions.compile_module import RUNTIME, RUNTIME_FUNCTIONS, object_of
from mcusim.sessions.heap import SessionHeap
from mcusim.sessions.object_file import VENEER, ObjectFile, read_object
from mcusim.units import quoted

__all__ = [
    "DeviceSession",
    "SessionCall",
    "SessionFault",
    "SessionModule",
    "SessionSnapshot",
    "SessionTensor",
    "session",
]

STACK = 16 << 10  # bytes
MOST_INSTRUCTIONS = 2_000_000_000
Array = np.ndarray[Any, Any]


class SessionFault(McusimError):
    """A called function faulted, or did not end; the session goes on. ``kind`` is a short name, ``location`` the
    function and the offset in it, or the address."""

    def __init__(self, kind: str, text: str, location: str) -> None:
        super().__init__(f"{text} ({location})")
        self.kind, self.location = kind, location


@dataclass(frozen=True)
class SessionCall:
    """What a call returned in r0, as an unsigned number, and took: core ``cycles``, their ``causes`` by the names of
    `mcusim emulate`, which sum to them, ``instructions``, and bytes of ``stack``."""

    value: int
    cycles: float
    causes: Mapping[str, float]
    instructions: int
    stack: int

    @property
    def signed(self) -> int:
        """The value as an int32_t."""
        return self.value - (1 << 32 if self.value & 0x8000_0000 else 0)


class SessionModule:
    """A file that was loaded: ``sections`` by name with their addresses, ``symbols`` that others can use."""

    def __init__(self, session: DeviceSession, name: str, base: int, size: int, symbols: dict[str, int]) -> None:
        self._session, self.name, self.base, self.size, self.symbols = session, name, base, size, symbols

    def unload(self) -> None:
        """Give its memory back. Raises UsageError for one that is unloaded already.

        Not checked: whether others call it.
        """
        self._session.unload(self)


@dataclass
class SessionTensor:
    """An array in the device's memory; ``array`` reads it back as it is there now."""

    session: DeviceSession
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    @property
    def array(self) -> Array:
        data = self.session.emulator.read(self.address, self.bytes)
        return np.frombuffer(data, self.dtype).reshape(self.shape).copy()

    def write(self, array: Array) -> None:
        """Other values of the same shape and type. Raises UsageError for others."""
        found = np.asarray(array)
        if found.shape != self.shape or found.dtype != self.dtype:
            raise UsageError(f"the tensor is {self.shape} {self.dtype}, what is written {found.shape} {found.dtype}")
        self.session.emulator.write(self.address, found.tobytes())

    def free(self) -> None:
        """Give its memory back."""
        self.session.heap.release(self.address)


@dataclass(frozen=True)
class SessionSnapshot:
    """All that a session has given out, byte by byte, in memory and in caches, and its modules."""

    contents: tuple[tuple[int, bytes, tuple[bytes, ...]], ...]
    arrays: tuple[Array, ...]
    heap: SessionHeap
    modules: tuple[SessionModule, ...]
    printed: bytes


class DeviceSession:
    """A device that is ready to be called; :func:`session` makes one. ``heap`` gives its memory out by regions;
    ``output`` has what its code printed."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.printed = machine, bytearray()
        self.emulator = Emulator(machine, self.printed.extend)
        self.emulator.state[C.FPU] = 1
        regions = {one.name: one for one in machine.memory.values() if one.writable}
        self.heap = SessionHeap({name: (one.base, one.size) for name, one in regions.items()})
        on_chip = [one for one in regions.values() if one.kind in ("sram", "tcm")]
        self._code = max((one for one in on_chip if one.executable), key=lambda one: one.size).name
        self._data = max(on_chip, key=lambda one: one.size).name
        self.modules: list[SessionModule] = []
        stack = self.heap.allocate(STACK, self._data, 32)
        self._stack = stack + STACK, stack
        self._begun = self.snapshot()

    def __repr__(self) -> str:
        return f"<DeviceSession {self.machine.name[:60]}: {len(self.modules)} modules, {self.heap.used:,} B in use>"

    def __enter__(self) -> DeviceSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @property
    def output(self) -> str:
        return self.printed.decode("utf-8", "backslashreplace")

    @property
    def symbols(self) -> dict[str, int]:
        """Of all modules, with the Thumb bit of functions."""
        return {name: value for module in self.modules for name, value in module.symbols.items()}

    def load(self, what: str | Path, region: str | None = None) -> SessionModule:
        """Link an object file, a C file or C source into ``region`` (default: the first SRAM that code runs from).

        Raises UsageError for undefined symbols, all at once, and where there is no room, ImageError for a damaged file.
        """
        path, name = object_of(what, self.machine.core.isa)
        return self._linked(read_object(path), name, region or self._code)

    def _linked(self, file: ObjectFile, name: str, region: str) -> SessionModule:
        missing = [one for one in file.needed() if one not in self.symbols]
        if missing and name != RUNTIME.name and {*missing} & {*RUNTIME_FUNCTIONS}:
            self.load(RUNTIME, region)
        known = self.symbols
        missing = [one for one in missing if one not in known]
        if missing:
            raise UsageError(f"{name}: undefined: {', '.join(missing[:50])}; load the modules that have them first")
        offsets, size = _offsets(file)
        base = self.heap.allocate(size, region, 32)
        try:
            places = {number: base + offset for number, offset in offsets.items() if number >= 0}
            commons = {-1 - number: base + offset for number, offset in offsets.items() if number < 0}
            veneers = base + size - VENEER * file.calls()
            contents, made = file.linked(places, commons, known.get, veneers)
            self.emulator.write(base, bytes(size))
            for number, data in contents.items():
                self.emulator.write(places[number], data)
            self.emulator.write(veneers, made)
        except BaseException:
            self.heap.release(base)
            raise
        module = SessionModule(self, name, base, size, _exported(file, places, commons))
        self.modules.append(module)
        return module

    def unload(self, module: SessionModule) -> None:
        """:meth:`SessionModule.unload`."""
        if module not in self.modules:
            raise UsageError(f"{module.name} is unloaded already")
        self.modules.remove(module)
        self.heap.release(module.base)

    def tensor(self, array: Array | tuple[int, ...], region: str | None = None, dtype: Any = None) -> SessionTensor:
        """An array in ``region`` (default: the first one that can be written), or room for a shape of ``dtype``.

        Raises UsageError for a type that a device has not, and where there is no room.
        """
        values = np.zeros(array, dtype or np.int8) if isinstance(array, tuple) else np.ascontiguousarray(array, dtype)
        if values.dtype.kind not in "iufb" or values.dtype.itemsize > 8:
            raise UsageError(f"a tensor of {values.dtype} has no place on a device; integers and floats have")
        address = self.heap.allocate(values.nbytes, region or self._data, 32)
        self.emulator.write(address, values.tobytes())
        return SessionTensor(self, address, values.shape, values.dtype)

    def call(self, name: str, *values: int | SessionTensor, max_instructions: int = MOST_INSTRUCTIONS) -> SessionCall:
        """Call a function with numbers and tensors, whose addresses it gets.

        Raises UsageError for a name that no module has and for other values, SessionFault for a fault and for more
        instructions than ``max_instructions``.
        """
        address = self.symbols.get(name)
        if address is None:
            there = ", ".join(sorted(self.symbols))[:400]
            raise UsageError(f"no module has a function {quoted(name)}; there are {there or 'none yet'}")
        emulator, words = self.emulator, [_word(one) for one in values]
        before, began, issued = self._causes(), self._now(), emulator.instructions
        emulator.set_stack(*self._stack)
        emulator.call(address & ~1, words)
        stop = emulator.run(max_instructions)
        if stop.kind != "returned":
            raise self._fault(name, stop)
        after, low = self._causes(), int(emulator.state[C.STACK_LOW])
        causes = {cause: after[cause] - before.get(cause, 0.0) for cause in after}
        took = self._now() - began
        registers = emulator.registers()
        return SessionCall(
            registers["r0"], took, {cause: n for cause, n in causes.items() if n}, emulator.instructions - issued,
            max(0, self._stack[0] - low),
        )  # fmt: skip

    def snapshot(self) -> SessionSnapshot:
        """The device as it is, to come back to: the same call then takes the same cycles."""
        emulator = self.emulator
        contents = tuple(
            (at, emulator.read(at, size), tuple(bytes(view) for _, view in emulator.behind.views(at, size)))
            for at, size in self.heap.given()
        )
        return SessionSnapshot(
            contents, tuple(one.copy() for one in self._arrays()), self.heap.copy(), tuple(self.modules),
            bytes(self.printed),
        )  # fmt: skip

    def restore(self, snapshot: SessionSnapshot) -> None:
        """Go back to a snapshot of this session; modules and tensors made since are gone."""
        emulator = self.emulator
        for at, data, behind in snapshot.contents:
            emulator.write(at, data)
            for (_, view), held in zip(emulator.behind.views(at, len(data)), behind, strict=True):
                view[:] = np.frombuffer(held, np.uint8)
        for array, held_array in zip(self._arrays(), snapshot.arrays, strict=True):
            array[:] = held_array
        self.heap, self.modules = snapshot.heap.copy(), [*snapshot.modules]
        self.printed[:] = snapshot.printed

    def reset(self) -> None:
        """As a new session: no modules, no tensors, cold caches, cycle 0."""
        self.restore(self._begun)

    def _arrays(self) -> tuple[Array, ...]:
        return self.emulator.memory.state, self.emulator.branches, self.emulator.state

    def _now(self) -> float:
        return int(self.emulator.memory.state[L.NOW]) / L.TICK

    def _causes(self) -> dict[str, float]:
        return profile(self.emulator).causes

    def _fault(self, name: str, stop: Any) -> SessionFault:
        pc = self.emulator.registers()["pc"] if stop.fault is None else stop.fault.pc
        location = self._location(pc)
        if stop.fault is not None:
            return SessionFault(stop.fault.kind, f"{name}: {stop.fault.text}", location)
        text = {"limit": "took more instructions than it may", "loop": "does not end"}.get(
            stop.kind, f"ended by {stop.kind}"
        )
        return SessionFault(stop.kind, f"{name}: {text}", location)

    def _location(self, pc: int) -> str:
        found = [(value & ~1, name) for name, value in self.symbols.items() if value & 1 and value & ~1 <= pc]
        if not found or pc - max(found)[0] > 1 << 16:
            return f"at {pc:#010x}"
        begin, name = max(found)
        return f"{name}+{pc - begin:#x}"


def _word(value: int | SessionTensor) -> int:
    if isinstance(value, SessionTensor):
        return value.address
    if isinstance(value, bool | np.bool_ | int | np.integer) and -(1 << 31) <= int(value) < 1 << 32:
        return int(value) & 0xFFFF_FFFF
    raise UsageError(f"{str(value)[:40]!r} is no value for a call: numbers of 32 bits and tensors are")


def _offsets(file: ObjectFile) -> tuple[dict[int, int], int]:
    """Where sections go behind the module's begin, common symbols as ``-1 - number``; and the bytes of all, with room
    for veneers at the end."""
    found, at = {}, 0
    for number, section in file.loaded.items():
        at = -(-at // max(section.alignment, 1)) * max(section.alignment, 1)
        found[number] = at
        at += section.size
    for number, symbol in file.commons.items():
        alignment = min(max(symbol.value, 4), 32)
        at = -(-at // alignment) * alignment
        found[-1 - number] = at
        at += symbol.size
    return found, -(-at // 8) * 8 + VENEER * file.calls()


def _exported(file: ObjectFile, places: Mapping[int, int], commons: Mapping[int, int]) -> dict[str, int]:
    found = {}
    for number, one in enumerate(file.symbols):
        if one.name and not one.local and number in commons:
            found[one.name] = commons[number]
        elif one.name and not one.local and one.section in places:
            found[one.name] = places[one.section] + one.value
    return found


def session(machine: str | Path | Machine, overrides: Mapping[str, str] | None = None) -> DeviceSession:
    """A session with a machine, by name, file or as it is: ``with mcusim.session("stm32f746g-disco") as s:``.

    ``overrides`` changes keys of the machine. Raises MachineError for one that cannot be read.
    """
    return DeviceSession(changed(machine, overrides))
