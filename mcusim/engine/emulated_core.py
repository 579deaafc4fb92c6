"""Fidelity ``emulate``: each compute task runs the compiled C kernel on the real tensors in the emulated machine.

The core runs up to the engine's next event, yields the time it used, and goes on. DMA beats in flight are part of the
memory's native state, so that core and DMA delay each other access by access; each beat's bytes arrive when it does,
behind the data cache, whose lines the core sees. Whatever a call may not write (all but its outputs, its scratch and
the stack) is read-only while it runs.

Not modelled: the interpreter's own code and data (a number of cycles represents it), interrupts in the middle of a
basic block.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from mcusim.emulator.emulator import Emulator
from mcusim.engine.free_memory import code_place, stack_place
from mcusim.engine.guest_program import GuestProgram
from mcusim.engine.kernel_fault import explained
from mcusim.engine.observer import MakeObserver, RunSetup
from mcusim.engine.run import Traffic
from mcusim.engine.stall_accounting import transferred
from mcusim.engine.warm_start import old_bytes, warm_cache
from mcusim.memory import state_layout as L
from mcusim.memory.address_ranges import guarded, machine_ranges
from mcusim.memory.state_layout import LAST_TICK
from mcusim.memory.system import CAUSE
from mcusim.program.extent import steps
from mcusim.program.program import Span, Work
from mcusim.runtime.planning_costs import operator_cycles, stated
from mcusim.runtime.runtime import recorded_runtime

if TYPE_CHECKING:
    from mcusim.emulator.stops.stop import Stop
    from mcusim.engine.system import Cycles, System
    from mcusim.kernels.kernel_set import KernelSet
    from mcusim.machine.description import Dma, Machine
    from mcusim.memory.system import AccessStats
    from mcusim.model.graph import Graph
    from mcusim.program.program import Compute, Program, Transfer

Array = np.ndarray[Any, Any]
PER_STEP, AT_LEAST = 300, 5_000_000  # instructions a call may take: for each MAC or element, and in any case


@dataclass(frozen=True, slots=True)
class Options:
    """``code``: region of the kernels, ``stack``: of their stack; ``overhead``: cycles of an interpreter for each
    operator, None for the default.

    ``most_instructions`` bounds a kernel call, ``cut`` stops the core every so many cycles (which changes nothing).
    ``observe`` gets each operator's index and outputs once it is done. ``observer`` makes what looks on while a core
    runs (:mod:`mcusim.engine.observer`), one for each core. ``warm`` seeds memory and data cache as an inference finds
    them that is not the first; None is a start after reset.
    """

    code: str | None = None
    overhead: int | None = None
    most_instructions: int | None = None
    cut: int | None = None
    observe: Callable[[int, list[Array]], object] | None = None
    observer: MakeObserver | None = None
    warm: int | None = None
    stack: str | None = None


class _Late(simpy.Event):
    """A time-out that comes after every other event of its moment: whoever waits for it has seen them all."""

    def __init__(self, env: simpy.Environment, delay: int) -> None:
        super().__init__(env)
        self._ok, self._value = True, None
        env.schedule(self, 2, delay)  # type: ignore[arg-type]


class EmulatedCore:
    """A core model that runs ``program`` of ``graph`` with the functions of ``kernels`` on ``inputs``.

    ``inputs`` are the values of the graph's inputs, in its order, each of the tensor's shape and type. Raises
    ProgramError when program and model do not belong together or the program keeps no room for the calls' parameters,
    UnsupportedError for an operator the set has not, DoesNotFit when code or stack find no place. While it runs it
    raises KernelFault for what a kernel does wrong.
    """

    def __init__(
        self,
        program: Program,
        machine: Machine,
        graph: Graph,
        kernels: KernelSet,
        inputs: Sequence[Array],
        options: Options | None = None,
    ) -> None:
        self.guest = GuestProgram(program, graph, kernels)
        self.options = options or Options()
        self.runtime = recorded_runtime(program.header.options)
        self.overhead = operator_cycles(machine.core.isa, self.options.overhead, self.runtime)
        isa, needed = machine.core.isa, {kernel.symbol for kernel in self.guest.kernels}
        self.code = code = code_place(program, machine, self.options.code, kernels.loaded_bytes(isa, needed))
        self.image = kernels.image_at(isa, code.address, needed)
        self.stack = stack_place(program, machine, code, self.options.stack)
        self.kernels = kernels
        self.emulator = Emulator(machine)
        self.emulator.confined = True
        self.memory = self.emulator.memory
        self._ranges = machine_ranges(machine)
        self._carried: dict[str, int] = {}  # ticks of a cycle not yet full, by cause
        self._left = {op.index: 0 for op in graph.operators}
        self._inputs = [Span("", self.guest.tensor(t), graph.tensors[t].bytes) for t in graph.inputs]
        make = self.options.observer
        setup = RunSetup(program, self.emulator, self.image, self.stack, self._inputs)
        self._observer = None if make is None else make(setup)
        self.memory.install_ranges(self._ranges)
        self._load(program, inputs)

    def _load(self, program: Program, inputs: Sequence[Array]) -> None:
        emulator = self.emulator
        emulator.load(self.image, as_started=True)
        warm = self.options.warm
        if warm is not None:
            old_bytes(emulator, program, warm)
        for address, data in self.guest.constants():
            emulator.write(address, data)
        self.feed(inputs)
        if warm is not None:
            warm_cache(emulator, program, self._inputs, warm, self._observer)

    def feed(self, inputs: Sequence[Array]) -> None:
        """Put values into the network's inputs, for the next inference; all else stays as the last one left it."""
        for tensor, values in zip(self.guest.graph.inputs, inputs, strict=True):
            self.emulator.write(self.guest.tensor(tensor), values.tobytes())
        self._left = dict.fromkeys(self._left, 0)
        for task in self.guest.program.tasks:
            if hasattr(task, "geometry"):
                self._left[task.operator] += 1

    @property
    def observed(self) -> list[Any]:
        """What the observer found so far."""
        return [] if self._observer is None else self._observer.observed

    def tensor(self, index: int) -> Array:
        """The values of a tensor as they are in memory now."""
        tensor = self.guest.graph.tensors[index]
        data = self.emulator.read(self.guest.tensor(index), tensor.bytes)
        return np.frombuffer(data, tensor.dtype).reshape(tensor.shape).copy()

    # what the engine asks

    def run(self, task: Compute | Work, system: System) -> Generator[Any, Any, Cycles]:
        """Run the kernel's calls for one tile."""
        assert not isinstance(task, Work)  # a recorded program is refused before
        spent: Cycles = {"runtime": 0, "bus": 0}
        yield from self._serve(spent, system)
        if task.tile == 0:
            spent["runtime"] += self.overhead
            yield system.env.timeout(self.overhead)
        start, before = int(system.env.now), self.memory.snapshot()
        served = spent["runtime"]
        self.memory.sync(start)
        system.waits.begin(task)
        if self._observer is not None:
            self._observer.starts(task, start)
        for address, data, written in self.guest.calls(task):
            self._allow(written)
            self.emulator.write(address, data)
            yield from self._call(task, address, spent, system)
        elapsed = int(system.env.now) - start - (spent["runtime"] - served)
        demand = self.memory.since(before)
        system.waits.end(task, demand)
        system.moves(task, demand)
        self._attribute(spent, elapsed, demand)
        if self._observer is not None:
            self._observer.ends(task, int(system.env.now))
        self._observe(task)
        return spent

    def transfer(self, task: Transfer, dma: Dma, system: System) -> Generator[Any, Any, None]:
        """Let the beats of ``task`` go; each moves its bytes."""
        env, memory = system.env, self.memory
        stream = int(task.lane.rpartition(".s")[2])
        source, target, size = task.source.address, task.destination.address, task.source.bytes
        system.moved[task.id] = transferred(task, system.machine)
        slower = system.disturb.beat(task) if system.disturb else 0
        now, observer = int(env.now), self._observer
        watched = observer.begins(task, now) if observer is not None else (0, 0)
        handle = memory.begin_transfer(dma, stream, source, target, size, task.priority, now, slower, watched)
        memory.advance(now)
        while (end := memory.finished(handle)) is None:
            yield env.timeout(memory.earliest_end(handle, int(env.now)) - int(env.now))
            memory.advance(int(env.now))
        if end > env.now:
            yield env.timeout(end - int(env.now))
        if observer is not None:
            observer.check()
            observer.ends(task, int(env.now))

    def kernel(self, task: Compute) -> str:
        """The symbol that runs it."""
        return self.guest.kernel(task).symbol

    def traffic(self, system: System) -> dict[str, Traffic]:
        """As the memories counted it."""
        return Traffic.by_region(self.memory.by_region())

    def counted(self) -> dict[str, int]:
        """Instructions issued; branches, those taken, and on a Cortex-M7 those mispredicted."""
        return {"instructions": self.emulator.instructions, **self.emulator.branch_counts()}

    def assumptions(self) -> list[str]:
        """Where code and stack are, and what represents the interpreter."""
        isa, code, stack = self.emulator.machine.core.isa, self.code, self.stack
        return [
            stated(isa, self.options.overhead, self.runtime),
            f"kernels {self.kernels.name}: {code.bytes:,} B of code at {code.address:#010x} ({code.region}), only the"
            " functions that the model needs (assumed)",
            f"stack: up to {stack.bytes:,} B below {stack.end:#010x} ({stack.region}) (assumed)",
        ]

    # a call

    def _allow(self, written: Sequence[Span]) -> None:
        """Make read-only all but ``written`` and the stack."""
        open_ = [(span.address, span.end) for span in (*written, self.stack)]
        self.memory.install_ranges(guarded(self._ranges, open_))

    def _call(self, task: Compute, call: int, spent: Cycles, system: System) -> Generator[Any, Any, None]:
        emulator, kernel = self.emulator, self.guest.kernel(task)
        emulator.set_stack(self.stack.end, self.stack.address)
        emulator.call(self.image.symbol(kernel.symbol).address & ~1, [call])
        left = self.options.most_instructions or AT_LEAST + PER_STEP * max(steps(task), task.geometry.in_bytes)
        last = emulator.instructions + left
        while True:
            yield _Late(system.env, max(0, self._ahead(system)))
            yield from self._serve(spent, system)
            stop = emulator.run_until(self._horizon(system), last - emulator.instructions)
            if stop.kind != "horizon":
                break
        self._check(task, stop, left)
        yield _Late(system.env, max(0, self._ahead(system)))

    def _check(self, task: Compute, stop: Stop, most: int) -> None:
        returned = self.emulator.registers()["r0"]
        if self._observer is not None:
            self._observer.check()
        if self.memory.state.now >= LAST_TICK or stop.kind != "returned" or returned:
            raise explained(self, task, stop, most, returned)

    def _ahead(self, system: System) -> int:
        """Cycles that the core is ahead of the engine's clock."""
        return -(-self.memory.state.now // L.TICK) - int(system.env.now)

    def _horizon(self, system: System) -> int:
        """The cycle up to which nothing can happen that the core would notice."""
        event = system.env.peek()
        now = self.memory.state.now // L.TICK
        far = now + (self.options.cut or 1 << 40)
        return far if event == inf else min(far, ceil(event))

    def _serve(self, spent: Cycles, system: System) -> Generator[Any, Any, None]:
        """Spend what the DMA driver took: its handlers run before the core goes on."""
        while cycles := system.taken():
            spent["runtime"] += cycles
            self.memory.state.now += cycles * L.TICK
            yield _Late(system.env, cycles)

    def _attribute(self, spent: Cycles, elapsed: int, demand: Mapping[str, AccessStats]) -> None:
        """Split the ``elapsed`` cycles by what the core waited for."""
        waits: dict[str, int] = {}
        for name, asked in demand.items():
            cause = CAUSE[self.emulator.machine.memory[name].kind]
            waits["bus"] = waits.get("bus", 0) + asked.waited
            waits[cause] = waits.get(cause, 0) + asked.stall - asked.waited
        for cause, ticks in waits.items():
            whole, self._carried[cause] = divmod(self._carried.get(cause, 0) + ticks, L.TICK)
            spent[cause] = spent.get(cause, 0) + whole
            elapsed -= whole
        spent["compute"] = elapsed

    def _observe(self, task: Compute) -> None:
        self._left[task.operator] -= 1
        if self.options.observe is not None and not self._left[task.operator]:
            outputs = self.guest.graph.operators[task.operator].outputs
            self.options.observe(task.operator, [self.tensor(t) for t in outputs])
