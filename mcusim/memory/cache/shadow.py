"""The sanitizer's shadow memory: who wrote each byte that the core or the DMA reads, and who should have.

A writer is a number: the position of its task in the program plus one, 0 for what was there before. Two bytes a byte
say who wrote what the core *sees* and what is *stored* in memory; a third pair who the program means, its tasks taken
one after the other. What is read and was written by another is a violation, one for each pair of tasks; its bytes
widen.

Not modelled: bytes of the stack; reads of what was never written.
"""

from __future__ import annotations

from mcusim.memory.cache.tags import held
from mcusim.memory.cache.violations import CORE_READ, DIRTY_TARGET, DMA_READ, MOST, ViolationLog, ViolationRecord
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState, TransferState
from mcusim.native import host_memory as host
from mcusim.native.functions import native
from mcusim.native.structs import address_of

LOOK_BACK = 40  # violations
VIOLATION_BYTES = 8 * ViolationRecord.WORDS


@native
def begin(log: ViolationLog, kind: int, code: int, address: int) -> ViolationRecord:
    """A violation of task ``code``, to be filled in and entered; ``address``: of the byte."""
    violation = log.draft
    violation.kind, violation.code, violation.low, violation.high = kind, code, address, address + 1
    violation.wanted = violation.held = violation.pc = 0
    violation.other = address
    return violation


@native
def report(memory: MemoryState) -> None:
    """Enter the violation that was begun, or widen the one of the same kind and writers."""
    log = memory.violations
    draft, count = log.draft, log.count
    for k in range(count - 1, max(0, count - LOOK_BACK) - 1, -1):
        known = log.records[k]
        same = known.kind == draft.kind and known.code == draft.code and known.wanted == draft.wanted
        if same and known.seen == draft.seen and known.stored == draft.stored:
            known.low = min(draft.low, known.low)
            known.high = max(draft.high, known.high)
            known.times += 1
            return
    if count >= MOST:
        log.lost += 1
        return
    draft.now, draft.times = memory.now, 1
    host.copy(address_of(log.records[count]), address_of(draft), VIOLATION_BYTES)
    log.count = count + 1


@native
def count(memory: MemoryState) -> int:
    """How many violations there are."""
    return memory.violations.count


@native
def loaded(memory: MemoryState, addresses: AddressRange, address: int, size: int, pc: int) -> None:
    """The core loads ``size`` bytes of ``addresses``, the line if any already there."""
    seen, meant = addresses.seen + 2 * address, addresses.meant + 2 * address
    if size == 4 and host.get64(seen) == host.get64(meant):
        return
    for i in range(size):
        if host.get16(seen + 2 * i) != host.get16(meant + 2 * i):
            violation = begin(memory.violations, CORE_READ, memory.task, address + i)
            violation.wanted, violation.seen = host.get16(meant + 2 * i), host.get16(seen + 2 * i)
            violation.stored = host.get16(addresses.stored + 2 * (address + i))
            violation.held, violation.pc = held(memory, address + i), pc
            report(memory)


@native
def stored(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """The core stores ``size`` bytes: it is who wrote them, and who should have; memory is ``data.put``'s."""
    if memory.stack_low <= address < memory.stack_high:
        return
    code = memory.task
    seen, meant = addresses.seen + 2 * address, addresses.meant + 2 * address
    if size == 4:
        host.put64(seen, code * 0x0001000100010001)
        host.put64(meant, code * 0x0001000100010001)
        return
    for i in range(size):
        host.put16(seen + 2 * i, code)
        host.put16(meant + 2 * i, code)


@native
def dirty_target(memory: MemoryState, transfer: TransferState) -> None:
    """The DMA writes to a dirty line: which of its bytes, in the transfer's way or next to it, the core has written.

    Bytes that the line has otherwise than memory are the core's stores or, where the DMA wrote behind it, stale.
    """
    size = CacheState(memory, memory.data_cache_block).line_bytes
    target, code = transfer.write_address, transfer.code
    line = target // size * size
    addresses = AddressRange(memory, find(memory, target))
    other = -1
    for byte in range(line, line + size):
        seen, stored = host.get16(addresses.seen + 2 * byte), host.get16(addresses.stored + 2 * byte)
        meant = host.get16(addresses.meant + 2 * byte)
        if seen == stored or stored == code or meant not in (seen, code):
            continue
        inside = target <= byte < target + transfer.unwritten
        if inside or other < 0:
            other = byte
        if inside:
            break
    if other >= 0:
        violation = begin(memory.violations, DIRTY_TARGET, code, target)
        violation.seen = host.get16(addresses.seen + 2 * other)
        violation.stored = host.get16(addresses.stored + 2 * other)
        violation.held, violation.other = 2, other
        report(memory)


@native
def beat(memory: MemoryState, transfer: TransferState, n: int, target_held: int) -> None:
    """``n`` bytes of the transfer arrive; ``target_held``: :func:`~mcusim.memory.cache.tags.held` of their target."""
    code, meant, source = transfer.code, transfer.source_meant, transfer.source_stored
    for i in range(n if source else 0):
        if host.get16(source + 2 * i) != host.get16(meant + 2 * i):
            violation = begin(memory.violations, DMA_READ, code, transfer.write_source + i)
            violation.wanted, violation.stored = host.get16(meant + 2 * i), host.get16(source + 2 * i)
            violation.seen = host.get16(transfer.source_seen + 2 * i)
            violation.held = held(memory, transfer.write_source + i)
            report(memory)
    if target_held == 2:
        dirty_target(memory, transfer)
    for i in range(n):
        host.put16(transfer.target_stored + 2 * i, code)
        if target_held == 0:
            host.put16(transfer.target_seen + 2 * i, code)
    transfer.source_meant = meant + 2 * n
    if source:  # 0 where nobody writes: flash
        transfer.source_stored = source + 2 * n
        transfer.source_seen += 2 * n
    transfer.target_stored += 2 * n
    transfer.target_seen += 2 * n
