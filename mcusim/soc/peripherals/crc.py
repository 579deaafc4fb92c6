"""CRC unit: a checksum of what is stored to DR, most significant bit first.

That of an F4 takes words: CRC-32 (polynomial 0x04C1_1DB7, start 0xFFFF_FFFF; ST RM0090 chapter 4). The others have POL
and INIT, checksums of 32, 16, 8 or 7 bits, take words, halfwords and bytes, and reverse the bits of input (in each
byte, halfword or word) and output (assumed, from memory of ST RM0385 chapter 12, RM0433 chapter 21). A store to
INIT starts anew, as RESET does.

Not modelled: the cycles that a checksum takes.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

POLYNOMIAL, START = 0x04C1_1DB7, 0xFFFF_FFFF
RESET, REV_OUT = 1, 1 << 7  # in CR
WIDTHS = (32, 16, 8, 7)  # by CR.POLYSIZE
GROUPS = (1, 8, 16, 32)  # bits that CR.REV_IN reverses together


class Crc(RegisterBlock):
    """DR holds the checksum since the last reset as it is before REV_OUT."""

    @property
    def _programmable(self) -> bool:
        return "POL" in self.names

    @property
    def _width(self) -> int:
        return WIDTHS[self["CR"] >> 3 & 3] if self._programmable else 32

    def write(self, offset: int, size: int, value: int) -> None:
        """DR takes as many bits as are stored, at any of its bytes."""
        if self.name_at(offset) != "DR":
            super().write(offset, size, value)
            return
        bits = 8 * size if self._programmable else 32
        data = value & (1 << bits) - 1
        if self._programmable:
            data = _reversed(data, bits, min(bits, GROUPS[self["CR"] >> 5 & 3]))
        elif size != 4:
            self.host.warn(f"{self.name}_DR takes words: a store of {size} B counts as one here")
        polynomial = self["POL"] if self._programmable else POLYNOMIAL
        self["DR"] = checksum(self["DR"], data, bits, polynomial, self._width)

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "INIT" or (register == "CR" and value & RESET):
            start = self["INIT"] if self._programmable else START
            self["DR"] = start & (1 << self._width) - 1

    def on_read(self, register: str, word: int) -> int:
        reverse = register == "DR" and self._programmable and self["CR"] & REV_OUT
        return _reversed(word, self._width, self._width) if reverse else word


def checksum(start: int, data: int, bits: int, polynomial: int, width: int) -> int:
    """The checksum of ``width`` bits that goes on from ``start`` with ``bits`` bits of data, the highest first."""
    top, mask = width - 1, (1 << width) - 1
    result = start & mask
    for at in reversed(range(bits)):
        out = result >> top ^ data >> at & 1
        result = result << 1 & mask ^ (polynomial & mask if out & 1 else 0)
    return result


def _reversed(value: int, bits: int, group: int) -> int:
    """``value`` of ``bits`` bits with the order of those of each ``group`` turned round."""
    text = f"{value & (1 << bits) - 1:0{bits}b}"
    return int("".join(text[at : at + group][::-1] for at in range(0, bits, group)), 2)
