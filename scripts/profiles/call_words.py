"""The words that a kernel reads of its call structure: by instruction and offset how often, in the order of first use.

Not modelled: an instruction that reads several offsets is taken to read the first of them.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from unicorn.unicorn_const import UC_HOOK_MEM_READ

from mcusim.cpu.hooks.entry_points import ACCESS, signed
from mcusim.cpu.state_layout import CoreState
from mcusim.native.functions import callback
from mcusim.native.structs import POINTER, Struct, Structs

RECORDS = 1 << 15  # of accesses in the emulator's tables
Words = dict[tuple[int, int], tuple[int, int]]  # address of the instruction, offset: how often, when first


class ReadRecord(Struct):
    """Of an access record: how often it was made, the first address, its place in the order of first accesses."""

    count: int
    address: int
    first: int


class CallReads(Struct):
    """``order``: accesses that were made at all."""

    core: Annotated[CoreState, POINTER]
    order: int
    records: Annotated[Structs[ReadRecord], RECORDS]


@callback(*ACCESS)
def _on_read(uc: Any, access: Any, address: Any, size: Any, value: Any, user: Any) -> None:
    """The emulator's own hook has moved on to the next access record."""
    reads = CallReads(user)
    record = reads.records[reads.core.cursor - 1]
    record.count += 1
    if record.count == 1:
        reads.order += 1
        record.address, record.first = signed(address), reads.order


class CallWords:
    """Counts the reads between two addresses; before the emulator runs for the first time."""

    def __init__(self, emulator: Any, low: int, high: int) -> None:
        self.emulator, self.reads = emulator, CallReads(np.zeros(CallReads.WORDS, np.int64))
        self.reads.core = emulator.state
        emulator.core._hook(UC_HOOK_MEM_READ, _on_read, self.reads, low, high - 1)

    def forget(self) -> None:
        self.reads.zero(CallReads.order, CallReads.records)

    def found(self, base: int) -> Words:
        """What has been read since, of the structure at ``base``."""
        pcs = self.emulator.tables.access_records["pc"]
        found: Words = {}
        rows = self.reads.records.table(len(pcs))
        for r in np.flatnonzero(rows["count"]):
            key = int(pcs[r]), int(rows["address"][r]) - base
            count, first = found.get(key, (0, RECORDS))
            found[key] = count + int(rows["count"][r]), min(first, int(rows["first"][r]))
        return found
