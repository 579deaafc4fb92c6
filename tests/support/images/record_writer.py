"""Writes Intel HEX files and S-records, in lines of 16 bytes."""

from __future__ import annotations

from collections.abc import Iterable

Pieces = Iterable[tuple[int, bytes]]
END = ":00000001FF"


def hex_record(kind: int, offset: int, data: bytes = b"") -> str:
    raw = bytes([len(data), offset >> 8, offset & 0xFF, kind]) + data
    return f":{raw.hex().upper()}{-sum(raw) & 0xFF:02X}"


def hex_lines(pieces: Pieces, entry: int | None = None) -> list[str]:
    """With a type 04 record in front of every data record whose upper half of the address is new."""
    lines, upper = [], 0
    for address, data in pieces:
        for at in range(0, len(data), 16):
            here = address + at
            if here >> 16 != upper:
                upper = here >> 16
                lines.append(hex_record(4, 0, upper.to_bytes(2, "big")))
            lines.append(hex_record(0, here & 0xFFFF, data[at : at + 16]))
    if entry is not None:
        lines.append(hex_record(5, 0, entry.to_bytes(4, "big")))
    return [*lines, END]


def s_record(kind: int, address: int, data: bytes = b"") -> str:
    width = {0: 2, 1: 2, 2: 3, 3: 4, 5: 2, 6: 3, 7: 4, 8: 3, 9: 2}[kind]
    raw = bytes([width + len(data) + 1]) + address.to_bytes(width, "big") + data
    return f"S{kind}{raw.hex().upper()}{~sum(raw) & 0xFF:02X}"


def s_lines(pieces: Pieces, entry: int = 0) -> list[str]:
    rows = [(address + at, data[at : at + 16]) for address, data in pieces for at in range(0, len(data), 16)]
    return [s_record(0, 0, b"app"), *(s_record(3, *row) for row in rows), s_record(5, len(rows)), s_record(7, entry)]


def text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode()
