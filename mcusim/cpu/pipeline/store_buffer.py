"""Store buffer of the Cortex-M7, and what unaligned loads cost: cycles known only when the address is.

A store waits in one of four entries of 64 bits until the tightly coupled memory or the data cache has taken it. Their
two banks (bit 2 of the address) work independently. A bank takes a whole word in one cycle; part of a word is read,
merged and written back, four cycles. Entries are given back in order, and after a merge two cycles late. The core waits
when none is free. One store a cycle then costs, in cycles per store:

| stores | here | measured by jnk0le/random, pipeline cycle test (STM32H743) |
|---|---|---|
| words | 1 | 1 |
| bytes or half-words of one bank | 4 | 4 |
| alternating banks | 2 | 2 |
| STRB to consecutive addresses | 2.375 | 2.4 |
| STRH to consecutive addresses | 2 | 2 |
| unaligned | 4, the fifth waits first | 4, after 5 |
| unaligned load | 3 more in the older slot, 4 in the younger or for two in one cycle | same |

Four entries of 64 bits: assumed, not published; merging in four cycles and per bank follows from the figures; the two
cycles are fitted to the 2.4. ``python -m pytest tests/cpu/pipeline/test_store_buffer.py`` measures the column.

Not modelled: forwarding to loads, loads that wait for a bank a store occupies, merging of stores (jnk0le saw none), the
one cycle less of an unaligned load paired with an aligned one of its first bank, memory behind the cache (the access
path's).
"""

from __future__ import annotations

from mcusim.cpu.pipeline.branch_predictor import STORE_ENTRIES, BranchState
from mcusim.memory.state_layout import TICK
from mcusim.native.functions import native

WORD, MERGE, GIVE_BACK = 1 * TICK, 4 * TICK, 2 * TICK


@native
def write_word(state: BranchState, word: int, start: int, duration: int) -> int:
    """Occupy the bank of word number ``word`` from ``start`` or when it is free; returns when it is done."""
    done = max(state.bank_done[word & 1], start) + duration
    state.bank_done[word & 1] = done
    return done


@native
def store_stall(state: BranchState, now: int, address: int, size: int) -> int:
    """Ticks that a store of ``size`` bytes (1 to 8) at time ``now`` waits for an entry; then it has one.

    Times are in ticks, not falling from call to call.
    """
    slot = state.next_store
    stall = max(state.store_free[slot] - now, 0)
    first = address >> 2
    last = (address + size - 1) >> 2
    whole = (address | size) & 3 == 0
    done = now
    for word in range(first, last + 1):
        done = max(done, write_word(state, word, now + stall, WORD if whole else MERGE))
    state.store_free[slot] = done if whole else done + GIVE_BACK
    state.next_store = (slot + 1) % STORE_ENTRIES
    return stall


@native
def load_extra(slot: int) -> int:
    """Cycles an unaligned load costs more: in ``slot`` 0 (older), 1 (younger), 2 (younger, the older unaligned too)."""
    return 1 if slot == 2 else 3 + slot
