"""The emulated core's data accesses: one load or store at a time.

The caller has set ``s[NOW]`` to the moment of the access; each function adds its stall to ``s[NOW]`` and to the
region's counters and returns it, in ticks beyond an ideal load, store or fetch. ``find`` gives the range record of an
address, whose flags say what the access may do; the others do not check them.

Data cache: a read miss waits for the word it asks for, a write miss of write-back memory fills behind the store buffer
and waits only for a linefill buffer, other writes are posted to the memory. A dirty line that is displaced is written
when the fill is done. An access across two lines, uncached across two bus words, is two.

The bytes of the lines are kept by :mod:`mcusim.memory.cache.data`.

Not modelled: merging in the store buffer, the Cortex-M7's switch to no allocation on long runs of stores, several fills
of different memories at once, speculative loads, bus errors.
"""

from __future__ import annotations

from mcusim.memory import devices, flash_busy, read_fifo
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data, tags
from mcusim.memory.dma.arbitration import arrive
from mcusim.memory.dma.beats import at_hand
from mcusim.memory.film import record as film
from mcusim.memory.operand_stalls import charge
from mcusim.memory.ports import linefill
from mcusim.memory.ports.core_code import fetch, fetch_while
from mcusim.memory.ports.maintenance import (
    invalidate_instruction_line,
    invalidate_instructions,
    maintain_all,
    maintain_line,
    maintain_set_way,
)
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native, shared

__all__ = [
    "fetch",
    "fetch_while",
    "find",
    "invalidate_instruction_line",
    "invalidate_instructions",
    "load",
    "maintain_all",
    "maintain_line",
    "maintain_set_way",
    "second",
    "store",
]


@native
def bus(s: State, r: int, address: int, size: int, write: int) -> int:
    """One access inside one bus word, past the cache; returns the stall in ticks."""
    if write:
        s[r + L.WRITES] += 1
        s[r + L.WRITE_BYTES] += size
    else:
        s[r + L.READS] += 1
        s[r + L.READ_BYTES] += size
    if s[r + L.KIND] == L.SRAM:  # one posted write at a time; who comes before it is done waits
        wait = max(0, s[r + L.BUSY] - s[L.NOW])
        s[r + L.OCCUPIED] += s[r + L.BEAT]
        if write:
            s[r + L.BUSY] = s[L.NOW] + wait + s[r + L.LATENCY_W]
            return wait
        return wait + s[r + L.LATENCY_R]
    return devices.run(s, r, address, 1, size, write, 0, 0)


@native
def uncached(s: State, r: int, address: int, size: int, write: int) -> int:
    """An access past the cache, two where it spans two bus words; returns the stall in ticks."""
    end = address + size
    cut = ((end - 1) >> s[L.BUS]) << s[L.BUS]
    if cut <= address:
        return bus(s, r, address, size, write)
    stall = bus(s, r, address, cut - address, write)
    s[L.NOW] += stall
    more = bus(s, r, cut, end - cut, write)
    s[L.NOW] -= stall
    return stall + more


@native
def evict(s: State, c: int, line: int, start: int) -> None:
    """Write line number ``line`` to its memory from ``start``, or when that is free: it stays busy so long."""
    bytes_ = s[c + L.C_LINE]
    if s[L.FILM]:
        film.note(s, film.WRITE_BACK, -1, line, 0)
    q = find(s, line * bytes_)
    r = s[q + L.BLOCK]
    data.write_back(s, q, line * bytes_, bytes_)
    devices.line(s, r, line * bytes_, bytes_, 1, max(start, s[r + L.BUSY]))
    s[r + L.TAKEN] = max(s[r + L.TAKEN], s[r + L.BUSY])
    s[r + L.WRITES] += 1
    s[r + L.WRITE_BYTES] += bytes_
    s[L.WRITEBACKS] += 1


@native
def miss(s: State, q: int, address: int, size: int, write: int) -> int:
    """Fill the line of ``address`` into the data cache; returns the ticks until all ``size`` bytes are there."""
    c = s[L.DCACHE]
    r = s[q + L.BLOCK]
    now = s[L.NOW]
    tag = address >> s[c + L.C_SHIFT]
    s[L.MISSES] += 1
    f = linefill.free(s)
    unbuffered = max(now, s[f + L.F_LAST])
    dirty = linefill.replace(s, c, tag, write)
    last = linefill.begin(s, f, c, r, address, max(unbuffered, s[r + L.BUSY]))
    if dirty >= 0:
        evict(s, c, dirty, last)
    if write:
        return unbuffered - now
    return max(s[f + L.F_FIRST], linefill.arrival(s, f, c, address + size - 1)) - now


