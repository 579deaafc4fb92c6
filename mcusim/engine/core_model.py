"""Core models: what executes a compute task in the engine. ``replay`` uses a kernel cost profile.

A core model owns the memory system and says how long a kernel call and a DMA transfer take in it: two generator
methods that use the engine's clock. :mod:`mcusim.engine.emulated_core` is the one that executes code.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcusim.engine.contention import Activity
from mcusim.kernels.cost.counted import counted_call as calls
from mcusim.kernels.cost.counted.variants import variant
from mcusim.kernels.cost.profile import Profile
from mcusim.machine.description import Dma, Machine
from mcusim.memory.ports import replay
from mcusim.memory.state_builder import WritingSide
from mcusim.memory.state_layout import TICK, MemoryState
from mcusim.memory.system import CAUSE, AccessStats, MemorySystem
from mcusim.program.program import Compute, Program, Transfer, Work
from mcusim.runtime.planning_costs import operator_cycles, stated
from mcusim.runtime.runtime import DEFAULT, Runtime, find_runtime

if TYPE_CHECKING:
    from mcusim.engine.run import Traffic
    from mcusim.engine.system import Cycles, System

# accesses of the core that wait for beats, to those that the arbiter counts: least error of the emulated F469 (tinyops)
ROWS_CLOSED, SELDOM = 6.0, 0.1


def waiting_accesses(demand: dict[str, AccessStats], machine: Machine) -> dict[str, float]:
    """How many of the core's accesses wait for a transfer's beats, as emulated: those to an SDRAM that stall the core,
    also for rows that the beats close; posted writes, hidden line fills and on-chip RAM hardly ever."""
    return {
        name: ROWS_CLOSED * min(1.0, asked.stall / max(1, asked.occupied))
        if machine.memory[name].kind == "sdram"
        else SELDOM
        for name, asked in demand.items()
    }


def _set_up(task: Transfer, dma: Dma) -> tuple[Dma, int, int, int, WritingSide | None]:
    """What the memory is asked for, with the stream's own setting where the task has one."""
    side, setting = None, task.setting
    if setting is not None:
        dma = replace(dma, beat=setting.beat, burst=setting.burst, threshold=setting.threshold)
        side = WritingSide(setting.to_beat, setting.to_burst)
    return dma, task.source.address, task.destination.address, task.source.bytes, side


