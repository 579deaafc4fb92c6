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

from mcusim.cpu.pipeline.branch_predictor import STORE_BANKS, STORE_ENTRIES, BranchState
from mcusim.cpu.state_layout import SHADOW_DEPTH, CoreState
from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import CacheState, CodeLines, MemoryState, RegionState
from mcusim.native.structs import offset_of

FIXED, COUNT, TIME = -1, -2, -3
CORE_SLOTS = offset_of(CoreState.floats)  # those before what a fault leaves


def hide_own(state: CoreState) -> None:
    """Zero what the hooks and the host tell each other, the last access, and the ring of branches, which is worked
    out."""
    state.zero(CoreState.stop, CoreState.stop_size)
    state.zero(CoreState.wait_from, CoreState.records_stores)
    state.zero(CoreState.branch_ring, CoreState.ring_next)
    state.zero(CoreState.access, CoreState.access)
    state.instruction_limit = 0


def of_core() -> Any:
    """Kinds of the core's slots, up to those of a fault."""
    kinds = CoreState(np.full(CoreState.WORDS, FIXED))
    kinds.instructions = kinds.system_reads = kinds.systick_base = kinds.systick_left = COUNT
    kinds.ready_base = TIME
    calls = kinds.calls.table(SHADOW_DEPTH)
    calls["ticks"], calls["instructions"] = TIME, offset_of(CoreState.instructions)
    return kinds.array[:CORE_SLOTS]


def of_memory(memory: MemoryState, blocks: Iterable[int]) -> Any:
    """Kinds of the slots of ``memory``, whose regions are at the offsets ``blocks``."""
    kinds = MemoryState(np.full(memory.array.size, FIXED))
    kinds.hits = kinds.code_hits = kinds.uncounted = COUNT
    kinds.now = kinds.code_since = TIME
    for offset in blocks:
        _of_region(RegionState(memory, offset), RegionState(kinds, offset))
    for offset in (memory.data_cache_block, memory.code_cache_block):
        if offset:
            cache, own = CacheState(memory, offset), CacheState(kinds, offset)
            own.clock = COUNT
            own.lines.table(cache.sets * cache.ways)["age"] = offset + offset_of(CacheState.clock)
    return kinds.array


def _of_region(region: RegionState, kinds: RegionState) -> None:
    kinds.fetches = COUNT
    if region.kind in (L.TCM, L.SRAM, L.FLASH):
        kinds.reads = kinds.writes = kinds.read_bytes = kinds.write_bytes = kinds.occupied = kinds.stall = COUNT
        kinds.data_hits = kinds.data_misses = kinds.code_misses = COUNT
        kinds.fetch_stall = kinds.code_hits = kinds.prefetch_hits = kinds.lookups = COUNT
        kinds.busy_until = kinds.taken_until = kinds.prefetch_ready = TIME
    if region.kind == L.FLASH and region.code_lines > 0:
        lines = CodeLines(kinds.array, region.code_line_store).lines
        lines.table(region.code_lines)["age"] = region.offset + offset_of(RegionState.lookups)


def of_branches() -> Any:
    """Kinds of the slots of branch prediction and store buffer."""
    kinds = BranchState(np.full(BranchState.WORDS, FIXED))
    kinds.branches = kinds.taken = kinds.mispredicted = COUNT
    for i in range(STORE_ENTRIES):
        kinds.store_free[i] = TIME
    for i in range(STORE_BANKS):
        kinds.bank_done[i] = TIME
    return kinds.array
