"""Rounds of a transfer that nobody disturbs: when a line takes as the one before did, the next ones do too.

A round is one or more lines of 32 bytes written. What its accesses depend on is how far transfer, ports and memories
are, seen from its begin: where that is as it was a round before, every further round takes as long and changes the
same, up to what comes from elsewhere: a refresh, another row or bank, the end of the memory, the last bytes. So many
rounds are made at once: each slot changes by so many times what it changed by in one. Behind a refresh or a row the
transfer soon is as it was in that round, and goes on so.

Not modelled: rounds from a flash whose accelerator has lines for data, which are elsewhere; they are made one by one.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.devices import bank_of
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native

BYTES = 32
UNKNOWN, BEGUN, KNOWN = range(3)  # of a round: nothing, its begin, all of it


@native
def begin(s: State) -> None:
    """A transfer begins."""
    s[L.ROUND] = UNKNOWN


@native
def moment_is_alike(before: int, now: int, then: int, at: int) -> int:
    """Whether a moment is as far from ``at`` as it was from ``then``, or over both times, or has not come."""
    return int(now - at == before - then or (now <= at and before <= then) or (now == before and now == L.NEVER))


@native
def transfer_is_alike(s: State, f: int, kept: int, then: int, at: int, moved: int) -> int:
    """Whether transfer ``f`` is as it is kept, ``moved`` bytes ago."""
    for slot in (L.D_FROM, L.D_TO, L.D_LEVEL, L.D_DRAIN, L.D_FILLED, L.D_FREED, L.D_AHEAD, L.D_CHUNK):
        if s[f + slot] != s[kept + slot]:
            return 0
    for slot in (L.D_READY, L.D_ROOM_AT, L.D_READ_END, L.D_WRITE_END):
        before, now = s[kept + slot], s[f + slot]
        if now - at != before - then and not (now == before == L.NEVER):
            return 0
    if s[f + L.D_UNREAD] != s[kept + L.D_UNREAD] - moved:
        return 0
    source = s[f + L.D_FROM]
    lines = moved >> s[source + L.LINE] if s[source + L.KIND] == L.FLASH and s[f + L.D_MOVES_FROM] else 0
    return int(s[f + L.D_LINE] - s[kept + L.D_LINE] == lines)


@native
def row_is_open(s: State, r: int, address: int) -> int:
    """Whether an access to block ``r`` at ``address`` opens no row."""
    if s[r + L.KIND] != L.SDRAM:
        return 1
    return int(s[r + L.OPEN + bank_of(s, r, address)] == (address >> s[r + L.ROW_SHIFT]) & s[r + L.ROW_MASK])


@native
def region_is_alike(s: State, r: int, kept: int, then: int, at: int, moved: int) -> int:
    """Whether block ``r`` is as it is kept, ``moved`` bytes ago."""
    for slot in (L.BUSY, L.HELD):
        if not moment_is_alike(s[kept + slot], s[r + slot], then, at):
            return 0
    kind = s[r + L.KIND]
    if kind == L.FLASH and s[r + L.LATCH] - s[kept + L.LATCH] != moved >> s[r + L.LINE]:
        return 0
    if kind == L.QSPI and s[r + L.LAST_ADDRESS] - s[kept + L.LAST_ADDRESS] != moved:
        return 0
    if s[r + L.COLUMNS_HELD] != s[kept + L.COLUMNS_HELD]:
        return 0
    for i in range(s[r + L.COLUMNS_HELD]):
        if s[r + L.COLUMNS + i] - s[kept + L.COLUMNS + i] != moved >> s[r + L.WIDTH]:
            return 0
    return 1


@native
def is_alike(s: State, f: int, kept: int, at: int, reading: int) -> int:
    """Whether the transfer, its ports and its memories are as they are in the round that is kept at ``kept``."""
    then = s[kept + L.R_AT]
    moved = s[kept + L.R_TRANSFER + L.D_LEFT] - s[f + L.D_LEFT]
    if reading - at != s[kept + L.R_READING] - then:
        return 0
    if not transfer_is_alike(s, f, kept + L.R_TRANSFER, then, at, moved):
        return 0
    source, target = s[f + L.D_FROM], s[f + L.D_TO]
    first = min(at, reading)  # no access begins before
    earliest = min(then, s[kept + L.R_READING])
    by = moved * s[f + L.D_MOVES_FROM]
    if not region_is_alike(s, source, kept + L.R_SOURCE, earliest, first, by):
        return 0
    by = moved * s[f + L.D_MOVES_TO] if source != target else by
    if not region_is_alike(s, target, kept + L.R_TARGET, earliest, first, by):
        return 0
    return row_is_open(s, source, s[f + L.D_READ]) & row_is_open(s, target, s[f + L.D_TARGET])


@native
def opened_nothing(s: State, r: int, kept: int) -> int:
    """Whether block ``r`` has had no refresh, and opened no row, since it was kept."""
    return int(s[r + L.REFRESHES] == s[kept + L.REFRESHES] and s[r + L.ROW_MISSES] == s[kept + L.ROW_MISSES])


@native
def is_a_round(s: State, f: int, at: int, reading: int) -> int:
    """Whether all is as at the begin that is kept, and nothing came from elsewhere in between."""
    kept = L.ROUND_BEGIN
    if not is_alike(s, f, kept, at, reading):
        return 0
    source = opened_nothing(s, s[f + L.D_FROM], kept + L.R_SOURCE)
    return source & opened_nothing(s, s[f + L.D_TO], kept + L.R_TARGET)


@native
def keep(s: State, f: int, kept: int, at: int, reading: int) -> None:
    """Keep how all is now."""
    s[kept + L.R_AT], s[kept + L.R_READING] = at, reading
    for slot in range(L.TRANSFER):
        s[kept + L.R_TRANSFER + slot] = s[f + slot]
    for slot in range(L.REGION):
        s[kept + L.R_SOURCE + slot] = s[s[f + L.D_FROM] + slot]
        s[kept + L.R_TARGET + slot] = s[s[f + L.D_TO] + slot]


@native
def rounds_in(s: State, r: int, address: int, moves: int, size: int) -> int:
    """Rounds of ``size`` bytes until ``address`` comes to the end of its range, of its row or of its bank."""
    if not moves:
        return 1 << 40
    q = find(s, address)
    if q < 0:
        return 0
    end = s[q + L.HIGH]
    if s[r + L.KIND] == L.SDRAM:
        shift = min(s[r + L.ROW_SHIFT], s[r + L.BANK_SHIFT])
        end = min(end, ((address >> shift) + 1) << shift)
    return (end - address) // size


@native
def until_refresh(s: State, r: int, at: int, ticks: int) -> int:
    """Rounds that begin no access of block ``r`` after its next refresh."""
    if s[r + L.KIND] != L.SDRAM or s[r + L.T_REFI] == 0:
        return 1 << 40
    return (s[r + L.NEXT_REFRESH] - max(at, s[r + L.BUSY])) // ticks


@native
def more_rounds(s: State, f: int, at: int, ticks: int, size: int) -> int:
    """How many further rounds of ``size`` bytes are as the one that is known; all ends by ``at``."""
    source, target = s[f + L.D_FROM], s[f + L.D_TO]
    count = (s[f + L.D_UNREAD] - max(BYTES, s[f + L.D_STEP], s[f + L.D_STEP_TO])) // size
    count = min(count, rounds_in(s, source, s[f + L.D_READ], s[f + L.D_MOVES_FROM], size))
    count = min(count, rounds_in(s, target, s[f + L.D_TARGET], s[f + L.D_MOVES_TO], size))
    return min(count, until_refresh(s, source, at, ticks), until_refresh(s, target, at, ticks))


@native
def repeat(s: State, slot: int, kept: int, size: int, count: int) -> None:
    """The slots from ``slot`` on change by ``count`` times what they change by in the round."""
    for i in range(size):
        s[slot + i] += count * (s[L.ROUND_END + kept + i] - s[L.ROUND_BEGIN + kept + i])


@native
def made_at_once(s: State, f: int, at: int, reading: int) -> int:
    """A round of transfer ``f`` ends at ``at``, and the port that reads is free from ``reading`` on: make all further
    ones that are the same; returns how many ticks these take."""
    source, target = s[f + L.D_FROM], s[f + L.D_TO]
    if s[source + L.KIND] == L.FLASH and (s[source + L.A_LINES] > 0 or s[source + L.UNIFIED] > 0):
        return 0
    if s[L.ROUND] == BEGUN and is_a_round(s, f, at, reading):
        keep(s, f, L.ROUND_END, at, reading)
        s[L.ROUND] = KNOWN
    elif s[L.ROUND] != KNOWN:
        keep(s, f, L.ROUND_BEGIN, at, reading)
        s[L.ROUND] = BEGUN
    elif not is_alike(s, f, L.ROUND_END, at, reading):
        return 0
    if s[L.ROUND] != KNOWN:
        return 0
    ticks = s[L.ROUND_END + L.R_AT] - s[L.ROUND_BEGIN + L.R_AT]
    size = s[L.ROUND_BEGIN + L.R_TRANSFER + L.D_LEFT] - s[L.ROUND_END + L.R_TRANSFER + L.D_LEFT]
    count = more_rounds(s, f, max(at, reading), max(1, ticks), size)
    if count <= 0:
        return 0
    repeat(s, f, L.R_TRANSFER, L.TRANSFER, count)
    repeat(s, source, L.R_SOURCE, L.REGION, count)
    if source != target:
        repeat(s, target, L.R_TARGET, L.REGION, count)
    return count * ticks
