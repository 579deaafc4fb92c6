"""Loads and stores of a watched program: stale bytes, transfers that have not ended, words that a handler changes.

What the program knows of a transfer's end is what it read of the stream's registers, or what the stream's handler did;
the main program knows that once it has loaded a word that a handler stored since, or has slept, or returned from an SVC
or PendSV.

A word is raced for where the main program, or a handler, loads and stores it within ``WINDOW`` instructions while
another handler that stores to it may come: its exception is enabled, not masked and of a higher priority, and if it is
a DMA stream's a transfer is under way. Words below the frame on a task's stack are registers that a switch saves. What
is no loss is in :mod:`mcusim.memory.race_detector.handled`.

Not modelled: words on the main stack, exclusive loads and stores (told by the instruction when a report is made).
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.system import exception_layout as X
from mcusim.memory import state_layout as L
from mcusim.memory.cache.tags import held
from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.handled import (
    PROBES,
    handler_begins,
    handler_loads,
    handler_stores,
    harmless,
    loaded_as_stored,
    record_at,
    touches,
    value_at,
)
from mcusim.memory.race_detector.lines import fresh, line_at
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native, shared

__all__ = ["PROBES", "accessed", "asked", "pushed", "raced"]

WINDOW = 24  # instructions
EDGE = 16  # bytes before the end of what was transferred
FRAME = 256  # bytes of variables below what was pushed last
SAVED = 256  # bytes below a frame that a switch of tasks stores registers to


@native
def turn(c: State, s: State) -> None:
    """Whose turn it is: a new one begins with each handler, and with each return."""
    x = W.word(s, W.EXCEPTIONS)
    since = host.get64(x + 8 * X.SINCE)
    if since == W.word(s, W.SINCE):
        return
    before, place = W.word(s, W.PLACE), host.get64(x + 8 * X.CURRENT)
    if before:
        W.put(s, W.OTHERS, W.word(s, W.OTHERS) + c[C.INSTRUCTIONS] - W.word(s, W.ENTERED))
    W.put(s, W.ENTERED, c[C.INSTRUCTIONS])
    W.put(s, W.SINCE, since)
    W.put(s, W.PLACE, place)
    W.next_turn(s, place)
    handler_begins(s)
    slept = c[C.SLEEP_TICKS] != W.word(s, W.SLEPT)
    if place == 0 and (slept or before in (X.SVCALL, X.PENDSV)):
        W.put(s, W.SLEPT, c[C.SLEEP_TICKS])
        W.put(s, W.KNOWN, W.word(s, W.NOW_TURN))
    if place and W.word(s, W.OFF + place) > 0:
        W.put(s, W.OFF + place, W.FROM_PROGRAM)
    if place:
        for i in range(W.word(s, W.RUNNING)):
            o = W.OPENS + i * W.OPEN
            if W.word(s, o + W.O_PLACE) == place and W.word(s, o + W.O_TOLD) < W.word(s, o + W.O_THERE):
                W.put(s, o + W.O_TOLD, W.word(s, o + W.O_THERE))
                W.put(s, o + W.O_TURN, W.word(s, W.NOW_TURN))


@native
def issued(c: State, s: State) -> int:
    """Instructions of who runs, to count those between two of its accesses: without handlers, for the main program."""
    return c[C.INSTRUCTIONS] - (W.word(s, W.OTHERS) if W.word(s, W.PLACE) == 0 else 0)


@native
def learn(s: State, code: int) -> None:
    """The main program has loaded what ``code``, a handler, stored."""
    now = W.word(s, W.NOW_TURN)
    then = now - ((now - code) & W.TURN)
    if then > W.word(s, W.KNOWN):
        W.put(s, W.KNOWN, then)


@native
def known(s: State, o: int) -> int:
    """Bytes of open transfer ``o`` that the code which runs knows to be there."""
    if W.word(s, W.PLACE) == 0 and W.word(s, o + W.O_TURN) > W.word(s, W.KNOWN):
        return 0
    return W.word(s, o + W.O_TOLD)


@native
def note(
    c: State, s: State, kind: int, pc: int, code: int, low: int, high: int, wanted: int, seen: int, stored: int,
    held: int, other: int,
) -> None:  # fmt: skip
    """Enter a report with the calls that led to the instruction."""
    p = W.note(s, kind, pc, code, low, high, wanted, seen, stored, held, other)
    if p >= 0:
        calls(c, s, p + W.R_CALLERS)


@native
def calls(c: State, s: State, at: int) -> None:
    """Write down from slot ``at`` on where the calls under way go back to; a handler's own only."""
    depth, last = c[C.CALL_DEPTH], c[C.CALL_BASE]
    for i in range(W.CALLERS):
        back = 0
        if depth - i > last:
            back = c[C.SHADOW + (depth - 1 - i) * C.SHADOW_ENTRY + C.CALL_RETURN]
        W.put(s, at + i, back)


