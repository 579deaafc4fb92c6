"""The NVIC and the system control registers that pend exceptions and give them priorities (Arm DDI0403 B3.2, B3.4).

Four bits of a priority are there, the upper ones (ST's parts), and the lines of the part's family, in words of 32. Not
modelled: debug exceptions, the auxiliary control registers, the masks in ICSR.VECTPENDING; FAULTMASK can be set in the
handlers of NMI and HardFault, which mask as much anyway, and stays set behind an NMI.
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.system.exception_layout import (
    ACTIVE,
    ARRIVED,
    CURRENT,
    ENABLED,
    EVENT,
    FIRST_LINE,
    GROUP_SHIFT,
    HIGH,
    IDLE,
    IMPLEMENTED,
    NMI,
    PENDING,
    PENDSV,
    PRIORITY,
    SEV_ON_PEND,
    SYSTICK,
    WORDS,
)
from mcusim.memory import state_layout as L
from mcusim.native.compile import State, native

ISER, ICER, ISPR, ICPR, IABR, IPR, IPR_END = 0xE100, 0xE180, 0xE200, 0xE280, 0xE300, 0xE400, 0xE4F0
ICSR, AIRCR, SHPR, SHCSR, STIR = 0xED04, 0xED0C, 0xED18, 0xED24, 0xEF00
PENDSTCLR, PENDSTSET, PENDSVCLR, PENDSVSET, NMIPENDSET = 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 31
ISRPENDING, RETTOBASE = 1 << 22, 1 << 11
PRIORITY_BITS = 0xF0  # of a byte
SYSTEM = 0b1101_1000_0111_0000  # exceptions with a byte in SHPR: reserved ones have none
KEY = 0x05FA


@native
def has(x: State, words: int, place: int) -> int:
    """Whether ``place`` is in the set at ``words``."""
    return x[words + (place >> 5)] >> (place & 31) & 1


@native
def add(x: State, words: int, place: int) -> None:
    """Put ``place`` into the set at ``words``."""
    x[words + (place >> 5)] |= 1 << (place & 31)


@native
def drop(x: State, words: int, place: int) -> None:
    """Take ``place`` out of the set at ``words``."""
    x[words + (place >> 5)] &= ~(1 << (place & 31))


@native
def pend(x: State, place: int, now: int) -> None:
    """The exception becomes pending at ``now``; one that is pending stays so since it was."""
    if not has(x, PENDING, place):
        add(x, PENDING, place)
        x[ARRIVED + place] = now
        x[EVENT] |= x[SEV_ON_PEND]


@native
def group(x: State, level: int) -> int:
    """The part of a priority that preempts."""
    return level if level < 0 else level >> x[GROUP_SHIFT] << x[GROUP_SHIFT]


@native
def highest(x: State) -> int:
    """Place of the pending and enabled exception that comes first, 0 for none: the lowest number among equals."""
    best, first = 0, IDLE
    for i in range(WORDS):
        ready = x[PENDING + i] & x[ENABLED + i]
        place = 32 * i
        while ready:
            if ready & 1 and x[PRIORITY + place] < first:
                best, first = place, x[PRIORITY + place]
            ready >>= 1
            place += 1
    return best


@native
def active_level(x: State) -> int:
    """The priority of what runs, by the active exceptions alone."""
    level = IDLE
    for i in range(WORDS):
        active = x[ACTIVE + i]
        place = 32 * i
        while active:
            if active & 1:
                level = min(level, group(x, x[PRIORITY + place]))
            active >>= 1
            place += 1
    return level


@native
def actives(x: State) -> int:
    """How many exceptions are active."""
    count = 0
    for i in range(WORDS):
        bits = x[ACTIVE + i]
        while bits:
            count += bits & 1
            bits >>= 1
    return count


@native
def take(x: State, place: int) -> None:
    """From pending to active."""
    drop(x, PENDING, place)
    add(x, ACTIVE, place)


@native
def leave(x: State, place: int, now: int) -> None:
    """No longer active; a line that is still high pends again."""
    drop(x, ACTIVE, place)
    if has(x, HIGH, place):
        pend(x, place, now)


@native
def is_register(at: int) -> int:
    """Whether the NVIC's :func:`value` and :func:`write` know the word at offset ``at``."""
    if ISER <= at < IPR_END:
        return 1
    return 1 if at in (ICSR, AIRCR, SHPR, SHPR + 4, SHPR + 8, STIR) else 0


