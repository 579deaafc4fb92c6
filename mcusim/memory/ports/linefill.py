"""The linefill buffers of the emulated core: when each word of a cache line that is still on its way arrives.

The word that was asked for comes first, the others follow in order, wrapping at the line's end (Arm DDI0489F 5.9:
critical word first, the core goes on from the linefill buffer). Two buffers for data, one for code; a third fill waits
until the older one is done (two are assumed, Arm does not say).

Not modelled: forwarding of a store that waits for its fill to a load of the same word; the load waits for the word.
"""

from __future__ import annotations

from mcusim.memory import devices
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data, tags
from mcusim.memory.dma.arbitration import arrive
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native


@native
def free(s: State) -> int:
    """The data buffer that is, or will be, free first."""
    other = L.DATA_FILLS + L.FILL
    return L.DATA_FILLS if s[L.DATA_FILLS + L.F_LAST] <= s[other + L.F_LAST] else other


@native
def begin(s: State, f: int, c: int, r: int, address: int, start: int) -> int:
    """Fill the line of ``address`` from region block ``r`` through buffer ``f``; returns its end."""
    line = s[c + L.C_LINE]
    tag = address >> s[c + L.C_SHIFT]
    first, last = devices.line(s, r, tag * line, line, 0, start)
    words = max(1, line >> L.WORD)
    s[r + L.READS] += 1
    s[r + L.READ_BYTES] += line
    s[f + L.F_LINE] = tag
    s[f + L.F_WORD] = (address >> L.WORD) & (words - 1)
    s[f + L.F_FIRST] = start + first
    s[f + L.F_STEP] = (last - first) // max(1, words - 1)
    s[f + L.F_LAST] = start + last
    s[L.FILLED] = max(s[L.FILLED], start + last)
    return start + last


@native
def arrival(s: State, f: int, c: int, address: int) -> int:
    """When the word at ``address`` of the line in buffer ``f`` is there."""
    words = max(1, s[c + L.C_LINE] >> L.WORD)
    ahead = ((address >> L.WORD) - s[f + L.F_WORD]) & (words - 1)
    return s[f + L.F_FIRST] + ahead * s[f + L.F_STEP]


@native
def wait(s: State, c: int, address: int) -> int:
    """Ticks until the word at ``address``, of a line in the data cache, has arrived; 0 if it is there."""
    tag = address >> s[c + L.C_SHIFT]
    ready = s[L.NOW]
    for f in (L.DATA_FILLS, L.DATA_FILLS + L.FILL):
        if s[f + L.F_LINE] == tag and s[f + L.F_LAST] > s[L.NOW]:
            ready = max(ready, arrival(s, f, c, address))
    return ready - s[L.NOW]


@native
def give_up(s: State, c: int, line: int) -> None:
    """Line number ``line`` of the data cache is dropped."""
    q = find(s, line * s[c + L.C_LINE])
    if q >= 0:
        data.drop(s, q, line * s[c + L.C_LINE], s[c + L.C_LINE])


@native
def replace(s: State, c: int, tag: int, dirty: int) -> int:
    """Give line number ``tag`` a record of cache ``c``; returns the line it displaces if that is dirty, else -1."""
    record = tags.victim(s, c, tag)
    held = s[record + L.TAG]
    displaced = held if held >= 0 and s[record + L.DIRTY] == 1 else -1
    if displaced >= 0:  # beats due before find it still there
        r = s[find(s, displaced * s[c + L.C_LINE]) + L.BLOCK]
        if s[r + L.SHARED]:
            arrive(s, r)
    elif held >= 0 and c == s[L.DATA_AT]:
        give_up(s, c, held)
    tags.put(s, c, record, tag, dirty)
    return displaced
