"""Damage to the tables of an ELF file."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

EDGES = (0, 1, 3, 0x34, 0xFF, 0x7FFF, 0xFFFF, 0x1_0000, 1 << 20, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFF0, 0xFFFF_FFFF)


def numbers(data: bytearray, start: int, size: int, rng: random.Random) -> None:
    """Some words of a table become hostile or random ones."""
    for _ in range(rng.randrange(1, 4)):
        at = min(start + 4 * rng.randrange(max(1, size // 4)), len(data) - 4)
        value = rng.choice([rng.choice(EDGES), rng.randrange(1 << 32), len(data), len(data) - 1])
        data[at : at + 4] = struct.pack("<I", value)


def section(data: bytearray, name: bytes) -> tuple[int, int]:
    """Offset and size of a section of an undamaged file."""
    (at,), (count, names) = struct.unpack_from("<I", data, 32), struct.unpack_from("<HH", data, 48)
    rows = [struct.unpack_from("<10I", data, at + 40 * index) for index in range(count)]
    text = rows[names][4]
    found = (row for row in rows if data[text + row[0] :].startswith(name + b"\0"))
    row = next(found, rows[-1])
    return row[4], row[5]


def header(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(4, 52)
    data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])


def program_headers(data: bytearray, rng: random.Random) -> None:
    numbers(data, 52, 32 * struct.unpack_from("<H", data, 44)[0], rng)


def section_headers(data: bytearray, rng: random.Random) -> None:
    numbers(data, struct.unpack_from("<I", data, 32)[0], 40 * struct.unpack_from("<H", data, 48)[0], rng)


def in_section(name: bytes) -> Callable[[bytearray, random.Random], None]:
    def damage(data: bytearray, rng: random.Random) -> None:
        at, size = section(data, name)
        if rng.random() < 0.5:
            numbers(data, at, size, rng)
        for _ in range(rng.randrange(1, 12)):
            data[at + rng.randrange(max(1, size)) if size else at - 1] = rng.choice(
                [0, 0x7F, 0x80, 0xFF, rng.randrange(256)]
            )

    damage.__name__ = name.decode().strip(".")
    return damage


def truncated(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def anywhere(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randrange(1, 40)):
        data[rng.randrange(4, len(data))] = rng.randrange(256)


def noise(data: bytearray, rng: random.Random) -> None:
    keep = rng.choice([4, 16, 52, 84])
    data[keep:] = rng.randbytes(len(data) - keep)


DAMAGES: list[Callable[[bytearray, random.Random], None]] = [
    header, program_headers, section_headers, in_section(b".symtab"), in_section(b".strtab"),
    in_section(b".shstrtab"), in_section(b".debug_line"), truncated, anywhere, noise,
]  # fmt: skip
