"""Words that handlers store to: when would a store between the main program's load and its own be no loss.

It would not where the handler stores blindly what the main program has just loaded (a flag that is set, seen and
cleared), or a constant that it is (a state that the handler sets back; who looks at the instructions knows), and where
the handler stores only while a word of the main program's has one value, and the main program has given it another (a
scheduler that is suspended).

Not modelled: more words than the table has room for; a word that was the same by chance each time a handler came.
"""

from __future__ import annotations

from mcusim.memory.race_detector import layout as W
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState
from mcusim.native import host_memory as host
from mcusim.native.compile import native

PROBES = 8


@native
def value_at(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> int:
    """The first bytes, four at most, as the core sees them; of range record ``q``."""
    value = 0
    for i in range(min(size, 4)):
        value |= host.get8(addresses.core_view + address + i) << (8 * i)
    return value


@native
def of_program(memory: MemoryState, addresses: AddressRange, address: int) -> int:
    """Whether the main program, or who loaded the image, wrote the byte last."""
    writer = host.get16(addresses.meant + 2 * address)
    return 1 if writer == 0 or (writer & W.BY_CORE and writer & W.BY_HANDLER == 0) else 0


@native
def probe(word: int, i: int) -> int:
    """The ``i``th place where a record of the word may be."""
    return W.WORDS + (((word >> 2) ^ (word >> 14)) + i) % W.MOST_WORDS * W.HANDLED


@native
def record_at(memory: MemoryState, word: int, i: int) -> int:
    """The record of the word that is the ``i``th of ``PROBES``, 0 for none."""
    h = probe(word, i)
    return h if W.word(memory, h + W.H_WORD) == word else 0


@native
def record_of(memory: MemoryState, word: int, place: int, address: int) -> int:
    """The record of a handler's stores to an address in a word, or the free one for them; 0: there is no room."""
    for i in range(PROBES):
        h = probe(word, i)
        if W.word(memory, h + W.H_WORD) == 0:
            return h
        same = W.word(memory, h + W.H_WORD) == word and W.word(memory, h + W.H_ADDRESS) == address
        if same and W.word(memory, h + W.H_PLACE) == place:
            return h
    return 0


@native
def handler_begins(memory: MemoryState) -> None:
    """Another handler's instructions follow: it has loaded nothing."""
    W.put(memory, W.LOADED, 0)


@native
def handler_loads(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """A handler loads bytes of range record ``q``."""
    n = W.word(memory, W.LOADED)
    if n < W.MOST_LOADED:
        p = W.LOADS_OF_HANDLER + 3 * n
        W.put(memory, p, address & ~3)
        W.put(memory, p + 1, value_at(memory, addresses, address & ~3, 4))
        W.put(memory, p + 2, of_program(memory, addresses, address))
    W.put(memory, W.LOADED, n + 1)


@native
def has_loaded(memory: MemoryState, word: int, value: int) -> int:
    """Whether the handler has loaded the word, with that value unless it is negative."""
    for i in range(min(W.word(memory, W.LOADED), W.MOST_LOADED)):
        p = W.LOADS_OF_HANDLER + 3 * i
        if W.word(memory, p) == word and (value < 0 or W.word(memory, p + 1) == value):
            return 1
    return 0


@native
def new_record(memory: MemoryState, h: int, word: int) -> None:
    """The first store of a handler to a word: what it has loaded of the main program's may guard it."""
    W.put(memory, h + W.H_WORD, word)
    count = 0
    for i in range(min(W.word(memory, W.LOADED), W.MOST_LOADED)):
        p, g = W.LOADS_OF_HANDLER + 3 * i, h + W.H_GUARD + 2 * count
        if count < W.MOST_GUARDS and W.word(memory, p + 2) and W.word(memory, p) != word:
            W.put(memory, g, W.word(memory, p))
            W.put(memory, g + 1, W.word(memory, p + 1))
            count += 1
    W.put(memory, h + W.H_GUARDS, count)


@native
def keep_guards(memory: MemoryState, h: int) -> None:
    """Of the words that may guard one, those that this handler has loaded too, with the same value."""
    count = 0
    for i in range(W.word(memory, h + W.H_GUARDS)):
        g, to = h + W.H_GUARD + 2 * i, h + W.H_GUARD + 2 * count
        if has_loaded(memory, W.word(memory, g), W.word(memory, g + 1)):
            W.put(memory, to, W.word(memory, g))
            W.put(memory, to + 1, W.word(memory, g + 1))
            count += 1
    W.put(memory, h + W.H_GUARDS, count)


@native
def stores_at(memory: MemoryState, h: int, pc: int) -> None:
    """Enter the instruction among those that make the stores of record ``h``."""
    count = W.word(memory, h + W.H_STORES)
    for i in range(min(count, W.MOST_STORES)):
        if W.word(memory, h + W.H_STORE + i) == pc:
            return
    if count < W.MOST_STORES:
        W.put(memory, h + W.H_STORE + count, pc)
    W.put(memory, h + W.H_STORES, count + 1)


@native
def handler_stores(memory: MemoryState, place: int, address: int, size: int, value: int, pc: int) -> None:
    """The handler at ``place`` stores ``value`` by the instruction at ``pc``."""
    value &= (1 << 8 * min(size, 4)) - 1
    for word in range(address & ~3, address + size, 4):
        h = record_of(memory, word, place, address)
        if h == 0:
            continue
        stores_at(memory, h, pc & ~1)
        blind = 0 if has_loaded(memory, word, -1) or W.word(memory, W.LOADED) > W.MOST_LOADED else 1
        if W.word(memory, h + W.H_WORD) == 0:
            new_record(memory, h, word)
            W.put(memory, h + W.H_PLACE, place)
            W.put(memory, h + W.H_ADDRESS, address)
            W.put(memory, h + W.H_SIZE, size)
            W.put(memory, h + W.H_VALUE, value)
            W.put(memory, h + W.H_SAME, 1)
            W.put(memory, h + W.H_BLIND, blind)
            continue
        keep_guards(memory, h)
        if W.word(memory, h + W.H_SIZE) != size or W.word(memory, h + W.H_VALUE) != value:
            W.put(memory, h + W.H_SAME, 0)
        if not blind:
            W.put(memory, h + W.H_BLIND, 0)


@native
def touches(memory: MemoryState, load: int, h: int) -> int:
    """Whether the stores of record ``h`` change what the main program's ``load`` loads."""
    low, at = W.word(memory, h + W.H_ADDRESS), W.word(memory, load + W.B_ADDRESS)
    return 1 if low < at + W.word(memory, load + W.B_SIZE) and at < low + W.word(memory, h + W.H_SIZE) else 0


@native
def loaded_as_stored(memory: MemoryState, load: int, h: int) -> int:
    """Whether the main program's ``load`` loads what the stores of record ``h`` have always stored there."""
    same = W.word(memory, h + W.H_ADDRESS) == W.word(memory, load + W.B_ADDRESS)
    same = same and W.word(memory, h + W.H_SIZE) == W.word(memory, load + W.B_SIZE)
    same = same and W.word(memory, load + W.B_VALUE) == W.word(memory, h + W.H_VALUE)
    return 1 if same and W.word(memory, h + W.H_SAME) else 0


@native
def harmless(memory: MemoryState, load: int, h: int) -> int:
    """Whether the store of record ``h`` would be no loss after the main program's ``load`` and before its own store."""
    if W.word(memory, h + W.H_BLIND) and loaded_as_stored(memory, load, h):
        return 1
    for i in range(W.word(memory, h + W.H_GUARDS)):
        g = h + W.H_GUARD + 2 * i
        word = W.word(memory, g)
        offset = find(memory, word)
        addresses = AddressRange(memory, offset)
        if offset >= 0 and addresses.seen and value_at(memory, addresses, word, 4) != W.word(memory, g + 1):
            writer = host.get16(addresses.meant + 2 * word)
            if writer & W.BY_CORE and writer & W.BY_HANDLER == 0:
                return 1
    return 0
