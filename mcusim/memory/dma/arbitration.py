"""DMA transfers in flight: beat by beat next to the core, each waiting for what the other has of a memory.

Each of a controller's two ports makes one access (a beat, or a burst, which is not cut) at a time; at each turn the
ready stream of the highest priority goes, equal ones alternate: a more urgent transfer pre-empts between beats. Before
an access of the core to a memory that a transfer touches, all accesses that were due before it are made (``arrive``);
then the core waits while one holds the memory, and the next one waits for the core: they are served as they come, and
alternate where both always wait (round-robin, ST AN4031). Nothing is done for an access to any other memory.

Tightly coupled memory has a port of its own for the DMA here: neither waits for the other. A beat's bytes are moved
with its write (:mod:`mcusim.memory.cache.data`).

Not modelled: a stream is chosen when its access begins, not when its port's arbitration does; a beat's bytes are those
of the source when it is written, not when it was read; contention of two controllers, of the two ports of one flash, on
the bus matrix between accesses to different memories, beats between the fill and the write-back of one cache miss, and
beats while the core writes back a line, or a task the lines of its span, by cache maintenance (they come after it).
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import data
from mcusim.memory.dma import beats
from mcusim.memory.range_lookup import find, range_at
from mcusim.memory.state_layout import AddressRange, DmaPort, MemoryState, RegionState, RegionStates, TransferState
from mcusim.native.functions import inlined, native, shared
from mcusim.native.structs import words_between

MOST_BLOCKS = 62  # bits of a word that tell which region blocks a transfer touches

FIRST_REGION = MemoryState.WORDS  # where the regions begin


@inlined
def block_at(memory: MemoryState, index: int) -> RegionState:
    """One of the regions' blocks."""
    return RegionStates(memory, FIRST_REGION).records[index]


@native
def mark_shared(memory: MemoryState, region: RegionState) -> None:
    """Ranges of the region where no access waits are such no more while a transfer touches it."""
    block = words_between(memory, region)
    for i in range(memory.ranges):
        addresses = range_at(memory, i)
        if addresses.region == block and addresses.flags & L.FREE:
            addresses.flags += L.UNLESS_SHARED - L.FREE


@native
def detach(memory: MemoryState, region: RegionState) -> None:
    """One transfer less touches the region."""
    region.transfers -= 1
    if region.transfers:
        return
    block = words_between(memory, region)
    for i in range(memory.ranges):
        addresses = range_at(memory, i)
        if addresses.region == block and addresses.flags & L.UNLESS_SHARED:
            addresses.flags += L.FREE - L.UNLESS_SHARED


@native
def due(transfer: TransferState, port: DmaPort, writing: int) -> int:
    """When the transfer could have its next access by ``port``: NEVER or later if it has to wait for the other."""
    if writing:
        return max(beats.next_write(transfer), port.free) + transfer.before_write
    return max(beats.next_read(transfer), port.free) + transfer.before_read


@inlined
def port_of(memory: MemoryState, controller: int, writing: int) -> DmaPort:
    """One of a controller's two ports."""
    return memory.controllers[controller].writing if writing else memory.controllers[controller].reading


@native
def next_turn(memory: MemoryState, controller: int) -> None:
    """When the next accesses of a controller begin."""
    for writing in range(2):
        port = port_of(memory, controller, writing)
        first = L.NEVER
        for i in range(memory.slots):
            transfer = memory.transfers[i]
            if transfer.state == L.ACTIVE and transfer.controller == controller:
                first = min(first, due(transfer, port, writing))
        port.next_access = first
        memory.next_beat = min(memory.next_beat, first)


@native
def attach(memory: MemoryState, slot: int) -> None:
    """The transfer in ``slot`` is filled in: its controller takes it up."""
    transfer = memory.transfers[slot]
    transfer.state = L.ACTIVE
    for i in range(MOST_BLOCKS):
        if transfer.shares >> i & 1:
            region = block_at(memory, i)
            if region.transfers == 0:
                region.taken_until = region.busy_until
            region.transfers += 1
            mark_shared(memory, region)
    next_turn(memory, transfer.controller)


@native
def choose(memory: MemoryState, controller: int, port: DmaPort, writing: int) -> TransferState:
    """The transfer that the port serves now: the highest priority, of equals the one after the last served."""
    best = -1
    last = port.last_slot
    for i in range(1, memory.slots + 1):
        slot = (last + i) % memory.slots
        transfer = memory.transfers[slot]
        if transfer.state != L.ACTIVE or transfer.controller != controller:
            continue
        if due(transfer, port, writing) > port.next_access:
            continue
        if best < 0 or transfer.priority > memory.transfers[best].priority:
            best = slot
    port.last_slot = best
    return memory.transfers[best]


