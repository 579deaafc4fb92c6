"""A program as tables: its tasks, lanes, edges, operands and kernel calls, for one profile, and for machines of the
same caches and address ranges; and an engine over them for one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled import processes
from mcusim.engine.compiled.layout import (
    CountedCalls,
    EngineState,
    OperandRanges,
    PortTemplates,
    TaskState,
    TaskStates,
)
from mcusim.engine.stall_accounting import operand_ranges
from mcusim.engine.system import calls_of, driver_cycles, lines_of, loop_ticks
from mcusim.kernels.cost.counted import counted_call as calls
from mcusim.kernels.cost.counted.access_streams import CountedCall
from mcusim.machine.description import Machine
from mcusim.memory.kept_streams.streams import Streams
from mcusim.memory.state_builder import dma_ports, set_up
from mcusim.memory.state_layout import MAX_OPERANDS, CacheState, MemoryState, TransferState
from mcusim.memory.system import CAUSE, MemorySystem
from mcusim.native.structs import Array, Words, address_of, offset_of
from mcusim.plan.pools import split_by_region
from mcusim.program.program import Compute, Maintain, Program, Span, Transfer, Work

if TYPE_CHECKING:
    from mcusim.engine.core_model import ReplayCore

EVENTS = 100  # after which Python looks whether there is a signal
_HINTS = offset_of(CountedCall.hints)  # and of the operands, any line of the cache
_CAUSES = {"flash": E.FLASH, "sram": E.SRAM, "sdram": E.SDRAM, "qspi": E.QSPI}


class CompiledProgram:
    """The tables. Made by :func:`compiled`."""

    def __init__(self, program: Program, machine: Machine, core: ReplayCore) -> None:
        self._index = {task.id: number for number, task in enumerate(program.tasks)}
        self.lanes: dict[str, list[int]] = {"core": []}
        self._after: list[int] = []
        self._calls: list[Array] = []
        self.watched: dict[int, list[tuple[str, str]]] = {}  # of a kernel call's operand ranges: region and role
        self._ranges: list[tuple[int, int, int]] = []
        self.first_tiles: list[int] = []  # kernel calls that an operator begins with, but opaque ones without a cost
        self.maintained: dict[int, Span] = {}
        self.operators = np.array([task.operator for task in program.tasks], np.int64)
        self.calls = calls_of(program, core)
        self._known_parts: dict[Span, list[Span]] = {}
        self._dmas = list(machine.dma.values())
        self._tasks = np.zeros(len(program.tasks) * TaskState.WORDS, np.int64)
        for number, task in enumerate(program.tasks):
            self.lanes.setdefault(task.lane, []).append(number)
            state = TaskState(self._tasks, number * TaskState.WORDS)
            state.after, state.after_count = len(self._after), len(task.after)
            self._after += [self._index[other] for other in task.after]
            if isinstance(task, Compute):
                self._kernel_call(state, number, task, core)
            elif isinstance(task, Transfer):
                self._transfer(state, task)
            else:
                assert isinstance(task, Maintain)
                self._maintenance(state, task)
                self.maintained[number] = task.span

    @property
    def core_tasks(self) -> int:
        """How many the core has."""
        return len(self.lanes["core"])

    @property
    def bytes(self) -> int:
        """Of the host's memory."""
        return self._tasks.nbytes + sum(call.nbytes for call in self._calls)

    def _kernel_call(self, state: TaskState, number: int, task: Compute, core: ReplayCore) -> None:
        g, memory = task.geometry, core.memory.state
        state.kind = E.COMPUTE
        if task.tile == 0 and core.opaque.get(task.id, 0) is not None:
            self.first_tiles.append(number)
        if task.id in core.opaque:
            state.opaque, state.compute = 1, core.opaque[task.id] or 0
            return
        state.compute = calls.cycles(g, task.rows, core.costs)
        sweep = calls.code_sweep(core.code, g, task.rows, core.profile, core.costs, state.compute)
        state.sweep.array[state.sweep.offset : state.sweep.offset + len(sweep.array)] = sweep.array
        operands = {str(operand.role): (operand.span.address, operand.span.bytes) for operand in task.operands}
        made = calls.prepared(memory, g, task.rows, operands, core.costs)
        state.call, state.streams, state.images = len(self._calls), made.kind, made.images
        state.input_step, state.output_step = made.input_step, made.output_step
        self._calls.append(made.call.array)
        ranges = operand_ranges(task, lambda span: self._parts(span, core.memory.machine))
        self.watched[number] = [(part.region, role) for role, part in ranges]
        state.operand, state.operand_count = len(self._ranges), min(len(ranges), MAX_OPERANDS)
        self._ranges += [(part.address, part.end, 0) for _, part in ranges[:MAX_OPERANDS]]

    def _parts(self, span: Span, machine: Machine) -> list[Span]:
        if span not in self._known_parts:
            self._known_parts[span] = split_by_region(machine, span)
        return self._known_parts[span]

    def _transfer(self, state: TaskState, task: Transfer) -> None:
        state.kind, state.priority = E.TRANSFER, task.priority
        state.source, state.target, state.bytes = task.source.address, task.destination.address, task.source.bytes
        name = task.lane.partition(".")[0]
        state.port = next(number for number, dma in enumerate(self._dmas) if dma.name == name)
        state.controller = state.port + 1

    def _maintenance(self, state: TaskState, task: Maintain) -> None:
        state.kind, state.source, state.bytes = E.MAINTAIN, task.span.address, task.span.bytes
        state.clean, state.invalidate = int("clean" in task.action), int("invalidate" in task.action)

    def engine(self, program: Program, machine: Machine, core: ReplayCore, kept: Streams | None) -> CompiledEngine:
        """To play them once, for a ``program`` of the same tasks."""
        return CompiledEngine(self, program, machine, core, kept)

    def arrays(self, memory: MemoryState, played: bool) -> dict[str, Array]:
        """Copies of the tables that an engine writes to, by what they are of. ``played``: accesses are, as they were
        recorded."""
        every = np.zeros(CountedCall.WORDS, np.int64) if played or not self._calls else np.concatenate(self._calls)
        calls = every.reshape(-1, CountedCall.WORDS)
        calls[:, 0], calls[:, _HINTS:] = address_of(memory), memory.data_cache + CacheState.WORDS
        return {
            "tasks": self._tasks.copy(),
            "calls": every,
            "after": np.array(self._after or [0], np.int64),
            "operands": np.array(self._ranges or [(0, 0, 0)], np.int64).reshape(-1),
        }