@native
def hit(s: State, c: int, address: int, size: int, write: int) -> int:
    """The most frequent case in few steps: 1 when one line of cache ``c`` holds it all, else 0 and nothing done."""
    shift = s[c + L.C_SHIFT]
    tag = address >> shift
    if (address + size - 1) >> shift != tag:
        return 0
    record = tags.touch(s, c, tag)
    if record < 0:
        return 0
    s[L.HITS] += 1
    if write:
        tags.soil(s, record)
    return 1


@native
def cached(s: State, q: int, address: int, size: int, write: int) -> int:
    """An access inside one line of a cached region; returns the stall in ticks."""
    c = s[L.DCACHE]
    back = int(s[q + L.ATTRIBUTE] == 2 and s[c + L.C_WRITEBACK] == 1)
    if hit(s, c, address, size, write & back):
        if not write:
            return max(linefill.wait(s, c, address), linefill.wait(s, c, address + size - 1))
        if back:
            return 0
    else:
        if not write or (back and s[q + L.FLAGS] & L.ALLOCATE):
            return miss(s, q, address, size, write)
        s[L.MISSES] += 1
    return bus(s, s[q + L.BLOCK], address, size, 1)


@native
def reach(s: State, q: int, address: int, size: int, write: int) -> int:
    """Any access to data; returns the stall in ticks, which is still to be counted."""
    c = s[L.DCACHE]
    if s[q + L.ATTRIBUTE] == 0 or c == 0:
        return uncached(s, s[q + L.BLOCK], address, size, write)
    cut = ((address + size - 1) >> s[c + L.C_SHIFT]) << s[c + L.C_SHIFT]
    if cut <= address:
        return cached(s, q, address, size, write)
    stall = cached(s, q, address, cut - address, write)
    s[L.NOW] += stall
    more = cached(s, q, cut, address + size - cut, write)
    s[L.NOW] -= stall
    return stall + more


@native
def on_the_bus(s: State, r: int, size: int, write: int) -> int:
    """An access to memory that waits only for a beat on the bus; returns the stall in ticks."""
    if write:
        s[r + L.WRITES] += 1
        s[r + L.WRITE_BYTES] += size
    else:
        s[r + L.READS] += 1
        s[r + L.READ_BYTES] += size
    s[r + L.OCCUPIED] += s[r + L.BEAT]
    wait = max(0, s[r + L.HELD] - s[L.NOW])
    s[r + L.TAKEN] = s[L.NOW] + wait + max(1, size >> s[r + L.WIDTH]) * s[r + L.BEAT]
    return wait


@native
def between_beats(s: State, q: int, address: int, size: int, write: int) -> int:
    """``reach`` past the cache for memory that beats hold one at a time; returns the stall in ticks."""
    r = s[q + L.BLOCK]
    kind = s[r + L.KIND]
    if kind == L.SDRAM or (kind == L.FLASH and at_hand(s, r, address)):
        return reach(s, q, address, size, write)
    now = s[L.NOW]
    start = max(now, s[r + L.HELD], flash_busy.until(s, r, address))
    if kind == L.SRAM:
        stall = reach(s, q, address, size, write)
        s[r + L.TAKEN] = max(s[r + L.TAKEN], start + s[r + L.BEAT])
        return stall
    s[L.NOW] = start
    stall = start - now + reach(s, q, address, size, write)
    s[L.NOW] = now
    s[r + L.TAKEN] = max(s[r + L.TAKEN], now + stall)
    return stall


@native
def with_transfers(s: State, q: int, address: int, size: int, write: int) -> int:
    """``reach`` for memory that a transfer in flight touches; counts the ticks that one of its beats held it."""
    r = s[q + L.BLOCK]
    arrive(s, r)
    if s[q + L.ATTRIBUTE] and s[L.DCACHE]:
        s[r + L.BUSY] = max(s[r + L.BUSY], flash_busy.until(s, r, address))
    since, until, busy = max(s[L.NOW], s[r + L.HELD_SINCE]), s[r + L.HELD], s[r + L.BUSY]
    if s[q + L.FLAGS] & (L.FREE | L.UNLESS_SHARED):
        stall = on_the_bus(s, r, size, write)
    else:
        plain = s[q + L.ATTRIBUTE] == 0 or s[L.DCACHE] == 0
        stall = between_beats(s, q, address, size, write) if plain else reach(s, q, address, size, write)
        if s[r + L.BUSY] != busy:
            s[r + L.TAKEN] = max(s[r + L.TAKEN], s[r + L.BUSY])
    s[r + L.WAITED] += max(0, min(s[L.NOW] + stall, until) - since)
    return stall