@native
def complete(memory: MemoryState, transfer: TransferState, end: int) -> None:
    """All beats are made; the memories are shared until the last one lets go of them."""
    transfer.state, transfer.end = L.DONE, end
    release = end
    for i in range(MOST_BLOCKS):
        if transfer.shares >> i & 1:
            release = max(release, block_at(memory, i).held_until)
    transfer.release = release
    memory.next_release = min(memory.next_release, release)


@native
def release(memory: MemoryState) -> None:
    """Let go of the memories of transfers whose time has come."""
    now = memory.next_release
    memory.next_release = L.NEVER
    for slot in range(memory.slots):
        transfer = memory.transfers[slot]
        if transfer.state < L.DONE or transfer.release == L.NEVER:
            continue
        if transfer.release > now:
            memory.next_release = min(memory.next_release, transfer.release)
            continue
        transfer.release = L.NEVER
        for i in range(MOST_BLOCKS):
            if transfer.shares >> i & 1:
                detach(memory, block_at(memory, i))
        if transfer.state == L.REPORTED:
            transfer.state = L.IDLE


@native
def read_access(memory: MemoryState, controller: int) -> None:
    """The reading port of a controller has its turn."""
    port = memory.controllers[controller].reading
    start = port.next_access
    transfer = choose(memory, controller, port, 0)
    block = beats.source_of(memory, transfer)
    if block < 0:
        complete(memory, transfer, start)
        return
    region = RegionState(memory, block)
    if region.kind != L.TCM:
        start = max(start, region.taken_until)
    memory.now = start
    region.dma_read_bytes += beats.read(memory, transfer, region)
    port.free = transfer.read_end


@native
def write_access(memory: MemoryState, controller: int) -> None:
    """The writing port of a controller has its turn."""
    port = memory.controllers[controller].writing
    start = port.next_access
    transfer = choose(memory, controller, port, 1)
    fresh = transfer.unwritten_in_line == 0
    block = beats.target_of(memory, transfer)
    if block < 0:
        complete(memory, transfer, start)
        return
    region = RegionState(memory, block)
    if fresh:
        source, target = find(memory, transfer.write_source), find(memory, transfer.write_address)
        data.begin(transfer, AddressRange(memory, source), AddressRange(memory, target))
    if region.kind != L.TCM and region.kind != L.SDRAM:
        start = max(start, region.taken_until)
    memory.now = start
    size = beats.write(memory, transfer, region)
    data.move(memory, transfer, size)
    region.dma_write_bytes += size
    beats.moved(transfer, size)
    end = port.free = transfer.write_end
    if transfer.unwritten == 0:
        complete(memory, transfer, end)


@shared
def advance(memory: MemoryState, until: int) -> None:
    """Make all accesses that are due before ``until``; ``memory.now`` stays."""
    now = memory.now
    while min(memory.next_beat, memory.next_release) < until:
        if memory.next_release <= memory.next_beat:
            release(memory)
            continue
        k = 0
        while memory.next_beat not in (
            memory.controllers[k].reading.next_access,
            memory.controllers[k].writing.next_access,
        ):
            k += 1
        if memory.controllers[k].reading.next_access == memory.next_beat:
            read_access(memory, k)
        else:
            write_access(memory, k)
        memory.next_beat = L.NEVER
        next_turn(memory, k)
        for other in range(L.MAX_CONTROLLERS):
            controller = memory.controllers[other]
            memory.next_beat = min(memory.next_beat, controller.reading.next_access, controller.writing.next_access)
    memory.now = now


@native
def arrive(memory: MemoryState, region: RegionState) -> None:
    """The core is about to use the region at ``memory.now``: beats due before are made, one under way keeps it busy.

    Of a beat and an access that come at the same moment the one goes first whose master was not served last.
    """
    now = memory.now
    if min(memory.next_beat, memory.next_release) < now:
        advance(memory, now)
    if region.kind == L.TCM:  # nobody waits there, but the core sees what has arrived
        return
    if memory.next_beat == now and region.taken_until > region.held_until:
        advance(memory, now + 1)
    if region.held_until > now:
        region.busy_until = max(region.busy_until, region.held_until)
