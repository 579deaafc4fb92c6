"""Programs that are kept compiled, and what gets past the data cache in them: the second replay of a program past the
same caches writes that down, and every later one plays it.

Equal must be all that accesses and the cycles of loops depend on: the program's tasks, the kernels' profile, where code
is, and of the machine its core, its caches and address ranges, which is the state of a memory system but for what is
its devices' own; tables are the same for all caches. A process keeps :data:`MOST_BYTES`, of the programs used last. Not
modelled: profiles whose kernels are fitted nests, films, and several inferences, which the engine in SimPy replays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from mcusim.engine.compiled.tables import CompiledEngine, CompiledProgram, compiled
from mcusim.engine.core_model import ReplayCore
from mcusim.kernels.cost.profile import Profile
from mcusim.machine.description import Machine
from mcusim.memory.cache.outside_policy import OUTSIDE
from mcusim.memory.cache.replacement import REPLACEMENTS
from mcusim.memory.kept_streams.record import has_lines
from mcusim.memory.kept_streams.streams import Streams
from mcusim.memory.ports.replay import word_by_word
from mcusim.memory.state_layout import CacheState, RegionState
from mcusim.memory.system import MemorySystem
from mcusim.native.structs import offset_of
from mcusim.program.program import Program, Transfer

MOST_BYTES, MOST_PROGRAMS = 128 << 20, 64
_SEEDED = REPLACEMENTS.index("random")  # and any from outside may be
MOST_FAILURES = 2  # of a program, after which the compiled engine does not try again
_OWN = slice(offset_of(RegionState.read_latency), RegionState.WORDS)  # of a device alone: no cache depends on it


@dataclass(eq=False, slots=True)
class KeptRun:
    """A program, all else that its tables depend on, and caches; how often it was replayed, whether one was recorded
    (what of it does not fit is not, again and again), how often the engine gave up; its tables, and its streams."""

    caches: str
    key: tuple[Any, ...]
    tasks: tuple[Any, ...]
    profile: Profile
    replays: int = 0
    recorded: bool = False
    failures: int = 0
    tables: CompiledProgram | None = None
    streams: Streams | None = None


class KeptRuns:
    """What is kept in this process; ``before``: replays of a program before one is recorded."""

    def __init__(self, before: int = 1) -> None:
        self._before = before
        self._runs: list[KeptRun] = []  # the one used last at the end
        self._lock = Lock()

    @contextmanager
    def recording_first(self, known: bool) -> Iterator[None]:
        """Until then, where it is ``known`` that programs will be replayed often, the first replay is recorded."""
        before, self._before = self._before, 0 if known else self._before
        try:
            yield
        finally:
            self._before = before

    def replay(self, program: Program, machine: Machine, core: ReplayCore) -> CompiledEngine | None:
        """``program`` played to its end; None where the compiled engine cannot."""
        if word_by_word(core.memory.state, core.code) is not None:
            return None
        with self._lock:
            run = self._run(geometry(core.memory), _key(machine, core), tuple(program.tasks), core.profile)
            run.replays += 1
            recording = run.replays > self._before and not run.recorded
            run.recorded |= recording
        if run.failures == MOST_FAILURES:
            return None
        try:
            engine = self._played(run, program, machine, core, recording)
        except OverflowError:  # a figure larger than a word
            return None
        run.failures += engine is not None and engine.cycles < 0
        with self._lock:
            while self.bytes > MOST_BYTES:
                self._runs.pop(0)
        return None if engine is None or engine.cycles < 0 else engine

    def _played(
        self, run: KeptRun, program: Program, machine: Machine, core: ReplayCore, recording: bool
    ) -> CompiledEngine | None:
        tables, recorded = run.tables, None
        if tables is None:
            tables = run.tables = compiled(program, machine, core)
        if tables is None:
            return None
        if recording and is_recordable(program, core.memory):
            recorded = Streams(tables.core_tasks, len(set(core.memory.blocks.values())))
        engine = tables.engine(program, machine, core, run.streams or recorded)
        if engine.play() >= 0 and recorded is not None and recorded.finish() and recorded.bytes <= MOST_BYTES:
            run.streams = recorded
        return engine

    @property
    def bytes(self) -> int:
        """Of the host's memory, that the arrays of all take."""
        tables = {id(run.tables): run.tables.bytes for run in self._runs if run.tables is not None}
        return sum(tables.values()) + sum(run.streams.bytes for run in self._runs if run.streams is not None)

    def _run(self, caches: str, key: tuple[Any, ...], tasks: tuple[Any, ...], profile: Profile) -> KeptRun:
        alike = [run for run in self._runs if run.key == key and run.profile == profile]
        same = [run for run in alike if run.tasks is tasks]  # the same plan, as a rule
        alike = same or [run for run in alike if run.tasks == tasks]
        for kept in alike:
            kept.tasks = tasks  # so that the next time it is
        run = next((run for run in alike if run.caches == caches), None)
        if run is not None:
            self._runs.remove(run)
        else:
            run = KeptRun(caches, key, tasks, profile, tables=alike[0].tables if alike else None)
            del self._runs[: max(0, len(self._runs) + 1 - MOST_PROGRAMS)]
        self._runs.append(run)
        return run


KEPT_RUNS = KeptRuns()


def _key(machine: Machine, core: ReplayCore) -> tuple[Any, ...]:
    """What tables depend on, but for the program and the profile."""
    regions = tuple((region.name, region.base, region.size, region.aliases) for region in machine.memory.values())
    return regions, tuple(machine.dma), core.isa, core.profile.name, core.code, tuple(core.opaque.items())


def is_recordable(program: Program, memory: MemorySystem) -> bool:
    """Does nothing but the core's data accesses decide what gets past the data cache, and which lines a flash holds:
    no transfer from a flash whose lines it shares, and no random number that the instruction cache draws too."""
    shared = {name for (name, _), block in memory.blocks.items() if has_lines(RegionState(memory.state.array, block))}
    if any(isinstance(task, Transfer) and task.source.region in shared for task in program.tasks):
        return False
    caches = [CacheState(memory.state.array, block) for block in (memory.state.data_cache, memory.state.code_cache)]
    return not all(cache.offset and (cache.replacement == _SEEDED or cache.replacement >= OUTSIDE) for cache in caches)


def geometry(memory: MemorySystem) -> str:
    """A digest of all that decides which accesses get past the caches, and what a flash's lines hold: the state
    without what is the devices' own."""
    state = memory.state.array.copy()
    for block in set(memory.blocks.values()):
        region = RegionState(state, block)
        lines = region.line_shift, region.data_lines, region.data_ways, region.unified
        state[block : block + RegionState.WORDS][_OWN] = 0
        region.line_shift, region.data_lines, region.data_ways, region.unified = lines
    return hashlib.sha256(state.tobytes()).hexdigest()
