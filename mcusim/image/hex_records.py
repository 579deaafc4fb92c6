"""Programs as text: Intel HEX files and Motorola S-records.

The readers are not those of a library: bincopy inserts records in linear time, takes a file that was cut off, and names
no line; intelhex keeps every byte in a dictionary. Here lines and pieces are limited, and every error names its line.
Sources: Intel, "Hexadecimal Object File Format Specification", revision A, 1988; Motorola, M68000 Family Programmer's
Reference Manual, appendix C.
"""

from __future__ import annotations

from binascii import unhexlify
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise

from mcusim.errors import ImageError
from mcusim.machine.document import show_address

MOST_LINES = 4_000_000  # 64 MiB at 16 B a line
MOST_PIECES = 65_536  # in the file's order
MOST_RUNS = 1_024  # separate ranges of addresses
_LONGEST_LINE = 1 + 2 * (5 + 255) + 2  # bytes, with the line's end
_SPACE = 1 << 32


class _Wrong(ValueError):
    """What is wrong with a line."""


@dataclass
class _Piece:
    """Records that follow one another without a gap; ``line`` is that of the first."""

    address: int
    line: int
    data: bytearray


@dataclass
class Records:
    """What a file of records says. ``entry`` as written there, None where there is none."""

    entry: int | None = None
    pieces: list[_Piece] = field(default_factory=list)
    data_records: int = 0

    def add(self, address: int, data: bytes, line: int) -> None:
        """The bytes of one record."""
        if address + len(data) > _SPACE:
            raise _Wrong(f"{len(data)} B at {show_address(address)} run past the 32-bit address space")
        self.data_records += 1
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.address + len(last.data) == address:
            last.data += data
        elif data:
            if len(self.pieces) == MOST_PIECES:
                raise _Wrong(f"more than {MOST_PIECES:,} jumps between addresses: sort the records by address")
            self.pieces.append(_Piece(address, line, bytearray(data)))

    def runs(self, shown: str) -> list[tuple[int, bytes]]:
        """``(address, bytes)`` by rising address, neighbours joined. Raises ImageError when two records overlap."""
        pieces: list[_Piece] = []
        ordered = sorted(self.pieces, key=lambda piece: piece.address)
        for low, high in pairwise(ordered):
            if low.address + len(low.data) > high.address:
                line = max(low.line, high.line)
                raise ImageError(
                    f"{shown}:{line}: the byte at {show_address(high.address)} is there twice: among the records from"
                    f" line {min(low.line, high.line)} on and among those from line {line} on; the file is damaged, or"
                    " two programs were joined"
                )
        for piece in ordered:
            if pieces and pieces[-1].address + len(pieces[-1].data) == piece.address:
                pieces[-1].data += piece.data
            else:
                pieces.append(piece)
        if len(pieces) > MOST_RUNS:
            raise ImageError(f"{shown}: {len(pieces):,} separate ranges of addresses, at most {MOST_RUNS:,} are read")
        return [(piece.address, bytes(piece.data)) for piece in pieces]


def read_hex(data: bytes, shown: str) -> Records:
    """The records of an Intel HEX file. Raises ImageError with file and line.

    A start address by segment (type 03), which objcopy writes for addresses below 1 MiB, is its linear address.
    """
    return _read(data, shown, _Hex())


def read_s_records(data: bytes, shown: str) -> Records:
    """The records of a file of Motorola S-records (S0 to S3 and S5 to S9). Raises ImageError with file and line.

    A start address of 0 is none: the last record must have one.
    """
    return _read(data, shown, _Motorola())


@dataclass
class _Format:
    """One of the two forms of records: takes lines until one ends the file."""

    found: Records = field(default_factory=Records)
    ended: bool = False
    end = ""  # the record that ends the file

    def take(self, text: bytes, line: int) -> None:
        raise NotImplementedError


def _read(data: bytes, shown: str, form: _Format) -> Records:
    number = 0
    for number, line in enumerate(BytesIO(data), 1):
        if number > MOST_LINES:
            raise ImageError(f"{shown}: more than {MOST_LINES:,} lines")
        text = line.strip() if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE]
        if not text:
            continue
        try:
            if form.ended:
                raise _Wrong(f"a line behind the {form.end}; give joined files one by one, with --image")
            form.take(text, number)
        except _Wrong as wrong:
            raise ImageError(f"{shown}:{number}: {wrong}") from None
    if not form.ended:
        raise ImageError(f"{shown}: truncated: line {number} is the last, and no {form.end} has come")
    if not form.found.pieces:
        raise ImageError(f"{shown}: has no data records: nothing to run")
    return form.found


