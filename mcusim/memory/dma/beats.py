"""The beats (or bursts) of a DMA transfer: reads of its source into the stream's FIFO, writes from it to its target.

The controller has two ports, one that reads and one that writes, which work at the same time (ST AN4031, tables 4 and
5). An access of a port is arbitration and address, arbitration in the bus matrix, and the memory's data cycles: one of
the bus for each beat, or the memory's own time where that is longer. A burst shares all but its data cycles.

A read begins when the FIFO has room for it. When the bytes in the FIFO come to the threshold, or are the transfer's
last, these bytes are written; those that come meanwhile wait for the next time. So single beats take the reading port's
time each below the full threshold; with it reading stops until the first write of a full FIFO; bursts as long as the
FIFO are read and written in turn.

A burst that crosses a 32-byte line counts as two. A memory is *held* by an access: SRAM for its clocks on the bus,
SDRAM until the data is read or the posted write through, flash and QSPI for the read.

The beats of both sides may have other sizes: bytes are packed into the FIFO and unpacked from it, and until the last
bytes are there only whole beats of the target are written. An address may stay where it is.

Not modelled: conflicts of the two ports at one on-chip memory, bursts cut at 1 KiB, a peripheral as source or target
(its beats are in series).
"""

from __future__ import annotations

from mcusim.memory import devices, flash_accelerator
from mcusim.memory import state_layout as L
from mcusim.memory.film import record as film
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native


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
def beats_of(s: State, f: int, n: int) -> int:
    """Beats of ``n`` bytes."""
    return (n + s[f + L.D_BEAT] - 1) // s[f + L.D_BEAT]


@native
def beats_to(s: State, f: int, n: int) -> int:
    """Beats of the port that writes for ``n`` bytes."""
    return (n + s[f + L.D_BEAT_TO] - 1) // s[f + L.D_BEAT_TO]


@native
def line_end(s: State, address: int) -> int:
    """The end of the line that ``address`` is in."""
    return ((address >> s[L.SHIFT]) + 1) << s[L.SHIFT]


@native
def next_read(s: State, f: int) -> int:
    """When the next read of transfer ``f`` may begin; NEVER until another write makes room for it."""
    return max(s[f + L.D_BEGIN], s[f + L.D_ROOM_AT]) if s[f + L.D_UNREAD] else L.NEVER


@native
def next_write(s: State, f: int) -> int:
    """When the next bytes of transfer ``f`` may be written; NEVER while there are too few."""
    return s[f + L.D_READY] if s[f + L.D_DRAIN] else L.NEVER


@native
def whole(s: State, f: int, n: int) -> int:
    """What of ``n`` bytes in the FIFO can be written: whole beats of the target until the last bytes are there."""
    if s[f + L.D_BEAT_TO] <= s[f + L.D_BEAT] or s[f + L.D_UNREAD] == 0:
        return n
    return n - n % s[f + L.D_BEAT_TO]


@native
def drain(s: State, f: int, now: int) -> None:
    """What was to be written is, at ``now``: is there enough for the next time, or will the read under way bring it?"""
    level, end = s[f + L.D_LEVEL], s[f + L.D_READ_END]
    if end > now:
        there = level - s[f + L.D_FILLED]
        if there >= s[f + L.D_THRESHOLD]:
            s[f + L.D_DRAIN], s[f + L.D_READY] = whole(s, f, there), now
            return
    if level >= s[f + L.D_THRESHOLD] or s[f + L.D_UNREAD] == 0:
        s[f + L.D_DRAIN], s[f + L.D_READY] = whole(s, f, level), max(now, end)


@native
def make_room(s: State, f: int, now: int) -> None:
    """At ``now`` an access has ended: is there room for the next read, or will the write under way make it?"""
    room = s[f + L.D_ROOM] - s[f + L.D_LEVEL]
    need = min(s[f + L.D_STEP], s[f + L.D_UNREAD])
    if s[f + L.D_DRAIN] == 0 and s[f + L.D_LEVEL] < s[f + L.D_THRESHOLD]:
        need = min(need, room)  # the rest of a burst, or beat, that a line's end cut: nothing is written before it
    s[f + L.D_ROOM_AT] = now if room >= need else L.NEVER
    if room >= need > room - s[f + L.D_FREED]:
        s[f + L.D_ROOM_AT] = max(now, s[f + L.D_WRITE_END])


@native
def read_flash(s: State, f: int, r: int, address: int) -> int:
    """Ticks of a read of flash: its line is read when the transfer comes to it, and again if it was displaced since."""
    line = address >> s[r + L.LINE]
    if s[f + L.D_LINE] == line and at_hand(s, r, address):
        return 0
    s[f + L.D_LINE] = line
    return devices.flash_line(s, r, address)


