"""Distances in code: Thumb branches and words that hold how far a symbol is away, read and written.

Armv7-M Architecture Reference Manual, B and BL: B.W (encoding T4), BL (T1) and conditional B.W (T3) hold the distance
from 4 bytes behind them. Left out: branches of 16 bits and loads by pc, which a linker gives no place in another
section; BLX to Arm code.
"""

from __future__ import annotations

import struct

from mcusim.errors import ImageError

__all__ = ["set_distance"]

_REL32, _CALL, _JUMP24, _JUMP19 = 3, 10, 30, 51
_CODE = {_CALL: (0xD000, 0xD000), _JUMP24: (0xD000, 0x9000), _JUMP19: (0xD000, 0x8000)}  # second half: mask, value
_REACH = {_CALL: 1 << 24, _JUMP24: 1 << 24, _JUMP19: 1 << 20}
_NEAR = 4 << 20  # bytes that a word may lie away from its symbol


def set_distance(where: str, kind: int, data: bytearray, at: int, distance: int, more: int) -> None:
    """Add ``more`` to the distance at ``data[at]``, which must be ``distance``, Thumb bit included.

    Raises ImageError, which begins with ``where``, for another relocation ``kind``, another instruction or distance,
    and a branch that would not reach.
    """
    if kind == _REL32:
        word = int.from_bytes(data[at : at + 4], "little")
        if _NEAR < (word - distance & 0xFFFF_FFFF) < (1 << 32) - _NEAR:
            raise ImageError(f"{where}: holds {word:#x}, which is not near the distance to its symbol: damaged")
        data[at : at + 4] = (word + more & 0xFFFF_FFFF).to_bytes(4, "little")
        return
    if kind not in _CODE:
        raise ImageError(f"{where}: cannot be applied between functions; BL, B.W and words hold distances there")
    first, second = struct.unpack_from("<HH", data, at)
    mask, value = _CODE[kind]
    conditional = kind == _JUMP19
    if first & 0xF800 != 0xF000 or second & mask != value or (conditional and first >> 7 & 7 == 7):
        raise ImageError(f"{where}: no such instruction there: damaged")
    held = _held(first, second, conditional)
    if held != (distance & ~1) - 4:
        raise ImageError(f"{where}: goes {held + 4:+,} B, its symbol is {distance & ~1:+,} B away: damaged")
    new = held + more
    if not -_REACH[kind] <= new < _REACH[kind]:
        raise ImageError(f"{where}: cannot reach {new:+,} B")
    struct.pack_into("<HH", data, at, *_with(first, second, conditional, new))


def _held(first: int, second: int, conditional: bool) -> int:
    """The distance that a branch of 32 bits holds, signed."""
    sign, one, two = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    low = (second & 0x7FF) << 1
    if conditional:
        return (two << 19 | one << 18 | (first & 0x3F) << 12 | low) - (sign << 20)
    return ((one ^ sign ^ 1) << 23 | (two ^ sign ^ 1) << 22 | (first & 0x3FF) << 12 | low) - (sign << 24)


def _with(first: int, second: int, conditional: bool, distance: int) -> tuple[int, int]:
    """The branch with another distance."""
    sign = distance >> 31 & 1
    if conditional:
        one, two = distance >> 18 & 1, distance >> 19 & 1
        first = first & 0xFBC0 | sign << 10 | distance >> 12 & 0x3F
    else:
        one, two = (distance >> 23 & 1) ^ sign ^ 1, (distance >> 22 & 1) ^ sign ^ 1
        first = first & 0xF800 | sign << 10 | distance >> 12 & 0x3FF
    return first, second & 0xD000 | one << 13 | two << 11 | distance >> 1 & 0x7FF
