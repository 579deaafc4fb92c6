"""Cache maintenance as a program does it: a line by address, a line by set and way, all of the instruction cache.

Each returns the ticks that the write-backs take and leaves the clock alone; the registers' own cost is the caller's.
They work on what the caches contain, whether they are switched on or not.

Not modelled: the difference between the points of unification and coherency, which are one here.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import data, tags
from mcusim.memory.ports import linefill
from mcusim.memory.race_detector import lines
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native


@native
def keep(s: State, c: int, line: int) -> None:
    """Line number ``line`` of the data cache has been written back."""
    q = find(s, line * s[c + L.C_LINE])
    if q >= 0:
        data.write_back(s, q, line * s[c + L.C_LINE], s[c + L.C_LINE])


@native
def treat(s: State, c: int, record: int, clean: int, invalidate: int) -> int:
    """Clean and/or invalidate the line in ``record``."""
    ticks = 0
    if s[record + L.TAG] < 0:
        return 0
    if clean and s[record + L.DIRTY] == 1:
        ticks = tags.write_back(s, c, record, s[L.NOW])
        keep(s, c, s[record + L.TAG])
    if invalidate:
        linefill.give_up(s, c, s[record + L.TAG])
        for f in (L.DATA_FILLS, L.DATA_FILLS + L.FILL):
            if s[f + L.F_LINE] == s[record + L.TAG]:
                s[f + L.F_LINE] = -1
        tags.empty(s, record)
    return ticks


@native
def maintain_line(s: State, address: int, clean: int, invalidate: int) -> int:
    """The data-cache line that contains ``address``; returns the ticks of its write-back."""
    c = s[L.DATA_AT]
    if c == 0:
        return 0
    if s[L.WATCH]:
        lines.maintained(s, address, clean, invalidate)
    record = tags.find(s, c, address >> s[c + L.C_SHIFT])
    return treat(s, c, record, clean, invalidate) if record >= 0 else 0


@native
def maintain_range(s: State, address: int, size: int, clean: int, invalidate: int) -> int:
    """Every line that holds some of ``size`` bytes at ``address``, one after the other, where the data cache is on.

    Returns the ticks of the write-backs; the loop itself is the caller's.
    """
    c = s[L.DCACHE]
    if c == 0:
        return 0
    before = s[L.NOW]
    line = s[c + L.C_LINE]
    for tag in range(address // line, (address + size + line - 1) // line):
        s[L.NOW] += maintain_line(s, tag * line, clean, invalidate)
    ticks = s[L.NOW] - before
    s[L.NOW] = before
    return ticks


@native
def maintain_set_way(s: State, value: int, clean: int, invalidate: int) -> int:
    """The data-cache line that a set/way register's ``value`` names: the way in its top bits, the set above the line.

    Arm DDI0403, DCISW. Sets and ways beyond the cache's name nothing. Returns the ticks of the write-back.
    """
    c = s[L.DATA_AT]
    if c == 0:
        return 0
    ways = s[c + L.C_WAYS]
    top = 32
    while (1 << (32 - top)) < ways:
        top -= 1
    way = (value & 0xFFFFFFFF) >> top
    index = (value & ((1 << top) - 1)) >> s[c + L.C_SHIFT]
    if way >= ways or index >= s[c + L.C_SETS]:
        return 0
    if s[L.WATCH] and way == 0 and index == 0:
        lines.everything(s, clean, invalidate)
    return treat(s, c, c + L.CACHE + (index * ways + way) * L.CACHE_LINE, clean, invalidate)


@native
def maintain_all(s: State, clean: int, invalidate: int) -> int:
    """Every line of the data cache, one after the other; returns the ticks of the write-backs."""
    c = s[L.DATA_AT]
    if c == 0:
        return 0
    before = s[L.NOW]
    for i in range(s[c + L.C_SETS] * s[c + L.C_WAYS]):
        s[L.NOW] += treat(s, c, c + L.CACHE + i * L.CACHE_LINE, clean, invalidate)
    ticks = s[L.NOW] - before
    s[L.NOW] = before
    return ticks


@native
def forget_code(s: State) -> None:
    """No code is known to be present any more."""
    s[L.CODE_LOW] = s[L.CODE_HIGH] = 0
    s[L.AGAIN] = -1
    s[L.CODE_FILL + L.F_LINE] = -1


@native
def invalidate_instructions(s: State) -> int:
    """Empty the instruction cache; returns 0 ticks."""
    c = s[L.CODE_AT]
    forget_code(s)
    if c > 0:
        for i in range(s[c + L.C_SETS] * s[c + L.C_WAYS]):
            tags.empty(s, c + L.CACHE + i * L.CACHE_LINE)
    return 0


@native
def invalidate_instruction_line(s: State, address: int) -> int:
    """Drop the line of ``address`` from the instruction cache; returns 0 ticks."""
    c = s[L.CODE_AT]
    forget_code(s)
    if c > 0:
        record = tags.find(s, c, address >> s[c + L.C_SHIFT])
        if record >= 0:
            tags.empty(s, record)
    return 0
