"""CRC unit: CRC-32 by words, most significant bit first (polynomial 0x04C1_1DB7, start 0xFFFF_FFFF).

ST RM0090 chapter 4; RM0385 chapter 12 for INIT. Not modelled: other polynomials and lengths, input by bytes and
halfwords (each store counts as a word), reversing of bits.
"""

from __future__ import annotations

from mcusim.cpu.peripherals.register_block import RegisterBlock

__all__ = ["Crc"]

POLYNOMIAL = 0x04C1_1DB7
RESET = 1


class Crc(RegisterBlock):
    """DR takes words and reads the checksum of those since the last reset."""

    def stored(self, register: str, value: int, old: int) -> None:
        if register == "CR" and value & RESET:
            self["DR"] = self["INIT"]
        if register == "DR":
            self["DR"] = _step(old, value)


def _step(checksum: int, word: int) -> int:
    checksum ^= word
    for _ in range(32):
        checksum = (checksum << 1 ^ (POLYNOMIAL if checksum >> 31 else 0)) & 0xFFFF_FFFF
    return checksum
