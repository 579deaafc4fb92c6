"""A regular pattern of accesses behind the caches, to see what a memory makes the core wait for so many of them.

Reads and writes are spread evenly over each other and over the core's work, at ascending addresses; of an SDRAM every
so many of them go on in another row of the same bank. Accesses of more than 8 bytes are cache lines: the core waits for
the first word of one read, and for none of one written.

Not modelled: bursts of accesses, the banks that were really used, a flash accelerator's hits (only what went to the
flash is here).
"""

from __future__ import annotations

from mcusim.memory import devices
from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import AccessStream, MemoryState, RegionState
from mcusim.native.functions import native
from mcusim.native.structs import Struct

WORD = 8


class RegularPattern(Struct):
    """``reads`` and ``writes`` of such sizes, ``gap`` ticks of work before each, in the region at ``block``, in
    ``room`` bytes from ``base`` on; ``rows`` of them open another row."""

    block: int
    base: int
    room: int
    reads: int
    writes: int
    read_size: int
    write_size: int
    rows: int
    gap: int


@native
def access(memory: MemoryState, region: RegionState, stream: AccessStream, address: int) -> int:
    """Ticks that one access makes the core wait."""
    if stream.size <= WORD:
        return devices.run(memory, region, stream, address, 1)
    if region.kind == L.TCM:
        return 0
    start = memory.line_start = max(memory.now, region.busy_until)
    devices.line(memory, region, address, stream.size, stream.write)
    return 0 if stream.write else start + memory.line_first - memory.now


@native
def wait(memory: MemoryState, pattern: RegularPattern) -> int:
    """Ticks of all of them."""
    region, stream = RegionState(memory, pattern.block), memory.other_stream
    n = pattern.reads + pattern.writes
    total = written = opened = offset = 0
    jump = 1 << region.row_shift if region.kind == L.SDRAM else 0
    stream.gap, stream.interleaved = pattern.gap, 0
    for i in range(n):
        memory.now += pattern.gap
        stream.write = 1 if (i + 1) * pattern.writes // n > written else 0
        written += stream.write
        stream.size = pattern.write_size if stream.write else pattern.read_size
        if jump and (i + 1) * pattern.rows // n > opened:
            opened += 1
            offset += jump
        offset = offset // stream.size * stream.size
        if offset + stream.size > pattern.room:
            offset = 0
        stall = access(memory, region, stream, pattern.base + offset)
        memory.now += stall
        total += stall
        offset += stream.size
    return total
