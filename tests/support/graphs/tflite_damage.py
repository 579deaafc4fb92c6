"""Damage to .tflite files."""

from __future__ import annotations

import random
from collections.abc import Callable


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def flip_bits(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randrange(1, 20)):
        data[_place(data, rng)] ^= 1 << rng.randrange(8)


def swap_offsets(data: bytearray, rng: random.Random) -> None:
    a, b = _place(data, rng) & ~3, _place(data, rng) & ~3
    data[a : a + 4], data[b : b + 4] = data[b : b + 4], data[a : a + 4]


def write_huge_lengths(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randrange(1, 5)):
        place = _place(data, rng) & ~3
        value = rng.choice([2**32 - 1, 2**31 - 1, 2**31, 2**28, 2**20, len(data), len(data) - 4])
        data[place : place + 4] = value.to_bytes(4, "little")


def _place(data: bytearray, rng: random.Random) -> int:
    """Half of the time near an end of the file, where converters put the tables; weights fill the middle."""
    ends = [rng.randrange(min(4_000, len(data) - 4)), len(data) - 5 - rng.randrange(min(12_000, len(data) - 5))]
    return rng.choice([*ends, rng.randrange(len(data) - 4), rng.randrange(len(data) - 4)])


CORRUPTIONS: list[Callable[[bytearray, random.Random], None]] = [truncate, flip_bits, swap_offsets, write_huge_lengths]
