"""What the sanitizer has seen: ``memory.violations`` points at a :class:`ViolationLog`, it is 0 while it is off."""

from __future__ import annotations

from typing import Annotated

from mcusim.native.structs import Struct, Structs

MOST = 1000  # violations that find room
CORE_READ, DMA_READ, DIRTY_TARGET = range(3)


class ViolationRecord(Struct):
    """What, task, first byte and end, writer that it should find, writer seen, writer in memory, state of the line (0
    not held, 1 clean, 2 dirty), program counter, tick, the byte of the line that is dirty."""

    kind: int
    code: int
    low: int
    high: int
    wanted: int
    seen: int
    stored: int
    held: int
    pc: int
    now: int
    other: int
    times: int


class ViolationLog(Struct, root=True):
    """How many, how many found no room, then each."""

    count: int
    lost: int
    records: Annotated[Structs[ViolationRecord], MOST]
    draft: ViolationRecord  # the one that is being made
