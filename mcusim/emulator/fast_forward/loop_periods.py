"""Whether a loop repeats exactly: what two rounds in succession have changed, and how to count more of them.

Both rounds took the same registers to the same registers, found the same in the same peripheral registers and stored
the same at the same addresses. So memory is after the second what it was after the first, and the third will do what
the second did, as long as no event comes. What the state counts has grown by the same in both, and times have moved
with the clock (:mod:`mcusim.emulator.fast_forward.slots`).

Not modelled: rounds with floating-point or exclusive instructions, those that store to registers or miss a cache, and
those that take other than whole cycles; they are run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.pipeline.branch_predictor import BranchState
from mcusim.cpu.state_layout import BlockRecord, CoreState, ForeseenAccess
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.emulator.fast_forward.slots import FIXED, TIME
from mcusim.emulator.fast_forward.snapshots import CoreSnapshot, LoopPlaces
from mcusim.memory.state_layout import TICK, MemoryState
from mcusim.native.structs import offset_of

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

_COMPARED = ("core", "memory", "branches")
_COUNTERS = ("blocks", "accesses", "calls")
_EXCLUSIVE = ("ldrex", "strex", "clrex")


@dataclass(frozen=True, slots=True)
class LoopPeriod:
    """One round: its ticks, instructions and taken branches, and what it adds to the slots of each array; ``until``:
    first tick of something to come, which no round has touched."""

    ticks: int
    until: int
    instructions: int
    taken: int
    changes: Mapping[str, tuple[Any, Any]]


def repetition(snapshots: Sequence[CoreSnapshot], kinds: Mapping[str, Any], writes: Any) -> LoopPeriod | None:
    """What the rounds between three snapshots have in common, None: they do not repeat.

    ``kinds`` of the slots of the core, memory and branches; ``writes`` says which slots of ``accesses`` count stores.
    """
    first, second, third = snapshots
    if not _same(second, third) or first.registers != second.registers:
        return None
    now = MemoryState(third.memory).now
    ticks = now - MemoryState(second.memory).now
    changes, until = {}, int(NEVER)
    for name in (*_COMPARED, *_COUNTERS):
        change = getattr(third, name) - getattr(second, name)
        if not np.array_equal(change, getattr(second, name) - getattr(first, name)):
            return None
        if name in kinds:
            if not _allowed(kinds[name], change, ticks):
                return None
            until = min(until, _first_to_come(kinds[name], change, getattr(third, name), now))
        at = np.flatnonzero(change)
        changes[name] = at, change[at]
    made = third.accesses[writes].sum() - second.accesses[writes].sum()
    if ticks <= 0 or ticks % TICK or third.stores is None or made != len(third.stores) // 2:
        return None  # a store that was not written down was one to a register
    taken = BranchState(third.branches).taken - BranchState(second.branches).taken
    instructions = CoreState(third.core).instructions - CoreState(second.core).instructions
    return LoopPeriod(ticks, until, instructions, taken, changes)


def _same(second: CoreSnapshot, third: CoreSnapshot) -> bool:
    """What does not change from the end of one round to that of the next."""
    if (second.registers, second.loads, second.held) != (third.registers, third.loads, third.held):
        return False
    if third.stores is None or second.stores != third.stores:
        return False
    return np.array_equal(second.exceptions, third.exceptions) and np.array_equal(second.system, third.system)


def _allowed(kinds: Any, change: Any, ticks: int) -> bool:
    """Whether slots of these ``kinds`` may change so."""
    moved = np.flatnonzero(change)
    kind, by = kinds[moved], change[moved]
    if (kind == FIXED).any() or (by[kind == TIME] != ticks).any():
        return False
    like = kind >= 0
    return not (by[like] != change[kind[like]]).any()


def _first_to_come(kinds: Any, change: Any, after: Any, now: int) -> int:
    """The first of the times after ``now`` that a round has left as they were, NEVER: there is none."""
    times = after[(kinds == TIME) & (change == 0) & (after > now)]
    return int(times.min()) if times.size else int(NEVER)


def places_of(core: GuestCore, period: LoopPeriod) -> LoopPlaces | None:
    """The slots of the tables that belong to the blocks of a round that was compared in full; None: not to be skipped.

    A later round that runs no other blocks changes nothing else in the tables.
    """
    changed, _ = period.changes["blocks"]
    size = BlockRecord.WORDS
    numbers = changed[changed % size == offset_of(BlockRecord.runs)] // size
    blocks = [core.tables.known[number] for number in numbers]
    exclusive = any(
        instruction.mnemonic.startswith(_EXCLUSIVE) for block in blocks for instruction in block.instructions
    )
    if (core.tables.block_records["flags"][numbers] & C.HAS_FP).any() or exclusive:
        return None
    records = [0]
    for number, block in zip(numbers, blocks, strict=True):
        record = core.tables.blocks.records[int(number)]
        records += [*range(record.first_access, record.accesses_end), *(index for _, index in block.divides)]
    return LoopPlaces(_words(numbers, size), _words(records, ForeseenAccess.WORDS), period.changes["calls"][0])


def _words(records: Any, size: int) -> Any:
    """The slots of the records of these numbers."""
    return (np.asarray(records)[:, None] * size + np.arange(size)).reshape(-1)
