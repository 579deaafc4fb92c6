"""The NVIC and the system control registers that pend exceptions and give them priorities (Arm DDI0403 B3.2, B3.4).

Four bits of a priority are there, the upper ones (ST's parts), and the lines of the part's family, in words of 32. Not
modelled: debug exceptions, the auxiliary control registers, the masks in ICSR.VECTPENDING; FAULTMASK can be set in the
handlers of NMI and HardFault, which mask as much anyway, and stays set behind an NMI.
"""

from __future__ import annotations

from mcusim.cpu.system.exception_layout import FIRST_LINE, IDLE, NMI, PENDSV, SYSTICK, WORDS, ExceptionState
from mcusim.native.functions import native
from mcusim.native.structs import Words

ISER, ICER, ISPR, ICPR, IABR, IPR, IPR_END = 0xE100, 0xE180, 0xE200, 0xE280, 0xE300, 0xE400, 0xE4F0
ICSR, AIRCR, SHPR, SHCSR, STIR = 0xED04, 0xED0C, 0xED18, 0xED24, 0xEF00
PENDSTCLR, PENDSTSET, PENDSVCLR, PENDSVSET, NMIPENDSET = 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 31
ISRPENDING, RETTOBASE = 1 << 22, 1 << 11
PRIORITY_BITS = 0xF0  # of a byte
SYSTEM = 0b1101_1000_0111_0000  # exceptions with a byte in SHPR: reserved ones have none
KEY = 0x05FA


@native
def has(bits: Words, index: int) -> int:
    """Whether ``index`` is in the set."""
    return bits[index >> 5] >> (index & 31) & 1


@native
def add(bits: Words, index: int) -> None:
    """Put ``index`` into the set."""
    bits[index >> 5] |= 1 << (index & 31)


@native
def drop(bits: Words, index: int) -> None:
    """Take ``index`` out of the set."""
    bits[index >> 5] &= ~(1 << (index & 31))


@native
def pend(exceptions: ExceptionState, index: int, now: int) -> None:
    """The exception becomes pending at ``now``; one that is pending stays so since it was."""
    if not has(exceptions.pending, index):
        add(exceptions.pending, index)
        exceptions.pending_since[index] = now
        exceptions.event |= exceptions.sev_on_pend


@native
def group(exceptions: ExceptionState, level: int) -> int:
    """The part of a priority that preempts."""
    return level if level < 0 else level >> exceptions.group_shift << exceptions.group_shift


@native
def highest(exceptions: ExceptionState) -> int:
    """Place of the pending and enabled exception that comes first, 0 for none: the lowest number among equals."""
    best, first = 0, IDLE
    for i in range(WORDS):
        ready = exceptions.pending[i] & exceptions.enabled[i]
        index = 32 * i
        while ready:
            if ready & 1 and exceptions.priority[index] < first:
                best, first = index, exceptions.priority[index]
            ready >>= 1
            index += 1
    return best


@native
def active_level(exceptions: ExceptionState) -> int:
    """The priority of what runs, by the active exceptions alone."""
    level = IDLE
    for i in range(WORDS):
        active = exceptions.active[i]
        index = 32 * i
        while active:
            if active & 1:
                level = min(level, group(exceptions, exceptions.priority[index]))
            active >>= 1
            index += 1
    return level


@native
def actives(exceptions: ExceptionState) -> int:
    """How many exceptions are active."""
    count = 0
    for i in range(WORDS):
        bits = exceptions.active[i]
        while bits:
            count += bits & 1
            bits >>= 1
    return count


@native
def take(exceptions: ExceptionState, index: int) -> None:
    """From pending to active."""
    drop(exceptions.pending, index)
    add(exceptions.active, index)


@native
def leave(exceptions: ExceptionState, index: int, now: int) -> None:
    """No longer active; a line that is still high pends again."""
    drop(exceptions.active, index)
    if has(exceptions.line_high, index):
        pend(exceptions, index, now)


@native
def is_register(offset: int) -> int:
    """Whether the NVIC's :func:`value` and :func:`write` know the word at offset ``at``."""
    if ISER <= offset < IPR_END:
        return 1
    return 1 if offset in (ICSR, AIRCR, SHPR, SHPR + 4, SHPR + 8, STIR) else 0