def transfer_alone(memory: MemorySystem, task: Transfer, dma: Dma, system: System) -> Generator[Any, Any, None]:
    """Time the transfer as if alone, then let what runs at the same time slow it down on average."""
    memory.sync(int(system.env.now))
    ticks: list[int] = []
    demand = memory.measure(lambda _: ticks.append(memory.transfer(*_set_up(task, dma))))
    system.count(task, demand)
    yield from system.arbiter.perform(Activity(-(-ticks[0] // TICK), demand, dma.name, task.priority))


class ReplayCore:
    """Fidelity ``replay``: cycles from the profile's loop levels, stalls from its access streams on the memory system.

    Not modelled: the order of loads inside a loop body, the start-up of a call's own pipeline; therefore neither
    the arbitration of reads that stand alone (``read_arbitration``), the stack's among them.
    """

    def __init__(
        self,
        profile: Profile,
        machine: Machine,
        code: int,
        overhead: int | None = None,
        opaque: Mapping[int, int | None] | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self.memory = MemorySystem(machine)
        self.runtime = runtime or find_runtime()
        self.profile, self.isa, self.code = profile.without(self.runtime.left_out), machine.core.isa, code
        self.costs = profile.core(self.isa)
        # a profile was made with the default runtime: its figure of an operator is that one's
        made = self.costs.operator if self.runtime.name == DEFAULT else operator_cycles(self.isa, None, self.runtime)
        self.overhead = made if overhead is None else overhead
        self.overhead_set = overhead is not None
        self.opaque = opaque or {}
        self._nodes: dict[str, int] = {}  # where the program has its call structures
        self._carried: dict[str, int] = {}  # ticks of a cycle not yet full, by cause: tiles then sum to the operator

    def run(self, task: Compute | Work, system: System) -> Generator[Any, Any, Cycles]:
        """Replay the streams at the task's start, then occupy the core for the resulting cycles; for those of an opaque
        operator as they are, with the interpreter's only where it has a cost."""
        assert not isinstance(task, Work)  # of recorded programs, which have a core of their own
        if task.id in self.opaque:
            known = self.opaque[task.id]
            overhead = self.overhead if known is not None and task.tile == 0 else 0
            cycles = {"compute": known or 0, "runtime": overhead}
            cycles["bus"] = yield from system.arbiter.perform(Activity(sum(cycles.values()), {}))
            return cycles
        memory = system.memory
        memory.sync(int(system.env.now))
        ticks: list[int] = []
        system.waits.begin(task)
        demand = memory.measure(lambda state: ticks.append(self._play(task, system, state)))
        system.waits.end(task, demand)
        system.count(task, demand)
        compute, self._carried["compute"] = divmod(self._carried.get("compute", 0) + ticks[0], TICK)
        cycles = {"compute": compute, "runtime": self.overhead if task.tile == 0 else 0}
        for name, asked in demand.items():
            cause = CAUSE[system.machine.memory[name].kind]
            whole, self._carried[cause] = divmod(self._carried.get(cause, 0) + asked.stall, TICK)
            cycles[cause] = cycles.get(cause, 0) + whole
        fitted = self.profile.of_call(task.geometry).core(self.isa).fitted
        waiting = waiting_accesses(demand, system.machine) if fitted else {}
        call = Activity(sum(cycles.values()), demand, waiting=waiting)
        cycles["bus"] = yield from system.arbiter.perform(call)
        return cycles

    def _play(self, task: Compute, system: System, memory: MemoryState) -> int:
        """Replay the task's code and accesses on the memory; the ticks of its cycles."""
        g = task.geometry
        profile = self.profile.of_call(g)
        costs = profile.core(self.isa)
        if costs.fitted:
            from mcusim.kernels.cost.fitted import call as fitted_calls

            operands = [(str(operand.role), operand.span.address, operand.span.bytes) for operand in task.operands]
            if not self._nodes:
                self._nodes = {buffer.name: buffer.span.address for buffer in system.program.header.buffers}
            call = fitted_calls.Call(g, task.rows, operands, self._nodes.get(f"node{task.operator}", 0))
            code = self.code if profile is self.profile else self.code + self.profile.code_bytes
            return fitted_calls.replay_call(memory, call, profile, costs, code)
        compute = calls.cycles(g, task.rows, self.costs)
        places = {str(operand.role): (operand.span.address, operand.span.bytes) for operand in task.operands}
        replay.fetch(memory, calls.code_sweep(self.code, g, task.rows, self.profile, self.costs, compute))
        compute = calls.away(memory, self.code, self.costs, compute)
        calls.replay_call(memory, g, task.rows, places, self.profile, self.costs)
        return compute * TICK

    def is_counted(self, program: Program) -> bool:
        """Whether no kernel call of the program is a fitted nest."""
        shapes = {task.geometry for task in program.tasks if isinstance(task, Compute)}
        return not any(self.profile.of_call(shape).core(self.isa).fitted for shape in shapes)

    def kernel(self, task: Compute) -> str:
        """The kind of a fitted profile, the variant of a counted one."""
        if not self.costs.fitted:
            return variant(task.geometry)
        from mcusim.kernels.cost.fitted.call import kernel_kind

        operands = [(str(operand.role), operand.span.address, operand.span.bytes) for operand in task.operands]
        return kernel_kind(task.geometry, task.rows, operands, self.profile)

    def transfer(self, task: Transfer, dma: Dma, system: System) -> Generator[Any, Any, None]:
        """Time the transfer as if alone, then let what runs at the same time slow it down on average."""
        yield from transfer_alone(self.memory, task, dma, system)

    def traffic(self, system: System) -> dict[str, Traffic]:
        """As the activities counted it."""
        return dict(sorted(system.traffic.items()))

    def counted(self) -> dict[str, int]:
        """Nothing: a profile has cycles alone."""
        return {}

    def assumptions(self) -> list[str]:
        """Basis of the profile's parts that are not measured."""
        lines = [
            f"kernels {self.profile.name}, code sizes: {self.profile.code_basis[0]} ({self.profile.code_basis[1]})"
        ]
        by_basis: dict[tuple[str, str], list[str]] = {}
        for kind, pair in self.costs.basis.items():
            by_basis.setdefault(pair, []).append(kind)
        if self.profile.rest:
            lines.append(f"kernels {self.profile.name}: what it was not counted for is costed as {self.profile.rest}")
        if self.overhead_set:
            lines.append(f"interpreter: {self.overhead:,} cycles an operator (given)")
        elif self.runtime.name != DEFAULT:
            lines.append(stated(self.isa, None, self.runtime))
        for (basis, source), kinds in by_basis.items():
            lines.append(f"kernels {self.profile.name} on {self.isa}, {', '.join(kinds)}: {basis} ({source})")
        return lines
