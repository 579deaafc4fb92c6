"""A program as a core can run it: segments, symbols and source lines of an ELF file, and their place on a machine."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcusim.errors import ImageError
from mcusim.image.elf import ElfFile, Segment, read_elf
from mcusim.image.symbols import Symbol, SymbolTable, read_symbols
from mcusim.machine.description import Machine
from mcusim.machine.document import show_address

if TYPE_CHECKING:
    from mcusim.image.dwarf_lines import LineTable

__all__ = ["Image", "ImagePlacement", "Segment", "Symbol", "check_placements", "image_of", "load_image"]


class ImagePlacement(NamedTuple):
    """``data`` goes to ``address``; of ``memory_size`` bytes (at least ``len(data)``) the rest is zero."""

    address: int
    data: bytes
    memory_size: int


@dataclass
class Image:
    """An executable for Cortex-M. ``entry`` as in the file, Thumb bit included; None when the file names none.

    ``parts`` are the images that one of several files was joined of; ``elf`` has no sections where the file was none.
    ``moved`` is how many bytes all of it lies above where the file puts it (a kernel set can be put anywhere).
    ``pieces`` of a program that only some functions were taken of are (start, end, start in the file), by address.
    ``warnings`` say what is damaged and was left out; reading source lines may add to them.
    """

    path: str
    entry: int | None
    segments: tuple[Segment, ...]
    symbols: SymbolTable
    warnings: list[str]
    elf: ElfFile
    moved: int = 0
    pieces: tuple[tuple[int, int, int], ...] = ()
    parts: tuple[Image, ...] = ()

    def symbol(self, name: str) -> Symbol:
        """The symbol of that name. Raises ImageError with near names when there is none."""
        return self.symbols.named(name)

    def function_at(self, address: int) -> tuple[str, int] | None:
        """Name of the function that ``address`` is in and the offset into it in bytes, or None."""
        return self.symbols.function_at(address)

    def place_of(self, address: int) -> str | None:
        """``main.c:12 in main``, ``main+0x4`` without lines; None where nothing is known."""
        function, line = self.function_at(address), self.line_at(address)
        if line is not None:
            return f"{line[0].rpartition('/')[2]}:{line[1]}" + (f" in {function[0]}" if function else "")
        return None if function is None else f"{function[0]}+{function[1]:#x}"

    def line_at(self, address: int) -> tuple[str, int] | None:
        """Source file and line of the instruction at ``address`` by DWARF, or None. Read at the first call."""
        if self.parts:
            return next(filter(None, (part.line_at(address) for part in self.parts)), None)
        if not self.pieces:
            return self.lines.at(address - self.moved)
        index = bisect_right(self.pieces, address, key=itemgetter(0)) - 1
        start, end, in_file = self.pieces[max(0, index)]
        return self.lines.at(address - start + in_file) if start <= address < end else None

    @cached_property
    def lines(self) -> LineTable:
        """The file's own table: addresses are those before the program was moved."""
        from mcusim.image.dwarf_lines import read_lines

        return read_lines(self.elf)

    def word_at(self, load_address: int) -> int | None:
        """The little-endian word that is at ``load_address`` before the program runs, or None."""
        for segment in self.segments:
            offset = load_address - segment.load_address
            if 0 <= offset <= len(segment.data) - 4:
                return int.from_bytes(segment.data[offset : offset + 4], "little")
        return None

    def placements(self, as_started: bool) -> list[ImagePlacement]:
        """What goes to memory before the first instruction.

        By default the segments at their load addresses: the program's own start-up copies and clears. ``as_started``
        adds what start-up code would have done: data at the addresses the program uses, zeroes after it (``.bss``).
        """
        placements = []
        for segment in self.segments:
            moves = segment.load_address != segment.address
            if segment.data and (moves or not as_started):
                size = len(segment.data) if moves else segment.memory_size
                placements.append(ImagePlacement(segment.load_address, segment.data, size))
            if as_started or not (segment.data or moves):
                placements.append(ImagePlacement(segment.address, segment.data, segment.memory_size))
        return placements


def load_image(path: str | Path) -> Image:
    """The ELF executable at ``path`` (32-bit little-endian Arm). Raises ImageError when its headers are not valid.

    Damaged symbols and debug sections cost the names and lines only, and leave a text in ``warnings``. Not modelled:
    dynamic linking, relocation, thread-local storage.
    """
    return image_of(read_elf(path))


def image_of(elf: ElfFile) -> Image:
    """The image of an ELF file that was read."""
    return Image(elf.path, elf.entry, elf.segments, read_symbols(elf), elf.warnings, elf)


def check_placements(image: Image, machine: Machine, as_started: bool) -> list[ImagePlacement]:
    """``image.placements(as_started)``, all inside the machine's memory (aliases included). Raises ImageError."""
    placements = image.placements(as_started)
    windows = _windows(machine)
    for placement in placements:
        end = placement.address + placement.memory_size
        if not any(low <= placement.address and end <= high for low, high in windows):
            raise ImageError(_outside(image, machine, placement))
    return placements


def _windows(machine: Machine) -> list[tuple[int, int]]:
    """``(start, end)`` of the machine's memory, neighbours joined: a segment may run from one SRAM into the next."""
    windows: list[tuple[int, int]] = []
    for start, end in sorted((base, base + r.size) for r in machine.memory.values() for base in (r.base, *r.aliases)):
        if windows and windows[-1][1] == start:
            windows[-1] = windows[-1][0], end
        else:
            windows.append((start, end))
    return windows


def _outside(image: Image, machine: Machine, placement: ImagePlacement) -> str:
    def span(address: int, size: int) -> str:
        return f"{show_address(address)}..{show_address(address + size - 1)}"

    segment = next(s for s in image.segments if placement.address in (s.address, s.load_address))
    use = "used at" if placement.address == segment.address else "loaded to"
    regions = ", ".join(
        f"{region.name} {span(base, region.size)}"
        for region in machine.memory.values()
        for base in (region.base, *region.aliases)
    )
    where = span(placement.address, placement.memory_size)
    return (
        f"{image.path}: {segment} of {placement.memory_size:,} B, {use} {where}, is not inside the memory of"
        f" {machine.name}: {regions}; link it for this machine, or choose the machine it was linked for"
    )
