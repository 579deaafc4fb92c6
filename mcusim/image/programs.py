"""What is put on a machine: one image of one or several files, which are ELF, Intel HEX, S-records or plain bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from mcusim.errors import ImageError
from mcusim.image.elf import ElfFile, Section, Segment, parse_elf, program_bytes
from mcusim.image.hex_records import Records, read_hex, read_s_records
from mcusim.image.image import Image, image_of
from mcusim.image.symbols import Symbol, SymbolTable
from mcusim.machine.document import show_address

MOST_IMAGES = 16
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F_]{1,20}|[0-9][0-9_]{0,20}", re.ASCII)
_HEX_LINE = re.compile(rb":[0-9A-Fa-f]{10}")
_S_LINE = re.compile(rb"S[0-9][0-9A-Fa-f]{4}")
_RESERVED = 0xFF00  # section numbers from here on name none
_READ_EXECUTE = 5


def file_of(text: str | Path) -> Path:
    """The file of ``FILE`` or ``FILE@ADDRESS``; an @ that no number follows is part of the name."""
    return Path(_parts(text)[0])


def load_programs(texts: Sequence[str | Path]) -> Image:
    """One image of all files. Raises ImageError.

    The first file names the whole, and its symbols win over those of the others. Files may overlap only where their
    bytes are the same, as those of a .bin and of the ELF file that has its symbols. Not modelled: erased flash
    reads as zeroes where no file has bytes.
    """
    if len(texts) > MOST_IMAGES:
        raise ImageError(f"{len(texts)} images; at most {MOST_IMAGES} are loaded")
    images = [load_program(text) for text in texts]
    if len(images) == 1:
        return images[0]
    _check_overlaps(images)
    entry = next((image.entry for image in images if image.entry is not None), None)
    warnings = [f"{image.path}: {text}" for image in images for text in image.warnings]
    segments = tuple(segment for image in images for segment in image.segments)
    first = images[0]
    return Image(first.path, entry, segments, _symbols(images), warnings, first.elf, parts=tuple(images))


def load_program(text: str | Path) -> Image:
    """The image of ``FILE``, an ELF executable, Intel HEX or S-records by its content, or of ``FILE@ADDRESS``, the
    bytes from that address on (decimal, or hexadecimal after 0x). Raises ImageError.

    Not modelled: what :func:`mcusim.image.image.load_image` leaves out.
    """
    name, address = _parts(text)
    shown = str(name)[:300]
    data = program_bytes(Path(name), shown)
    records = read_hex if _HEX_LINE.match(data) else read_s_records if _S_LINE.match(data) else None
    if address is not None:
        if records or data[:4] == b"\x7fELF":
            raise ImageError(f"{shown}: has addresses of its own: leave @{show_address(address)} out")
        return _of_bytes(data, address, shown)
    if records is not None:
        return _of_records(records(data, shown), shown)
    if data and data[:4] != b"\x7fELF" and data[:8] != b"!<arch>\n":
        raise ImageError(
            f"{shown}: is no ELF file, Intel HEX or S-records by its first bytes; plain bytes need the address they go"
            f" to: {Path(name).name[:100]}@0x08000000"
        )
    return image_of(parse_elf(data, shown))


def _parts(text: str | Path) -> tuple[str, int | None]:
    """The file's name, and the address where it ends in one."""
    name, at, where = str(text).rpartition("@")
    if not at or not name or not _ADDRESS.fullmatch(where):
        if at and Path(name).is_file() and not Path(text).exists():
            raise ImageError(f"{str(text)[:300]}: the address behind @ is a number, as in {name[:300]}@0x08000000")
        return str(text), None
    digits = where.replace("_", "")
    address = int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
    if address >= 1 << 32:
        raise ImageError(f"{name[:300]}@{where}: an address is 0 to 0xffffffff")
    return name, address


def _of_bytes(data: bytes, address: int, shown: str) -> Image:
    if not data:
        raise ImageError(f"{shown}: is empty")
    if address + len(data) > 1 << 32:
        raise ImageError(f"{shown}: {len(data):,} B at {show_address(address)} run past the 32-bit address space")
    return _raw(None, [(address, data)], shown)


def _of_records(records: Records, shown: str) -> Image:
    return _raw(records.entry, records.runs(shown), shown)


def _raw(entry: int | None, runs: Sequence[tuple[int, bytes]], shown: str) -> Image:
    """An image without symbols; any of its bytes may be code."""
    segments = tuple(
        Segment(index, address, address, data, len(data), _READ_EXECUTE) for index, (address, data) in enumerate(runs)
    )
    warnings: list[str] = []
    elf = ElfFile(shown, b"", entry or 0, segments, (), warnings)
    return Image(shown, entry, segments, SymbolTable(shown, (), ()), warnings, elf)


def _check_overlaps(images: Sequence[Image]) -> None:
    """Raise ImageError where two images load different bytes to one address."""
    loaded = [(s.load_address, index, s) for index, image in enumerate(images) for s in image.segments if s.data]
    reach: tuple[int, int, Segment] | None = None  # of those so far the one that ends last
    for row in sorted(loaded, key=itemgetter(0, 1)):
        if reach is not None and reach[1] != row[1]:
            at = _difference(reach[2], row[2])
            if at is not None:
                raise ImageError(
                    f"{images[row[1]].path}: has another byte at {show_address(at)} than {images[reach[1]].path}:"
                    " images may overlap only where they agree"
                )
        if reach is None or _end(row[2]) > _end(reach[2]):
            reach = row


def _end(segment: Segment) -> int:
    return segment.load_address + len(segment.data)


def _difference(low: Segment, high: Segment) -> int | None:
    """The first address where ``high``, which begins no lower, has another byte than ``low``; None for nowhere."""
    start, end = high.load_address, min(_end(low), _end(high))
    mine = low.data[start - low.load_address : max(start, end) - low.load_address]
    theirs = high.data[: max(0, end - start)]
    if mine == theirs:
        return None
    return start + next(i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)


def _symbols(images: Sequence[Image]) -> SymbolTable:
    """One table; the numbers of sections go on from file to file."""
    symbols: list[Symbol] = []
    sections: list[Section] = []
    for image in images:
        first = len(sections)
        symbols += [
            replace(s, section=s.section + first) if first and s.section < _RESERVED else s for s in image.symbols
        ]
        sections += image.elf.sections
    return SymbolTable(images[0].path, symbols, tuple(sections))
