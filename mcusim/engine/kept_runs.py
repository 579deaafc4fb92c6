"""Runs whose accesses are kept: the third replay of the same program past the same caches, and every later one, plays
what got past the data cache of the second.

Equal must be all that a data access depends on: the program's tasks, the kernels' profile, where code is, and of the
machine its caches and address ranges, which is the state of a memory system but for what is its devices' own. Memory is
bounded; what was used last stays. Not modelled: profiles whose kernels are fitted nests, films, and several inferences.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from mcusim.kernels.cost.profile import Profile
from mcusim.memory.kept_streams.streams import KeptStream, Recorder
from mcusim.memory.state_layout import RegionState
from mcusim.memory.system import MemorySystem
from mcusim.native.structs import offset_of
from mcusim.program.program import Program

MOST_BYTES = 256 << 20
_OWN = slice(offset_of(RegionState.read_latency), RegionState.WORDS)  # of a device alone: no cache depends on it


@dataclass(eq=False, slots=True)
class _Kept:
    """How often it was replayed, and the streams once they were recorded."""

    tasks: tuple[Any, ...]
    profile: Profile
    replays: int = 0
    streams: tuple[KeptStream, ...] | None = None

    @property
    def bytes(self) -> int:
        return sum(stream.bytes for stream in self.streams or ())


class KeptRuns:
    """What is kept in this process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], list[_Kept]] = OrderedDict()

    def begin(self, program: Program, memory: MemorySystem, profile: Profile, code: int) -> _Kept:
        """Before a replay: ``memory`` records it or plays what is kept."""
        key = (geometry(memory), profile.name, code, len(program.tasks))
        entries = self._kept.setdefault(key, [])
        self._kept.move_to_end(key)
        tasks = tuple(program.tasks)
        kept = next((kept for kept in entries if kept.profile == profile and kept.tasks == tasks), None)
        if kept is None:
            kept = _Kept(tasks, profile)
            entries.append(kept)
        if kept.streams is not None:
            memory.play(kept.streams)
        elif kept.replays == 1:
            memory.recorder()
        kept.replays += 1
        return kept

    def end(self, kept: _Kept, memory: MemorySystem) -> None:
        """After a replay to its end."""
        if isinstance(memory.kept, Recorder):
            kept.streams = memory.kept.streams
            while self.bytes > MOST_BYTES and len(self._kept) > 1:
                self._kept.popitem(last=False)
        memory.kept = None

    @property
    def bytes(self) -> int:
        """Of the host's memory, in all."""
        return sum(kept.bytes for entries in self._kept.values() for kept in entries)


KEPT_RUNS = KeptRuns()


def geometry(memory: MemorySystem) -> bytes:
    """Of all that decides which accesses get past the caches: the state without the devices' own."""
    state = memory.state.array.copy()
    for block in set(memory.blocks.values()):
        state[block : block + RegionState.WORDS][_OWN] = 0
    return hashlib.sha256(state.tobytes()).digest()
