"""Native accounting of loads and stores: when the access happens, what it costs, and whether the core would fault it.

A block's accesses come in the order the decoder foresaw; ``cursor`` walks along them. Where conditional accesses make
the order uncertain the hook gives the exact PC instead.

Not modelled: loads that overtake a miss they do not depend on (a load miss stops the core), the global exclusive
monitor, the bus cycles of peripherals and of the private peripheral bus (their registers answer at once), an access
whose parts lie in two regions (it is timed as one of the first).
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.hook_state import HookState
from mcusim.cpu.hooks import race_detector
from mcusim.cpu.notes import note
from mcusim.cpu.pipeline.store_buffer import load_extra, store_stall
from mcusim.cpu.state_layout import CoreState, ForeseenAccess
from mcusim.memory import state_layout as L
from mcusim.memory.cache import apart, data, shadow
from mcusim.memory.ports import core_data
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState, RegionState
from mcusim.native import host_memory as host
from mcusim.native.functions import inlined, native, shared

PRIVATE = 0xE0000000  # the private peripheral bus and the vendor space above it
PRIVATE_END = 0xE0100000
PERIPHERAL, RAM = 0x40000000, 0x60000000
WRITES = 1 << 8  # beside the flags of an access record


@native
def begin(core: CoreState, address: int, size: int, write: int, pc: int) -> None:
    """An access is about to be made by the instruction at ``pc``."""
    access = core.access
    access.address, access.size, access.write, access.pc = address, size, write, pc


@native
def fault(core: CoreState, code: int) -> None:
    """Note the first fault, by the access that is made; the core stops before the next block."""
    if core.fault == C.NO_FAULT:
        access = core.access
        core.fault = code
        core.fault_address = access.address
        core.fault_size = access.size
        core.fault_write = access.write
        core.fault_pc = access.pc
        core.fault_in_block = 0
        core.stop = C.FAULTED


@native
def fault_of_instruction(core: CoreState, code: int, pc: int) -> None:
    """Note the first fault, by the instruction at ``pc``."""
    begin(core, pc, 0, 0, pc)
    fault(core, code)


@shared
def remember(hook: HookState, address: int, size: int) -> None:
    """Note the bytes that a store from a fault on is about to overwrite."""
    core, memory = hook.core, hook.memory
    for i in range(size):
        place, byte = address + i, 0
        q = find(memory, place)
        if q >= 0:
            byte = host.get8(AddressRange(memory, q).core_view + place)
        elif PRIVATE <= place < PRIVATE_END:
            byte = hook.ppb[(place - PRIVATE) >> 3] >> (8 * (place & 7)) & 0xFF
        else:
            continue
        used = core.journal_used
        core.journal_used = used + 1
        if used < C.JOURNAL_SIZE:
            core.journal[used] = place << 8 | byte


@native
def seek(hook: HookState, pc: int) -> None:
    """Move the cursor to the first access of the instruction at ``pc``, unless it is in it already."""
    core, records = hook.core, hook.accesses.records
    i = core.cursor
    while i < core.cursor_end and records[i].pc != pc:
        i += 1
    if i < core.cursor_end:
        core.cursor = i


@native
def foreseen(hook: HookState, size: int, write: int) -> int:
    """Advance the clock to the access at the cursor and return its index, 0 for one that was not foreseen."""
    core, memory = hook.core, hook.memory
    i = core.cursor
    if i >= core.cursor_end:
        core.unforeseen += 1
        return 0
    record = hook.accesses.records[i]
    if record.write != write or record.size != size:
        core.unforeseen += 1
        return 0
    core.cursor = i + 1
    moment, ticks = record.moment, record.extra
    if ticks:
        record.penalty += ticks
    if moment > core.consumed:
        ticks += moment - core.consumed
        core.consumed = moment
    if ticks:  # a word that is read just after it was stored is waited for: no store of what does not change
        memory.now += ticks
    record.count += 1
    return i


@native
def peripheral(hook: HookState) -> None:
    """An access outside every memory: one to a peripheral block that the machine file does not list is a fault."""
    core, blocks = hook.core, hook.peripherals
    access = core.access
    for i in range(core.peripheral_blocks):
        if blocks[2 * i] <= access.address and access.address + access.size <= blocks[2 * i + 1]:
            if access.write:
                core.peripheral_written = 1  # a confined function may not
                core.stop = C.FLUSH
            return
    fault(core, C.NO_PERIPHERAL)


@native
def unaligned_parts(address: int, size: int) -> int:
    """Bus accesses that an unaligned one is split into (Cortex-M4: bytes and aligned halfwords; DDI0439 3.4)."""
    if size == 2:
        return 2
    return 2 if address & 1 == 0 else 3


@inlined
def bank_and_bus(core: CoreState, memory: MemoryState, addresses: AddressRange, address: int, flags: int) -> int:
    """Ticks that the accesses around this one cost it: M7 banks that collide, M4 pipelining across memories.

    Arbitration in the bus matrix, 0 for consecutive accesses to one SRAM (ST AN4031 tables 4 and 5), is that of an M4's
    read that follows none; writes wait for it behind the write buffer. ``flags``: the record's, and whether it writes.
    """
    extra = 0
    bank = (address >> 2) & 1
    if flags & C.PAIRED and bank == core.last_bank:
        extra = L.TICK
    region = addresses.region
    if flags & C.FOLLOWS:
        if region != core.last_region:
            extra = L.TICK
    elif flags & WRITES == 0 and (memory.data_cache_block == 0 or addresses.attribute == 0):
        extra += RegionState(memory, region).arbitration
    core.last_bank = bank
    core.last_region = region
    return extra


@native
def stack(core: CoreState) -> None:
    """High-water mark of the stack, and its overflow: below the limit, or into the guard at its lowest bytes.

    From a block on that moves the stack pointer elsewhere (another task's stack) nothing is checked until a later block
    uses the stack that is known again.
    """
    address, by_stack = core.access.address, core.access.flags & C.BY_STACK
    if core.stack_known < 1:
        if core.stack_known < 0 or by_stack == 0:
            return
        if address < core.stack_limit or address >= core.stack_top:
            core.other_stack_low = min(core.other_stack_low, address)
            return
        core.stack_known = 1
    if by_stack and address < core.stack_low:
        core.stack_low = address
        if address < core.stack_limit:
            fault(core, C.STACK)
    if core.stack_limit <= address < core.guard_end:
        fault(core, C.STACK)


@native
def misaligned(core: CoreState, addresses: AddressRange) -> int:
    """Ticks an unaligned access costs more; faults where the architecture does."""
    access = core.access
    if access.flags & C.ALIGNED and access.address & 3:
        fault(core, C.UNALIGNED)
        return 0
    if access.size == 8 and access.address & 3 == 0:
        return 0
    if core.trap_unaligned:
        fault(core, C.UNALIGNED)
        return 0
    if addresses.flags & L.DEVICE and core.device_faults:
        fault(core, C.UNALIGNED_DEVICE)
        return 0
    if core.traits & C.SPLITS_UNALIGNED:
        return (unaligned_parts(access.address, access.size) - 1) * L.TICK
    if access.write:
        return 0
    slot = 1 if access.flags & C.YOUNGER else 0
    if access.flags & C.PAIRED and core.last_unaligned:
        slot = 2
    return load_extra(slot) * L.TICK


@native
def transfer(core: CoreState, memory: MemoryState, addresses: AddressRange) -> int:
    """The access itself: ticks that the memory makes the core wait. A Cortex-M4 makes several of an unaligned one."""
    access = core.access
    address, size, write = access.address, access.size, access.write
    if access.flags & C.SECOND:
        return core_data.second(memory, addresses, address, write)
    if core.traits & C.SPLITS_UNALIGNED == 0 or address & (size - 1) == 0 or size == 8:
        if write:
            return core_data.store(memory, addresses, address, size)
        return core_data.load(memory, addresses, address, size)
    end = address + size
    stall = 0
    while address < end:
        part = 1 if address & 1 or size == 2 or end - address == 1 else 2
        if write:
            stall += core_data.store(memory, addresses, address, part)
        else:
            stall += core_data.load(memory, addresses, address, part)
        address += part
    return stall


@native
def check_apart(core: CoreState, memory: MemoryState, addresses: AddressRange) -> None:
    """Note an access to a line that is apart from what the core should get (:mod:`mcusim.memory.cache.apart`)."""
    access = core.access
    kind = apart.accessed(memory, addresses, access.address, access.size, access.write)
    if kind:
        note(core, C.OFF_DIRTY if kind == apart.CACHE_OFF_DIRTY else C.OLD_FLASH, access.pc, access.address)


@native
def record_store(core: CoreState) -> None:
    """Write down a store; those behind the last for which there is room are counted only."""
    used, access = core.journal_used, core.access
    if used + 2 <= C.JOURNAL_SIZE:
        core.journal[used], core.journal[used + 1] = access.address << 8 | access.size, access.value
    core.journal_used = used + 2


@native
def watch(core: CoreState, memory: MemoryState, addresses: AddressRange) -> None:
    """The sanitizer, or who watches a firmware, checks the access; to stop the core it does so as for a fault."""
    access = core.access
    if memory.apart:
        check_apart(core, memory, addresses)
    if core.records_stores:
        if access.write:
            record_store(core)
        return
    if memory.watch:
        race_detector.accessed(core, memory, addresses)
        return
    address, size, q = access.address, access.size, 0
    while size > 0 and q >= 0:
        part = min(size, addresses.high - address)
        if addresses.seen:
            if access.write:
                shadow.stored(memory, addresses, address, part)
            else:
                shadow.loaded(memory, addresses, address, part, access.pc)
        address, size = address + part, size - part
        if size > 0:
            q = find(memory, address)
            addresses = AddressRange(memory, q)
    if core.halt_on_violation and shadow.count(memory):
        fault(core, C.VIOLATION)


@native
def permitted(core: CoreState, memory: MemoryState, addresses: AddressRange) -> int:
    """Fault what the ranges do not allow, 0 then; a store may end in the next one. Note a first watched access.

    0 without a fault: a store to flash.
    """
    access = core.access
    write, end = access.write, access.address + access.size
    allowed, needed = addresses.flags, L.WRITE if write else L.READ
    if allowed & (L.WATCHED | needed) == needed and (write == 0 or end <= addresses.high):
        return 1
    if allowed & L.WATCHED and core.watch_pc == 0:
        core.watch_pc, core.watch_address = access.pc, access.address
        core.watch_size, core.watch_write = access.size, write
        core.stop = C.FLUSH
    if write and allowed & core.flash_flag:
        return 0
    if allowed & needed == 0:
        fault(core, C.READ_ONLY if allowed & L.READ else C.NO_ACCESS)
    if write and end > addresses.high:
        beyond = find(memory, end - 1)
        if beyond >= 0 and AddressRange(memory, beyond).flags & L.WRITE == 0:
            fault(core, C.READ_ONLY)
    return 1 if core.fault == C.NO_FAULT else 0


@native
def to_flash(core: CoreState, addresses: AddressRange, index: int) -> None:
    """Unless that is a fault note a store to flash, and what it overwrites, for the controller."""
    used, access = core.flash_store_count, core.access
    if core.fault != C.NO_FAULT:
        return
    if used == C.MOST_FLASH_STORES or access.address + access.size > addresses.high:
        fault(core, C.READ_ONLY)
        return
    old = 0
    for i in range(access.size):
        old |= host.get8(addresses.core_view + access.address + i) << 8 * i
    store = core.flash_stores[used]
    store.address, store.size, store.value = access.address, access.size, access.value
    store.old, store.pc, store.access = old, access.pc, index
    core.flash_store_count = used + 1
    if core.stop == C.RUNNING:
        core.stop = C.FLUSH


@inlined
def has_code(hook: HookState, address: int) -> int:
    """Whether code near ``address`` has been translated."""
    return hook.code_pages[address >> 12] >> ((address >> 6) & 63) & 1


@native
def near_code(hook: HookState) -> None:
    """Note a store where code has been translated: it is looked at again before the next block."""
    core = hook.core
    address = core.access.address
    if has_code(hook, address):
        core.written_low = min(core.written_low, address)
        core.written_high = max(core.written_high, address + core.access.size)
        core.stop = C.FLUSH


@inlined
def is_quiet(hook: HookState, addresses: AddressRange, address: int, record: ForeseenAccess) -> int:
    """Whether a store says nothing about the stack or about code, and ends in its range."""
    core = hook.core
    if core.stack_known < 1 or record.flags & C.BY_STACK or core.stack_limit <= address < core.guard_end:
        return 0
    return int(address + record.size <= addresses.high and has_code(hook, address) == 0)


@inlined
def is_plain(hook: HookState, addresses: AddressRange, address: int, record: ForeseenAccess) -> int:
    """Whether a foreseen access has nothing that :func:`ordinary` would have to look at: it is aligned, allowed, of one
    part, and nobody follows each."""
    memory, needed = hook.memory, L.WRITE if record.write else L.READ
    if address & (record.size - 1) or record.flags & C.SECOND:
        return 0
    if addresses.flags & (L.WATCHED | needed) != needed:
        return 0
    if memory.film or memory.watch or memory.violations:
        return 0
    if memory.apart or hook.core.records_stores:
        return 0
    return is_quiet(hook, addresses, address, record) if record.write else 1


@inlined
def plain(hook: HookState, addresses: AddressRange, address: int, record: ForeseenAccess, value: int) -> None:
    """:func:`ordinary` of one, in few steps."""
    core, memory, flags, size = hook.core, hook.memory, record.flags, record.size
    extra = bank_and_bus(core, memory, addresses, address, flags | record.write * WRITES)
    if flags & C.EVEN and address & 4:
        extra += L.TICK
    core.last_unaligned = 0
    if record.write and core.traits & C.STORE_BUFFER:
        extra += store_stall(hook.branches, memory.now, address, size)
    if extra:
        memory.now += extra
        record.penalty += extra
    if record.write:
        stall = core_data.stored(memory, addresses, address, size)
        if addresses.core_view != addresses.memory:
            data.put(memory, addresses, address, size, value)
    else:
        stall = core_data.loaded(memory, addresses, address, size)
    if stall:
        record.stall += stall


@native
def ordinary(hook: HookState, addresses: AddressRange, index: int) -> None:
    """The load or store that is made is of a memory region; ``index``: its access record's."""
    core, memory, record = hook.core, hook.memory, hook.accesses.records[index]
    access = core.access
    address, size = access.address, access.size
    extra = bank_and_bus(core, memory, addresses, address, access.flags | access.write * WRITES)
    unaligned = address & (size - 1)
    if unaligned:
        extra += misaligned(core, addresses)
        if core.fault != C.NO_FAULT:
            return
    core.last_unaligned = unaligned
    if access.flags & C.EVEN and address & 4:
        extra += L.TICK
    if not permitted(core, memory, addresses):
        to_flash(core, addresses, index)
        return
    if access.write:
        stack(core)
        near_code(hook)
        if core.traits & C.STORE_BUFFER:
            extra += store_stall(hook.branches, memory.now, address, size)
    memory.now += extra
    record.stall += transfer(core, memory, addresses)
    record.penalty += extra
    if access.write:
        data.put(memory, addresses, address, size, access.value)
    if memory.watch or memory.violations or memory.apart or core.records_stores:
        watch(core, memory, addresses)
