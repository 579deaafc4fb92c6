"""Damaged and hostile HEX files, S-records and binaries, by seed."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from tests.support.images.record_writer import END, hex_lines, hex_record, s_lines, s_record, text

FLASH, STACK = 0x0800_0000, 0x2005_0000
LOOP = b"\xfe\xe7"
EDGES = (
    0,
    1,
    2,
    0x0800_0000,
    0x0800_0041,
    0x2000_0001,
    0x2005_0000,
    0x4000_0000,
    0xE000_ED08,
    0xFFFF_FFF9,
    0xFFFF_FFFF,
)
Damage = Callable[[random.Random], tuple[str, bytes]]


def _program(rng: random.Random) -> list[tuple[int, bytes]]:
    """A vector table, an endless loop, and bytes in another memory."""
    table = struct.pack("<16I", STACK, *[FLASH + 0x41] * 15)
    return [(FLASH, table + LOOP + rng.randbytes(200)), (0x2000_0100, rng.randbytes(64))]


def _lines(rng: random.Random) -> tuple[str, list[str]]:
    pieces = _program(rng)
    return rng.choice([("hex", hex_lines(pieces, FLASH + 0x41)), ("srec", s_lines(pieces, FLASH + 0x41))])


def truncated(rng: random.Random) -> tuple[str, bytes]:
    kind, lines = _lines(rng)
    data = text(lines)
    return f"a.{kind}", data[: rng.randrange(len(data))]


def changed(rng: random.Random) -> tuple[str, bytes]:
    """Some characters: checksums, lengths, types, digits that are none."""
    kind, lines = _lines(rng)
    data = bytearray(text(lines))
    for _ in range(rng.choice([1, 1, 3, 30])):
        data[rng.randrange(len(data))] = rng.choice([rng.randrange(256), *b"0123456789ABCDEFS:\n\r\0 "])
    return f"a.{kind}", bytes(data)


def shuffled(rng: random.Random) -> tuple[str, bytes]:
    """Lines twice, lost and out of order: records overlap."""
    kind, lines = _lines(rng)
    return f"a.{kind}", text(rng.choices(lines, k=len(lines)))


def scattered(rng: random.Random) -> tuple[str, bytes]:
    """Records all over 4 GiB, thousands of them, with right checksums."""
    count = rng.choice([2, 100, 5_000, 70_000])
    places = [rng.choice([rng.randrange(1 << 32), *EDGES]) for _ in range(count)]
    if rng.random() < 0.5:
        return "a.srec", text([*(s_record(3, at, b"\0") for at in places), s_record(7, 0)])
    pairs = ([hex_record(4, 0, struct.pack(">H", at >> 16)), hex_record(0, at & 0xFFFF, b"a")] for at in places)
    return "a.hex", text([*chain.from_iterable(pairs), END])


def wild(rng: random.Random) -> tuple[str, bytes]:
    """Well-formed records of any type, length and content."""
    if rng.random() < 0.5:
        rows = [
            hex_record(rng.randrange(8), rng.randrange(1 << 16), rng.randbytes(rng.randrange(6))) for _ in range(20)
        ]
        return "a.hex", text([*rows, END])
    kinds = rng.choices([0, 1, 2, 3, 5, 6], k=20)
    rows = [s_record(kind, rng.randrange(1 << 16), rng.randbytes(rng.randrange(6))) for kind in kinds]
    return "a.srec", text([*rows, s_record(9, rng.randrange(1 << 16))])


def long(rng: random.Random) -> tuple[str, bytes]:
    """Lines without end, and files of empty lines."""
    body = rng.choice([b"0" * 2_000_000, b"\n" * 1_000_000, b" " * 2_000_000, b"\0" * 2_000_000])
    return "a.hex", rng.choice([b":0000000000", b"S0030000FC"]) + body


def vectors(rng: random.Random) -> tuple[str, bytes]:
    """A binary whose vector table points anywhere."""
    words = [rng.choice([rng.randrange(1 << 32), *EDGES]) for _ in range(64)]
    if rng.random() < 0.7:
        words[:2] = STACK - 4 * rng.randrange(1 << 16), FLASH + rng.randrange(256) | rng.choice([0, 1, 1, 1])
    where = FLASH if rng.random() < 0.8 else rng.choice([0x2000_0000, 0x0020_0000, 0x6000_0000, *EDGES])
    return f"a.bin@{where:#x}", struct.pack("<64I", *words)


def noise(rng: random.Random) -> tuple[str, bytes]:
    start = rng.choice([b"", b":", b"S1", b":00000001FF", b"\x7fELF"])
    name = rng.choice(["a.bin", f"a.bin@{rng.choice(EDGES):#x}", "a.bin@0x99999999999"])
    return name, start + rng.randbytes(rng.choice([0, 1, 7, 8, 5_000]))


DAMAGES: tuple[Damage, ...] = (truncated, changed, shuffled, scattered, wild, long, vectors, noise)


def hostile(folder: Path, damage: Damage, seed: int) -> str:
    """Write the file of that seed into ``folder``; returns what to give to the command: a name, maybe with @ADDRESS."""
    name, data = damage(random.Random(f"{damage.__name__} {seed}"))
    (folder / name.partition("@")[0]).write_bytes(data)
    return str(folder / name)
