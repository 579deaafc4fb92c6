"""Native accounting of loads and stores: when the access happens, what it costs, and whether the core would fault it.

A block's accesses come in the order the decoder foresaw; ``CURSOR`` walks along them. Where conditional accesses make
the order uncertain the hook gives the exact PC instead.

Not modelled: loads that overtake a miss they do not depend on (a load miss stops the core), the global exclusive
monitor, the bus cycles of peripherals and of the private peripheral bus (their registers answer at once), an access
whose parts lie in two regions (it is timed as one of the first).
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import race_detector
from mcusim.cpu.notes import note
from mcusim.cpu.pipeline.store_buffer import load_extra, store_stall
from mcusim.memory import state_layout as L
from mcusim.memory.cache import apart, data, shadow
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import AddressRange
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native, shared

PRIVATE = 0xE0000000  # the private peripheral bus and the vendor space above it
PRIVATE_END = 0xE0100000
PERIPHERAL, RAM = 0x40000000, 0x60000000


@native
def fault(c: State, code: int, address: int, size: int, write: int, pc: int) -> None:
    """Note the first fault; the core stops before the next block."""
    if c[C.FAULT] == C.NO_FAULT:
        c[C.FAULT] = code
        c[C.FAULT_ADDRESS] = address
        c[C.FAULT_SIZE] = size
        c[C.FAULT_WRITE] = write
        c[C.FAULT_PC] = pc
        c[C.FAULT_INSIDE] = 0
        c[C.STOP] = C.FAULTED


@shared
def remember(c: State, s: State, ppb: State, address: int, size: int) -> None:
    """Note the bytes that a store from a fault on is about to overwrite."""
    for i in range(size):
        at, byte = address + i, 0
        q = core_data.find(s, at)
        if q >= 0:
            byte = host.get8(s[q + L.VIEW] + at)
        elif PRIVATE <= at < PRIVATE_END:
            byte = ppb[(at - PRIVATE) >> 3] >> (8 * (at & 7)) & 0xFF
        else:
            continue
        used = c[C.JOURNAL_USED]
        c[C.JOURNAL_USED] = used + 1
        if used < C.JOURNAL_SIZE:
            c[C.JOURNAL + used] = at << 8 | byte


@native
def seek(c: State, a: State, pc: int) -> None:
    """Move the cursor to the first access of the instruction at ``pc``, unless it is in it already."""
    e = c[C.CURSOR]
    while e < c[C.CURSOR_END] and a[e * C.ACCESS + C.PC] != pc:
        e += 1
    if e < c[C.CURSOR_END]:
        c[C.CURSOR] = e


@native
def reach(c: State, s: State, a: State, size: int, write: int) -> int:
    """Advance the clock to the access at the cursor and return the offset of its record, 0 for one not foreseen."""
    e = c[C.CURSOR]
    if e >= c[C.CURSOR_END]:
        c[C.LOST] += 1
        return 0
    r = e * C.ACCESS
    if a[r + C.WRITE] != write or a[r + C.BYTES] != size:
        c[C.LOST] += 1
        return 0
    c[C.CURSOR] = e + 1
    at = a[r + C.AT]
    if at > c[C.CONSUMED]:
        s[L.NOW] += at - c[C.CONSUMED]
        c[C.CONSUMED] = at
    s[L.NOW] += a[r + C.EXTRA]
    a[r + C.PENALTY] += a[r + C.EXTRA]
    a[r + C.MADE] += 1
    return r


@native
def peripheral(c: State, a: State, listed: State, r: int, address: int, size: int, write: int) -> None:
    """An access outside every memory: one to a peripheral block that the machine file does not list is a fault.

    ``listed`` has first address and end of each block.
    """
    for i in range(c[C.LISTED]):
        if listed[2 * i] <= address and address + size <= listed[2 * i + 1]:
            if write:
                c[C.PERIPHERAL_WRITTEN] = 1  # a confined function may not
                c[C.STOP] = C.FLUSH
            return
    fault(c, C.NO_PERIPHERAL, address, size, write, a[r + C.PC])


@native
def unaligned_parts(address: int, size: int) -> int:
    """Bus accesses that an unaligned one is split into (Cortex-M4: bytes and aligned halfwords; DDI0439 3.4)."""
    if size == 2:
        return 2
    return 2 if address & 1 == 0 else 3


@native
def together(c: State, s: State, q: int, write: int, flags: int, address: int) -> int:
    """Ticks that the accesses around this one cost it: M7 banks that collide, M4 pipelining across memories.

    Arbitration in the bus matrix, 0 for consecutive accesses to one SRAM (ST AN4031 tables 4 and 5), is that of an M4's
    read that follows none; writes wait for it behind the write buffer.
    """
    extra = 0
    bank = (address >> 2) & 1
    if flags & C.PAIRED and bank == c[C.LAST_BANK]:
        extra = L.TICK
    region = s[q + L.BLOCK]
    if flags & C.FOLLOWS:
        if region != c[C.LAST_REGION]:
            extra = L.TICK
    elif write == 0 and (s[L.DATA_AT] == 0 or s[q + L.ATTRIBUTE] == 0):
        extra += s[region + L.ARBITRATION]
    c[C.LAST_BANK] = bank
    c[C.LAST_REGION] = region
    return extra


@native
def stack(c: State, flags: int, address: int, size: int, pc: int) -> None:
    """High-water mark of the stack, and its overflow: below the limit, or into the guard at its lowest bytes.

    From a block on that moves the stack pointer elsewhere (another task's stack) nothing is checked until a later block
    uses the stack that is known again.
    """
    if c[C.STACK_KNOWN] < 1:
        if c[C.STACK_KNOWN] < 0 or flags & C.BY_STACK == 0:
            return
        if address < c[C.STACK_LIMIT] or address >= c[C.STACK_TOP]:
            c[C.OTHER_LOW] = min(c[C.OTHER_LOW], address)
            return
        c[C.STACK_KNOWN] = 1
    if flags & C.BY_STACK and address < c[C.STACK_LOW]:
        c[C.STACK_LOW] = address
        if address < c[C.STACK_LIMIT]:
            fault(c, C.STACK, address, size, 1, pc)
    if c[C.STACK_LIMIT] <= address < c[C.GUARD_END]:
        fault(c, C.STACK, address, size, 1, pc)


@native
def misaligned(c: State, s: State, b: State, q: int, address: int, size: int, write: int, flags: int, pc: int) -> int:
    """Ticks an unaligned access costs more; faults where the architecture does."""
    if flags & C.ALIGNED and address & 3:
        fault(c, C.UNALIGNED, address, size, write, pc)
        return 0
    if size == 8 and address & 3 == 0:
        return 0
    if c[C.TRAP_UNALIGNED]:
        fault(c, C.UNALIGNED, address, size, write, pc)
        return 0
    if s[q + L.FLAGS] & L.DEVICE and c[C.DEVICE_FAULTS]:
        fault(c, C.UNALIGNED_DEVICE, address, size, write, pc)
        return 0
    if c[C.TRAITS] & C.SPLITS_UNALIGNED:
        return (unaligned_parts(address, size) - 1) * L.TICK
    if write:
        return 0
    slot = 1 if flags & C.YOUNGER else 0
    if flags & C.PAIRED and c[C.LAST_UNALIGNED]:
        slot = 2
    return load_extra(slot) * L.TICK


@native
def transfer(c: State, s: State, q: int, address: int, size: int, write: int, flags: int) -> int:
    """The access itself: ticks that the memory makes the core wait. A Cortex-M4 makes several of an unaligned one."""
    if flags & C.SECOND:
        return int(core_data.second(s, AddressRange(s, q), address, write))
    if c[C.TRAITS] & C.SPLITS_UNALIGNED == 0 or address & (size - 1) == 0 or size == 8:
        addresses = AddressRange(s, q)
        return int(
            core_data.store(s, addresses, address, size) if write else core_data.load(s, addresses, address, size)
        )
    end = address + size
    stall = 0
    while address < end:
        part = 1 if address & 1 or size == 2 or end - address == 1 else 2
        addresses = AddressRange(s, q)
        stall += core_data.store(s, addresses, address, part) if write else core_data.load(s, addresses, address, part)
        address += part
    return stall


@native
def beside_cache(c: State, s: State, q: int, address: int, size: int, write: int, pc: int) -> None:
    """Note an access to a line that is apart from what the core should get (:mod:`mcusim.memory.cache.apart`)."""
    kind = apart.accessed(s, AddressRange(s, q), address, size, write)
    if kind:
        note(c, C.OFF_DIRTY if kind == apart.CACHE_OFF_DIRTY else C.OLD_FLASH, pc, address)


@native
def keep(c: State, place: int, value: int) -> None:
    """Write down a store; those behind the last for which there is room are counted only."""
    used = c[C.JOURNAL_USED]
    if used + 2 <= C.JOURNAL_SIZE:
        c[C.JOURNAL + used], c[C.JOURNAL + used + 1] = place, value
    c[C.JOURNAL_USED] = used + 2


@native
def watch(c: State, s: State, q: int, address: int, size: int, write: int, pc: int, value: int) -> None:
    """The sanitizer, or who watches a firmware, checks the access; to stop the core it does so as for a fault."""
    if s[L.APART]:
        beside_cache(c, s, q, address, size, write, pc)
    if c[C.KEEPS_STORES]:
        if write:
            keep(c, address << 8 | size, value)
        return
    if s[L.WATCH]:
        race_detector.accessed(c, s, q, address, size, write, pc, value)
        return
    first, left = address, size
    while left > 0 and q >= 0:
        part = min(left, s[q + L.HIGH] - first)
        if s[q + L.SEEN]:
            if write:
                shadow.stored(s, AddressRange(s, q), first, part)
            else:
                shadow.loaded(s, AddressRange(s, q), first, part, pc)
        first, left = first + part, left - part
        if left > 0:
            q = core_data.find(s, first)
    if c[C.HALT_ON_VIOLATION] and shadow.count(s):
        fault(c, C.VIOLATION, address, size, write, pc)


@native
def permitted(c: State, s: State, q: int, address: int, size: int, write: int, pc: int) -> int:
    """Fault what the ranges do not allow, 0 then; a store may end in the next one. Note a first watched access.

    0 without a fault: a store to flash.
    """
    allowed, needed = s[q + L.FLAGS], L.WRITE if write else L.READ
    if allowed & (L.WATCHED | needed) == needed and (write == 0 or address + size <= s[q + L.HIGH]):
        return 1
    if allowed & L.WATCHED and c[C.WATCH_PC] == 0:
        c[C.WATCH_PC], c[C.WATCH_ADDRESS], c[C.WATCH_SIZE], c[C.WATCH_WRITE] = pc, address, size, write
        c[C.STOP] = C.FLUSH
    if write and allowed & c[C.PROGRAMS]:
        return 0
    if allowed & needed == 0:
        fault(c, C.READ_ONLY if allowed & L.READ else C.NO_ACCESS, address, size, write, pc)
    if write and address + size > s[q + L.HIGH]:
        beyond = core_data.find(s, address + size - 1)
        if beyond >= 0 and s[beyond + L.FLAGS] & L.WRITE == 0:
            fault(c, C.READ_ONLY, address, size, write, pc)
    return 1 if c[C.FAULT] == C.NO_FAULT else 0


@native
def to_flash(c: State, s: State, q: int, address: int, size: int, value: int, pc: int, r: int) -> None:
    """Unless that is a fault note a store to flash, and what it overwrites, for the controller."""
    used = c[C.FLASH_STORES]
    if c[C.FAULT] != C.NO_FAULT:
        return
    if used == C.MOST_FLASH_STORES or address + size > s[q + L.HIGH]:
        fault(c, C.READ_ONLY, address, size, 1, pc)
        return
    old = 0
    for i in range(size):
        old |= host.get8(s[q + L.VIEW] + address + i) << 8 * i
    e = C.FLASH_LOG + used * C.FLASH_STORE
    c[e + C.STORE_ADDRESS], c[e + C.STORE_SIZE], c[e + C.STORE_VALUE] = address, size, value
    c[e + C.STORE_OLD], c[e + C.STORE_PC], c[e + C.STORE_RECORD] = old, pc, r
    c[C.FLASH_STORES] = used + 1
    if c[C.STOP] == C.RUNNING:
        c[C.STOP] = C.FLUSH


@native
def near_code(c: State, marks: State, address: int, size: int) -> None:
    """Note a store where code has been translated: it is looked at again before the next block."""
    if marks[address >> 12] >> ((address >> 6) & 63) & 1:
        c[C.WRITTEN_LOW] = min(c[C.WRITTEN_LOW], address)
        c[C.WRITTEN_HIGH] = max(c[C.WRITTEN_HIGH], address + size)
        c[C.STOP] = C.FLUSH


@native
def ordinary(
    c: State,
    s: State,
    a: State,
    b: State,
    marks: State,
    q: int,
    r: int,
    address: int,
    size: int,
    write: int,
    value: int,
) -> None:
    """A load or store (of ``value``) of a memory region (range record ``q``); ``r`` is the access record."""
    flags, pc = a[r + C.ACCESS_FLAGS], a[r + C.PC]
    extra = together(c, s, q, write, flags, address)
    unaligned = address & (size - 1)
    if unaligned:
        extra += misaligned(c, s, b, q, address, size, write, flags, pc)
        if c[C.FAULT] != C.NO_FAULT:
            return
    c[C.LAST_UNALIGNED] = unaligned
    if flags & C.EVEN and address & 4:
        extra += L.TICK
    if not permitted(c, s, q, address, size, write, pc):
        to_flash(c, s, q, address, size, value, pc, r)
        return
    if write:
        stack(c, flags, address, size, pc)
        near_code(c, marks, address, size)
        if c[C.TRAITS] & C.STORE_BUFFER:
            extra += store_stall(b, s[L.NOW], address, size)
    s[L.NOW] += extra
    stall = transfer(c, s, q, address, size, write, flags)
    a[r + C.STALLED] += stall
    a[r + C.PENALTY] += extra
    if write:
        data.put(s, AddressRange(s, q), address, size, value)
    if s[L.VIOLATIONS] | s[L.APART] | c[C.KEEPS_STORES]:
        watch(c, s, q, address, size, write, pc, value)