@native
def priorities(x: State, place: int) -> int:
    """Four priorities as a register has them, from ``place`` on."""
    word = 0
    for i in range(4):
        if x[PRIORITY + place + i] > 0:
            word |= x[PRIORITY + place + i] << (8 * i)
    return word


@native
def control(x: State) -> int:
    """ICSR."""
    found = x[CURRENT] if x[CURRENT] < FIRST_LINE else x[CURRENT] - 16
    first = highest(x)
    number = first if first < FIRST_LINE else first - 16
    found |= number << 12
    found |= PENDSVSET if has(x, PENDING, PENDSV) else 0
    found |= PENDSTSET if has(x, PENDING, SYSTICK) else 0
    found |= NMIPENDSET if has(x, PENDING, NMI) else 0
    for i in range(1, WORDS):
        if x[PENDING + i]:
            found |= ISRPENDING
    return found | (RETTOBASE if actives(x) == 1 else 0)


@native
def value(x: State, at: int) -> int:
    """What a load of the register word at ``at`` finds."""
    if at < IPR:
        i = 1 + ((at & 0x7F) >> 2)
        if i >= WORDS:
            return 0
        if at < ISPR:
            return x[ENABLED + i]
        return x[(PENDING if at < IABR else ACTIVE) + i]
    if at < IPR_END:
        return priorities(x, FIRST_LINE + at - IPR)
    if at == ICSR:
        return control(x)
    if at == AIRCR:
        return 0xFA050000 | max(0, x[GROUP_SHIFT] - 1) << 8
    return priorities(x, 4 + at - SHPR) if SHPR <= at < SHCSR else 0


@native
def set_bits(x: State, at: int, bits: int, now: int) -> None:
    """A store to ISER, ICER, ISPR or ICPR."""
    i = 1 + ((at & 0x7F) >> 2)
    if i >= WORDS or at >= IABR:
        return
    bits &= x[IMPLEMENTED + i]
    if at < ICER:
        x[ENABLED + i] |= bits
    elif at < ISPR:
        x[ENABLED + i] &= ~bits
    elif at < ICPR:
        for k in range(32):
            if bits >> k & 1:
                pend(x, 32 * i + k, now)
    else:
        x[PENDING + i] &= ~bits | x[HIGH + i]


@native
def set_priorities(x: State, place: int, size: int, value: int) -> None:
    """Priorities of ``size`` exceptions from ``place`` on; one that is not there keeps 0."""
    for i in range(size):
        if has(x, IMPLEMENTED, place + i):
            x[PRIORITY + place + i] = value >> 8 * i & PRIORITY_BITS


@native
def set_control(x: State, value: int, now: int) -> None:
    """A store to ICSR."""
    if value & PENDSVCLR:
        drop(x, PENDING, PENDSV)
    elif value & PENDSVSET:
        pend(x, PENDSV, now)
    if value & PENDSTCLR:
        drop(x, PENDING, SYSTICK)
    elif value & PENDSTSET:
        pend(x, SYSTICK, now)
    if value & NMIPENDSET:
        pend(x, NMI, now)


@native
def write(c: State, s: State, x: State, offset: int, size: int, value: int) -> None:
    """A store to one of these registers; what it makes due is taken before the next block."""
    if offset < IPR:
        set_bits(x, offset & ~3, value << 8 * (offset & 3), s[L.NOW])
    elif offset < IPR_END:
        set_priorities(x, FIRST_LINE + offset - IPR, size, value)
    elif offset == ICSR:
        set_control(x, value, s[L.NOW])
    elif SHPR <= offset < SHCSR:
        set_priorities(x, 4 + offset - SHPR, size, value)
    elif offset == AIRCR and value >> 16 == KEY:
        x[GROUP_SHIFT] = (value >> 8 & 7) + 1
    elif offset == STIR:
        line = FIRST_LINE + (value & 0x1FF)
        if line < 32 * WORDS and has(x, IMPLEMENTED, line):
            pend(x, line, s[L.NOW])
    c[C.HORIZON] = 0
