"""What loop nests are written in: the loads, stores and steps they are made of.

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

from mcusim.kernels.cost.fitted.nest_call import ListedWords, NestCall, NestLevel
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.memory.ports.quiet_loads import count_quiet_loads, quiet_loads
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange
from mcusim.native.functions import native, shared

ONE = 256
BEHIND = 5  # the part of a level's time that comes behind its stores
UNALIGNED = 0


@shared
def access(call: NestCall, address: int, size: int, write: int) -> None:
    """One access on the memory. A part of the last level's time comes before the next load, not before a store: results
    are stored before a loop's work is over."""
    memory = call.memory
    if not write:
        memory.now += call.later
        call.later = 0
    q = find(memory, address)
    if q >= 0 and write:
        call.stalled += core_data.store(memory, AddressRange(memory, q), address, size)
    elif q >= 0:
        call.stalled += core_data.load(memory, AddressRange(memory, q), address, size)


@native
def note_device_fault(call: NestCall, address: int, size: int, write: int) -> None:
    """Note an unaligned access where it is to Device memory."""
    q = find(call.memory, address)
    if q >= 0 and AddressRange(call.memory, q).flags & L.DEVICE:
        call.fault_address, call.fault_size, call.fault_write = address, size, write


@native
def unaligned_access(call: NestCall, address: int, size: int, write: int) -> None:
    """A word off a word boundary: bytes and aligned halfwords on a Cortex-M4, one access on a Cortex-M7. A halfword
    off its boundary is one access here."""
    if call.seeks_fault and call.fault_address == 0:
        note_device_fault(call, address, size, write)
    if size == 2:
        if call.plays:
            access(call, address, size, write)
        return
    parts = 1 if write else 2
    if call.splits_words:
        parts = 3 if address & 1 else 2
    level = call.levels[UNALIGNED]
    level.count += parts - 1
    call.memory.now += (parts - 1) * level.cost
    end = address + size
    while call.plays and address < end:
        part = size
        if call.splits_words:
            part = 1 if address & 1 or end - address == 1 else 2
        access(call, address, part, write)
        address += part


@native
def load(call: NestCall, address: int, size: int) -> None:
    """One load of an operand."""
    if address & (size - 1):
        unaligned_access(call, address, size, 0)
    elif call.plays:
        access(call, address, size, 0)


@native
def store(call: NestCall, address: int, size: int) -> None:
    """One store to an operand."""
    if address & (size - 1):
        unaligned_access(call, address, size, 1)
    elif call.plays:
        access(call, address, size, 1)


@native
def read_call(call: NestCall, level: NestLevel) -> None:
    """The words of the call structure that ``level`` reads each time."""
    for i in range(level.reads):
        word = ListedWords(call, level.listed).records[i]
        word.owed += word.rate
        while word.owed >= ONE:
            word.owed -= ONE
            load(call, call.structure + word.offset_in_call, 4)


@native
def step(call: NestCall, index: int, n: int) -> None:
    """``n`` iterations of the loop level of that index. While the core waits for data its code goes on coming."""
    level = call.levels[index]
    level.count += n
    if call.plays:
        ticks = n * level.cost
        wait = max(0, n * level.fetch - call.stalled)
        rest = ticks // BEHIND
        call.memory.now += call.later + ticks - rest + wait
        call.later = rest
        call.stalled = 0
        call.waited += wait
        if level.reads:
            for _ in range(n):
                read_call(call, level)


@native
def bank_conflict(call: NestCall, level: int, one: int, other: int) -> None:
    """Two loads next to each other: ``level`` when both are in the same bank of a Cortex-M7's memory (words alternate
    between two banks), which keeps them from being issued together."""
    if (one ^ other) & 4 == 0:
        step(call, level, 1)


@native
def pass_time(call: NestCall, index: int, n: int) -> None:
    """:func:`step`, ``n`` times with accesses that do not stall in between; the same level has come just before."""
    level = call.levels[index]
    level.count += n
    wait = n * level.fetch
    call.memory.now += n * level.cost + wait
    call.waited += wait


