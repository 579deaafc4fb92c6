"""Put a linked kernel set at another address.

A set is linked at one address with ``--emit-relocs``, which leaves in the ELF where addresses stand and of which symbol
(ELF for the Arm Architecture, IHI 0044, "Relocation"). All of the set moves by the same distance, so that only absolute
addresses change: words (R_ARM_ABS32) and MOVW/MOVT pairs. Without relocations a set is moved when nothing in it looks
like an address into it. Left out: RELA tables; position-independent code with a global offset table; the words in
long-branch veneers, for which a linker leaves no relocation (no branch in a set of less than 4 MiB needs one).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from mcusim.cpu.elf_file import ElfFile, Section
from mcusim.cpu.image import Image
from mcusim.cpu.symbols import SymbolTable
from mcusim.errors import ImageError
from mcusim.machine.tree import show_address

__all__ = ["ALIGNMENT", "LARGEST_SET", "linked_at", "move", "span"]

ALIGNMENT = 64  # bytes: no section of a set is aligned to more
LARGEST_SET, MOST_RELOCATIONS = 4 << 20, 200_000
_RELA, _REL = 4, 9
_ABS32, _MOVW, _MOVT = 2, 47, 48  # R_ARM_ABS32, R_ARM_THM_MOVW_ABS_NC, R_ARM_THM_MOVT_ABS
_NOTHING = (0, 40)  # R_ARM_NONE, R_ARM_V4BX
_RELATIVE = (3, 10, 11, 30, 42, 45, 46, 49, 50, 51, 52, 53, 54, 102, 103)  # distances: PREL, branches, loads by pc
_UNDEFINED, _RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1


class _Relocation(NamedTuple):
    place: int
    kind: int
    symbol: int  # index
    value: int  # of the symbol, Thumb bit included
    moves: bool  # the symbol lies in the set


def linked_at(image: Image) -> int:
    """The address, a multiple of ALIGNMENT, that the file is linked for."""
    return min(segment.address for segment in image.segments) // ALIGNMENT * ALIGNMENT


def span(image: Image) -> int:
    """Bytes from :func:`linked_at` to the end of code and constants."""
    return max(segment.end for segment in image.segments) - linked_at(image)


def move(image: Image, address: int) -> Image:
    """``image`` with its beginning at ``address`` instead of :func:`linked_at`: bytes, symbols, source lines.

    Raises ImageError, which begins with the file's path, for an address that is no multiple of 64 B or leaves no room
    below 4 GiB, for relocations that are damaged or of a type that is not known, and for a set that has none but
    holds what looks like addresses.
    """
    _check_address(image, address)
    distance = address - linked_at(image)
    if not distance:
        return image
    cells = _Cells(image)
    tables = [s for s in image.elf.sections if s.kind in (_REL, _RELA) and _target(image, s).allocated]
    if tables:
        _patch(image.path, sorted(_read(image, tables)), cells, distance)
    else:
        _require_no_addresses(image, cells)
    return _moved(image, cells, distance)


def _check_address(image: Image, address: int) -> None:
    if address % ALIGNMENT:
        raise ImageError(f"{image.path}: cannot be put at {address:#x}: not a multiple of {ALIGNMENT} B")
    size = span(image)
    if size > LARGEST_SET:
        raise ImageError(f"{image.path}: code and constants span {size:,} B, at most {LARGEST_SET:,} B can be moved")
    if not 0 <= address <= (1 << 32) - size:
        raise ImageError(f"{image.path}: its {size:,} B cannot be put at {address:#x}: past the 32-bit address space")


class _Cells:
    """The bytes of all segments, by the addresses of the file."""

    def __init__(self, image: Image) -> None:
        self._path = image.path
        self.parts = [(segment.address, bytearray(segment.data)) for segment in image.segments]

    def at(self, address: int, what: str) -> tuple[bytearray, int]:
        """The segment with 4 bytes at ``address``, and where in it."""
        for start, data in self.parts:
            if 0 <= address - start <= len(data) - 4:
                return data, address - start
        raise ImageError(f"{self._path}: {what} at {show_address(address)}: outside of the loaded bytes: damaged")


def _target(image: Image, table: Section) -> Section:
    """The section that a table of relocations is for."""
    if table.info >= len(image.elf.sections):
        raise ImageError(f"{image.path}: relocations {table.name} are for section {table.info}, there is none: damaged")
    return image.elf.sections[table.info]


def _read(image: Image, tables: list[Section]) -> Iterator[_Relocation]:
    for table in tables:
        if table.kind == _RELA:
            raise ImageError(f"{image.path}: relocations {table.name} are of type RELA; Arm's linkers write REL")
        content = _content(image, table)
        if len(content) % 8 or len(content) // 8 > MOST_RELOCATIONS:
            raise ImageError(
                f"{image.path}: relocations {table.name} have {len(content):,} B: not 8 B each, or over"
                f" {MOST_RELOCATIONS:,}: damaged"
            )
        symbols = _content(image, image.elf.sections[table.link]) if table.link < len(image.elf.sections) else b""
        for place, info in struct.iter_unpack("<II", content):
            if info & 0xFF not in _NOTHING:
                yield _relocation(image, symbols, place, info & 0xFF, info >> 8)


def _content(image: Image, section: Section) -> bytes:
    try:
        return image.elf.content(section)
    except ValueError as error:
        raise ImageError(f"{image.path}: {error}: damaged") from None


def _relocation(image: Image, symbols: bytes, place: int, kind: int, index: int) -> _Relocation:
    where = f"{image.path}: {_name(kind)} at {show_address(place)}"
    if kind not in (_ABS32, _MOVW, _MOVT, *_RELATIVE):
        raise ImageError(f"{where}: cannot be applied; absolute addresses of a set are R_ARM_ABS32 or MOVW/MOVT")
    if 16 * index + 16 > len(symbols):
        raise ImageError(f"{where}: of symbol {index}, there is none: damaged")
    _, value, _, _, _, section = struct.unpack_from("<IIIBBH", symbols, 16 * index)
    if section in (_UNDEFINED, _ABSOLUTE):
        moves = False
    elif section < min(_RESERVED, len(image.elf.sections)) and image.elf.sections[section].allocated:
        moves = True
    else:
        raise ImageError(f"{where}: of symbol {index}, which is in no loaded section: damaged")
    if kind in _RELATIVE and not moves and section == _ABSOLUTE:
        raise ImageError(f"{where}: a distance to the fixed address {show_address(value)}: call it by its address")
    return _Relocation(place, kind, index, value, moves)


def _name(kind: int) -> str:
    from elftools.elf.enums import ENUM_RELOC_TYPE_ARM

    return next((name for name, number in ENUM_RELOC_TYPE_ARM.items() if number == kind), f"relocation type {kind}")


def _patch(path: str, relocations: list[_Relocation], cells: _Cells, distance: int) -> None:
    """Apply all of them, in order of their places, to ``cells``."""
    lows: dict[tuple[int, int], int] = {}  # symbol and register -> the low half that the last MOVW gave it
    reached = 0
    for relocation in relocations:
        if relocation.kind in _RELATIVE:
            continue
        what = _name(relocation.kind)
        data, at = cells.at(relocation.place, what)
        if relocation.place < reached:
            raise ImageError(f"{path}: {what} at {show_address(relocation.place)}: overlaps the one before: damaged")
        reached = relocation.place + 4
        where = f"{path}: {what} at {show_address(relocation.place)}"
        if relocation.kind == _ABS32:
            _patch_word(where, relocation, data, at, distance)
        else:
            _patch_half(where, relocation, data, at, lows, distance)


def _patch_word(where: str, relocation: _Relocation, data: bytearray, at: int, distance: int) -> None:
    word = int.from_bytes(data[at : at + 4], "little")
    if LARGEST_SET < (word - relocation.value & 0xFFFF_FFFF) < (1 << 32) - LARGEST_SET:
        raise ImageError(f"{where}: holds {word:#x}, which is not near its symbol: damaged")
    data[at : at + 4] = (word + relocation.moves * distance & 0xFFFF_FFFF).to_bytes(4, "little")


def _patch_half(
    where: str, relocation: _Relocation, data: bytearray, at: int, lows: dict[tuple[int, int], int], distance: int
) -> None:
    """A MOVW or MOVT; the address is known once both of a pair have been seen, MOVW first."""
    found = _half(data, at)
    if found is None or found[0] != relocation.kind:
        raise ImageError(f"{where}: no such instruction there: damaged")
    _, register, value = found
    pair = relocation.symbol, register
    if relocation.kind == _MOVW:
        lows[pair] = value
        new = value + relocation.moves * distance
    else:
        full = value << 16 | lows.get(pair, 0)
        if pair not in lows or not -0x8000 <= full - relocation.value <= 0x7FFF:
            raise ImageError(f"{where}: no MOVW of the same symbol and register before it")
        new = full + relocation.moves * distance >> 16
    _set_half(data, at, new & 0xFFFF)


def _half(data: bytes | bytearray, at: int) -> tuple[int, int, int] | None:
    """Relocation type that a MOVW or MOVT (encodings T3 and T1) takes, its register and value; None for all else."""
    first, second = struct.unpack_from("<HH", data, at)
    if first & 0xFB70 != 0xF240 or second & 0x8000:
        return None
    value = (first & 15) << 12 | (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    return (_MOVT if first & 0x80 else _MOVW), second >> 8 & 15, value


def _set_half(data: bytearray, at: int, value: int) -> None:
    first, second = struct.unpack_from("<HH", data, at)
    first = first & 0xFBF0 | value >> 12 | (value >> 11 & 1) << 10
    second = second & 0x8F00 | (value >> 8 & 7) << 12 | value & 0xFF
    struct.pack_into("<HH", data, at, first, second)


def _require_no_addresses(image: Image, cells: _Cells) -> None:
    """Raise ImageError for an aligned word, or a MOVT, that could hold an address of the set."""
    low, high = linked_at(image), linked_at(image) + span(image)
    for start, data in cells.parts:
        skip = -start % 4
        words = struct.iter_unpack("<I", data[skip : skip + (len(data) - skip) // 4 * 4])
        word = next((4 * i for i, (value,) in enumerate(words) if low <= value < high), None)
        if word is None:
            word = _high_half(data, start % 2, low >> 16, high >> 16)
            skip = 0
        if word is not None:
            raise ImageError(
                f"{image.path}: has no relocations, and {show_address(start + skip + word)} may hold an address of it:"
                f" it stays at {show_address(low)}; link it with -Wl,--emit-relocs to move it"
            )


def _high_half(data: bytearray, odd: int, low: int, high: int) -> int | None:
    """Offset of the first MOVT of a value from ``low`` to ``high``."""
    for at in range(odd, len(data) - 3, 2):
        if data[at + 1] & 0xFB == 0xF2:
            found = _half(data, at)
            if found is not None and found[0] == _MOVT and low <= found[2] <= high:
                return at
    return None


def _moved(image: Image, cells: _Cells, distance: int) -> Image:
    def shifted(address: int) -> int:
        return address + distance & 0xFFFF_FFFF

    elf: ElfFile = image.elf
    loaded = {index for index, section in enumerate(elf.sections) if section.allocated}
    symbols = [replace(s, address=shifted(s.address)) if s.section in loaded else s for s in image.symbols]
    sections = [replace(s, address=shifted(s.address)) if s.allocated else s for s in elf.sections]
    segments = [
        replace(s, data=bytes(data), address=s.address + distance, load_address=shifted(s.load_address))
        for s, (_, data) in zip(image.segments, cells.parts, strict=True)
    ]
    table = SymbolTable(image.path, symbols, tuple(sections))
    return replace(image, entry=shifted(image.entry), segments=tuple(segments), symbols=table, moved=distance)
