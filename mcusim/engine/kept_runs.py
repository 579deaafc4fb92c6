"""Programs that are kept compiled, and what gets past the data cache in them: the second replay of a program past the
same caches writes that down, and every later one plays it.

Equal must be all that accesses and the cycles of loops depend on: the program's tasks, the kernels' profile, where code
is, and of the machine its core, its caches and address ranges, which is the state of a memory system but for what is
its devices' own. A process
keeps :data:`MOST_BYTES`, of the programs used last. Not modelled: profiles whose kernels are fitted nests, films, and
several inferences, which the engine in SimPy replays; machines without a data cache have their accesses made each time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from threading import Lock
from typing import Any

from mcusim.engine.compiled.tables import CompiledEngine, CompiledProgram, compiled
from mcusim.engine.core_model import ReplayCore
from mcusim.kernels.cost.profile import Profile
from mcusim.machine.description import Machine
from mcusim.memory.kept_streams.streams import Streams
from mcusim.memory.state_layout import RegionState
from mcusim.memory.system import MemorySystem
from mcusim.native.structs import offset_of
from mcusim.program.program import Program

MOST_BYTES, MOST_PROGRAMS = 128 << 20, 64
_OWN = slice(offset_of(RegionState.read_latency), RegionState.WORDS)  # of a device alone: no cache depends on it


@dataclass(eq=False, slots=True)
class KeptRun:
    """A program, all else that its accesses depend on, how often it was replayed; its tables, and its streams once they
    were recorded."""

    key: tuple[Any, ...]
    tasks: tuple[Any, ...]
    profile: Profile
    replays: int = 0
    tables: CompiledProgram | None = None
    streams: Streams | None = None

    @property
    def bytes(self) -> int:
        """Of its tables and streams."""
        return sum(part.bytes for part in (self.tables, self.streams) if part is not None)

    def keep(self, tables: CompiledProgram, recorded: Streams | None) -> None:
        """``recorded``: the streams, if this replay wrote them down. What is larger than all that is kept is not
        recorded again."""
        self.tables = tables
        if recorded is not None and recorded.finish() and recorded.bytes <= MOST_BYTES:
            self.tables, self.streams = tables.without_calls(), recorded


class KeptRuns:
    """What is kept in this process; ``before``: replays of a program before one is recorded."""

    def __init__(self, before: int = 1) -> None:
        self._before = before
        self._runs: list[KeptRun] = []  # the one used last at the end
        self._lock = Lock()

    def replay(self, program: Program, machine: Machine, core: ReplayCore) -> CompiledEngine | None:
        """``program`` played to its end; None where the compiled engine cannot."""
        costs = core.isa, core.profile.name, core.code, tuple(core.opaque.items())
        key = geometry(core.memory), tuple(machine.memory), tuple(machine.dma), costs
        with self._lock:
            run = self._run(key, tuple(program.tasks), core.profile)
        tables, streams, recorded = run.tables, run.streams, None
        if tables is None:
            tables = compiled(program, machine, core)
        if tables is None:
            return None
        if streams is None and run.replays == self._before and core.memory.state.data_cache:
            recorded = Streams(tables.core_tasks, len(set(core.memory.blocks.values())))
        run.replays += 1
        engine = tables.engine(program, machine, core, streams or recorded)
        if engine.play() < 0:
            return None
        with self._lock:
            if run.streams is None:
                run.keep(tables, recorded)
            while self.bytes > MOST_BYTES:
                self._runs.pop(0)
        return engine

    @property
    def bytes(self) -> int:
        """Of the host's memory, that all take."""
        return sum(run.bytes for run in self._runs)

    def _run(self, key: tuple[Any, ...], tasks: tuple[Any, ...], profile: Profile) -> KeptRun:
        for run in self._runs:
            if run.key == key and run.profile == profile and run.tasks == tasks:
                self._runs.remove(run)
                break
        else:
            run = KeptRun(key, tasks, profile)
            del self._runs[: max(0, len(self._runs) + 1 - MOST_PROGRAMS)]
        self._runs.append(run)
        return run


KEPT_RUNS = KeptRuns()


def geometry(memory: MemorySystem) -> bytes:
    """A digest of all that decides which accesses get past the caches: the state without the devices' own."""
    state = memory.state.array.copy()
    for block in set(memory.blocks.values()):
        state[block : block + RegionState.WORDS][_OWN] = 0
    return hashlib.sha256(state.tobytes()).digest()
