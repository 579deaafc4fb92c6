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
from mcusim.memory.state_layout import MemoryState, RegionState
from mcusim.native.compile import native

WORD = 8


@native
def access(memory: MemoryState, region: RegionState, address: int, size: int, write: int, gap: int) -> int:
    """Ticks that one access makes the core wait."""
    if size <= WORD:
        return devices.run(memory, region, address, 1, size, write, gap, 0)
    if region.kind == L.TCM:
        return 0
    start = max(memory.now, region.busy_until)
    first, _ = devices.line(memory, region, address, size, write, start)
    return 0 if write else start + first - memory.now


@native
def wait(
    memory: MemoryState, block: int, base: int, room: int, reads: int, writes: int, read_size: int, write_size: int,
    rows: int, gap: int,
) -> int:  # fmt: skip
    """Ticks of all of them: ``reads`` and ``writes`` of such sizes, ``gap`` ticks of work before each, in the region
    at ``block``, in ``room`` bytes from ``base`` on; ``rows`` of them open another row."""
    region = RegionState(memory, block)
    n = reads + writes
    total = written = opened = offset = 0
    jump = 1 << region.row_shift if region.kind == L.SDRAM else 0
    for i in range(n):
        memory.now += gap
        write = 1 if (i + 1) * writes // n > written else 0
        written += write
        size = write_size if write else read_size
        if jump and (i + 1) * rows // n > opened:
            opened += 1
            offset += jump
        offset = offset // size * size
        if offset + size > room:
            offset = 0
        stall = access(memory, region, base + offset, size, write, gap)
        memory.now += stall
        total += stall
        offset += size
    return total
