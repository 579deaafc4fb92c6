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
from mcusim.cpu.pipeline.branch_predictor import TAKEN
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.emulator.fast_forward.slots import FIXED, TIME
from mcusim.emulator.fast_forward.snapshots import CoreSnapshot, LoopPlaces
from mcusim.memory import state_layout as L

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
    now = int(third.memory[L.NOW])
    ticks = now - int(second.memory[L.NOW])
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
    if ticks <= 0 or ticks % L.TICK or third.stores is None or made != len(third.stores) // 2:
        return None  # a store that was not written down was one to a register
    taken = int(third.branches[TAKEN] - second.branches[TAKEN])
    return LoopPeriod(ticks, until, int(third.core[C.INSTRUCTIONS] - second.core[C.INSTRUCTIONS]), taken, changes)


def _same(second: CoreSnapshot, third: CoreSnapshot) -> bool:
    """What does not change from the end of one round to that of the next."""
    if (second.registers, second.loads, second.held) != (third.registers, third.loads, third.held):
        return False
    pairs = ((second.exceptions, third.exceptions), (second.system, third.system), (second.stores, third.stores))
    return all(a is not None and b is not None and np.array_equal(a, b) for a, b in pairs)


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
    at, _ = period.changes["blocks"]
    runs = at % C.BLOCK == C.RUNS
    numbers = [int(n) for n in at[runs] // C.BLOCK]
    blocks = [core.tables.known[n] for n in numbers]
    flags = core.tables.blocks[np.array(numbers) * C.BLOCK + C.FLAGS]
    exclusive = any(
        instruction.mnemonic.startswith(_EXCLUSIVE) for block in blocks for instruction in block.instructions
    )
    if (flags & C.HAS_FP).any() or exclusive:
        return None
    records = [0]
    for n, block in zip(numbers, blocks, strict=True):
        first, end = (int(core.tables.blocks[n * C.BLOCK + slot]) for slot in (C.FIRST, C.END))
        records += [*range(first, end), *(number for _, number in block.divides)]
    words = (np.array(records)[:, None] * C.ACCESS + np.arange(C.ACCESS)).reshape(-1)
    own = (np.array(numbers)[:, None] * C.BLOCK + np.arange(C.BLOCK)).reshape(-1)
    return LoopPlaces(own, words, period.changes["calls"][0])
