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
from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.memory.cache.tags import held
from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.handled import (
    PROBES,
    handler_loads,
    handler_stores,
    harmless,
    index_of,
    loaded_as_stored,
    touches,
    value_at,
)
from mcusim.memory.race_detector.layout import LastTarget, OpenTransfer, RecentLoad, WatchState
from mcusim.memory.race_detector.lines import fresh, line_flags
from mcusim.memory.race_detector.reports import begin, enter, next_turn
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState
from mcusim.native import host_memory as host
from mcusim.native.functions import native, shared

__all__ = ["PROBES", "accessed", "asked", "pushed", "raced"]

WINDOW = 24  # instructions
EDGE = 16  # bytes before the end of what was transferred
FRAME = 256  # bytes of variables below what was pushed last
SAVED = 256  # bytes below a frame that a switch of tasks stores registers to


@native
def turn(core: CoreState, memory: MemoryState) -> None:
    """Whose turn it is: a new one begins with each handler, and with each return."""
    watch = memory.watch
    exceptions = ExceptionState(watch.exceptions)
    if exceptions.since == watch.since:
        return
    before, index = watch.exception, exceptions.current
    if before:
        watch.handler_instructions += core.instructions - watch.turn_instructions
    watch.turn_instructions = core.instructions
    watch.since = exceptions.since
    watch.exception = index
    next_turn(memory, index)
    watch.handler_load_count = 0
    slept = core.sleep_ticks != watch.slept
    if index == 0 and (slept or before in (X.SVCALL, X.PENDSV)):
        watch.slept = core.sleep_ticks
        watch.known_turn = watch.turn
    if index:
        handler_begins(watch, index)


@native
def handler_begins(watch: WatchState, index: int) -> None:
    """The handler of exception ``index`` knows what has arrived by the transfers of its stream."""
    if watch.off_since[index] > 0:
        watch.off_since[index] = W.FROM_PROGRAM
    for i in range(watch.open_count):
        transfer = watch.open_transfers[i]
        if transfer.exception == index and transfer.known < transfer.arrived:
            transfer.known = transfer.arrived
            transfer.turn = watch.turn


@native
def issued(core: CoreState, watch: WatchState) -> int:
    """Instructions of who runs, to count those between two of its accesses: without handlers, for the main program."""
    return core.instructions - (watch.handler_instructions if watch.exception == 0 else 0)


@native
def learn(watch: WatchState, writer: int) -> None:
    """The main program has loaded what ``writer``, a handler, stored."""
    then = watch.turn - ((watch.turn - writer) & W.TURN)
    if then > watch.known_turn:
        watch.known_turn = then


@native
def known(watch: WatchState, transfer: OpenTransfer) -> int:
    """Bytes of an open transfer that the code which runs knows to be there."""
    return 0 if watch.exception == 0 and transfer.turn > watch.known_turn else transfer.known


@native
def report(core: CoreState, memory: MemoryState, pc: int) -> None:
    """Enter the report that was begun, of the instruction at ``pc``, with the calls that led to it."""
    memory.watch.draft.pc = pc
    index = enter(memory)
    if index < 0:
        return
    callers = memory.watch.reports[index].callers
    for i in range(W.CALLERS):  # a handler's own only
        back = 0
        if core.call_depth - i > core.call_base:
            back = core.calls[core.call_depth - 1 - i].return_address
        callers[i] = back


@native
def since_call(core: CoreState) -> int:
    """When the function that runs was called, in ticks; 0 for the first one."""
    return core.calls[core.call_depth - 1].ticks if core.call_depth > core.call_base else 0


@native
def target_in_use(core: CoreState, memory: MemoryState, transfer: OpenTransfer) -> None:
    """The access is to the target of a transfer whose end the program does not know of."""
    access = core.access
    low = max(access.address, transfer.target + known(memory.watch, transfer))
    end = min(access.address + access.size, transfer.target_end)
    if low < end:
        kind = W.TARGET_WRITTEN if access.write else W.EARLY
        draft = begin(memory.watch, kind, transfer.code, max(access.address, transfer.target), end)
        draft.held = held(memory, access.address)
        draft.other = 1 if since_call(core) and since_call(core) < transfer.begin else 0
        report(core, memory, access.pc)


@native
def source_in_use(core: CoreState, memory: MemoryState, transfer: OpenTransfer) -> None:
    """The store is to the source of a transfer whose end the program does not know of."""
    access = core.access
    low = max(access.address, transfer.source + known(memory.watch, transfer))
    end = min(access.address + access.size, transfer.source_end)
    if low < end:
        first = max(access.address, transfer.source)
        draft = begin(memory.watch, W.SOURCE_WRITTEN, transfer.code, first, end)
        draft.held = held(memory, access.address)
        report(core, memory, access.pc)


