"""Runs whose accesses are kept: the third replay of the same program past the same caches, and every later one, plays
what got past the data cache of the second.

Equal must be all that a data access depends on: the program's tasks, the kernels' profile, where code is, and of the
machine its caches and address ranges, which is the state of a memory system but for what is its devices' own. A process
keeps :data:`MOST_BYTES` of accesses, those used last. Not modelled: machines without a data cache, profiles whose
kernels are fitted nests, films, and several inferences; they are replayed as ever.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from threading import Lock
from typing import Any

from mcusim.engine.compiled.tables import CompiledProgram
from mcusim.kernels.cost.profile import Profile
from mcusim.memory.kept_streams.streams import KeptStreams, StreamRecorder
from mcusim.memory.state_layout import RegionState
from mcusim.memory.system import MemorySystem
from mcusim.native.structs import offset_of
from mcusim.program.program import Program

MOST_BYTES, MOST_PROGRAMS = 128 << 20, 64
_OWN = slice(offset_of(RegionState.read_latency), RegionState.WORDS)  # of a device alone: no cache depends on it


@dataclass(eq=False, slots=True)
class KeptRun:
    """A program, all else that its accesses depend on, how often it was replayed, and its streams once they were
    recorded."""

    key: tuple[Any, ...]
    tasks: tuple[Any, ...]
    profile: Profile
    replays: int = 0
    streams: KeptStreams | None = None
    tables: CompiledProgram | None = None

    def keep(self, streams: KeptStreams | None) -> None:
        """These were recorded; what could not be, or is larger than all that is kept, is not recorded again."""
        self.streams = streams
        if self.bytes > MOST_BYTES:
            self.streams = None

    @property
    def bytes(self) -> int:
        """Of its streams."""
        return (self.streams.bytes if self.streams else 0) + (self.tables.bytes if self.tables else 0)


class KeptRuns:
    """What is kept in this process; ``before``: replays of a program before one is recorded."""

    def __init__(self, before: int = 1) -> None:
        self._before = before
        self._runs: list[KeptRun] = []  # the one used last at the end
        self._lock = Lock()

    def begin(self, program: Program, memory: MemorySystem, profile: Profile, code: int) -> KeptRun:
        """Before a replay: ``memory`` records it, or plays what is kept."""
        key = geometry(memory), profile.name, code
        with self._lock:
            run = self._run(key, tuple(program.tasks), profile)
        if run.replays == self._before and memory.state.data_cache:
            memory.record()
        run.replays += 1
        return run

    def end(self, run: KeptRun, memory: MemorySystem) -> None:
        """After a replay to its end."""
        if isinstance(memory.kept, StreamRecorder):
            run.keep(memory.kept.streams)
            with self._lock:
                while self.bytes > MOST_BYTES:
                    self._runs.pop(0)
        memory.kept = None

    @property
    def bytes(self) -> int:
        """Of the host's memory, that accesses take."""
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
