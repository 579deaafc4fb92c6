"""The distances in branches of 32 bits: B.W (encoding T4), BL (T1) and conditional B.W (T3).

Armv7-M Architecture Reference Manual, B and BL. Not modelled: branches of 16 bits, BLX.
"""

from __future__ import annotations


def branch_distance(first: int, second: int, conditional: bool) -> int | None:
    """The distance in a branch, from 4 bytes behind it on, signed; None for another instruction."""
    if first & 0xF800 != 0xF000 or second & 0xD000 not in ((0x8000,) if conditional else (0x9000, 0xD000)):
        return None
    sign, number, two = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    low = (second & 0x7FF) << 1
    if conditional:
        return (two << 19 | number << 18 | (first & 0x3F) << 12 | low) - (sign << 20)
    return ((number ^ sign ^ 1) << 23 | (two ^ sign ^ 1) << 22 | (first & 0x3FF) << 12 | low) - (sign << 24)


def with_branch_distance(first: int, second: int, conditional: bool, distance: int) -> tuple[int, int]:
    """The branch with another distance."""
    sign = distance >> 31 & 1
    if conditional:
        number, two = distance >> 18 & 1, distance >> 19 & 1
        first = first & 0xFBC0 | sign << 10 | distance >> 12 & 0x3F
    else:
        number, two = (distance >> 23 & 1) ^ sign ^ 1, (distance >> 22 & 1) ^ sign ^ 1
        first = first & 0xF800 | sign << 10 | distance >> 12 & 0x3FF
    return first, second & 0xD000 | number << 13 | two << 11 | distance >> 1 & 0x7FF