@native
def opens(core: CoreState, memory: MemoryState) -> None:
    """The access in the light of the transfers whose end the program does not know of."""
    watch, access = memory.watch, core.access
    for i in range(watch.open_count):
        transfer = watch.open_transfers[i]
        if transfer.code == 0:
            continue
        if access.address < transfer.target_end and transfer.target < access.address + access.size:
            target_in_use(core, memory, transfer)
        elif access.write:
            source_in_use(core, memory, transfer)


@native
def of_another(watch: WatchState, addresses: AddressRange, target: LastTarget) -> int:
    """Whether somebody has put something behind the end of ``target`` since."""
    code = host.get16(addresses.meant + 2 * target.end)
    if code & W.BY_CORE:
        return host.get32(addresses.stores + (target.end & ~3)) & 1
    return 1 if code and watch.target_lows[code] != target.low else 0


@native
def past_end(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """The load goes on past the last byte that a transfer put there, where nobody has put any since."""
    watch = memory.watch
    for i in range(watch.target_count):
        target = watch.targets[i]
        end = target.end
        if not address <= end < address + size or end >= target.limit or of_another(watch, addresses, target):
            continue
        for k in range(W.LOOK_BACK):
            load = watch.loads[last_load(watch, k)]
            near = end - EDGE <= load.address < end and issued(core, watch) - load.count <= 2 * WINDOW
            if near or address < end:
                draft = begin(watch, W.SHORT, target.code, end, address + size)
                draft.seen = draft.stored = host.get16(addresses.meant + 2 * end)
                draft.other = load.address
                report(core, memory, core.access.pc)
                break


@native
def on_stack(core: CoreState, address: int) -> int:
    """Whether the address is on the main stack, or in the last function's frame, whose variables need no push."""
    return 1 if core.stack_low - FRAME <= address < core.stack_top else 0


@native
def loaded_byte(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int) -> None:
    """The core loads the byte at ``address``: is it the newest."""
    watch = memory.watch
    wanted, seen = host.get16(addresses.meant + 2 * address), host.get16(addresses.seen + 2 * address)
    code = wanted if wanted < W.MOST_CODES else 0
    if seen != wanted:
        draft = begin(watch, W.STALE, code, address, address + 1)
        draft.wanted, draft.seen = wanted, seen
        draft.stored, draft.held = host.get16(addresses.stored + 2 * address), held(memory, address)
        report(core, memory, core.access.pc)
    elif addresses.lines and memory.data_cache and addresses.attribute and code and fresh(addresses, address):
        draft = begin(watch, W.MAYBE_STALE, code, address, address + 1)
        draft.wanted, draft.seen, draft.stored, draft.held = wanted, seen, wanted, held(memory, address)
        report(core, memory, core.access.pc)
    if watch.exception == 0 and wanted & W.BY_CORE and wanted & W.BY_HANDLER:
        learn(watch, wanted)


@native
def loaded(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """The core loads bytes of ``addresses``."""
    watch = memory.watch
    for byte in range(address, address + size):
        loaded_byte(core, memory, addresses, byte)
    if watch.target_count:
        past_end(core, memory, addresses, address, size)
    if not on_stack(core, address):
        remember(core, memory, addresses, address, size)
        if watch.exception:
            handler_loads(watch, addresses, address)


@native
def last_load(watch: WatchState, k: int) -> int:
    """The index of the ``k``th load before the next one of who runs, the main program or a handler."""
    own = 1 if watch.exception else 0
    return own * W.LOOK_BACK + (watch.next_load[own] - k) % W.LOOK_BACK


@native
def remember(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """Enter a load among the last ones."""
    watch = memory.watch
    own = 1 if watch.exception else 0
    load = watch.loads[last_load(watch, 0)]
    watch.next_load[own] = (watch.next_load[own] + 1) % W.LOOK_BACK
    load.address, load.size, load.pc = address, size, core.access.pc
    load.count, load.value = issued(core, watch), value_at(addresses, address, size)
    load.exception, load.now = watch.exception, memory.now


@native
def may_come(watch: WatchState, index: int) -> int:
    """Whether the handler of exception ``index`` has a cause: that a block has let an event request it at some moment
    since the load that is asked about; of a stream's, a transfer under way."""
    off = watch.off_since[index]
    if 0 < off < watch.loads[watch.asked_load].now:
        return 0
    if watch.of_dma[index] == 0:
        return 1
    for i in range(watch.open_count):
        transfer = watch.open_transfers[i]
        full = transfer.known >= transfer.target_end - transfer.target
        if transfer.code and transfer.exception == index and not full:
            return 1
    return 0


@native
def overlaps(watch: WatchState, load: RecentLoad, address: int, size: int) -> int:
    """Whether who runs has loaded some of the bytes by ``load``."""
    own = load.exception == watch.exception
    return 1 if own and load.address < address + size and address < load.address + load.size else 0


@native
def races(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """The core stores what it loaded a moment ago and a handler changes too: ask whether that can come."""
    watch, handled = memory.watch, 0
    for byte in range(address, address + size):
        handled |= host.get8(addresses.handled + byte)
    if handled == 0 or core.fault != C.NO_FAULT or on_stack(core, address):
        return
    for k in range(1, W.LOOK_BACK + 1):  # the last one first
        index = last_load(watch, k)
        load = watch.loads[index]
        if overlaps(watch, load, address, size):
            if issued(core, watch) - load.count > WINDOW:
                return
            watch.asked_load = index
            watch.asked_address = address
            watch.asked_pc = core.access.pc
            core.fault = C.WATCHED  # the hook looks at the masks
            return


@native
def stored(memory: MemoryState, addresses: AddressRange, address: int, size: int, by_handler: int) -> None:
    """The core has stored bytes of ``addresses``; ``by_handler``: the exception that may race for them, or 0."""
    writer, cache = memory.watch.writer, memory.data_cache
    back = cache != 0 and addresses.attribute == 2 and CacheState(memory, cache).write_back == 1
    for byte in range(address, address + size):
        host.put16(addresses.seen + 2 * byte, writer)
        host.put16(addresses.meant + 2 * byte, writer)
        if not back or held(memory, byte) == 0:
            host.put16(addresses.stored + 2 * byte, writer)
        if by_handler:
            host.put8(addresses.handled + byte, by_handler)
        if back and addresses.lines:
            line = line_flags(addresses, byte)
            host.put64(line, host.get64(line) | W.UNCLEAN)


@native
def stored_by(memory: MemoryState, addresses: AddressRange, address: int, size: int, pc: int) -> None:
    """The instruction at ``pc`` was the last to store to these words; bit 0: after a transfer had begun."""
    for word in range(address & ~3, address + size, 4):
        host.put32(addresses.stores + word, pc & ~1 | memory.watch.started)


@native
def racing(core: CoreState, watch: WatchState, address: int) -> int:
    """The handler that runs, if a store of its may come between two instructions; 0: none may."""
    index = watch.exception
    comes = index == X.NMI or index == X.PENDSV or index == X.SYSTICK or index >= X.FIRST_LINE
    if not comes or on_stack(core, address) or watch.frame - SAVED <= address < watch.frame:
        return 0
    return min(index, 255)


@native
def stores(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """The core stores to bytes of ``addresses``."""
    watch, access = memory.watch, core.access
    races(core, memory, addresses, address, size)
    by_handler = racing(core, watch, address)
    if by_handler:
        handler_stores(watch, address, size, access.value, access.pc)
    stored(memory, addresses, address, size, by_handler)
    stored_by(memory, addresses, address, size, access.pc)


@shared
def accessed(core: CoreState, memory: MemoryState, addresses: AddressRange) -> None:
    """The core makes the access, which begins in ``addresses``."""
    turn(core, memory)
    access = core.access
    if memory.watch.open_count:
        opens(core, memory)
    address, size, offset = access.address, access.size, 0
    while size > 0 and offset >= 0:
        part = min(size, addresses.high - address)
        if addresses.seen and access.write:
            stores(core, memory, addresses, address, part)
        elif addresses.seen:
            loaded(core, memory, addresses, address, part)
        address, size = address + part, size - part
        if size > 0:
            offset = find(memory, address)
            addresses = AddressRange(memory, offset)


@native
def pushed(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int) -> None:
    """A word of an exception's frame was stored."""
    watch = memory.watch
    if not on_stack(core, address):
        if address != watch.frame_end:
            watch.frame = address
        watch.frame_end = address + 4
    if addresses.seen:
        stored(memory, addresses, address, 4, 0)
        stored_by(memory, addresses, address, 4, 0)


@native
def asked(memory: MemoryState, i: int) -> int:
    """The exception of the ``i``th of ``PROBES`` handlers that the core may race with, 0 for none."""
    watch = memory.watch
    index = index_of(watch, watch.asked_address & ~3, i)
    if index < 0:
        return 0
    record, load = watch.handler_words[index], watch.loads[watch.asked_load]
    if not touches(load, record) or record.exception == watch.exception:
        return 0
    if not may_come(watch, record.exception) or harmless(memory, load, record):
        return 0
    return record.exception


@native
def raced(core: CoreState, memory: MemoryState, i: int) -> int:
    """The ``i``th of those handlers could have come between the load and the store; whether that is a race for sure."""
    watch = memory.watch
    index = index_of(watch, watch.asked_address & ~3, i)
    record, load = watch.handler_words[index], watch.loads[watch.asked_load]
    kind = W.MAYBE_RACE if loaded_as_stored(load, record) else W.RACE
    draft = begin(watch, kind, 0, watch.asked_address, watch.asked_address + 1)
    draft.seen, draft.held, draft.other = record.exception, index, load.pc
    report(core, memory, watch.asked_pc)
    return 1 if kind == W.RACE else 0