@native
def priorities(exceptions: ExceptionState, index: int) -> int:
    """Four priorities as a register has them, from ``index`` on."""
    word = 0
    for i in range(4):
        if exceptions.priority[index + i] > 0:
            word |= exceptions.priority[index + i] << (8 * i)
    return word


@native
def control(exceptions: ExceptionState) -> int:
    """ICSR."""
    icsr = exceptions.current if exceptions.current < FIRST_LINE else exceptions.current - 16
    first = highest(exceptions)
    number = first if first < FIRST_LINE else first - 16
    icsr |= number << 12
    icsr |= PENDSVSET if has(exceptions.pending, PENDSV) else 0
    icsr |= PENDSTSET if has(exceptions.pending, SYSTICK) else 0
    icsr |= NMIPENDSET if has(exceptions.pending, NMI) else 0
    for i in range(1, WORDS):
        if exceptions.pending[i]:
            icsr |= ISRPENDING
    return icsr | (RETTOBASE if actives(exceptions) == 1 else 0)


@native
def value(exceptions: ExceptionState, offset: int) -> int:
    """What a load of the register word at ``offset`` gives."""
    if offset < IPR:
        i = 1 + ((offset & 0x7F) >> 2)
        if i >= WORDS:
            return 0
        if offset < ISPR:
            return exceptions.enabled[i]
        return exceptions.pending[i] if offset < IABR else exceptions.active[i]
    if offset < IPR_END:
        return priorities(exceptions, FIRST_LINE + offset - IPR)
    if offset == ICSR:
        return control(exceptions)
    if offset == AIRCR:
        return 0xFA050000 | max(0, exceptions.group_shift - 1) << 8
    return priorities(exceptions, 4 + offset - SHPR) if SHPR <= offset < SHCSR else 0


@native
def set_bits(exceptions: ExceptionState, offset: int, bits: int, now: int) -> None:
    """A store to ISER, ICER, ISPR or ICPR."""
    i = 1 + ((offset & 0x7F) >> 2)
    if i >= WORDS or offset >= IABR:
        return
    bits &= exceptions.implemented[i]
    if offset < ICER:
        exceptions.enabled[i] |= bits
    elif offset < ISPR:
        exceptions.enabled[i] &= ~bits
    elif offset < ICPR:
        for k in range(32):
            if bits >> k & 1:
                pend(exceptions, 32 * i + k, now)
    else:
        exceptions.pending[i] &= ~bits | exceptions.line_high[i]


@native
def set_priorities(exceptions: ExceptionState, index: int, size: int, value: int) -> None:
    """Priorities of ``size`` exceptions from ``index`` on; one that is not there keeps 0."""
    for i in range(size):
        if has(exceptions.implemented, index + i):
            exceptions.priority[index + i] = value >> 8 * i & PRIORITY_BITS


@native
def set_control(exceptions: ExceptionState, value: int, now: int) -> None:
    """A store to ICSR."""
    if value & PENDSVCLR:
        drop(exceptions.pending, PENDSV)
    elif value & PENDSVSET:
        pend(exceptions, PENDSV, now)
    if value & PENDSTCLR:
        drop(exceptions.pending, SYSTICK)
    elif value & PENDSTSET:
        pend(exceptions, SYSTICK, now)
    if value & NMIPENDSET:
        pend(exceptions, NMI, now)


@native
def write(exceptions: ExceptionState, offset: int, size: int, value: int, now: int) -> None:
    """A store to one of these registers; what it makes due is taken before the next block."""
    if offset < IPR:
        set_bits(exceptions, offset & ~3, value << 8 * (offset & 3), now)
    elif offset < IPR_END:
        set_priorities(exceptions, FIRST_LINE + offset - IPR, size, value)
    elif offset == ICSR:
        set_control(exceptions, value, now)
    elif SHPR <= offset < SHCSR:
        set_priorities(exceptions, 4 + offset - SHPR, size, value)
    elif offset == AIRCR and value >> 16 == KEY:
        exceptions.group_shift = (value >> 8 & 7) + 1
    elif offset == STIR:
        line = FIRST_LINE + (value & 0x1FF)
        if line < 32 * WORDS and has(exceptions.implemented, line):
            pend(exceptions, line, now)