@shared
def access(s: State, q: int, address: int, size: int, write: int) -> int:
    """Any access to data; returns the stall in ticks."""
    r = s[q + L.BLOCK]
    waited = s[r + L.WAITED]
    if s[r + L.SHARED]:
        stall = with_transfers(s, q, address, size, write)
    else:
        stall = reach(s, q, address, size, write)
    s[r + L.STALL] += stall
    if stall:
        charge(s, address, stall - (s[r + L.WAITED] - waited))
    s[L.NOW] += stall
    return stall


@native
def load(s: State, q: int, address: int, size: int) -> int:
    """A load of ``size`` bytes (1, 2, 4 or 8) from range record ``q``; returns the stall in ticks."""
    stall = loaded(s, q, address, size)
    if s[L.FILM]:
        film.accessed(s, film.LOAD, address, size, 1, stall, stall)
    return stall


@native
def loaded(s: State, q: int, address: int, size: int) -> int:
    """``load`` that no film has."""
    if s[q + L.FLAGS] & L.FREE:
        r = s[q + L.BLOCK]
        s[r + L.READS] += 1
        s[r + L.READ_BYTES] += size
        s[r + L.OCCUPIED] += s[r + L.BEAT]
        return 0
    c = s[L.DCACHE]
    if s[q + L.ATTRIBUTE] and c and s[L.NOW] >= s[L.FILLED] and hit(s, c, address, size, 0):
        return 0
    return access(s, q, address, size, 0)


@native
def store(s: State, q: int, address: int, size: int) -> int:
    """A store of ``size`` bytes (1, 2, 4 or 8) to range record ``q``; returns the stall in ticks."""
    stall = stored(s, q, address, size)
    if s[L.FILM]:
        film.accessed(s, film.STORE, address, size, 1, stall, stall)
    return stall


@native
def stored(s: State, q: int, address: int, size: int) -> int:
    """``store`` that no film has."""
    if s[q + L.FLAGS] & L.FREE:
        r = s[q + L.BLOCK]
        s[r + L.WRITES] += 1
        s[r + L.WRITE_BYTES] += size
        s[r + L.OCCUPIED] += s[r + L.BEAT]
        return 0
    c = s[L.DCACHE]
    if s[q + L.ATTRIBUTE] == 2 and c and s[c + L.C_WRITEBACK] and hit(s, c, address, size, 1):
        return 0
    return access(s, q, address, size, 1)


@native
def second(s: State, q: int, address: int, write: int) -> int:
    """:func:`second_word`, for a film too."""
    stall = second_word(s, q, address, write)
    if s[L.FILM]:
        film.accessed(s, film.STORE if write else film.LOAD, address, 4, 1, stall, stall)
    return stall


@native
def second_word(s: State, q: int, address: int, write: int) -> int:
    """The second word of a doubleword that a 64-bit bus moves in one access (LDRD, STRD, VLDR and VSTR of a double).

    Cached it is an access like any; uncached it costs its beats only, which follow the first word's in one burst; where
    that was read ahead and they were not, CL too. Returns the stall in ticks.
    """
    r = s[q + L.BLOCK]
    kind = s[r + L.KIND]
    plain = s[q + L.ATTRIBUTE] == 0 or s[L.DCACHE] == 0
    if not plain or kind != L.SDRAM or address & 7 != 4:
        return access(s, q, address, 4, write)
    beats = max(1, 4 >> s[r + L.WIDTH]) * s[r + L.T_CLK]
    if s[r + L.AHEAD]:
        if write:
            read_fifo.flush(s, r)
        else:
            column = address >> s[r + L.WIDTH]
            columns = beats // s[r + L.T_CLK]
            if read_fifo.given(s, r, column, columns) < columns:
                beats += s[r + L.T_CL]
            read_fifo.read_ahead(s, r, column + columns)
    s[r + L.OCCUPIED] += beats
    s[r + L.BUSY] += beats
    s[r + L.TAKEN] = max(s[r + L.TAKEN], s[r + L.BUSY])
    if write:
        s[r + L.LAST_WRITE] += beats
        s[r + L.WRITE_BYTES] += 4
        return 0
    s[r + L.READ_BYTES] += 4
    s[r + L.STALL] += beats
    charge(s, address, beats)
    s[L.NOW] += beats
    return beats
