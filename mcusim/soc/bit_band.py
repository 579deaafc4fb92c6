"""Bit-banding: words of two windows that are the bits of the first MiB of SRAM and of the peripherals.

Word ``n`` of the window at 0x2200_0000 is bit ``n`` of the memory at 0x2000_0000, that at 0x4200_0000 of the
peripherals at 0x4000_0000 (Arm DDI0439 3.7.2; DDI0403 calls it an option of the core).

Not modelled: the cycles of the two accesses that a store makes, and that no other master comes between them.
"""

from __future__ import annotations

from typing import Protocol

WINDOWS = {0x2200_0000: 0x2000_0000, 0x4200_0000: 0x4000_0000}
SIZE = 32 << 20


class _BitWords(Protocol):
    def load(self, address: int, size: int) -> int: ...
    def store(self, address: int, size: int, value: int) -> None: ...


class BitBand:
    """One window, whose bits are those from ``target`` on."""

    def __init__(self, target: int, words: _BitWords) -> None:
        self._target, self._words = target, words

    def _place(self, offset: int) -> tuple[int, int]:
        """The word's address and the bit in it."""
        return self._target + (offset >> 7 << 2), offset >> 2 & 31

    def read(self, offset: int) -> int:
        """0 or 1."""
        address, bit = self._place(offset)
        return self._words.load(address, 4) >> bit & 1

    def write(self, offset: int, value: int) -> None:
        """Set the bit to the lowest of ``value``."""
        if offset & 3:  # only the lowest byte of the word is in the register's bit
            return
        address, bit = self._place(offset)
        word = self._words.load(address, 4)
        self._words.store(address, 4, word & ~(1 << bit) | (value & 1) << bit)
