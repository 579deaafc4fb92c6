"""Which slots of the native state a round of a loop that repeats may change, and how.

``COUNT``: by the same in each round, and nothing depends on it. ``TIME``: a moment, which moves with the clock; one
that stays is over. A slot's number: as that slot does, an age as the clock that ages are taken from. ``FIXED``: not
at all.

What depends on the time of day and not on times between accesses, an SDRAM's refresh or a serial flash's sequence, may
not be touched by such a round: those regions' slots are fixed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.pipeline import branch_predictor as B
from mcusim.memory import state_layout as L

FIXED, COUNT, TIME = -1, -2, -3
# of the core's state what the hooks and the host tell each other, and the ring of branches, which is worked out
OWN = [
    C.STOP, C.STOP_ADDRESS, C.STOP_SIZE, C.LIMIT, C.WAIT_FROM, C.WAIT_PASS, C.KEEPS_STORES, C.RING_AT,
    *range(C.RING, C.RING + C.RING_SIZE * C.RING_ENTRY),
]  # fmt: skip
_COUNTED = (
    L.READS, L.WRITES, L.READ_BYTES, L.WRITE_BYTES, L.OCCUPIED, L.STALL, L.A_HITS, L.A_MISSES, L.F_MISSES,
    L.FETCH_STALL, L.F_HITS, L.F_PREFETCHED, L.I_CLOCK,
)  # fmt: skip


def of_core() -> Any:
    """Kinds of the core's slots, up to those of a fault."""
    kinds = np.full(C.FLOATS, FIXED)
    kinds[[C.INSTRUCTIONS, C.SYSTEM_READS, C.TICK_BASE, C.TICK_LEFT]] = COUNT
    kinds[C.READY_BASE] = TIME
    shadow = kinds[C.SHADOW : C.SHADOW + C.SHADOW_DEPTH * C.SHADOW_ENTRY].reshape(-1, C.SHADOW_ENTRY)
    shadow[:, C.CALL_TICKS], shadow[:, C.CALL_INSTRUCTIONS] = TIME, C.INSTRUCTIONS
    return kinds


def of_memory(s: Any, blocks: Iterable[int]) -> Any:
    """Kinds of the slots of the memory state ``s``, whose regions' blocks are at ``blocks``."""
    kinds = np.full(s.size, FIXED)
    kinds[[L.HITS, L.IHITS, L.UNCOUNTED]] = COUNT
    kinds[[L.NOW, L.CODE_SINCE]] = TIME
    for r in blocks:
        kinds[r + L.FETCHES] = COUNT
        if s[r + L.KIND] in (L.TCM, L.SRAM, L.FLASH):
            kinds[[r + slot for slot in _COUNTED]] = COUNT
            kinds[[r + L.BUSY, r + L.TAKEN, r + L.PREFETCHED_AT]] = TIME
        if s[r + L.KIND] == L.FLASH and s[r + L.I_LINES] > 0:
            first = int(s[r + L.I_ACCEL]) + L.BUCKETS
            lines = kinds[first : first + int(s[r + L.I_LINES]) * L.I_LINE].reshape(-1, L.I_LINE)
            lines[:, L.I_AGE] = r + L.I_CLOCK
    for cache in (int(s[L.DATA_AT]), int(s[L.CODE_AT])):
        if cache:
            kinds[cache + L.C_CLOCK] = COUNT
            first = cache + L.CACHE
            records = kinds[first : first + int(s[cache + L.C_SETS] * s[cache + L.C_WAYS]) * L.CACHE_LINE]
            records.reshape(-1, L.CACHE_LINE)[:, L.AGE] = cache + L.C_CLOCK
    return kinds


def of_branches() -> Any:
    """Kinds of the slots of branch prediction and store buffer."""
    kinds = np.full(B.BRANCH_STATE, FIXED)
    kinds[[B.BRANCHES, B.TAKEN, B.MISPREDICTED]] = COUNT
    kinds[B.STORE_FREE : B.STORE_NEXT] = TIME
    return kinds
