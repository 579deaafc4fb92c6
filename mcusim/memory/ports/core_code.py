"""The code the emulated core executes, a basic block at a time: TCM, instruction cache, flash accelerator, bus.

Not modelled: fetches down a path that is not taken, instructions across two blocks' lines fetched again, and what a
fetch and a data access on the same bus take from each other beyond the memory's own occupation.
"""

from __future__ import annotations

from mcusim.memory import devices, flash_accelerator, flash_busy
from mcusim.memory import state_layout as L
from mcusim.memory.cache import tags
from mcusim.memory.dma.arbitration import advance, arrive
from mcusim.memory.dma.beats import at_hand
from mcusim.memory.film import record as film
from mcusim.memory.ports import linefill
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native, shared


@native
def remember(s: State, low: int, high: int, counter: int) -> None:
    """Code between these addresses costs nothing until other code is fetched; ``counter`` counts its hits."""
    s[L.CODE_LOW], s[L.CODE_HIGH], s[L.CODE_COUNT] = low, high, counter


@native
def cached_code(s: State, q: int, address: int, stop: int, work: int) -> int:
    """Code inside one line of the instruction cache; returns the wait in ticks.

    The prefetch unit's queue (Arm DDI0489F 1.2.3: 4 x 64 bit) is a line: in sequence the next line is asked for when
    the core comes to the one before.
    """
    c = s[L.ICACHE]
    tag = address >> s[c + L.C_SHIFT]
    f = L.CODE_FILL
    if tags.touch(s, c, tag) >= 0:
        s[L.IHITS] += 1
        if s[f + L.F_LINE] != tag or s[L.NOW] >= s[f + L.F_LAST]:
            remember(s, tag << s[c + L.C_SHIFT], (tag + 1) << s[c + L.C_SHIFT], L.IHITS)
            return 0
    else:
        s[L.IMISSES] += 1
        linefill.replace(s, c, tag, 0)
        r = s[q + L.BLOCK]
        asked = s[L.CODE_SINCE] if address == s[L.CODE_END] else s[L.NOW]
        linefill.begin(s, f, c, r, address, max(asked, s[r + L.BUSY], s[f + L.F_LAST]))
    first = linefill.arrival(s, f, c, address) - s[L.NOW]
    last = linefill.arrival(s, f, c, stop - 1) - s[L.NOW] - work
    return max(0, first, last)


