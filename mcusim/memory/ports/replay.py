"""The one access path: every load, store and fetch of a simulated machine goes through these functions.

They are numba functions over the state array of :mod:`mcusim.memory.state_layout`; kernels' streams call ``walk``
natively. Each access is counted at the region that answers it (behind the cache), and a stall is charged to that
region.

Not modelled: the core's write buffer beyond one memory, exclusive accesses, MPU regions set at run time.
"""

from __future__ import annotations

from mcusim.memory import devices, range_lookup
from mcusim.memory import state_layout as L
from mcusim.memory.cache import replacement, tags
from mcusim.memory.film import record as film
from mcusim.memory.operand_stalls import charge
from mcusim.native.compile import State, inlined, native, shared


@inlined
def visit_in(s: State, q: int, address: int, n: int, size: int, write: int, gap: int, inter: int) -> int:
    """:func:`visit` of an address in the range record ``q``."""
    r = s[q + L.BLOCK]
    if s[q + L.ATTRIBUTE] > 0 and s[L.DCACHE] > 0:
        stall = tags.access(s, q, address, n, size, write, gap)
    else:
        if write:
            s[r + L.WRITES] += n
            s[r + L.WRITE_BYTES] += n * size
        else:
            s[r + L.READS] += n
            s[r + L.READ_BYTES] += n * size
        stall = devices.run(s, r, address, n, size, write, gap, inter)
    s[r + L.STALL] += stall
    if stall:
        charge(s, address, stall)
    s[L.NOW] += n * gap + stall
    if s[L.FILM]:
        film.accessed(s, film.STORE if write else film.LOAD, address, size, n, stall, n * gap + stall)
    return stall


@native
def visit(s: State, address: int, n: int, size: int, write: int, gap: int, inter: int) -> int:
    """``n`` accesses of ``size`` bytes ascending from ``address`` in one 32-byte line, ``gap`` ticks of work each.

    Advances the clock by the work and the stall and returns the stall in ticks. An address outside every region
    counts as free: the engine has checked all operands before.
    """
    q = range_lookup.find(s, address)
    if q < 0:
        s[L.NOW] += n * gap
        return 0
    return visit_in(s, q, address, n, size, write, gap, inter)


@inlined
def _is_plain(s: State, q: int) -> int:
    """Is the range record ``q`` one of memory that has no state, uncached."""
    if q < 0 or (s[q + L.ATTRIBUTE] > 0 and s[L.DCACHE] > 0):
        return 0
    return int(s[s[q + L.BLOCK] + L.KIND] <= L.SRAM)


