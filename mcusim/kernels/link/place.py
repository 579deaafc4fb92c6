"""Put a linked kernel set at another address.

A set is linked at one address with ``--emit-relocs``, which leaves in the ELF where addresses are. All of the set
moves by the same distance, so that only absolute addresses change. Without relocations a set is moved when nothing in
it looks like an address into it. Not modelled: what ``relocations.py`` does not model.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from mcusim.errors import ImageError
from mcusim.image.elf import ElfFile
from mcusim.image.image import Image
from mcusim.image.symbols import SymbolTable
from mcusim.kernels.link.relocations import ALIGNMENT, LARGEST_SET, MOVT, Cells, apply, half, read, tables
from mcusim.machine.document import show_address


def linked_at(image: Image) -> int:
    """The address, a multiple of ALIGNMENT, that the file is linked for."""
    return min(segment.address for segment in image.segments) // ALIGNMENT * ALIGNMENT


def span(image: Image) -> int:
    """Bytes from :func:`linked_at` to the end of code and constants."""
    return max(segment.end for segment in image.segments) - linked_at(image)


def move(image: Image, address: int) -> Image:
    """``image`` with its beginning at ``address`` instead of :func:`linked_at`: bytes, symbols, source lines.

    Raises ImageError, which begins with the file's path, for an address that 64 B do not divide or that leaves no room
    below 4 GiB, for relocations that are damaged or of a type that is not known, and for a set that has none but
    contains what looks like addresses.
    """
    check_address(image, address, span(image))
    distance = address - linked_at(image)
    if not distance:
        return image
    cells = Cells(image)
    if tables(image):
        apply(image.path, read(image), cells, lambda _section: distance)
    else:
        _require_no_addresses(image, cells)
    return _moved(image, cells, distance)


def check_address(image: Image, address: int, size: int) -> None:
    """Raise ImageError when ``size`` bytes of ``image`` cannot be put at ``address``."""
    if address % ALIGNMENT:
        raise ImageError(f"{image.path}: cannot be put at {address:#x}: not a multiple of {ALIGNMENT} B")
    if size > LARGEST_SET:
        raise ImageError(f"{image.path}: code and constants span {size:,} B, at most {LARGEST_SET:,} B can be moved")
    if not 0 <= address <= (1 << 32) - size:
        raise ImageError(f"{image.path}: its {size:,} B cannot be put at {address:#x}: past the 32-bit address space")


def _require_no_addresses(image: Image, cells: Cells) -> None:
    """Raise ImageError for an aligned word, or a MOVT, that could be an address of the set."""
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
            entry = half(data, at)
            if entry is not None and entry[0] == MOVT and low <= entry[2] <= high:
                return at
    return None


def _moved(image: Image, cells: Cells, distance: int) -> Image:
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
    entry = None if image.entry is None else shifted(image.entry)
    return replace(image, entry=entry, segments=tuple(segments), symbols=table, moved=distance)
