"""The sanitizer's shadow memory: who wrote each byte that the core or the DMA reads, and who should have.

A writer is a number: the position of its task in the program plus one, 0 for what was there before. Two bytes a byte
say who wrote what the core *sees* and what is *stored* in memory; a third pair who the program means, its tasks taken
one after the other. What is read and was written by another is a violation, one for each pair of tasks; its bytes
widen.

Not modelled: bytes of the stack; reads of what was never written.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache.tags import find as line_of
from mcusim.memory.range_lookup import find
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native
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
def held(s: State, address: int) -> int:
    """Whether the data cache contains the byte: 0 no, 1 in a clean line, 2 in a dirty one."""
    c = s[L.DATA_AT]
    if c == 0:
        return 0
    record = line_of(s, c, address >> s[c + L.C_SHIFT])
    return 0 if record < 0 else 1 + s[record + L.DIRTY]


@native
def report(
    s: State, kind: int, code: int, address: int, wanted: int, seen: int, stored: int, held: int, pc: int, other: int
) -> None:
    """Enter a violation, or widen the one of the same kind and writers."""
    at = s[L.VIOLATIONS]
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
        (STORED, stored), (HELD, held), (PC, pc), (NOW, s[L.NOW]), (OTHER, other), (TIMES, 1),
    ):  # fmt: skip
        host.put64(p + 8 * slot, value)
    host.put64(at + 8 * COUNT, count + 1)


@native
def count(s: State) -> int:
    """How many violations there are."""
    return host.get64(s[L.VIOLATIONS] + 8 * COUNT)


@native
def loaded(s: State, q: int, address: int, size: int, pc: int) -> None:
    """The core loads ``size`` bytes of range record ``q``, the line if any already there."""
    seen, meant = s[q + L.SEEN] + 2 * address, s[q + L.MEANT] + 2 * address
    if size == 4 and host.get64(seen) == host.get64(meant):
        return
    for i in range(size):
        wanted, found = host.get16(meant + 2 * i), host.get16(seen + 2 * i)
        if found != wanted:
            at = address + i
            in_memory = host.get16(s[q + L.STORED] + 2 * at)
            report(s, CORE_READ, s[L.TASK], at, wanted, found, in_memory, held(s, at), pc, at)


@native
def stored(s: State, q: int, address: int, size: int) -> None:
    """The core stores ``size`` bytes: it is who wrote them, and who should have; memory is ``data.put``'s."""
    if s[L.STACK_FROM] <= address < s[L.STACK_TO]:
        return
    code = s[L.TASK]
    seen, meant = s[q + L.SEEN] + 2 * address, s[q + L.MEANT] + 2 * address
    if size == 4:
        host.put64(seen, code * 0x0001000100010001)
        host.put64(meant, code * 0x0001000100010001)
        return
    for i in range(size):
        host.put16(seen + 2 * i, code)
        host.put16(meant + 2 * i, code)


@native
def dirty_target(s: State, f: int, n: int, record: int) -> None:
    """The DMA writes to a dirty line: which of its bytes, in the transfer's way or next to it, the core has written.

    Bytes that the line has otherwise than memory are the core's stores or, where the DMA wrote behind it, stale.
    """
    line, target, code = s[s[L.DATA_AT] + L.C_LINE], s[f + L.D_TARGET], s[f + L.D_CODE]
    q = find(s, target)
    other = writer = memory = -1
    for at in range(s[record + L.TAG] * line, s[record + L.TAG] * line + line):
        seen, stored = host.get16(s[q + L.SEEN] + 2 * at), host.get16(s[q + L.STORED] + 2 * at)
        meant = host.get16(s[q + L.MEANT] + 2 * at)
        if seen == stored or stored == code or meant not in (seen, code):
            continue
        inside = target <= at < target + s[f + L.D_LEFT]
        if inside or other < 0:
            other, writer, memory = at, seen, stored
        if inside:
            break
    if other >= 0:
        report(s, DIRTY_TARGET, code, target, 0, writer, memory, 2, 0, other)


@native
def beat(s: State, f: int, n: int, record: int) -> None:
    """``n`` bytes of transfer ``f`` arrive; ``record`` is the cache line of their target, or -1."""
    code, meant, memory = s[f + L.D_CODE], s[f + L.D_MEANT], s[f + L.D_STORED_FROM]
    for i in range(n if memory else 0):
        wanted, found = host.get16(meant + 2 * i), host.get16(memory + 2 * i)
        if found != wanted:
            at = s[f + L.D_SOURCE] + i
            report(s, DMA_READ, code, at, wanted, host.get16(s[f + L.D_SEEN_FROM] + 2 * i), found, held(s, at), 0, at)
    if record >= 0 and s[record + L.DIRTY] == 1:
        dirty_target(s, f, n, record)
    for i in range(n):
        host.put16(s[f + L.D_STORED_TO] + 2 * i, code)
        if record < 0:
            host.put16(s[f + L.D_SEEN_TO] + 2 * i, code)
    s[f + L.D_MEANT] = meant + 2 * n
    if memory:  # 0 where nobody writes: flash
        s[f + L.D_STORED_FROM] = memory + 2 * n
        s[f + L.D_SEEN_FROM] += 2 * n
    s[f + L.D_STORED_TO] += 2 * n
    s[f + L.D_SEEN_TO] += 2 * n