def _bytes(text: bytes) -> bytes:
    try:
        return unhexlify(text)
    except ValueError:
        raise _Wrong(f"{_quoted(text)} is not an even number of hexadecimal digits") from None


def _quoted(text: bytes) -> str:
    return repr(text[:24].decode("latin-1")) + ("..." if len(text) > 24 else "")


_HEX_LENGTHS = {1: 0, 2: 2, 3: 4, 4: 2, 5: 4}  # bytes of data by record type; type 0 has any number


class _Hex(_Format):
    """Intel HEX; in the data of a type 02 segment addresses wrap at 64 KiB, which a program never needs."""

    end = "end-of-file record (:00000001FF)"

    def __init__(self) -> None:
        super().__init__()
        self._base, self._segmented = 0, False

    def take(self, text: bytes, line: int) -> None:
        if text[:1] != b":":
            raise _Wrong(f"{_quoted(text)}: a record begins with a colon")
        raw = _bytes(text[1:])
        if len(raw) < 5:
            raise _Wrong(f"a record of {len(raw)} B, the shortest has 5: cut off")
        if len(raw) != raw[0] + 5:
            raise _Wrong(f"announces {raw[0]} B of data and has {len(raw) - 5}: cut off")
        if sum(raw) & 0xFF:
            raise _Wrong(f"checksum {raw[-1]:02X}, it should be {-sum(raw[:-1]) & 0xFF:02X}")
        offset, kind, data = raw[1] << 8 | raw[2], raw[3], raw[4:-1]
        if kind == 0:
            self._data(offset, data, line)
            return
        if kind not in _HEX_LENGTHS:
            raise _Wrong(f"a record of type {kind:02X}, there are 00 to 05")
        length = _HEX_LENGTHS[kind]
        if len(data) != length:
            raise _Wrong(f"type {kind:02X} has {length} B of data, here are {len(data)}")
        self._other(kind, data)

    def _data(self, offset: int, data: bytes, line: int) -> None:
        if self._segmented and offset + len(data) > 1 << 16:
            raise _Wrong(f"{len(data)} B at {offset:#06x} run past the end of their 64 KiB segment")
        self.found.add(self._base + offset, data, line)

    def _other(self, kind: int, data: bytes) -> None:
        value = int.from_bytes(data, "big")
        if kind == 1:
            self.ended = True
        elif kind in (2, 4):
            self._base, self._segmented = value << (4 if kind == 2 else 16), kind == 2
        else:
            self.found.entry = value if kind == 5 else (value >> 16 << 4) + (value & 0xFFFF)


_ADDRESS_BYTES = {0: 2, 1: 2, 2: 3, 3: 4, 5: 2, 6: 3, 7: 4, 8: 3, 9: 2}  # by record type


class _Motorola(_Format):
    end = "S7, S8 or S9 record"

    def take(self, text: bytes, line: int) -> None:
        if text[:1] != b"S":
            raise _Wrong(f"{_quoted(text)}: a record begins with S")
        kind = text[1] - ord("0") if len(text) > 1 else -1
        if kind not in _ADDRESS_BYTES:
            raise _Wrong(f"{_quoted(text)}: a record of no known type, S0 to S3 and S5 to S9")
        raw = _bytes(text[2:])
        width = _ADDRESS_BYTES[kind]
        if len(raw) < width + 2:
            raise _Wrong(f"an S{kind} record of {len(raw)} B, it has at least {width + 2}: cut off")
        if len(raw) != raw[0] + 1:
            raise _Wrong(f"announces {raw[0]} B and has {len(raw) - 1}: cut off")
        sum_of = sum(raw[:-1])
        if raw[-1] != ~sum_of & 0xFF:
            raise _Wrong(f"checksum {raw[-1]:02X}, it should be {~sum_of & 0xFF:02X}")
        self._record(kind, int.from_bytes(raw[1 : 1 + width], "big"), raw[1 + width : -1], line)

    def _record(self, kind: int, address: int, data: bytes, line: int) -> None:
        if kind in (1, 2, 3):
            self.found.add(address, data, line)
        elif kind in (5, 6):
            count = self.found.data_records
            if address != count:
                raise _Wrong(f"counts {address:,} data records, {count:,} have come: some are missing")
        elif kind >= 7:
            self.ended, self.found.entry = True, address or None