@shared
def walk(s: State, address: int, bytes_: int, size: int, write: int, gap: int, inter: int) -> None:
    """Accesses of ``size`` bytes over a contiguous range, split into visits."""
    end = address + bytes_
    shift = s[L.SHIFT]
    q = range_lookup.find(s, address)
    if _is_plain(s, q) and end <= s[q + L.HIGH]:
        visit_in(s, q, address, (bytes_ + size - 1) // size, size, write, gap, inter)  # no state: one step
        return
    while address < end:
        stop = min(end, ((address >> shift) + 1) << shift)
        n = (stop - address + size - 1) // size
        if q < 0 or address >= s[q + L.HIGH]:
            q = range_lookup.find(s, address)
        if q < 0:
            s[L.NOW] += n * gap
        else:
            visit_in(s, q, address, n, size, write, gap, inter)
        address = stop


@shared
def walk_in(s: State, q: int, address: int, bytes_: int, size: int, write: int, gap: int, inter: int) -> None:
    """:func:`walk` where a loop spends most of its time; ``q`` is the range record of its first address, or of another
    one."""
    end = address + bytes_
    if q < 0 or address < s[q + L.LOW] or end > s[q + L.HIGH]:
        walk(s, address, bytes_, size, write, gap, inter)
    elif _is_plain(s, q):
        visit_in(s, q, address, (bytes_ + size - 1) // size, size, write, gap, inter)
    else:
        shift = s[L.SHIFT]
        while address < end:
            stop = min(end, ((address >> shift) + 1) << shift)
            visit_in(s, q, address, (stop - address + size - 1) // size, size, write, gap, inter)
            address = stop


@native
def cached_range(s: State, address: int, bytes_: int) -> int:
    """The range record of the whole of this memory if the data cache is on for it, else -1."""
    q = range_lookup.find(s, address)
    if q < 0 or s[L.DCACHE] == 0 or s[q + L.ATTRIBUTE] == 0 or address + bytes_ > s[q + L.HIGH] or s[L.FILM]:
        return -1  # a film has each visit
    return q


@native
def coupled_range(s: State, address: int, bytes_: int) -> int:
    """The range record of the whole of this memory if it is tightly coupled, else -1."""
    q = range_lookup.find(s, address)
    if q < 0 or not _is_plain(s, q) or s[s[q + L.BLOCK] + L.KIND] != L.TCM or address + bytes_ > s[q + L.HIGH]:
        return -1
    if s[L.FILM]:
        return -1
    return q


@shared
def read_missing(s: State, q: int, address: int, n: int, gap: int) -> None:
    """:func:`visit_in` for reads of a line that the data cache does not hold."""
    stall = tags.fill(s, q, address, n, 0, gap)
    s[s[q + L.BLOCK] + L.STALL] += stall
    if stall:
        charge(s, address, stall)
    s[L.NOW] += n * gap + stall


@inlined
def read_held(s: State, p: State, hint: int, q: int, address: int, bytes_: int, size: int, gap: int, due: int) -> int:
    """:func:`walk_in` for reads of a :func:`cached_range`, in few steps where the cache holds the lines.

    ``p[hint]`` and the next are records of the cache that may hold the lines, and are kept so. The clock is ``due``
    ticks late; returns how late it is then. Only a miss wants to know what time it is.
    """
    end = address + bytes_
    shift, c = s[L.SHIFT], s[L.DCACHE]
    while address < end:
        stop = min(end, ((address >> shift) + 1) << shift)
        n = (stop - address + size - 1) // size
        tag = address >> s[c + L.C_SHIFT]
        record = p[hint]
        if s[record + L.TAG] != tag:
            record = p[hint] = max(tags.find(s, c, tag), 0)
        if record:
            replacement.hit(s, c, record)
            s[L.HITS] += n
            due += n * gap
        else:
            s[L.NOW] += due
            due = 0
            read_missing(s, q, address, n, gap)
        address = stop
        hint += 1
    return due


@inlined
def read_coupled(s: State, q: int, n: int, size: int, gap: int) -> int:
    """``n`` reads of a :func:`coupled_range`; returns the ticks of work that the clock is late by them."""
    r = s[q + L.BLOCK]
    s[r + L.READS] += n
    s[r + L.READ_BYTES] += n * size
    return n * gap


@native
def uncached_line(s: State, r: int, address: int, line: int, n: int) -> int:
    """Ticks of one line of code read from its memory, counted ``n`` times."""
    occupied = s[r + L.OCCUPIED]
    first, last = devices.line(s, r, address, line, 0, max(s[L.NOW], s[r + L.BUSY]))
    s[r + L.OCCUPIED] = occupied + n * (s[r + L.OCCUPIED] - occupied)
    s[r + L.READS] += n
    s[r + L.READ_BYTES] += n * line
    return (first + last) // 2


@native
def cached_fetch(s: State, r: int, address: int, bytes_: int, sweeps: int, executed: int) -> int:
    """Instruction fetch through the I-cache; returns the stall in ticks."""
    c = s[L.ICACHE]
    line = s[c + L.C_LINE]
    lines = (bytes_ + line - 1) // line
    stall = 0
    before = s[L.NOW]
    for i in range(lines):
        ticks = tags.fetch_line(s, address + i * line)
        stall += ticks
        s[L.NOW] += ticks
    if lines > s[c + L.C_SETS] * s[c + L.C_WAYS]:
        again = max(0, min(lines * (sweeps - 1), executed // line - lines))
        stall += again * uncached_line(s, r, address, line, again)
        s[L.IMISSES] += again
    s[L.NOW] = before
    return stall


@native
def flash_fetch(s: State, r: int, address: int, bytes_: int, sweeps: int, cold: int, run: int, rate: int) -> int:
    """Instruction fetch of ``run`` lines straight from flash and its accelerator; returns the stall in ticks."""
    line = 1 << s[r + L.LINE]
    if s[r + L.I_LINES] < 0:
        s[r + L.F_MISSES] += run
        return run * uncached_line(s, r, address, line, run)
    lines = (bytes_ + line - 1) >> s[r + L.LINE]
    entered = sweeps if lines > s[r + L.I_LINES] else cold
    missed = min(run, lines * entered)
    access = s[r + L.WAIT] + s[r + L.BEAT]
    s[r + L.F_MISSES] += missed
    s[r + L.READS] += missed
    s[r + L.READ_BYTES] += missed * line
    s[r + L.OCCUPIED] += missed * access
    change, wait = s[r + L.CHANGE], s[r + L.WAIT] + s[r + L.LATENCY_R]
    ahead = missed - min(missed, entered) if s[r + L.PREFETCHES] else 0
    late = max(0, access - change - (line * rate >> 16))
    return run * change + (missed - ahead) * wait + ahead * late


@native
def fetch(s: State, address: int, bytes_: int, sweeps: int, cold: int, begun: int, executed: int, rate: int) -> int:
    """Instruction fetch of a kernel call; returns the stall in ticks.

    ``bytes_`` of code are swept ``sweeps`` times; the call executes the code bytes from ``begun`` to ``executed`` of
    its operator (the fetches of its tiles then sum to the operator's), ``rate`` / 65,536 ticks each; ``cold`` says that
    the operator starts.

    With an I-cache the first sweep fills it line by line; code larger than the cache misses on every line of every
    sweep (as under LRU and round-robin; a random replacement is taken to do no better). A flash accelerator holds lines
    likewise; with its prefetch the first line of such a sweep waits, the others take the longer of their work and of a
    read. ``line_change`` is added to every line. Without either, every line executed comes from flash. Other memories
    without a cache are :func:`count_words`'s.
    """
    q = range_lookup.find(s, address)
    if q < 0:
        return 0
    r = s[q + L.BLOCK]
    through = s[L.ICACHE] > 0 and s[q + L.ATTRIBUTE] > 0
    if s[r + L.KIND] == L.TCM or (s[r + L.KIND] != L.FLASH and not through):
        return 0
    if through:
        stall = cached_fetch(s, r, address, bytes_, sweeps, executed - begun)
    else:
        run = (executed >> s[r + L.LINE]) - (begun >> s[r + L.LINE])
        stall = flash_fetch(s, r, address, bytes_, sweeps, cold, run, rate)
    s[r + L.STALL] += stall
    s[r + L.FETCH_STALL] += stall
    s[L.NOW] += stall
    if s[L.FILM]:
        film.accessed(s, film.FETCH, address, bytes_, 1, stall, stall)
    return stall


def word_by_word(s: State, address: int) -> int:
    """The block of the memory from which code there comes word by word, past all caches, that is no flash; 0: none."""
    q = int(range_lookup.find(s, address))
    if q < 0 or (s[L.ICACHE] > 0 and s[q + L.ATTRIBUTE] > 0):
        return 0
    r = int(s[q + L.BLOCK])
    return 0 if s[r + L.KIND] in (L.TCM, L.FLASH) else r


def word_ticks(s: State, r: int) -> tuple[int, int]:
    """Ticks that code waits for a word of region ``r``, and those more for one that does not follow the last.

    Not modelled: rows of an SDRAM, which code seldom leaves.
    """
    size = 1 << int(s[L.BUS])
    if s[r + L.KIND] == L.QSPI:
        return size * int(s[r + L.BEAT]) + int(s[r + L.OVERHEAD_R]), int(s[r + L.COMMAND] + s[r + L.CS_HIGH])
    if s[r + L.KIND] == L.SDRAM:
        beats = max(1, size >> int(s[r + L.WIDTH]))
        return int(s[r + L.OVERHEAD_R] + s[r + L.T_CL] + beats * s[r + L.T_CLK]), 0
    return int(s[r + L.LATENCY_R]), 0


def count_words(s: State, r: int, words: int) -> None:
    """``words`` of code were read from region ``r``."""
    s[r + L.READS] += words
    s[r + L.READ_BYTES] += words << int(s[L.BUS])


@native
def sync(s: State, now: int, first: int, count: int) -> None:
    """Set the clock to ``now``; what a task simulated ahead of others left in the future is set back to now.

    Not so in memories that a DMA transfer in flight touches: it runs at its own time, and what it left is in progress.
    """
    s[L.NOW] = now
    for i in range(count):
        r = first + i * L.REGION
        if s[r + L.SHARED]:
            continue
        s[r + L.BUSY] = min(s[r + L.BUSY], now)
        s[r + L.LAST_WRITE] = min(s[r + L.LAST_WRITE], now)
        if s[r + L.T_REFI] > 0 and s[r + L.NEXT_REFRESH] > now + s[r + L.T_REFI]:
            s[r + L.NEXT_REFRESH] = now + s[r + L.T_REFI]
        for b in range(s[r + L.BANKS]):
            s[r + L.ACTIVATED + b] = min(s[r + L.ACTIVATED + b], now)
