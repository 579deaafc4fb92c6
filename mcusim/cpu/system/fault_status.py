"""Fault status and control: CFSR, HFSR and SHCSR (Arm DDI0403 B3.2.13, B3.2.15, B3.2.16), loads and stores of them.

MMFAR and BFAR are plain words. Ones stored to CFSR and HFSR clear bits. SHCSR has the pending, active and enabled bits
of the system exceptions. Not modelled: DFSR, AFSR, ABFSR.
"""

from __future__ import annotations

from mcusim.cpu.system import nvic
from mcusim.cpu.system.exception_layout import (
    ACTIVE,
    BUS_FAULT,
    CFSR,
    ENABLED,
    HFSR,
    MEM_MANAGE,
    PENDING,
    PENDSV,
    SVCALL,
    SYSTICK,
    USAGE_FAULT,
)
from mcusim.native.compile import State, native

AT_SHCSR, AT_CFSR, AT_HFSR, AT_MMFAR, AT_BFAR = 0xED24, 0xED28, 0xED2C, 0xED34, 0xED38
# bits of SHCSR: (bit, exception) of those that are active, pending, enabled
ACTIVES = ((0, MEM_MANAGE), (1, BUS_FAULT), (3, USAGE_FAULT), (7, SVCALL), (10, PENDSV), (11, SYSTICK))
PENDINGS = ((12, USAGE_FAULT), (13, MEM_MANAGE), (14, BUS_FAULT), (15, SVCALL))
ENABLES = ((16, MEM_MANAGE), (17, BUS_FAULT), (18, USAGE_FAULT))


@native
def is_register(at: int) -> int:
    """Whether :func:`value` and :func:`write` know the word at offset ``at``."""
    return 1 if AT_SHCSR <= at <= AT_HFSR else 0


@native
def value(x: State, at: int) -> int:
    """What a load of the register word at ``at`` finds."""
    if at == AT_CFSR:
        return x[CFSR]
    if at == AT_HFSR:
        return x[HFSR]
    word = 0
    for bit, place in ACTIVES:
        word |= nvic.has(x, ACTIVE, place) << bit
    for bit, place in PENDINGS:
        word |= nvic.has(x, PENDING, place) << bit
    for bit, place in ENABLES:
        word |= nvic.has(x, ENABLED, place) << bit
    return word


@native
def change(x: State, words: int, place: int, on: int) -> None:
    """Put ``place`` into the set at ``words``, or take it out."""
    if on:
        nvic.add(x, words, place)
    else:
        nvic.drop(x, words, place)


@native
def write(x: State, offset: int, size: int, value_: int, now: int) -> None:
    """A store of ``size`` bytes at ``offset``, at ``now``."""
    shift = 8 * (offset & 3)
    lanes = ((1 << 8 * size) - 1) << shift
    stored = value_ << shift & lanes
    at = offset & ~3
    if at == AT_CFSR:
        x[CFSR] &= ~stored
    elif at == AT_HFSR:
        x[HFSR] &= ~stored
    else:
        stored |= value(x, at) & ~lanes
        for bit, place in ACTIVES:
            change(x, ACTIVE, place, stored >> bit & 1)
        for bit, place in PENDINGS:
            if stored >> bit & 1:
                nvic.pend(x, place, now)
            else:
                nvic.drop(x, PENDING, place)
        for bit, place in ENABLES:
            change(x, ENABLED, place, stored >> bit & 1)
