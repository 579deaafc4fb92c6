"""What loop nests are written in: slots of their parameter array, and the loads, stores and steps they are made of.

A *nest* mirrors one kernel function of a compiled set: it walks the function's loops, replays every load and store of
an operand on the memory system, one by one in the function's order, and counts how often each *level* of its loops
runs. A level has a cost that was fitted to the emulated function (:mod:`mcusim.kernels.cost.fitted.kinds`); the
memory's clock goes on by it, so that the accesses come at the core's pace. Level 0 of every nest is what words off a
word boundary take more.

A level reads the words of the call structure that the emulated function was seen to read, in its order.

Not modelled: the order of loads inside a loop body (operands come before the call structure), loads and stores of the
stack (they hit zero-wait or cached memory and are in the cycles).
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange
from mcusim.native.compile import State, native, shared

IN, IN2, W, OUT, BIAS, MUL, SHIFT, SCR, CALL = range(9)
BATCH, IN_H, IN_W, IN_C, ROWS, OUT_W, OUT_C, KH, KW, SH, SW, DH, DW, PT, PL, DM = range(9, 25)
ITEM, SIZE, SIZE2, OUT_SIZE, BYTES, PIECES, PLAY = range(25, 32)  # BYTES: memset and memcpy go byte by byte
LEVELS = 40  # the most a nest may have
# by level: how often, ticks, ticks of waiting for code, words read of the call structure and where they are listed
COUNT, COST, FETCH, READS, LISTED = (32 + i * LEVELS for i in range(5))
# LATER: ticks of a level still to come; STALLED: since the last level; WAITED: for code, in all;
# SPLITS: words off their boundary are split; ELEMENT: bytes of an activation; DEVICE_FAULTS: the first unaligned access
# to Device memory is noted in FAULT_ADDRESS (0: none), FAULT_SIZE, FAULT_WRITE; MORE: inputs of CONCATENATION, behind
# the slots address and bytes of each
LATER, STALLED, WAITED, SPLITS, ELEMENT, DEVICE_FAULTS, FAULT_ADDRESS, FAULT_SIZE, FAULT_WRITE, MORE = range(
    32 + 5 * LEVELS, 42 + 5 * LEVELS
)
SLOTS = MORE + 1
OFFSET, RATE, OWED, WORD = range(4)  # of a word listed: reads each time the level runs, and those to come, in 1 / ONE
ONE = 256
BEHIND = 5  # the part of a level's time that comes behind its stores
UNALIGNED = 0


@shared
def access(s: State, p: State, address: int, size: int, write: int) -> None:
    """One access on the memory. A part of the last level's time comes before the next load, not before a store: results
    are stored before a loop's work is over."""
    if not write:
        s[L.NOW] += p[LATER]
        p[LATER] = 0
    q = find(s, address)
    if q >= 0 and write:
        p[STALLED] += core_data.store(s, AddressRange(s, q), address, size)
    elif q >= 0:
        p[STALLED] += core_data.load(s, AddressRange(s, q), address, size)


@native
def note_device_fault(s: State, p: State, address: int, size: int, write: int) -> None:
    """Note an unaligned access where it is to Device memory."""
    q = find(s, address)
    if q >= 0 and s[q + L.FLAGS] & L.DEVICE:
        p[FAULT_ADDRESS], p[FAULT_SIZE], p[FAULT_WRITE] = address, size, write


@native
def unaligned_access(s: State, p: State, address: int, size: int, write: int) -> None:
    """A word off a word boundary: bytes and aligned halfwords on a Cortex-M4, one access on a Cortex-M7. A halfword
    off its boundary is one access here."""
    if p[DEVICE_FAULTS] and p[FAULT_ADDRESS] == 0:
        note_device_fault(s, p, address, size, write)
    if size == 2:
        if p[PLAY]:
            access(s, p, address, size, write)
        return
    parts = 1 if write else 2
    if p[SPLITS]:
        parts = 3 if address & 1 else 2
    p[COUNT] += parts - 1
    s[L.NOW] += (parts - 1) * p[COST]
    end = address + size
    while p[PLAY] and address < end:
        part = size
        if p[SPLITS]:
            part = 1 if address & 1 or end - address == 1 else 2
        access(s, p, address, part, write)
        address += part


@native
def load(s: State, p: State, address: int, size: int) -> None:
    """One load of an operand."""
    if address & (size - 1):
        unaligned_access(s, p, address, size, 0)
    elif p[PLAY]:
        access(s, p, address, size, 0)


@native
def store(s: State, p: State, address: int, size: int) -> None:
    """One store to an operand."""
    if address & (size - 1):
        unaligned_access(s, p, address, size, 1)
    elif p[PLAY]:
        access(s, p, address, size, 1)


