"""Words that handlers store to: when would a store between the main program's load and its own be no loss.

It would not where the handler stores blindly what the main program has just loaded (a flag that is set, seen and
cleared), or a constant that it is (a state that the handler sets back; who looks at the instructions knows), and where
the handler stores only while a word of the main program's has one value, and the main program has given it another (a
scheduler that is suspended).

Not modelled: more words than the table has room for; a word that was the same by chance each time a handler came.
"""

from __future__ import annotations

from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.layout import HandlerWord, RecentLoad, WatchState
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState
from mcusim.native import host_memory as host
from mcusim.native.functions import native

PROBES = 8


@native
def value_at(addresses: AddressRange, address: int, size: int) -> int:
    """The first bytes, four at most, as the core sees them."""
    value = 0
    for i in range(min(size, 4)):
        value |= host.get8(addresses.core_view + address + i) << (8 * i)
    return value


@native
def of_program(addresses: AddressRange, address: int) -> int:
    """Whether the main program, or who loaded the image, wrote the byte last."""
    writer = host.get16(addresses.meant + 2 * address)
    return 1 if writer == 0 or (writer & W.BY_CORE and writer & W.BY_HANDLER == 0) else 0


@native
def probe(word: int, i: int) -> int:
    """The ``i``th index where a record of the word may be."""
    return (((word >> 2) ^ (word >> 14)) + i) % W.MOST_WORDS


@native
def index_of(watch: WatchState, word: int, i: int) -> int:
    """The index of the word's record that is the ``i``th of ``PROBES``, -1 for none."""
    index = probe(word, i)
    return index if watch.handler_words[index].word == word else -1


@native
def slot_for(watch: WatchState, word: int, exception: int, address: int) -> int:
    """The index of the record of a handler's stores to an address in a word, or of the free one for them; -1: there is
    no room."""
    for i in range(PROBES):
        index = probe(word, i)
        record = watch.handler_words[index]
        if record.word == 0:
            return index
        if record.word == word and record.address == address and record.exception == exception:
            return index
    return -1


@native
def handler_loads(watch: WatchState, addresses: AddressRange, address: int) -> None:
    """A handler loads bytes of ``addresses``."""
    count = watch.handler_load_count
    if count < W.MOST_LOADED:
        load = watch.handler_loads[count]
        load.word = address & ~3
        load.value = value_at(addresses, address & ~3, 4)
        load.of_program = of_program(addresses, address)
    watch.handler_load_count = count + 1


@native
def has_loaded(watch: WatchState, word: int, value: int) -> int:
    """Whether the handler has loaded the word, with that value unless it is negative."""
    for i in range(min(watch.handler_load_count, W.MOST_LOADED)):
        load = watch.handler_loads[i]
        if load.word == word and (value < 0 or load.value == value):
            return 1
    return 0


@native
def new_record(watch: WatchState, record: HandlerWord, word: int) -> None:
    """The first store of a handler to a word: what it has loaded of the main program's may guard it."""
    record.word = word
    count = 0
    for i in range(min(watch.handler_load_count, W.MOST_LOADED)):
        load = watch.handler_loads[i]
        if count < W.MOST_GUARDS and load.of_program and load.word != word:
            guard = record.guards[count]
            guard.word, guard.value = load.word, load.value
            count += 1
    record.guard_count = count


@native
def keep_guards(watch: WatchState, record: HandlerWord) -> None:
    """Of the words that may guard one, those that this handler has loaded too, with the same value."""
    count = 0
    for i in range(record.guard_count):
        guard, kept = record.guards[i], record.guards[count]
        if has_loaded(watch, guard.word, guard.value):
            kept.word, kept.value = guard.word, guard.value
            count += 1
    record.guard_count = count


@native
def stores_at(record: HandlerWord, pc: int) -> None:
    """Enter the instruction among those that make the stores of ``record``."""
    count = record.store_count
    for i in range(min(count, W.MOST_STORES)):
        if record.stores[i] == pc:
            return
    if count < W.MOST_STORES:
        record.stores[count] = pc
    record.store_count = count + 1


@native
def store_again(watch: WatchState, record: HandlerWord, size: int, value: int, blind: int) -> None:
    """A further store of a handler to a word."""
    keep_guards(watch, record)
    if record.size != size or record.value != value:
        record.same = 0
    if not blind:
        record.blind = 0


@native
def handler_stores(watch: WatchState, address: int, size: int, value: int, pc: int) -> None:
    """The handler that runs stores ``value`` by the instruction at ``pc``."""
    value &= (1 << 8 * min(size, 4)) - 1
    exception = min(watch.exception, 255)  # as a byte tells it
    for word in range(address & ~3, address + size, 4):
        index = slot_for(watch, word, exception, address)
        if index < 0:
            continue
        record = watch.handler_words[index]
        stores_at(record, pc & ~1)
        blind = 0 if has_loaded(watch, word, -1) or watch.handler_load_count > W.MOST_LOADED else 1
        if record.word:
            store_again(watch, record, size, value, blind)
            continue
        new_record(watch, record, word)
        record.exception, record.address, record.size, record.value = exception, address, size, value
        record.same, record.blind = 1, blind


@native
def touches(load: RecentLoad, record: HandlerWord) -> int:
    """Whether the stores of ``record`` change what the main program's ``load`` loads."""
    return 1 if record.address < load.address + load.size and load.address < record.address + record.size else 0


@native
def loaded_as_stored(load: RecentLoad, record: HandlerWord) -> int:
    """Whether the main program's ``load`` loads what the stores of ``record`` have always stored there."""
    same = record.address == load.address and record.size == load.size and load.value == record.value
    return 1 if same and record.same else 0


@native
def harmless(memory: MemoryState, load: RecentLoad, record: HandlerWord) -> int:
    """Whether the store of ``record`` would be no loss after the main program's ``load`` and before its own store."""
    if record.blind and loaded_as_stored(load, record):
        return 1
    for i in range(record.guard_count):
        guard = record.guards[i]
        offset = find(memory, guard.word)
        addresses = AddressRange(memory, offset)
        if offset >= 0 and addresses.seen and value_at(addresses, guard.word, 4) != guard.value:
            writer = host.get16(addresses.meant + 2 * guard.word)
            if writer & W.BY_CORE and writer & W.BY_HANDLER == 0:
                return 1
    return 0
