"""One beat (or burst) of a DMA transfer in flight: the read of its source, the write of its target.

A transfer is cut into chunks, where :func:`mcusim.memory.ports.replay.dma` cuts it. When a chunk begins, what its SDRAM
rows and the posted writes will cost undisturbed is taken from the same device functions that time a whole transfer, so
that a transfer nobody disturbs takes exactly as long; its beats then come one by one, at their own times. A beat pays
extra for what others did since: a row that was closed, a flash line that was displaced, a new QSPI command, a place in
the queue.

The write of a beat comes at the end of the controller's own ticks. A memory is *held* by a beat: SRAM for its clocks on
the bus, SDRAM until the data is read or the posted write through, flash and QSPI for the read.

Not modelled: a FIFO that lets reads run ahead of writes, tWR of a write in the chunk under way, the row that a beat's
row displaced before the chunk's other beats are made.
"""

from __future__ import annotations

from mcusim.memory import devices, flash_accelerator
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native

__all__ = ["at_hand", "begin_chunk", "plan_chunk", "read", "settle", "write"]


@native
def hold(s: State, r: int, since: int, until: int) -> None:
    """A beat has the memory of block ``r`` for that time; holds that follow each other are one."""
    if since > s[r + L.HELD]:
        s[r + L.HELD_SINCE] = since
    s[r + L.HELD] = max(s[r + L.HELD], until)


@native
def at_hand(s: State, r: int, address: int) -> int:
    """1 when a read of data at ``address`` of a flash needs not go to its array."""
    line = address >> s[r + L.LINE]
    if s[r + L.UNIFIED]:
        return int(s[r + L.I_LINES] == 0 or line == s[r + L.CURRENT] or flash_accelerator.held(s, r, line) >= 0)
    lines = s[r + L.A_LINES]
    if lines == 0:
        return int(s[r + L.LATCH] == line)
    for i in range(lines):
        if s[s[r + L.ACCEL] + i] == line:
            return 1
    return 0


@native
def begin_chunk(s: State, f: int) -> int:
    """Cut the next chunk of transfer ``f``; returns 0 where there is no memory at its addresses."""
    source, target = s[f + L.D_SOURCE], s[f + L.D_TARGET]
    qs, qt = find(s, source), find(s, target)
    if qs < 0 or qt < 0:
        return 0
    shift = s[L.SHIFT]
    chunk = min(
        s[f + L.D_LEFT], (((source >> shift) + 1) << shift) - source, (((target >> shift) + 1) << shift) - target
    )
    step = s[f + L.D_STEP]
    s[f + L.D_FROM], s[f + L.D_TO] = s[qs + L.BLOCK], s[qt + L.BLOCK]
    s[f + L.D_CHUNK], s[f + L.D_SIZE], s[f + L.D_NEXT] = chunk, min(step, chunk), 0
    s[f + L.D_READS] = (chunk + step - 1) // step
    data.begin(s, f, qs, qt)
    return 1


@native
def rows(s: State, r: int) -> int:
    """Changes as often as a row of the SDRAM is opened or closed."""
    return s[r + L.ROW_MISSES] + s[r + L.REFRESHES]


@native
def read_ticks(s: State, r: int, size: int) -> int:
    """One read of an open row."""
    beats = max(1, (size + (1 << s[r + L.WIDTH]) - 1) >> s[r + L.WIDTH])
    return s[r + L.OVERHEAD_R] + s[r + L.T_CL] + beats * s[r + L.T_CLK]


@native
def write_ticks(s: State, r: int, size: int) -> int:
    """One write to an open row."""
    beats = max(1, (size + (1 << s[r + L.WIDTH]) - 1) >> s[r + L.WIDTH])
    return s[r + L.OVERHEAD_W] + beats * s[r + L.T_CLK]


