"""The 32-bit registers of the private peripheral bus in the array of int64 that holds them, two in each element.

Not modelled: what reading or writing a register does (:mod:`mcusim.cpu.system.ppb`).
"""

from __future__ import annotations

from mcusim.native.functions import native
from mcusim.native.structs import Words


@native
def word(ppb: Words, offset: int) -> int:
    """The 32-bit register at ``offset``; the array holds two in each element."""
    return (ppb[offset >> 3] >> ((offset & 4) * 8)) & 0xFFFFFFFF


@native
def put(ppb: Words, offset: int, value: int) -> None:
    """Set the 32-bit register at ``offset``."""
    shift = (offset & 4) * 8
    ppb[offset >> 3] = (ppb[offset >> 3] & ~(0xFFFFFFFF << shift)) | ((value & 0xFFFFFFFF) << shift)
