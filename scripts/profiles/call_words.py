"""The words that a kernel reads of its call structure: by instruction and offset how often, in the order of first use.

Not modelled: an instruction that reads several offsets is taken to read the first of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from unicorn.unicorn_const import UC_HOOK_MEM_READ

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks.entry_points import USER
from mcusim.cpu.hooks.unicorn_calls import words
from mcusim.native.compile import callback

RECORDS = 1 << 15  # of accesses in the emulator's tables
COUNT, OFFSET, FIRST, WORD = range(4)
Words = dict[tuple[int, int], tuple[int, int]]  # address of the instruction, offset: how often, when first


@callback(types.void(types.voidptr, types.int32, types.uint64, types.int32, types.int64, USER))
def _on_read(uc: Any, access: Any, address: Any, size: Any, value: Any, user: Any) -> None:
    """The emulator's own hook has moved on to the next access record."""
    core, seen = words(user[0]), words(user[1])
    r = (core[C.CURSOR] - 1) * WORD
    seen[r + COUNT] += 1
    if seen[r + COUNT] == 1:
        seen[0] += 1
        seen[r + OFFSET], seen[r + FIRST] = np.int64(address), seen[0]


class CallWords:
    """Counts the reads between two addresses; before the emulator runs for the first time."""

    def __init__(self, emulator: Any, low: int, high: int) -> None:
        self.emulator, self.seen = emulator, np.zeros(RECORDS * WORD, np.int64)
        self.user = np.array([emulator.state.ctypes.data, self.seen.ctypes.data], np.int64)
        emulator.core._hook(UC_HOOK_MEM_READ, _on_read, self.user, low, high - 1)

    def forget(self) -> None:
        self.seen[:] = 0

    def found(self, base: int) -> Words:
        """What has been read since, of the structure at ``base``."""
        records = self.emulator.tables.accesses.reshape(-1, C.ACCESS)
        found: Words = {}
        rows = self.seen.reshape(-1, WORD)
        for r in np.flatnonzero(rows[1:, COUNT]) + 1:
            key = int(records[r, C.PC]), int(rows[r, OFFSET]) - base
            count, first = found.get(key, (0, RECORDS))
            found[key] = count + int(rows[r, COUNT]), min(first, int(rows[r, FIRST]))
        return found