@native
def data_read(s: State, f: int, r: int, size: int) -> int:
    """The data cycles of a read of ``size`` bytes at ``s[NOW]``; returns their ticks."""
    now, kind, address = s[L.NOW], s[r + L.KIND], s[f + L.D_READ]
    b = beats_of(s, f, size)
    cycles = b * s[f + L.D_CLOCK]
    if kind == L.TCM:
        return cycles
    if kind == L.SRAM:
        s[r + L.OCCUPIED] += b * s[r + L.BEAT]
        hold(s, r, now, now + b * s[r + L.BEAT])
        return s[r + L.LATENCY_DMA] + max(cycles, b * s[r + L.BEAT])
    if kind == L.FLASH:
        ticks = read_flash(s, f, r, address)
        if ticks:
            hold(s, r, now, now + ticks)
        return ticks + cycles
    if kind == L.SDRAM:
        ticks = max(s[r + L.LATENCY_DMA] + cycles, devices.sdram_read(s, r, address, size, s[r + L.LATENCY_DMA]))
    else:
        ticks = max(cycles, devices.qspi_read(s, r, address, size))
    hold(s, r, now, now + ticks)
    return ticks


@native
def data_write(s: State, f: int, r: int, size: int) -> int:
    """The data cycles of a write of ``size`` bytes at ``s[NOW]``; returns their ticks."""
    now, kind = s[L.NOW], s[r + L.KIND]
    b = beats_to(s, f, size)
    cycles = b * s[f + L.D_CLOCK]
    if kind == L.SRAM:
        taken = b * max(s[r + L.BEAT], s[r + L.LATENCY_W])
        s[r + L.OCCUPIED] += b * s[r + L.BEAT]
        hold(s, r, now, now + taken)
        return max(cycles, taken)
    if kind != L.SDRAM:
        return cycles
    stall = devices.sdram_run(s, r, s[f + L.D_TARGET], b, s[f + L.D_BEAT_TO], 1, s[f + L.D_CLOCK], 0)
    hold(s, r, now, s[r + L.BUSY])
    return cycles + stall


@native
def source_of(s: State, f: int) -> int:
    """The block that the next read of transfer ``f`` goes to, or -1 where there is no memory."""
    if s[f + L.D_AHEAD] == 0:
        address = s[f + L.D_READ]
        q = find(s, address)
        if q < 0:
            return -1
        s[f + L.D_FROM] = s[q + L.BLOCK]
        s[f + L.D_AHEAD] = s[f + L.D_UNREAD]
        if s[f + L.D_MOVES_FROM]:
            s[f + L.D_AHEAD] = min(s[f + L.D_UNREAD], line_end(s, address) - address)
    return s[f + L.D_FROM]


@native
def target_of(s: State, f: int) -> int:
    """The block that the next write of transfer ``f`` goes to, or -1 where there is no memory."""
    if s[f + L.D_CHUNK] == 0:
        source, target = s[f + L.D_SOURCE], s[f + L.D_TARGET]
        q = find(s, target)
        if q < 0:
            return -1
        s[f + L.D_TO] = s[q + L.BLOCK]
        chunk = s[f + L.D_LEFT]
        if s[f + L.D_MOVES_FROM] and s[f + L.D_BEAT_TO] <= s[f + L.D_BEAT]:
            chunk = min(chunk, line_end(s, source) - source)
        elif s[f + L.D_MOVES_FROM]:  # a packed beat may come from two lines
            chunk = min(chunk, s[find(s, source) + L.HIGH] - source)
        if s[f + L.D_MOVES_TO]:
            chunk = min(chunk, line_end(s, target) - target)
        s[f + L.D_CHUNK] = chunk
    return s[f + L.D_TO]


@native
def read(s: State, f: int, r: int) -> int:
    """The read at ``s[NOW]`` from block ``r``; returns how many bytes."""
    size = min(s[f + L.D_STEP], s[f + L.D_AHEAD], s[f + L.D_ROOM] - s[f + L.D_LEVEL])
    if s[L.FILM]:
        film.note(s, film.BEAT_READ, f, s[f + L.D_READ], size)
    end = s[L.NOW] + data_read(s, f, r, size)
    s[f + L.D_READ] += size * s[f + L.D_MOVES_FROM]
    s[f + L.D_UNREAD] -= size
    s[f + L.D_AHEAD] -= size
    s[f + L.D_LEVEL] += size
    s[f + L.D_FILLED], s[f + L.D_READ_END] = size, end
    make_room(s, f, end)
    if s[f + L.D_DRAIN] == 0:
        drain(s, f, end)
    return size


@native
def write(s: State, f: int, r: int) -> int:
    """The write at ``s[NOW]`` to block ``r``; returns how many bytes."""
    size = min(s[f + L.D_STEP_TO], s[f + L.D_CHUNK], s[f + L.D_DRAIN])
    if s[L.FILM]:
        film.note(s, film.BEAT_WRITE, f, s[f + L.D_TARGET], size)
    end = s[L.NOW] + data_write(s, f, r, size)
    s[f + L.D_LEVEL] -= size
    s[f + L.D_DRAIN] -= size
    s[f + L.D_FREED], s[f + L.D_WRITE_END], s[f + L.D_READY] = size, end, end
    if s[f + L.D_ROOM_AT] == L.NEVER:
        make_room(s, f, end)
    if s[f + L.D_DRAIN] == 0 and s[f + L.D_LEVEL]:
        drain(s, f, end)
    return size


@native
def moved(s: State, f: int, size: int) -> None:
    """``size`` bytes have been written."""
    s[f + L.D_SOURCE] += size * s[f + L.D_MOVES_FROM]
    s[f + L.D_TARGET] += size * s[f + L.D_MOVES_TO]
    s[f + L.D_LEFT] -= size
    s[f + L.D_CHUNK] -= size