@native
def since_call(c: State) -> int:
    """When the function that runs was called, in ticks; 0 for the first one."""
    depth = c[C.CALL_DEPTH]
    return c[C.SHADOW + (depth - 1) * C.SHADOW_ENTRY + C.CALL_TICKS] if depth > c[C.CALL_BASE] else 0


@native
def opens(c: State, s: State, address: int, size: int, write: int, pc: int) -> None:
    """The access in the light of the transfers whose end the program does not know of."""
    end = address + size
    for i in range(W.word(s, W.RUNNING)):
        o = W.OPENS + i * W.OPEN
        code = W.word(s, o + W.O_CODE)
        if code == 0:
            continue
        low, high = W.word(s, o + W.O_TARGET), W.word(s, o + W.O_TARGET_END)
        if address < high and low < end:
            if max(address, low + known(s, o)) < min(end, high):
                kind = W.TARGET_WRITTEN if write else W.EARLY
                in_use = 1 if since_call(c) and since_call(c) < W.word(s, o + W.O_BEGIN) else 0
                note(c, s, kind, pc, code, max(address, low), min(end, high), 0, 0, 0, held(s, address), in_use)
        elif write:
            low, high = W.word(s, o + W.O_SOURCE), W.word(s, o + W.O_SOURCE_END)
            if max(address, low + known(s, o)) < min(end, high):
                note(c, s, W.SOURCE_WRITTEN, pc, code, max(address, low), min(end, high), 0, 0, 0, held(s, address), 0)


@native
def past_end(c: State, s: State, q: int, address: int, size: int, pc: int) -> None:
    """The load goes on past the last byte that a transfer put there, where nobody has put any since."""
    for i in range(W.word(s, W.TARGETS_USED)):
        t = W.TARGETS + i * W.TARGET
        end = W.word(s, t + W.T_END)
        if not address <= end < address + size or end >= W.word(s, t + W.T_LIMIT):
            continue
        code = host.get16(s[q + L.MEANT] + 2 * end)
        if code & W.BY_CORE and host.get32(s[q + L.STORES] + (end & ~3)) & 1:
            continue
        if code and code & W.BY_CORE == 0 and W.word(s, W.TARGET_LOWS + code) != W.word(s, t + W.T_LOW):
            continue
        for k in range(W.LOOK_BACK):
            b = last_load(s, k)
            before = W.word(s, b + W.B_ADDRESS)
            near = end - EDGE <= before < end and issued(c, s) - W.word(s, b + W.B_COUNT) <= 2 * WINDOW
            if near or (address < end):
                note(c, s, W.SHORT, pc, W.word(s, t + W.T_CODE), end, address + size, 0, code, code, 0, before)
                break


@native
def on_stack(c: State, address: int) -> int:
    """Whether the address is on the main stack, or in the last function's frame, whose variables need no push."""
    return 1 if c[C.STACK_LOW] - FRAME <= address < c[C.STACK_TOP] else 0