@native
def read_call(s: State, p: State, level: int) -> None:
    """The words of the call structure that ``level`` reads each time."""
    for i in range(p[READS + level]):
        word = p[LISTED + level] + i * WORD
        p[word + OWED] += p[word + RATE]
        while p[word + OWED] >= ONE:
            p[word + OWED] -= ONE
            load(s, p, p[CALL] + p[word + OFFSET], 4)


@native
def step(s: State, p: State, level: int, n: int) -> None:
    """``n`` iterations of a loop level. While the core waits for data its code goes on coming."""
    p[COUNT + level] += n
    if p[PLAY]:
        ticks = n * p[COST + level]
        wait = max(0, n * p[FETCH + level] - p[STALLED])
        rest = ticks // BEHIND
        s[L.NOW] += p[LATER] + ticks - rest + wait
        p[LATER] = rest
        p[STALLED] = 0
        p[WAITED] += wait
        if p[READS + level]:
            for _ in range(n):
                read_call(s, p, level)


@native
def bank_conflict(s: State, p: State, level: int, one: int, other: int) -> None:
    """Two loads next to each other: ``level`` when both are in the same bank of a Cortex-M7's memory (words alternate
    between two banks), which keeps them from being issued together."""
    if (one ^ other) & 4 == 0:
        step(s, p, level, 1)


@native
def iterations(s: State, p: State, level: int, n: int) -> None:
    """A loop of ``n`` iterations, besides what each one costs: ``level`` if it is entered, the next if it goes round
    again, the one behind if just once: a branch predictor tells these three apart."""
    if n > 0:
        step(s, p, level, 1)
    if n > 1:
        step(s, p, level + 1, 1)
    if n == 2:
        step(s, p, level + 2, 1)


@native
def load_requantization(s: State, p: State, channel: int, bias: int) -> None:
    """Multiplier and shift of an output channel, and its bias: two words with activations of 16 bits."""
    if bias and p[BIAS]:
        words = 2 if p[ELEMENT] == 2 else 1
        for i in range(words):
            load(s, p, p[BIAS] + 4 * (words * channel + i), 4)
    load(s, p, p[MUL] + 4 * channel, 4)
    load(s, p, p[SHIFT] + 4 * channel, 4)


@native
def clear(s: State, p: State, to: int, size: int, level: int) -> None:
    """memset: ``level`` a call, the next two a word and a byte."""
    step(s, p, level, 1)
    end = to + size
    while to < end:
        if p[BYTES] or to & 3 or to + 4 > end:
            store(s, p, to, 1)
            step(s, p, level + 2, 1)
            to += 1
        else:
            store(s, p, to, 4)
            step(s, p, level + 1, 1)
            to += 4


@native
def copy(s: State, p: State, to: int, source: int, size: int, level: int, loops: int) -> None:
    """memcpy: ``level`` a call, the next a word, a byte, and a word of ends that are not aligned alike; ``loops`` those
    of pairs of words, of single words, and of the bytes behind."""
    step(s, p, level, 1)
    end = to + size
    alike = (to ^ source) & 3 == 0
    if not p[BYTES]:
        rest = max(0, size - (-to & 3)) if alike else size
        iterations(s, p, loops, rest // 8 if alike else 0)
        iterations(s, p, loops + 3, 0 if alike else rest // 4)
        iterations(s, p, loops + 6, rest & 3)
    while to < end:
        if p[BYTES] or to + 4 > end or (alike and to & 3):
            load(s, p, source, 1)
            store(s, p, to, 1)
            step(s, p, level + 2, 1)
            to += 1
            source += 1
        else:
            words = 2 if alike and to + 8 <= end else 1
            for k in range(words):
                load(s, p, source + 4 * k, 4)
            step(s, p, level + 1 if alike else level + 3, words)
            for k in range(words):
                store(s, p, to + 4 * k, 4)
            to += 4 * words
            source += 4 * words


@native
def sign_extend_copy(s: State, p: State, source: int, to: int, count: int, level: int, loops: int) -> None:
    """int8 to q15: ``level`` a call, the next two four elements and one; ``loops`` those of both loops."""
    step(s, p, level, 1)
    iterations(s, p, loops, count // 4)
    iterations(s, p, loops + 3, count & 3)
    for i in range(0, count - 3, 4):
        load(s, p, source + i, 4)
        step(s, p, level + 1, 1)
        store(s, p, to + 2 * i, 4)
        store(s, p, to + 2 * i + 4, 4)
    for i in range(count // 4 * 4, count):
        load(s, p, source + i, 1)
        step(s, p, level + 2, 1)
        store(s, p, to + 2 * i, 2)
