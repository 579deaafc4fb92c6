"""Fault status and control: CFSR, HFSR and SHCSR (Arm DDI0403 B3.2.13, B3.2.15, B3.2.16), loads and stores of them.

MMFAR and BFAR are plain words. Ones stored to CFSR and HFSR clear bits. SHCSR has the pending, active and enabled bits
of the system exceptions. Not modelled: DFSR, AFSR, ABFSR.
"""

from __future__ import annotations

from mcusim.cpu.system import nvic
from mcusim.cpu.system.exception_layout import (
    BUS_FAULT,
    MEM_MANAGE,
    PENDSV,
    SVCALL,
    SYSTICK,
    USAGE_FAULT,
    ExceptionState,
)
from mcusim.native.functions import native
from mcusim.native.structs import Words

SHCSR, CFSR, HFSR, MMFAR, BFAR = 0xED24, 0xED28, 0xED2C, 0xED34, 0xED38
# bits of SHCSR: (bit, exception) of those that are active, pending, enabled
ACTIVES = ((0, MEM_MANAGE), (1, BUS_FAULT), (3, USAGE_FAULT), (7, SVCALL), (10, PENDSV), (11, SYSTICK))
PENDINGS = ((12, USAGE_FAULT), (13, MEM_MANAGE), (14, BUS_FAULT), (15, SVCALL))
ENABLES = ((16, MEM_MANAGE), (17, BUS_FAULT), (18, USAGE_FAULT))


@native
def is_register(offset: int) -> int:
    """Whether :func:`value` and :func:`write` know the word at ``offset``."""
    return 1 if SHCSR <= offset <= HFSR else 0


@native
def value(exceptions: ExceptionState, offset: int) -> int:
    """What a load of the register word at ``offset`` gives."""
    if offset == CFSR:
        return exceptions.cfsr
    if offset == HFSR:
        return exceptions.hfsr
    word = 0
    for bit, index in ACTIVES:
        word |= nvic.has(exceptions.active, index) << bit
    for bit, index in PENDINGS:
        word |= nvic.has(exceptions.pending, index) << bit
    for bit, index in ENABLES:
        word |= nvic.has(exceptions.enabled, index) << bit
    return word


@native
def change(bits: Words, index: int, on: int) -> None:
    """Put ``index`` into a set, or take it out."""
    if on:
        nvic.add(bits, index)
    else:
        nvic.drop(bits, index)


@native
def write(exceptions: ExceptionState, offset: int, size: int, stored: int, now: int) -> None:
    """A store of ``size`` bytes at ``offset``, at ``now``."""
    shift = 8 * (offset & 3)
    lanes = ((1 << 8 * size) - 1) << shift
    stored = stored << shift & lanes
    register = offset & ~3
    if register == CFSR:
        exceptions.cfsr &= ~stored
    elif register == HFSR:
        exceptions.hfsr &= ~stored
    else:
        stored |= value(exceptions, register) & ~lanes
        for bit, index in ACTIVES:
            change(exceptions.active, index, stored >> bit & 1)
        for bit, index in PENDINGS:
            if stored >> bit & 1:
                nvic.pend(exceptions, index, now)
            else:
                nvic.drop(exceptions.pending, index)
        for bit, index in ENABLES:
            change(exceptions.enabled, index, stored >> bit & 1)