@native
def plan_chunk(s: State, f: int) -> None:
    """What the chunk costs from ``s[NOW]`` in SDRAM if nobody disturbs it; its beats are still to be made."""
    source, target = s[f + L.D_FROM], s[f + L.D_TO]
    n = s[f + L.D_READS]
    beats = (s[f + L.D_CHUNK] + s[f + L.D_BEAT] - 1) // s[f + L.D_BEAT]
    work = n * s[f + L.D_OWN] + (beats - n) * s[f + L.D_CLOCK]
    s[f + L.D_PLANNED], s[f + L.D_SHIFT] = s[L.NOW], 0
    s[f + L.D_HEAD] = s[f + L.D_STALL] = 0
    s[f + L.D_GAP] = work // beats
    busy, busy_too, written = s[source + L.BUSY], s[target + L.BUSY], s[target + L.LAST_WRITE]
    if s[source + L.KIND] == L.SDRAM:
        size = s[f + L.D_SIZE]
        stall = devices.sdram_run(s, source, s[f + L.D_SOURCE], n, size, 0, work // n, 0)
        s[f + L.D_HEAD] = stall - n * read_ticks(s, source, size)
        s[f + L.D_BUSY_FROM] = s[source + L.BUSY]
    if s[target + L.KIND] == L.SDRAM:
        address = s[f + L.D_TARGET]
        s[f + L.D_STALL] = devices.sdram_run(s, target, address, beats, s[f + L.D_BEAT], 1, work // beats, 0)
        s[f + L.D_BUSY_TO], s[f + L.D_WRITTEN] = s[target + L.BUSY], s[target + L.LAST_WRITE]
        opened = target + L.ACTIVATED + devices.bank_of(s, target, address)
        s[f + L.D_ACTIVATED] = s[opened]
        s[opened] = min(s[opened], s[L.NOW])
        s[target + L.LAST_WRITE] = written
    s[target + L.BUSY] = busy_too
    s[source + L.BUSY] = busy
    s[f + L.D_ROWS_FROM], s[f + L.D_ROWS_TO] = rows(s, source), rows(s, target)


@native
def settle(s: State, f: int) -> None:
    """The chunk's last beat is made: leave the SDRAM as the whole chunk does."""
    source, target, shift = s[f + L.D_FROM], s[f + L.D_TO], s[f + L.D_SHIFT]
    if s[source + L.KIND] == L.SDRAM:
        s[source + L.BUSY] = max(s[source + L.BUSY], s[f + L.D_BUSY_FROM] + shift)
    if s[target + L.KIND] == L.SDRAM:
        s[target + L.BUSY] = max(s[target + L.BUSY], s[f + L.D_BUSY_TO] + shift)
        if s[target + L.TAKEN] > s[f + L.D_PLANNED]:
            s[target + L.BUSY] = max(s[target + L.BUSY], s[target + L.HELD])
        s[target + L.LAST_WRITE] = max(s[target + L.LAST_WRITE], s[f + L.D_WRITTEN] + shift)
        opened = target + L.ACTIVATED + devices.bank_of(s, target, s[f + L.D_TARGET] - 1)
        s[opened] = max(s[opened], s[f + L.D_ACTIVATED] + shift)


@native
def reopen(s: State, f: int, r: int, address: int, mine: int, other: int) -> int:
    """Ticks to open the row of a later beat again, 0 when it is still open.

    ``mine`` and ``other`` are the transfer's words that say when the rows of this and of its other side were open.
    """
    count = rows(s, r)
    if s[f + mine] == count:
        return 0
    s[f + mine] = count
    row = (address >> s[r + L.ROW_SHIFT]) & s[r + L.ROW_MASK]
    if s[r + L.OPEN + devices.bank_of(s, r, address)] == row:
        return 0
    ticks = devices.sdram_row(s, r, address, s[L.NOW])
    s[r + L.OCCUPIED] += ticks
    s[f + mine] = rows(s, r)
    if s[f + L.D_FROM] == s[f + L.D_TO] and s[f + other] == count:
        s[f + other] = s[f + mine]
    return ticks


@native
def read_flash(s: State, f: int, r: int) -> int:
    """The beat's read of a flash: a line is read when the chunk comes to it, and again if it was displaced since."""
    address = s[f + L.D_SOURCE]
    before = (address - s[f + L.D_STEP]) >> s[r + L.LINE]
    if s[f + L.D_NEXT] and before == address >> s[r + L.LINE] and at_hand(s, r, address):
        return 0
    return devices.flash_line(s, r, address)


@native
def read(s: State, f: int) -> int:
    """The read of the beat at ``s[NOW]``; returns its ticks beyond the controller's own."""
    r = s[f + L.D_FROM]
    kind = s[r + L.KIND]
    if kind == L.TCM:
        return 0
    now = s[L.NOW]
    if kind == L.SRAM:
        s[r + L.OCCUPIED] += s[r + L.BEAT]
        hold(s, r, now, now + s[f + L.D_BEATS] * s[r + L.BEAT])
        return s[r + L.LATENCY_R]
    address, size = s[f + L.D_SOURCE], s[f + L.D_SIZE]
    if kind == L.SDRAM:
        ticks = s[f + L.D_HEAD]
        if s[f + L.D_NEXT]:
            ticks = reopen(s, f, r, address, L.D_ROWS_FROM, L.D_ROWS_TO)
        ticks += read_ticks(s, r, size)
    elif kind == L.FLASH:
        ticks = read_flash(s, f, r)
    else:
        ticks = devices.qspi_read(s, r, address, size)
    if ticks:
        hold(s, r, now, now + ticks)
    return ticks


@native
def write_sdram(s: State, f: int, r: int) -> int:
    """Post the beat's writes at ``s[NOW]``; returns the ticks that the controller waits for room in the FIFO."""
    now, b, n, i = s[L.NOW], s[f + L.D_BEATS], s[f + L.D_READS], s[f + L.D_NEXT]
    each = write_ticks(s, r, s[f + L.D_BEAT])
    row = reopen(s, f, r, s[f + L.D_TARGET], L.D_ROWS_TO, L.D_ROWS_FROM) if i else 0
    share = s[f + L.D_STALL] * (i + 1) // n - s[f + L.D_STALL] * i // n
    stall = share
    rest = (s[f + L.D_CHUNK] - s[f + L.D_BYTES] + s[f + L.D_BEAT] - 1) // s[f + L.D_BEAT]
    until = max(s[f + L.D_BUSY_TO] + s[f + L.D_SHIFT] - rest * each, now + b * each)
    if row or s[r + L.TAKEN] > s[f + L.D_PLANNED]:  # behind what others asked for
        until = max(now, s[r + L.TAKEN], s[r + L.HELD]) + row + b * each
        stall = max(share, until - s[r + L.FIFO] * each - now - b * s[f + L.D_GAP])
    hold(s, r, now, until)
    s[f + L.D_SHIFT] += stall - share
    return stall


@native
def write(s: State, f: int) -> int:
    """The write of the beat at ``s[NOW]``; returns the ticks it makes the controller wait."""
    r = s[f + L.D_TO]
    kind = s[r + L.KIND]
    if kind == L.TCM:
        return 0
    b = s[f + L.D_BEATS]
    if kind == L.SRAM:
        now = s[L.NOW]
        s[r + L.OCCUPIED] += b * s[r + L.BEAT]
        hold(s, r, now, now + max(b * s[r + L.BEAT], s[r + L.LATENCY_W]))
        return b * max(0, s[r + L.LATENCY_W] - s[f + L.D_GAP])
    if kind == L.SDRAM:
        return write_sdram(s, f, r)
    return devices.run(s, r, s[f + L.D_TARGET], b, s[f + L.D_BEAT], 1, s[f + L.D_GAP], 0)