def compiled(program: Program, machine: Machine, core: ReplayCore) -> CompiledProgram | None:
    """``program`` for ``core``, or None where this engine cannot play it: fitted nests, recorded work, transfers with a
    setting of their own, and more lanes or blocks than there is room for. Code that comes word by word it cannot play
    either: that depends on the caches."""
    if not core.is_counted(program):
        return None
    if any(isinstance(task, Work) or (isinstance(task, Transfer) and task.setting) for task in program.tasks):
        return None
    lanes = len({task.lane for task in program.tasks} | {"core"})
    if lanes > E.MAX_PROCESSES or len(set(core.memory.blocks.values())) > E.MAX_BLOCKS:
        return None
    return CompiledProgram(program, machine, core)


class CompiledEngine:
    """Plays compiled tables once."""

    def __init__(
        self, tables: CompiledProgram, program: Program, machine: Machine, core: ReplayCore, kept: Streams | None
    ) -> None:
        self.tables, self.program, self.machine, self.core = tables, program, machine, core
        self._kept, self.cycles = kept, 0
        memory, count = core.memory, len(program.tasks)
        self.state = EngineState(np.zeros(EngineState.WORDS, np.int64))
        self._arrays = tables.arrays(memory.state, kept is not None and not kept.recording)
        self.tasks = TaskStates(self._arrays["tasks"]).records.table(count)
        self._stats = np.zeros(count * len(memory.regions) * E.STATS, np.int64)
        self.stats = self._stats.reshape(count, len(memory.regions), E.STATS)
        self.ended = np.zeros(max(1, count), np.int64)
        self._point(memory)
        self._machine(memory)
        self._processes()

    @property
    def operand_stalls(self) -> Array:
        """Ticks of each operand range of each kernel call."""
        return self._arrays["operands"][2::3]

    def play(self) -> int:
        """To the end, which a signal may cut short: the cycles; -1: something does not fit its words."""
        processes.start(self.state)
        while processes.play(self.state, EVENTS):
            pass
        self.cycles = -1 if self.state.failed else self.state.now
        return self.cycles

    def _point(self, memory: MemorySystem) -> None:
        state, arrays = self.state, self._arrays
        state.memory, state.tasks = memory.state, TaskStates(arrays["tasks"])
        state.after, state.calls = Words(arrays["after"]), CountedCalls(arrays["calls"])
        state.operands = OperandRanges(arrays["operands"])
        self._lanes = np.array([number for lane in self.tables.lanes.values() for number in lane] or [0], np.int64)
        state.lanes, state.stats, state.ended = Words(self._lanes), Words(self._stats), Words(self.ended)
        if self._kept is not None:
            state.kept = self._kept.state

    def _machine(self, memory: MemorySystem) -> None:
        state, machine, core = self.state, self.machine, self.core
        blocks = sorted(set(memory.blocks.values()))
        state.first_block, state.blocks, state.regions = memory.first_block, len(blocks), len(memory.regions)
        for number, region in enumerate(memory.regions):
            state.cause_of[number] = _CAUSES[CAUSE[region.kind]]
            for alias in (False, True):
                state.region_of[blocks.index(memory.blocks[region.name, alias])] = number
        self._ports = np.zeros(max(1, len(machine.dma)) * TransferState.WORDS, np.int64)
        state.ports = PortTemplates(self._ports)
        tasks = self.tasks
        for number, dma in enumerate(machine.dma.values()):
            set_up(state.ports.records[number], dma_ports(machine, dma), dma, 0, 0, 0)
            own = (tasks["kind"] == E.TRANSFER) & (tasks["port"] == number)
            tasks["setup"][own], tasks["handler"][own] = driver_cycles(machine, dma)
        tasks["overhead"][self.tables.first_tiles] = core.overhead
        if memory.state.data_cache:
            lines = [lines_of(machine, span) for span in self.tables.maintained.values()]
            ticks = {count: loop_ticks(machine, count) for count in set(lines)}
            tasks["line_ticks"][[*self.tables.maintained]] = [ticks[count] for count in lines]

    def _processes(self) -> None:
        state, first = self.state, 0
        for number, lane in enumerate(self.tables.lanes.values()):
            process = state.processes[number]
            process.next, first = first, first + len(lane)
            process.end = first
        state.process_count = state.processes_left = len(self.tables.lanes)
        state.changes = 1
