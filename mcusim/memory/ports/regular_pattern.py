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
from mcusim.native.compile import State, native

WORD = 8


@native
def access(s: State, r: int, address: int, size: int, write: int, gap: int) -> int:
    """Ticks that one access makes the core wait."""
    if size <= WORD:
        return devices.run(s, r, address, 1, size, write, gap, 0)
    if s[r + L.KIND] == L.TCM:
        return 0
    start = max(s[L.NOW], s[r + L.BUSY])
    first, _ = devices.line(s, r, address, size, write, start)
    return 0 if write else start + first - s[L.NOW]


@native
def wait(
    s: State, r: int, base: int, room: int, reads: int, writes: int, read_size: int, write_size: int,
    rows: int, gap: int,
) -> int:  # fmt: skip
    """Ticks of all of them: ``reads`` and ``writes`` of such sizes, ``gap`` ticks of work before each, in the region
    block ``r`` of ``room`` bytes from ``base`` on; ``rows`` of them open another row."""
    n = reads + writes
    total = written = opened = at = 0
    jump = 1 << s[r + L.ROW_SHIFT] if s[r + L.KIND] == L.SDRAM else 0
    for i in range(n):
        s[L.NOW] += gap
        write = 1 if (i + 1) * writes // n > written else 0
        written += write
        size = write_size if write else read_size
        if jump and (i + 1) * rows // n > opened:
            opened += 1
            at += jump
        at = at // size * size
        if at + size > room:
            at = 0
        stall = access(s, r, base + at, size, write, gap)
        s[L.NOW] += stall
        total += stall
        at += size
    return total