@native
def loaded(c: State, s: State, q: int, address: int, size: int, pc: int) -> None:
    """The core loads bytes of range record ``q``."""
    cached = s[q + L.LINES] and s[L.DCACHE] and s[q + L.ATTRIBUTE]
    thread = W.word(s, W.PLACE) == 0
    for at in range(address, address + size):
        wanted, seen = host.get16(s[q + L.MEANT] + 2 * at), host.get16(s[q + L.SEEN] + 2 * at)
        code = wanted if wanted < W.MOST_CODES else 0
        if seen != wanted:
            stored = host.get16(s[q + L.STORED] + 2 * at)
            note(c, s, W.STALE, pc, code, at, at + 1, wanted, seen, stored, held(s, at), 0)
        elif cached and code and fresh(s, AddressRange(s, q), at):
            note(c, s, W.MAYBE_STALE, pc, code, at, at + 1, wanted, seen, wanted, held(s, at), 0)
        if thread and wanted & W.BY_CORE and wanted & W.BY_HANDLER:
            learn(s, wanted)
    if W.word(s, W.TARGETS_USED):
        past_end(c, s, q, address, size, pc)
    if not on_stack(c, address):
        remember(c, s, q, address, size, pc)
        if not thread:
            handler_loads(s, AddressRange(s, q), address, size)


@native
def last_load(s: State, k: int) -> int:
    """The record of the ``k``th load before the next one of who runs, the main program or a handler."""
    own = 1 if W.word(s, W.PLACE) else 0
    return W.LOADS + (own * W.LOOK_BACK + (W.word(s, W.LOADS_AT + own) - k) % W.LOOK_BACK) * W.LOAD


@native
def remember(c: State, s: State, q: int, address: int, size: int, pc: int) -> None:
    """Enter a load among the last ones."""
    own = 1 if W.word(s, W.PLACE) else 0
    b = last_load(s, 0)
    W.put(s, W.LOADS_AT + own, (W.word(s, W.LOADS_AT + own) + 1) % W.LOOK_BACK)
    W.put(s, b + W.B_ADDRESS, address)
    W.put(s, b + W.B_SIZE, size)
    W.put(s, b + W.B_PC, pc)
    W.put(s, b + W.B_COUNT, issued(c, s))
    W.put(s, b + W.B_VALUE, value_at(s, AddressRange(s, q), address, size))
    W.put(s, b + W.B_PLACE, W.word(s, W.PLACE))
    W.put(s, b + W.B_NOW, s[L.NOW])


@native
def may_come(s: State, place: int) -> int:
    """Whether the handler at ``place`` has a cause: that a block has let an event request it at some moment since the
    load that is asked about; of a stream's, a transfer under way."""
    off = W.word(s, W.OFF + place)
    if 0 < off < W.word(s, W.word(s, W.ASKED_LOAD) + W.B_NOW):
        return 0
    if W.word(s, W.OF_DMA + place) == 0:
        return 1
    for i in range(W.word(s, W.RUNNING)):
        o = W.OPENS + i * W.OPEN
        full = W.word(s, o + W.O_TOLD) >= W.word(s, o + W.O_TARGET_END) - W.word(s, o + W.O_TARGET)
        if W.word(s, o + W.O_CODE) and W.word(s, o + W.O_PLACE) == place and not full:
            return 1
    return 0


@native
def races(c: State, s: State, q: int, address: int, size: int, pc: int) -> None:
    """The core stores what it loaded a moment ago and a handler changes too: ask whether that can come."""
    handled = 0
    for at in range(address, address + size):
        handled |= host.get8(s[q + L.HANDLED] + at)
    if handled == 0 or c[C.FAULT] != C.NO_FAULT or on_stack(c, address):
        return
    for k in range(1, W.LOOK_BACK + 1):  # the last one first
        b = last_load(s, k)
        at = W.word(s, b + W.B_ADDRESS)
        own = W.word(s, b + W.B_PLACE) == W.word(s, W.PLACE)
        if own and at < address + size and address < at + W.word(s, b + W.B_SIZE):
            if issued(c, s) - W.word(s, b + W.B_COUNT) > WINDOW:
                return
            W.put(s, W.ASKED_LOAD, b)
            W.put(s, W.ASKED_ADDRESS, address)
            W.put(s, W.ASKED_PC, pc)
            c[C.FAULT] = C.WATCHED  # the hook looks at the masks
            return


