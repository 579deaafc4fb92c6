"""The relocations that a linker leaves in a kernel set (``--emit-relocs``), read and applied to its bytes.

ELF for the Arm Architecture, IHI 0044, "Relocation": where in the file addresses and distances are, and of which
symbol. Absolute addresses are words (R_ARM_ABS32) and MOVW/MOVT pairs; distances are encoded again for branches and
words. Armv7-M Architecture Reference Manual, B and BL: B.W (encoding T4), BL (T1) and conditional B.W (T3) contain the
distance from 4 bytes after them.

Not modelled: RELA tables; position-independent code with a global offset table; the words in long-branch veneers, for
which a linker leaves no relocation (no branch in a set of less than 4 MiB needs one); branches of 16 bits and loads by
pc, which a linker gives no place in another section; BLX to Arm code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from mcusim.errors import ImageError
from mcusim.image.elf import Section
from mcusim.image.image import Image
from mcusim.kernels.link.branches import branch_distance, with_branch_distance
from mcusim.machine.document import show_address

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
    held = branch_distance(first, second, conditional) or 0
    if held != (distance & ~1) - 4:
        raise ImageError(f"{where}: goes {held + 4:+,} B, its symbol is {distance & ~1:+,} B away: damaged")
    new = held + more
    if not -_REACH[kind] <= new < _REACH[kind]:
        raise ImageError(f"{where}: cannot reach {new:+,} B")
    struct.pack_into("<HH", data, at, *with_branch_distance(first, second, conditional, new))


ALIGNMENT = 64  # bytes: no section of a set is aligned to more
LARGEST_SET, MOST_RELOCATIONS = 4 << 20, 200_000
_RELA, _REL = 4, 9
_ABS32, _MOVW, MOVT = 2, 47, 48  # R_ARM_ABS32, R_ARM_THM_MOVW_ABS_NC, R_ARM_THM_MOVT_ABS
_NOTHING = (0, 40)  # R_ARM_NONE, R_ARM_V4BX
_RELATIVE = (3, 10, 11, 30, 42, 45, 46, 49, 50, 51, 52, 53, 54, 102, 103)  # distances: PREL, branches, loads by pc
_UNDEFINED, _RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1


class Relocation(NamedTuple):
    """What is at ``place``, in section ``owner``, is an address of, or the distance to, a symbol of the set."""

    place: int
    kind: int
    symbol: int  # index
    value: int  # of the symbol, Thumb bit included
    section: int  # that the symbol is in; 0 when it is in none: it does not move
    owner: int


class Cells:
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


def tables(image: Image) -> list[Section]:
    """The tables of relocations for what is loaded. Raises ImageError for one that is for no section."""
    return [s for s in image.elf.sections if s.kind in (_REL, _RELA) and _target(image, s).allocated]


def _target(image: Image, table: Section) -> Section:
    """The section that a table of relocations is for."""
    if table.info >= len(image.elf.sections):
        raise ImageError(f"{image.path}: relocations {table.name} are for section {table.info}, there is none: damaged")
    return image.elf.sections[table.info]


def read(image: Image) -> list[Relocation]:
    """All of them in order of their places. Raises ImageError for damaged ones and types that cannot be applied."""
    return sorted(_read(image, tables(image)))


def _read(image: Image, sections: list[Section]) -> Iterator[Relocation]:
    left = MOST_RELOCATIONS
    for table in sections:
        if table.kind == _RELA:
            raise ImageError(f"{image.path}: relocations {table.name} are of type RELA; Arm's linkers write REL")
        content = _content(image, table)
        left -= len(content) // 8
        if len(content) % 8 or left < 0:
            raise ImageError(
                f"{image.path}: relocations {table.name} have {len(content):,} B: not 8 B each, or over"
                f" {MOST_RELOCATIONS:,}: damaged"
            )
        symbols = _content(image, image.elf.sections[table.link]) if table.link < len(image.elf.sections) else b""
        for place, info in struct.iter_unpack("<II", content):
            if info & 0xFF not in _NOTHING:
                yield _relocation(image, symbols, place, info & 0xFF, info >> 8, table.info)


def _content(image: Image, section: Section) -> bytes:
    try:
        return image.elf.content(section)
    except ValueError as error:
        raise ImageError(f"{image.path}: {error}: damaged") from None


def _relocation(image: Image, symbols: bytes, place: int, kind: int, index: int, owner: int) -> Relocation:
    where = f"{image.path}: {_name(kind)} at {show_address(place)}"
    if kind not in (_ABS32, _MOVW, MOVT, *_RELATIVE):
        raise ImageError(f"{where}: cannot be applied; absolute addresses of a set are R_ARM_ABS32 or MOVW/MOVT")
    if 16 * index + 16 > len(symbols):
        raise ImageError(f"{where}: of symbol {index}, there is none: damaged")
    _, value, _, _, _, section = struct.unpack_from("<IIIBBH", symbols, 16 * index)
    loaded = 0 < section < min(_RESERVED, len(image.elf.sections)) and image.elf.sections[section].allocated
    if not loaded and section not in (_UNDEFINED, _ABSOLUTE):
        raise ImageError(f"{where}: of symbol {index}, which is in no loaded section: damaged")
    if kind in _RELATIVE and section == _ABSOLUTE:
        raise ImageError(f"{where}: a distance to the fixed address {show_address(value)}: call it by its address")
    return Relocation(place, kind, index, value, section if loaded else 0, owner)


def _name(kind: int) -> str:
    from elftools.elf.enums import ENUM_RELOC_TYPE_ARM

    return next((name for name, number in ENUM_RELOC_TYPE_ARM.items() if number == kind), f"relocation type {kind}")


def apply(path: str, relocations: Iterable[Relocation], cells: Cells, distance: Callable[[int], int]) -> None:
    """Apply ``relocations``, in order of their places, to ``cells``; section ``i`` moves by ``distance(i)`` bytes.

    Raises ImageError for a field that does not contain what its relocation says.
    """
    lows: dict[tuple[int, int], int] = {}  # symbol and register -> the low half that the last MOVW gave it
    reached = 0
    for relocation in relocations:
        moves = distance(relocation.section) if relocation.section else 0
        apart = moves - distance(relocation.owner)
        if relocation.kind in _RELATIVE and (not relocation.section or not apart):
            continue
        what = _name(relocation.kind)
        data, at = cells.at(relocation.place, what)
        where = f"{path}: {what} at {show_address(relocation.place)}"
        if relocation.place < reached:
            raise ImageError(f"{where}: overlaps the one before: damaged")
        reached = relocation.place + 4
        if relocation.kind in _RELATIVE:
            set_distance(where, relocation.kind, data, at, relocation.value - relocation.place, apart)
        elif relocation.kind == _ABS32:
            _apply_word(where, relocation, data, at, moves)
        else:
            _apply_half(where, relocation, data, at, lows, moves)


def _apply_word(where: str, relocation: Relocation, data: bytearray, at: int, moves: int) -> None:
    word = int.from_bytes(data[at : at + 4], "little")
    if LARGEST_SET < (word - relocation.value & 0xFFFF_FFFF) < (1 << 32) - LARGEST_SET:
        raise ImageError(f"{where}: holds {word:#x}, which is not near its symbol: damaged")
    data[at : at + 4] = (word + moves & 0xFFFF_FFFF).to_bytes(4, "little")


def _apply_half(
    where: str, relocation: Relocation, data: bytearray, at: int, lows: dict[tuple[int, int], int], moves: int
) -> None:
    """A MOVW or MOVT; the address is known once both of a pair have been seen, MOVW first."""
    entry = half(data, at)
    if entry is None or entry[0] != relocation.kind:
        raise ImageError(f"{where}: no such instruction there: damaged")
    _, register, value = entry
    pair = relocation.symbol, register
    if relocation.kind == _MOVW:
        lows[pair] = value
        new = value + moves
    else:
        full = value << 16 | lows.get(pair, 0)
        if pair not in lows or not -0x8000 <= full - relocation.value <= 0x7FFF:
            raise ImageError(f"{where}: no MOVW of the same symbol and register before it")
        new = full + moves >> 16
    _set_half(data, at, new & 0xFFFF)


def half(data: bytes | bytearray, at: int) -> tuple[int, int, int] | None:
    """Relocation type that a MOVW or MOVT (encodings T3 and T1) takes, its register and value; None for all else."""
    first, second = struct.unpack_from("<HH", data, at)
    if first & 0xFB70 != 0xF240 or second & 0x8000:
        return None
    value = (first & 15) << 12 | (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    return (MOVT if first & 0x80 else _MOVW), second >> 8 & 15, value


def _set_half(data: bytearray, at: int, value: int) -> None:
    first, second = struct.unpack_from("<HH", data, at)
    first = first & 0xFBF0 | value >> 12 | (value >> 11 & 1) << 10
    second = second & 0x8F00 | (value >> 8 & 7) << 12 | value & 0xFF
    struct.pack_into("<HH", data, at, first, second)