@native
def products(call: NestCall, x: int, w: int, conflict: int, level: int) -> None:
    """Over the filter's channels the loads of an element and of one of the filter, and a step of ``level``, with
    that of ``conflict`` before it where both are in one bank. Loads that change nothing but counters are not made one
    by one; what comes of them is the same."""
    memory, item, count, k = call.memory, call.element, call.filter_c, 0
    weight = call.weight
    if call.plays == 0 and x & (item - 1) == 0:
        conflicts = 0
        for i in range(count):
            if ((x + i * item) ^ (w + i * weight)) & 4 == 0:
                conflicts += 1
        step(call, conflict, conflicts)
        step(call, level, count)
        return
    plain = call.plays and call.levels[level].reads == 0 and call.levels[conflict].reads == 0
    while k < count:
        load(call, x + k * item, item)
        load(call, w + k * weight, weight)
        bank_conflict(call, conflict, x + k * item, w + k * weight)
        step(call, level, 1)
        k += 1
        if plain and count - k > 2:  # the last one is made
            quiet = min(quiet_loads(memory, x + k * item, item), quiet_loads(memory, w + k * weight, weight))
            quiet = min(quiet, count - k) - 1
            if quiet > 0:
                conflicts = 0
                for i in range(k, k + quiet):
                    if ((x + i * item) ^ (w + i * weight)) & 4 == 0:
                        conflicts += 1
                count_quiet_loads(memory, x + k * item, item, quiet)
                count_quiet_loads(memory, w + k * weight, weight, quiet)
                pass_time(call, conflict, conflicts)
                pass_time(call, level, quiet)
                k += quiet


@native
def iterations(call: NestCall, level: int, n: int) -> None:
    """A loop of ``n`` iterations, besides what each one costs: ``level`` if it is entered, the next if it goes round
    again, the one behind if just once: a branch predictor tells these three apart."""
    if n > 0:
        step(call, level, 1)
    if n > 1:
        step(call, level + 1, 1)
    if n == 2:
        step(call, level + 2, 1)


@native
def load_requantization(call: NestCall, channel: int, bias: int) -> None:
    """Multiplier and shift of an output channel, and its bias: two words with activations of 16 bits."""
    if bias and call.bias:
        words = 2 if call.element == 2 else 1
        for i in range(words):
            load(call, call.bias + 4 * (words * channel + i), 4)
    if call.multiplier:  # floats have none
        load(call, call.multiplier + 4 * channel, 4)
        load(call, call.shift + 4 * channel, 4)


@native
def clear(call: NestCall, to: int, size: int, level: int) -> None:
    """memset: ``level`` a call, the next two a word and a byte."""
    step(call, level, 1)
    end = to + size
    while to < end:
        if call.bytewise or to & 3 or to + 4 > end:
            store(call, to, 1)
            step(call, level + 2, 1)
            to += 1
        else:
            store(call, to, 4)
            step(call, level + 1, 1)
            to += 4


@native
def copy(call: NestCall, to: int, source: int, size: int) -> None:
    """memcpy: ``copy_level`` a call, the next a word, a byte, and a word of ends that are not aligned alike;
    ``copy_loops`` those of pairs of words, of single words, and of the bytes behind."""
    level, loops = call.copy_level, call.copy_loops
    step(call, level, 1)
    end = to + size
    alike = (to ^ source) & 3 == 0
    if not call.bytewise:
        rest = max(0, size - (-to & 3)) if alike else size
        iterations(call, loops, rest // 8 if alike else 0)
        iterations(call, loops + 3, 0 if alike else rest // 4)
        iterations(call, loops + 6, rest & 3)
    while to < end:
        if call.bytewise or to + 4 > end or (alike and to & 3):
            load(call, source, 1)
            store(call, to, 1)
            step(call, level + 2, 1)
            to += 1
            source += 1
        else:
            words = 2 if alike and to + 8 <= end else 1
            for k in range(words):
                load(call, source + 4 * k, 4)
            step(call, level + 1 if alike else level + 3, words)
            for k in range(words):
                store(call, to + 4 * k, 4)
            to += 4 * words
            source += 4 * words


@native
def sign_extend_copy(call: NestCall, to: int, source: int, count: int) -> None:
    """int8 to q15: ``copy_level`` a call, the next two four elements and one; ``copy_loops`` those of both loops."""
    level, loops = call.copy_level, call.copy_loops
    step(call, level, 1)
    iterations(call, loops, count // 4)
    iterations(call, loops + 3, count & 3)
    for i in range(0, count - 3, 4):
        load(call, source + i, 4)
        step(call, level + 1, 1)
        store(call, to + 2 * i, 4)
        store(call, to + 2 * i + 4, 4)
    for i in range(count // 4 * 4, count):
        load(call, source + i, 1)
        step(call, level + 2, 1)
        store(call, to + 2 * i, 2)