@native
def stored(s: State, q: int, address: int, size: int, pc: int, by_handler: int) -> None:
    """The core has stored bytes of range record ``q``; ``by_handler``: the exception that may race for them, or 0."""
    code, c = W.word(s, W.CODE), s[L.DCACHE]
    back = c != 0 and s[q + L.ATTRIBUTE] == 2 and s[c + L.C_WRITEBACK] == 1
    for at in range(address, address + size):
        host.put16(s[q + L.SEEN] + 2 * at, code)
        host.put16(s[q + L.MEANT] + 2 * at, code)
        if not back or held(s, at) == 0:
            host.put16(s[q + L.STORED] + 2 * at, code)
        if by_handler:
            host.put8(s[q + L.HANDLED] + at, by_handler)
        if back and s[q + L.LINES]:
            line = line_at(s, AddressRange(s, q), at)
            host.put64(line, host.get64(line) | W.UNCLEAN)
        host.put32(s[q + L.STORES] + (at & ~3), pc & ~1 | W.word(s, W.STARTED))


@native
def racing(c: State, s: State, place: int, address: int) -> int:
    """The place of the handler that runs, if a store of its may come between two instructions; 0: none may."""
    comes = place == X.NMI or place == X.PENDSV or place == X.SYSTICK or place >= X.FIRST_LINE
    if not comes or on_stack(c, address) or W.word(s, W.FRAME) - SAVED <= address < W.word(s, W.FRAME):
        return 0
    return min(place, 255)


@shared
def accessed(c: State, s: State, q: int, address: int, size: int, write: int, pc: int, value: int) -> None:
    """The core loads or stores ``size`` bytes (of ``value``) at ``address`` of range record ``q``."""
    turn(c, s)
    if W.word(s, W.RUNNING):
        opens(c, s, address, size, write, pc)
    left = size
    while left > 0 and q >= 0:
        part = min(left, s[q + L.HIGH] - address)
        if s[q + L.SEEN] and write:
            races(c, s, q, address, part, pc)
            by_handler = racing(c, s, W.word(s, W.PLACE), address)
            if by_handler:
                handler_stores(s, by_handler, address, part, value, pc)
            stored(s, q, address, part, pc, by_handler)
        elif s[q + L.SEEN]:
            loaded(c, s, q, address, part, pc)
        address, left = address + part, left - part
        if left > 0:
            q = find(s, address)


@native
def pushed(c: State, s: State, q: int, address: int) -> None:
    """A word of an exception's frame was stored."""
    if not on_stack(c, address):
        if address != W.word(s, W.FRAME_END):
            W.put(s, W.FRAME, address)
        W.put(s, W.FRAME_END, address + 4)
    if s[q + L.SEEN]:
        stored(s, q, address, 4, 0, 0)


@native
def asked(s: State, i: int) -> int:
    """The place of the ``i``th of ``PROBES`` handlers that the core may race with, 0 for none."""
    h = record_at(s, W.word(s, W.ASKED_ADDRESS) & ~3, i)
    if h == 0 or touches(s, W.word(s, W.ASKED_LOAD), h) == 0:
        return 0
    place = W.word(s, h + W.H_PLACE)
    if place == W.word(s, W.PLACE) or may_come(s, place) == 0 or harmless(s, W.word(s, W.ASKED_LOAD), h):
        return 0
    return place


@native
def raced(c: State, s: State, i: int) -> int:
    """The ``i``th of those handlers could have come between the load and the store; whether that is a race for sure."""
    at, load = W.word(s, W.ASKED_ADDRESS), W.word(s, W.ASKED_LOAD)
    h = record_at(s, at & ~3, i)
    kind = W.MAYBE_RACE if loaded_as_stored(s, load, h) else W.RACE
    place = W.word(s, h + W.H_PLACE)
    note(c, s, kind, W.word(s, W.ASKED_PC), 0, at, at + 1, 0, place, 0, h, W.word(s, load + W.B_PC))
    return 1 if kind == W.RACE else 0
