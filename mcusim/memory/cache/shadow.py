"""The sanitizer's shadow memory: who wrote each byte that the core or the DMA reads, and who should have.

A writer is a number: the position of its task in the program plus one, 0 for what was there before. Two bytes a byte
say who wrote what the core *sees* and what is *stored* in memory; a third pair who the program means, its tasks taken
one after the other. What is read and was written by another is a violation, one for each pair of tasks; its bytes
widen.

Not modelled: bytes of the stack; reads of what was never written.
"""

from __future__ import annotations

from mcusim.memory.cache.tags import held
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState, TransferState
from mcusim.native import host_memory as host
from mcusim.native.compile import native
from mcusim.native.records import Record

MOST = 1000  # violations that find room
LOOK_BACK = 40  # violations

# a violation: what, task, first byte and end, writer it should find, writer seen, writer in memory, state of the line
# (0 not held, 1 clean, 2 dirty), program counter, tick, the byte of the line that is dirty, times
violation = Record("violation")
KIND, CODE, LOW, HIGH = violation.fields("KIND", "CODE", "LOW", "HIGH")
WANTED, SEEN, STORED, HELD = violation.fields("WANTED", "SEEN", "STORED", "HELD")
PC, NOW, OTHER, TIMES = violation.fields("PC", "NOW", "OTHER", "TIMES")
VIOLATION = violation.freeze()
# their array: how many, how many found no room, then each
violations = Record("violations")
COUNT, LOST = violations.fields("COUNT", "LOST")
FIRST = violations.array("FIRST", MOST * VIOLATION)
VIOLATIONS = violations.freeze()
CORE_READ, DMA_READ, DIRTY_TARGET = range(3)


@native
def report(
    memory: MemoryState,
    kind: int,
    code: int,
    address: int,
    wanted: int,
    seen: int,
    stored: int,
    held: int,
    pc: int,
    other: int,
) -> None:
    """Enter a violation, or widen the one of the same kind and writers."""
    at = memory.violations
    count = host.get64(at + 8 * COUNT)
    k = count - 1
    while k >= max(0, count - LOOK_BACK):
        p = at + 8 * (FIRST + k * VIOLATION)
        same = host.get64(p + 8 * KIND) == kind and host.get64(p + 8 * CODE) == code
        same = same and host.get64(p + 8 * WANTED) == wanted and host.get64(p + 8 * SEEN) == seen
        if same and host.get64(p + 8 * STORED) == stored:
            host.put64(p + 8 * LOW, min(address, host.get64(p + 8 * LOW)))
            host.put64(p + 8 * HIGH, max(address + 1, host.get64(p + 8 * HIGH)))
            host.put64(p + 8 * TIMES, host.get64(p + 8 * TIMES) + 1)
            return
        k -= 1
    if count >= MOST:
        host.put64(at + 8 * LOST, host.get64(at + 8 * LOST) + 1)
        return
    p = at + 8 * (FIRST + count * VIOLATION)
    for slot, value in (
        (KIND, kind), (CODE, code), (LOW, address), (HIGH, address + 1), (WANTED, wanted), (SEEN, seen),
        (STORED, stored), (HELD, held), (PC, pc), (NOW, memory.now), (OTHER, other), (TIMES, 1),
    ):  # fmt: skip
        host.put64(p + 8 * slot, value)
    host.put64(at + 8 * COUNT, count + 1)


@native
def count(memory: MemoryState) -> int:
    """How many violations there are."""
    return host.get64(memory.violations + 8 * COUNT)


@native
def loaded(memory: MemoryState, addresses: AddressRange, address: int, size: int, pc: int) -> None:
    """The core loads ``size`` bytes of ``addresses``, the line if any already there."""
    seen, meant = addresses.seen + 2 * address, addresses.meant + 2 * address
    if size == 4 and host.get64(seen) == host.get64(meant):
        return
    for i in range(size):
        wanted, found = host.get16(meant + 2 * i), host.get16(seen + 2 * i)
        if found != wanted:
            at = address + i
            in_memory = host.get16(addresses.stored + 2 * at)
            report(memory, CORE_READ, memory.task, at, wanted, found, in_memory, held(memory, at), pc, at)


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
    other = writer = in_memory = -1
    for at in range(line, line + size):
        seen, stored = host.get16(addresses.seen + 2 * at), host.get16(addresses.stored + 2 * at)
        meant = host.get16(addresses.meant + 2 * at)
        if seen == stored or stored == code or meant not in (seen, code):
            continue
        inside = target <= at < target + transfer.unwritten
        if inside or other < 0:
            other, writer, in_memory = at, seen, stored
        if inside:
            break
    if other >= 0:
        report(memory, DIRTY_TARGET, code, target, 0, writer, in_memory, 2, 0, other)


@native
def beat(memory: MemoryState, transfer: TransferState, n: int, target_held: int) -> None:
    """``n`` bytes of the transfer arrive; ``target_held``: :func:`~mcusim.memory.cache.tags.held` of their target."""
    code, meant, source = transfer.code, transfer.source_meant, transfer.source_stored
    for i in range(n if source else 0):
        wanted, found = host.get16(meant + 2 * i), host.get16(source + 2 * i)
        if found != wanted:
            at = transfer.write_source + i
            seen = host.get16(transfer.source_seen + 2 * i)
            report(memory, DMA_READ, code, at, wanted, seen, found, held(memory, at), 0, at)
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
