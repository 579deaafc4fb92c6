"""Damage to files of any format, and a command line that has to take it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from mcusim.commands.app import main
from tests.support.cases import sample_size
from tests.support.errors import error_of

VARIANTS_EACH = sample_size(40, 5)


def place(size: int, rng: random.Random) -> int:
    """A word: half of the damage goes to the two ends of a file, where a flatbuffer keeps its structure."""
    first, last = rng.choice(((0, size), (0, size), (0, min(size, 4096)), (size - size // 8, size)))
    return 4 * rng.randrange(first // 4, last // 4)


def truncated(data: bytearray, rng: random.Random) -> bytearray:
    return data[: rng.randrange(len(data))]


def flipped(data: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice((1, 8, 64))):
        data[place(len(data), rng) + rng.randrange(4)] ^= 1 << rng.randrange(8)
    return data


def swapped(data: bytearray, rng: random.Random) -> bytearray:
    """Two aligned words change places: offsets that point elsewhere."""
    a, b = place(len(data), rng), place(len(data), rng)
    data[a : a + 4], data[b : b + 4] = data[b : b + 4], data[a : a + 4]
    return data


def huge(data: bytearray, rng: random.Random) -> bytearray:
    """An aligned word becomes a very large number: a length or an offset far outside."""
    at = place(len(data), rng)
    data[at : at + 4] = rng.choice((b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x00\x00\x00\x40"))
    return data


def huge_number(data: bytearray, rng: random.Random) -> bytearray:
    """A digit of a text becomes many."""
    digits = [i for i, c in enumerate(data) if chr(c).isdigit()]
    at = rng.choice(digits)
    data[at : at + 1] = rng.choice((b"9" * 30, b"1e999", b"-1", b"99999999"))
    return data


def other_digit(data: bytearray, rng: random.Random) -> bytearray:
    """A digit becomes another one, or a few: still well-formed, but it may not add up any more."""
    digits = [i for i, c in enumerate(data) if chr(c).isdigit()]
    at = rng.choice(digits)
    data[at : at + 1] = rng.choice((b"0", b"3", b"7", b"99", b"9999", b"999999"))
    return data


BINARY = (truncated, flipped, swapped, huge)
TEXT = (truncated, flipped, swapped, huge_number, other_digit)
Corruption = Callable[[bytearray, random.Random], bytearray]


def variants(original: bytes, ways: tuple[Corruption, ...], seed: str) -> list[bytes]:
    rng = random.Random(seed)
    return [bytes(ways[i % len(ways)](bytearray(original), rng)) for i in range(VARIANTS_EACH)]


def check(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Run in this process: status 0, 1 or 2, an error unless it is 0."""
    status = main(arguments)
    captured = capsys.readouterr()
    assert status in (0, 1, 2)
    assert error_of(captured.err) if status else captured.err == ""
    return status
