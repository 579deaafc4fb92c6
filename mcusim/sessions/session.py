"""A session with an emulated device: load modules, put tensors, call functions, read what they took.

What microTVM did over a debug probe, without a probe: a module is linked where it is loaded, its undefined symbols are
those of modules loaded before. A call runs on the memory system of the machine and says its cycles and their causes.

Not modelled: a start-up code (clocks, caches and FPU are as the machine file has them, data are written by the
host), an operating system, interrupts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.api.simulate import changed
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.profile import cycle_causes
from mcusim.errors import McusimError, UsageError
from mcusim.machine.description import Machine
from mcusim.memory.address_ranges import guarded, machine_ranges
from mcusim.memory.state_layout import TICK
from mcusim.sessions.arguments import CallArguments
from mcusim.sessions.compile_module import RUNTIME, object_of, runtime_object
from mcusim.sessions.heap import SessionHeap
from mcusim.sessions.module import SessionModule, section_places
from mcusim.sessions.object_file import ObjectFile
from mcusim.sessions.tensor import SessionTensor, device_array, structure_array
from mcusim.sessions.traffic import SessionTraffic
from mcusim.units import quoted

if TYPE_CHECKING:
    from mcusim.emulator.stops.stop import Stop
    from mcusim.kernels.kernel_set import KernelSet
    from mcusim.sessions.arguments import Value
    from mcusim.sessions.prototypes import Prototype

STACK = 16 << 10  # bytes
LEAST_STACK = 256  # bytes that a function has for itself
MOST_INSTRUCTIONS = 50_000_000
GUARD = np.tile(np.frombuffer(b"\xa5\x5a\xc3\x3c", np.uint8), 8).tobytes()  # behind each tensor
Array = np.ndarray[Any, Any]


class SessionFault(McusimError):
    """A called function faulted, or did not end; the session goes on. ``kind`` is a short name, ``location`` the
    function and the offset in it, or the address."""

    exit_status = 1

    def __init__(self, kind: str, text: str, location: str) -> None:
        super().__init__(f"{text} ({location})")
        self.kind, self.location = kind, location


@dataclass(frozen=True)
class _Returned:
    """What a call gave: r0, r1, s0 and s1, and what it took."""

    registers: tuple[int, int, int, int]
    cycles: float
    causes: Mapping[str, float]
    instructions: int
    stack: int


class SessionCall:
    """A call of ``name``: what it returned, and took. In a queue (:meth:`DeviceSession.lazy`) it runs when one of
    these is read, with all that wait before it.

    Raises SessionFault, then and whenever it is read, where it faulted, or one before it in the queue.
    """

    def __init__(self, session: DeviceSession, name: str, prototype: Prototype | None = None) -> None:
        self._session, self.name, self.prototype = session, name, prototype
        self._returned: _Returned | SessionFault | None = None

    def __repr__(self) -> str:
        if self._returned is None:
            return f"<call of {self.name}, waiting>"
        if isinstance(self._returned, SessionFault):
            return f"<call of {self.name}: {self._returned}>"
        return f"<call of {self.name}: {self.value}, {self.cycles:,.0f} cycles>"

    def _result(self) -> _Returned:
        if self._returned is None:
            self._session.flush()
        if isinstance(self._returned, SessionFault):
            self._session._unread = None
            raise self._returned
        assert self._returned is not None
        return self._returned

    @property
    def value(self) -> int | float | None:
        """What it returned, of the type that its prototype declares (None for void, r0 for a structure); of a function
        without debug information r0, as an unsigned number."""
        registers = self._result().registers
        return registers[0] if self.prototype is None else self.prototype.returns.value(registers)

    @property
    def unsigned(self) -> int:
        """r0, as a uint32_t."""
        return self._result().registers[0]

    @property
    def signed(self) -> int:
        """r0, as an int32_t."""
        return self.unsigned - (1 << 32 if self.unsigned & 0x8000_0000 else 0)

    @property
    def int64(self) -> int:
        """r1 and r0, as an int64_t."""
        return int(np.array(self._result().registers[:2], "<u4").view("<i8")[0])

    @property
    def float32(self) -> float:
        """s0, a float."""
        return float(np.array(self._result().registers[2:3], "<u4").view("<f4")[0])

    @property
    def float64(self) -> float:
        """s1 and s0, a double."""
        return float(np.array(self._result().registers[2:], "<u4").view("<f8")[0])

    @property
    def cycles(self) -> float:
        """Core cycles."""
        return self._result().cycles

    @property
    def causes(self) -> Mapping[str, float]:
        """The cycles by the names of `mcusim emulate`, which sum to them."""
        return self._result().causes

    @property
    def instructions(self) -> int:
        """How many were executed."""
        return self._result().instructions

    @property
    def stack(self) -> int:
        """Bytes of stack it used."""
        return self._result().stack


@dataclass
class _Waiting:
    """A call of a queue."""

    call: SessionCall
    address: int
    arguments: CallArguments
    max_instructions: int
    writes: Sequence[SessionTensor] | None = None


@dataclass(frozen=True)
class SessionSnapshot:
    """All that a session has given out, byte by byte, in memory and in caches, and its modules."""

    session: DeviceSession
    contents: tuple[tuple[int, bytes, tuple[bytes, ...]], ...]
    arrays: tuple[Array, ...]
    heap: SessionHeap
    modules: tuple[SessionModule, ...]
    printed: bytes
    guarded: Mapping[int, SessionTensor]


class DeviceSession:
    """A device that is ready to be called; :func:`session` makes one. ``heap`` gives its memory out by regions,
    ``traffic`` counts what a session over a cable would have moved."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self._printed = machine, bytearray()
        self.emulator = Emulator(machine, self._printed.extend)
        self.emulator.state.fpu = 1
        self.heap = SessionHeap({name: (region.base, region.size) for name, region in machine.memory.items()})
        self._code, self._data = _largest(machine, executable=True), _largest(machine)
        self.modules: list[SessionModule] = []
        self.traffic = SessionTraffic()
        self._queue: list[_Waiting] = []
        self._lazy = False
        self._unread: SessionFault | None = None  # of a call in a queue
        self._guarded: dict[int, SessionTensor] = {}  # by number
        self._ended, self._entered = False, 0
        stack = self.heap.allocate(STACK, self._data, 32)
        self._stack = stack + STACK, stack
        self._begun = self.snapshot()

    def __repr__(self) -> str:
        return f"<DeviceSession {self.machine.name[:60]}: {len(self.modules)} modules, {self.heap.used:,} B in use>"

    def __enter__(self) -> DeviceSession:
        self._entered += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.flush()
        finally:
            self._entered -= 1
            self._ended = self._entered == 0

    def require(self, tensor: SessionTensor | None = None) -> None:
        """Raise UsageError for a session that has ended, and for a tensor that is freed or another session's."""
        if self._ended:
            raise UsageError("the session has ended with its `with` block; make another one")
        if tensor is not None and tensor.session is not self:
            raise UsageError(f"the {tensor} is another session's")
        if tensor is not None and self.heap.number(tensor.address) != tensor.number:
            raise UsageError(f"the {tensor} was freed, or is gone with a restore")

    @property
    def output(self) -> str:
        """What the device has printed (semihosting, ITM, USART), after all calls that wait."""
        self.flush()
        return self._printed.decode("utf-8", "backslashreplace")

    @property
    def symbols(self) -> dict[str, int]:
        """Of all modules, with the Thumb bit of functions."""
        return {name: value for module in self.modules for name, value in module.symbols.items()}

    def read(self, address: int, size: int) -> bytes:
        """Bytes as the core sees them, after all calls that wait. Raises UsageError where there is no memory."""
        self.flush()
        data = self.emulator.read(address, size)
        self.traffic.moved(size)
        return data

    def write(self, address: int, data: bytes) -> None:
        """Put bytes there, after all calls that wait. Raises UsageError where there is no memory."""
        self.flush()
        self.emulator.write(address, data)
        self.traffic.moved(len(data))

    def release(self, address: int) -> None:
        """Give memory back that was allocated, after all calls that wait. Raises UsageError for other memory."""
        self.flush()
        self.heap.release(address)

    def load(
        self,
        what: str | Path | Sequence[str | Path],
        region: str | None = None,
        data: str | None = None,
        include: Sequence[str | Path] = (),
        flags: str = "",
    ) -> SessionModule:
        """Link a module: an object file, a C, C++ or assembly file, several of them, or C source.

        ``region`` is where it goes, by default the largest SRAM that code runs from; ``data`` where its variables go,
        if not there too. ``include`` (folders) and ``flags`` are the compiler's. Constructors are called. Raises
        UsageError for undefined symbols, all at once, and where there is no room; CompileError (a UsageError) for what
        does not compile; ImageError for a damaged file.
        """
        self.require()
        file, name = object_of(what, self.machine.core.isa, include, flags)
        return self._linked(file, name, region or self._code, data)

    def _linked(self, file: ObjectFile, name: str, region: str, data: str | None) -> SessionModule:
        self.flush()
        self._define(file, name)
        known, places = self.symbols, section_places(file)
        there = self.machine.memory.get(region)
        apart = data or (self._data if there is not None and not there.writable else region)
        bases: list[int] = []
        try:
            for size, where in zip(places.sizes(apart == region), (region, apart), strict=False):
                bases.append(self.heap.allocate(size, where, places.alignment))
            sections, commons, veneers = places.addresses(bases)
            contents, made = file.linked(sections, commons, known.get, veneers)
            for base, size in zip(bases, places.sizes(apart == region), strict=True):
                self.emulator.write(base, bytes(size))
                self.traffic.moved(size)
            for number, content in contents.items():
                self.emulator.write(sections[number], content)
            self.emulator.write(veneers, made)
        except BaseException:
            for base in bases:
                self.heap.release(base)
            raise
        symbols = places.symbols(sections, commons)
        module = SessionModule(self.unload, name, tuple(bases), places.bytes, symbols, file.elf.data)
        self.modules.append(module)
        for constructor in places.constructors(sections):
            self._call_at(int.from_bytes(self.emulator.read(constructor, 4), "little"), f"a constructor of {name}")
        return module

    def _define(self, file: ObjectFile, name: str) -> None:
        """See to it that all is there that a file needs."""
        missing = [symbol for symbol in file.needed() if symbol not in self.symbols]
        if missing and all(module.name != RUNTIME for module in self.modules):
            runtime = runtime_object(self.machine.core.isa)
            if {*missing} & {symbol.name for symbol in runtime.symbols if symbol.section and not symbol.local}:
                self._linked(runtime, RUNTIME, self._code, None)
                missing = [symbol for symbol in missing if symbol not in self.symbols]
        if missing:
            raise UsageError(f"{name}: undefined: {', '.join(missing[:50])}; load the modules that have them first")

    def unload(self, module: SessionModule) -> None:
        """:meth:`SessionModule.unload`."""
        self.flush()
        if module not in self.modules:
            raise UsageError(f"{module.name} is unloaded already")
        self.modules.remove(module)
        for base in module.bases:
            self.heap.release(base)

    def tensor(
        self,
        array: Array | tuple[int, ...],
        region: str | None = None,
        dtype: Any = None,
        alignment: int = 32,
        guard: bool = True,
    ) -> SessionTensor:
        """An array in ``region`` (default: the largest SRAM), or room for a shape of ``dtype`` (default int8).

        A region that the device cannot write may have one too, as flash has weights. Raises UsageError for a type that
        a device has not, and where there is no room. Words behind it (``guard``) show stores past its
        end.
        """
        self.require()
        values = device_array(array, dtype)
        if alignment < 1 or alignment & (alignment - 1):
            raise UsageError(f"alignment = {alignment}: must be a power of two, in bytes")
        behind = GUARD if guard else b""
        address = self.heap.allocate(values.nbytes, region or self._data, alignment, len(behind))
        self.write(address, values.tobytes())
        self.emulator.write(address + values.nbytes, behind)
        tensor = SessionTensor(self, address, values.shape, values.dtype, self.heap.number(address) or 0)
        if guard:
            self._guarded[tensor.number] = tensor
        return tensor

    def structure(self, region: str | None = None, /, **members: Any) -> SessionTensor:
        """A C structure with ``members`` in their order: integers and tensors (their addresses) are words, numpy
        scalars and arrays as they are. Raises UsageError for others."""
        return self.tensor(structure_array(members), region)

    def load_kernels(self, kernels: KernelSet, symbols: Sequence[str], region: str | None = None) -> SessionModule:
        """Load functions of a kernel set (:func:`mcusim.kernels.kernel_set.load_set`), and what they call.

        Raises UsageError where there is no room, InputError for a set that is not built or has no such function.
        """
        self.flush()
        isa = self.machine.core.isa
        base = self.heap.allocate(kernels.loaded_bytes(isa, symbols), region or self._code, 64)
        image = kernels.image_at(isa, base, symbols)
        for segment in image.segments:
            self.write(segment.address, bytes(segment.data))
        known = {symbol: image.symbol(symbol).address | 1 for symbol in symbols}
        module = SessionModule(self.unload, kernels.name, (base,), kernels.loaded_bytes(isa, symbols), known)
        self.modules.append(module)
        return module

    def call(
        self,
        name: str,
        *values: Value,
        max_instructions: int = MOST_INSTRUCTIONS,
        writes: Sequence[SessionTensor] | None = None,
        checked: bool = True,
    ) -> SessionCall:
        """Call a function with ``values``: integers, tensors (their addresses), numpy scalars, structures by value.

        With ``writes`` it may write these tensors and its stack, nothing else, not even its own variables. In a queue
        (:meth:`lazy`) it only waits. Values are made to fit the prototype that the module's debug information has,
        unless ``checked`` is False.
        Raises UsageError for a name that no module has, for other values, and for tensors that are freed or another
        session's; SessionFault for a fault, for more instructions than ``max_instructions``, and for a store past the
        end of a tensor.
        """
        module = next((module for module in reversed(self.modules) if name in module.symbols), None)
        if module is None:
            raise UsageError(f"no module has a function {quoted(name[:80])}{self._near(name)}")
        for value in (*values, *(writes or ())):
            self.require(value if isinstance(value, SessionTensor) else None)
        self.require()
        prototype = module.prototypes.get(name) if checked else None
        fitted = values if prototype is None else prototype.fitted(values)
        call, arguments = SessionCall(self, name, prototype), CallArguments.of(fitted)
        waiting = _Waiting(call, module.symbols[name], arguments, max_instructions, writes)
        self._queue.append(waiting)
        if not self._lazy:
            self.flush()
            waiting.call._result()
        return waiting.call

    def _near(self, name: str) -> str:
        """The three names most like it, a user's modules before the runtime."""
        texts: list[str] = []
        for module in sorted(self.modules, key=lambda module: module.name == RUNTIME):
            texts += get_close_matches(name[:80], module.symbols, n=3, cutoff=0.3)
        own = [symbol for module in self.modules if module.name != RUNTIME for symbol in module.symbols]
        return f"; did you mean {', '.join((texts or sorted(own))[:3])}?" if texts or own else "; none is loaded yet"

    @contextmanager
    def lazy(self) -> Iterator[DeviceSession]:
        """Calls wait in a queue, which is sent to the device at once when a result is wanted, memory is read or
        written, or the block ends. Results are those of calls without it.

        Raises SessionFault at the end for a fault that nobody has seen.
        """
        before, self._lazy = self._lazy, True
        try:
            yield self
            self.flush()
        finally:
            self._lazy = before
        if self._unread is not None:
            fault, self._unread = self._unread, None
            raise fault

    def flush(self) -> None:
        """Run the calls that wait. A fault is raised where its call, or a later one of the queue, is read."""
        if not self._queue:
            return
        queue, self._queue = self._queue, []
        self.traffic.called([waiting.arguments.words for waiting in queue])
        fault: SessionFault | None = None
        for waiting in queue:
            if fault is None:
                try:
                    waiting.call._returned = self._run(waiting)
                except SessionFault as error:
                    fault = self._unread = waiting.call._returned = error
            else:
                text = f"{waiting.call.name}: not run: {fault} came before it in the queue"
                waiting.call._returned = SessionFault("not run", text, fault.location)

    def _call_at(self, address: int, name: str) -> None:
        self.traffic.called([0])
        self._run(_Waiting(SessionCall(self, name), address, CallArguments(), MOST_INSTRUCTIONS))

    def _run(self, waiting: _Waiting) -> _Returned:
        emulator, arguments, (top, limit) = self.emulator, waiting.arguments, self._stack
        before, began, issued = self._causes(), self._now(), emulator.instructions
        if len(arguments.stack) > top - limit - LEAST_STACK:
            raise SessionFault("stack", f"{waiting.call.name}: its {len(arguments.stack):,} B of values", "the stack")
        emulator.set_stack(top, limit)
        emulator.call(waiting.address & ~1, arguments.core_and_stack)
        if arguments.floats:
            floats = emulator.core.floats
            emulator.core.floats = [arguments.floats.get(number, bits) for number, bits in enumerate(floats)]
        with self._confined(waiting.writes):
            stop = emulator.run(waiting.max_instructions)
        if stop.kind != "returned":
            self._overrun(waiting.call.name)  # so that it is not another call's
            raise self._fault(waiting, stop)
        if (overrun := self._overrun(waiting.call.name)) is not None:
            raise overrun
        after, took = self._causes(), self._now() - began
        causes = {cause: n for cause in after if (n := after[cause] - before.get(cause, 0.0))}
        registers, low = emulator.registers(), emulator.state.stack_low
        s0, s1 = emulator.core.floats[:2]
        return _Returned(
            (registers["r0"], registers["r1"], s0, s1), took, causes, emulator.instructions - issued, max(0, top - low)
        )

    def _overrun(self, name: str) -> SessionFault | None:
        """What was stored past the end of a tensor; the words behind it are made whole again."""
        fault = None
        for number, tensor in [*self._guarded.items()]:
            end = tensor.address + tensor.bytes
            if self.heap.number(tensor.address) != number:
                del self._guarded[number]
                continue
            held = self.emulator.read(end, len(GUARD))
            if held != GUARD:
                count = max(i for i, (byte, right) in enumerate(zip(held, GUARD, strict=True), 1) if byte != right)
                least = "at least " if count == len(GUARD) else ""
                text = f"{name}: stored {least}{count} B past the end of the {tensor}"
                fault = fault or SessionFault("store past a tensor", text, f"at {end:#010x}")
                self.emulator.write(end, GUARD)
        return fault

    @contextmanager
    def _confined(self, writes: Sequence[SessionTensor] | None) -> Iterator[None]:
        """All but these tensors and the stack is read-only."""
        if writes is None:
            yield
            return
        top, limit = self._stack
        ranges, emulator = machine_ranges(self.machine), self.emulator
        open_ = [(limit, top), *((tensor.address, tensor.address + max(tensor.bytes, 1)) for tensor in writes)]
        emulator.confined = True
        emulator.memory.install_ranges(guarded(ranges, sorted(open_)))
        try:
            yield
        finally:
            emulator.confined = False
            emulator.memory.install_ranges(ranges)

    def snapshot(self) -> SessionSnapshot:
        """The device as it is, to come back to: the same call then takes the same cycles."""
        self.flush()
        emulator = self.emulator
        contents = tuple(
            (address, emulator.read(address, size), tuple(bytes(v) for _, v in emulator.behind.views(address, size)))
            for address, size in self.heap.given()
        )
        arrays = tuple(array.copy() for array in self._arrays())
        return SessionSnapshot(
            self,
            contents,
            arrays,
            self.heap.copy(),
            tuple(self.modules),
            bytes(self._printed),
            dict(self._guarded),
        )

    def restore(self, snapshot: SessionSnapshot) -> None:
        """Go back to a snapshot; modules and tensors made since are gone. Raises UsageError for another session's."""
        if snapshot.session is not self:
            raise UsageError("the snapshot is of another session")
        self.flush()
        emulator = self.emulator
        for address, data, behind in snapshot.contents:
            emulator.write(address, data)
            for (_, view), held in zip(emulator.behind.views(address, len(data)), behind, strict=True):
                view[:] = np.frombuffer(held, np.uint8)
        for array, held_array in zip(self._arrays(), snapshot.arrays, strict=True):
            array[:] = held_array
        self.heap, self.modules = snapshot.heap.copy(), [*snapshot.modules]
        self._printed[:] = snapshot.printed
        self._guarded = dict(snapshot.guarded)

    def reset(self) -> None:
        """As a new session: no modules, no tensors, cold caches, cycle 0."""
        self.restore(self._begun)

    def _arrays(self) -> tuple[Array, ...]:
        emulator = self.emulator
        return emulator.memory.state.array, emulator.branches.array, emulator.state.array

    def _now(self) -> float:
        return self.emulator.memory.state.now / TICK

    def _causes(self) -> dict[str, float]:
        return cycle_causes(self.emulator)

    def _fault(self, waiting: _Waiting, stop: Stop) -> SessionFault:
        name = waiting.call.name
        pc = self.emulator.registers()["pc"] if stop.fault is None else stop.fault.pc
        location = self._location(pc)
        if stop.fault is not None:
            return SessionFault(stop.fault.kind, f"{name}: {stop.fault.text}", location)
        most = waiting.max_instructions
        text = {
            "limit": f"took more instructions than it may, {most:,}; max_instructions, or limit= in a shell, gives it"
            " more; it was here",
            "loop": "does not end",
        }.get(stop.kind, f"ended by {stop.kind}")
        return SessionFault(stop.kind, f"{name}: {text}", location)

    def _location(self, pc: int) -> str:
        pairs = [(value & ~1, name) for name, value in self.symbols.items() if value & 1 and value & ~1 <= pc]
        if not pairs or pc - max(pairs)[0] > 1 << 16:
            return f"at {pc:#010x}"
        begin, name = max(pairs)
        return f"{name}+{pc - begin:#x}"


def _largest(machine: Machine, executable: bool = False) -> str:
    """The largest SRAM, or what else can be written. Raises UsageError where nothing can."""
    able = [region for region in machine.memory.values() if region.writable and region.executable >= executable]
    if not able:
        raise UsageError(f"{machine.name}: a session needs memory that can be written and executed; there is none")
    return max(able, key=lambda region: (region.kind in ("sram", "tcm"), region.size)).name


def session(machine: str | Path | Machine, overrides: Mapping[str, str] | None = None) -> DeviceSession:
    """A session with a machine, by name, file or as it is: ``with mcusim.session("stm32f746g-disco") as s:``.

    ``overrides`` changes keys of the machine. Raises MachineError for one that cannot be read.
    """
    return DeviceSession(changed(machine, overrides))