@native
def code(s: State, q: int, address: int, stop: int, work: int) -> int:
    """Code past the cache, inside one flash line or 32 bytes; returns the wait in ticks."""
    r = s[q + L.BLOCK]
    if s[r + L.KIND] == L.TCM:
        remember(s, s[q + L.LOW], s[q + L.HIGH], L.UNCOUNTED)
        return 0
    if s[r + L.KIND] == L.FLASH:
        line = address >> s[r + L.LINE]
        if s[r + L.I_LINES] < 0:
            if s[r + L.LATCH] != line:
                s[r + L.READS] += 1
                s[r + L.READ_BYTES] += 1 << s[r + L.LINE]
            return devices.flash_line(s, r, address)
        return flash_accelerator.fetch(s, r, line)
    words = ((stop - 1) >> s[L.BUS]) - (address >> s[L.BUS]) + 1
    s[r + L.READS] += words
    s[r + L.READ_BYTES] += words << s[L.BUS]
    return devices.run(s, r, address, words, 1 << s[L.BUS], 0, work // words, 0)


@native
def read_from(s: State, r: int, address: int) -> int:
    """1 when code at ``address``, past the cache, has to come from the memory itself."""
    if s[r + L.KIND] != L.FLASH:
        return 1
    if s[r + L.I_LINES] < 0:
        return 1 - at_hand(s, r, address)
    line = address >> s[r + L.LINE]
    if line == s[r + L.CURRENT] or line == s[r + L.PREFETCH]:
        return 0
    return int(flash_accelerator.held(s, r, line) < 0)


@native
def with_transfers(s: State, q: int, address: int, stop: int, work: int, through: int) -> int:
    """``cached_code`` or ``code`` in memory that a transfer in flight touches: each waits for the other's access; or in
    a flash that is programmed."""
    r = s[q + L.BLOCK]
    arrive(s, r)
    programmed = flash_busy.until(s, r, address)
    if through:
        s[r + L.BUSY] = max(s[r + L.BUSY], programmed)
    now, busy, held = s[L.NOW], s[r + L.BUSY], s[r + L.HELD]
    since = max(now, s[r + L.HELD_SINCE])
    if through:
        wait = cached_code(s, q, address, stop, work)
    elif read_from(s, r, address):
        s[L.NOW] = max(now, held, programmed)
        wait = s[L.NOW] - now + code(s, q, address, stop, work)
        s[L.NOW] = now
        beat = s[r + L.BEAT] if s[r + L.KIND] == L.SRAM else 0
        s[r + L.TAKEN] = max(s[r + L.TAKEN], now + wait, max(now, held) + beat)
    else:
        wait = code(s, q, address, stop, work)
    if s[r + L.BUSY] != busy:
        s[r + L.TAKEN] = max(s[r + L.TAKEN], s[r + L.BUSY])
    s[r + L.WAITED] += max(0, min(now + wait, held) - since)
    return wait


@native
def line_end(s: State, r: int, address: int, through: int) -> int:
    """End of the line that is fetched at once at ``address``: of the cache, of the flash, or 32 bytes."""
    if s[r + L.KIND] == L.TCM:
        return 1 << 32
    shift = 5
    if through:
        shift = s[s[L.ICACHE] + L.C_SHIFT]
    elif s[r + L.KIND] == L.FLASH:
        shift = s[r + L.LINE]
    return ((address >> shift) + 1) << shift


@native
def fetch_lines(s: State, address: int, size: int, rate: int) -> int:
    """``fetch_while`` line by line."""
    begin = s[L.NOW]
    stall = 0
    lines = 0
    end = address + size
    s[L.AGAIN] = -1
    while address < end:
        q = find(s, address)
        if q < 0:
            break
        r = s[q + L.BLOCK]
        through = int(s[L.ICACHE] > 0 and s[q + L.ATTRIBUTE] > 0)
        stop = min(end, s[q + L.HIGH], line_end(s, r, address, through))
        part = (stop - address) * rate >> 16
        s[L.CODE_LOW] = s[L.CODE_HIGH] = 0
        s[L.CODE_BLOCK] = r
        if s[r + L.SHARED]:
            wait = with_transfers(s, q, address, stop, part, through)
        else:
            wait = cached_code(s, q, address, stop, part) if through else code(s, q, address, stop, part)
        s[r + L.FETCHES] += 1
        s[r + L.FETCH_STALL] += wait
        s[r + L.STALL] += wait
        stall += wait
        lines += 1
        s[L.CODE_SINCE] = s[L.NOW] + wait
        s[L.NOW] += wait + part
        address = stop
        s[L.CODE_END] = stop
    s[L.NOW] = begin + stall
    if stall == 0 and s[L.CODE_HIGH]:  # the last line was at hand; no stall: so were the others
        s[L.AGAIN], s[L.AGAIN_SIZE] = end - size, size
        s[L.AGAIN_LINES] = lines
    return stall


@native
def flash_lines(s: State, r: int, address: int, size: int, rate: int) -> int:
    """``fetch_while`` of code in a flash behind its accelerator."""
    end = address + size
    shift = s[r + L.LINE]
    lines = ((end - 1) >> shift) - (address >> shift) + 1
    hits = s[r + L.F_HITS]
    stall = flash_accelerator.fetch_lines(s, r, address, end, rate)
    stays = lines == 1 or flash_accelerator.held(s, r, address >> shift) >= 0  # not only the line the core was in
    s[L.AGAIN] = address if stays and s[r + L.F_HITS] - hits == lines else -1
    s[L.AGAIN_SIZE], s[L.AGAIN_LINES] = size, lines
    s[r + L.FETCHES] += lines
    s[r + L.FETCH_STALL] += stall
    s[r + L.STALL] += stall
    last = (end - 1) >> shift
    remember(s, last << shift, (last + 1) << shift, r + L.F_HITS)
    s[L.CODE_BLOCK] = r
    s[L.CODE_END] = end
    s[L.CODE_SINCE] = s[L.NOW]
    return stall


@shared
def fetch_while(s: State, address: int, size: int, rate: int) -> int:
    """:func:`fetch_block`, for a film too."""
    stall = fetch_block(s, address, size, rate)
    if s[L.FILM]:
        film.accessed(s, film.FETCH, address, size, 1, stall, stall)
    return stall


@native
def fetch_block(s: State, address: int, size: int, rate: int) -> int:
    """The ``size`` bytes of code of one basic block at ``address``; returns the stall in ticks.

    ``rate``: ticks that the block takes to execute without stalls, for each of its bytes, in 1 / 65,536: while the core
    works through one line the next one is on its way. ``s[NOW]`` is when the block begins, and goes on by the stall.
    """
    if s[L.CODE_LOW] <= address and address + size <= s[L.CODE_HIGH]:
        s[s[L.CODE_BLOCK] + L.FETCHES] += 1
        s[s[L.CODE_COUNT]] += 1
        if address != s[L.CODE_END]:
            s[L.CODE_SINCE] = s[L.NOW]
        s[L.CODE_END] = address + size
        return 0
    if s[L.AGAIN] == address and s[L.AGAIN_SIZE] == size:
        s[s[L.CODE_BLOCK] + L.FETCHES] += s[L.AGAIN_LINES]
        s[s[L.CODE_COUNT]] += s[L.AGAIN_LINES]
        s[L.CODE_SINCE] = s[L.NOW]
        s[L.CODE_END] = address + size
        return 0
    q = find(s, address)
    if q >= 0 and address + size <= s[q + L.HIGH] and (s[L.ICACHE] == 0 or s[q + L.ATTRIBUTE] == 0):
        r = s[q + L.BLOCK]
        if s[r + L.SHARED]:  # perhaps no longer
            advance(s, s[L.NOW])
        if s[r + L.KIND] == L.FLASH and s[r + L.I_LINES] >= 0 and s[r + L.SHARED] == 0:
            return flash_lines(s, r, address, size, rate)
    return fetch_lines(s, address, size, rate)


@native
def fetch(s: State, address: int, size: int) -> int:
    """Code that takes no time to execute: ``fetch_while`` without any work; returns the stall in ticks."""
    return fetch_while(s, address, size, 0)
