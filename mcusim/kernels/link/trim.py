"""Put only what some functions need of a kernel set at an address, as a linker with ``--gc-sections`` would.

What can be left out is a section: a set built with ``-ffunction-sections -fdata-sections`` and ``sets/common/set.ld``
keeps one for each function (its literal pool in it) and each constant, with its alignment; and every reference from one
to another has a relocation, because the assembler cannot know distances between sections. Sections that stay are packed
in the order of the file. Not modelled: sets whose functions share a section (all of it stays), references whose
relocations were removed, merging equal strings again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from mcusim.errors import ImageError, UsageError
from mcusim.image.image import Image
from mcusim.image.symbols import Symbol, SymbolTable
from mcusim.kernels.link.place import check_address
from mcusim.kernels.link.relocations import ALIGNMENT, Cells, Relocation, apply, read
from mcusim.machine.document import show_address

_ABSOLUTE = 0xFFF1


class _Piece(NamedTuple):
    """A loaded section: where the file has it, and where it goes, counted from the new beginning."""

    address: int
    end: int
    section: int
    alignment: int
    offset: int = 0


def trimmed_bytes(image: Image, symbols: Collection[str]) -> int:
    """Bytes from the beginning of :func:`trim`'s image to its end. Raises as it does."""
    return _size(_kept(image, symbols, read(image)))


def trim(image: Image, address: int, symbols: Collection[str]) -> Image:
    """The functions ``symbols`` of ``image``, and what they call or read, packed from ``address`` on.

    Raises UsageError for no symbols; ImageError, which begins with the file's path, for an unknown symbol, an address
    that is none for it, bytes that belong to no section, and relocations that are damaged or cannot be applied.
    """
    relocations = read(image)
    pieces = _kept(image, symbols, relocations)
    check_address(image, address, _size(pieces))
    moves = {piece.section: address + piece.offset - piece.address for piece in pieces}
    cells = Cells(image)
    apply(image.path, [r for r in relocations if r.owner in moves], cells, moves.__getitem__)
    data = bytearray(_size(pieces))
    for piece in pieces:
        data[piece.offset : piece.offset + piece.end - piece.address] = _bytes(cells, piece)
    return _packed(image, address, bytes(data), pieces, moves)


def _kept(image: Image, symbols: Collection[str], relocations: list[Relocation]) -> list[_Piece]:
    """The pieces that ``symbols`` reach, in the order of the file, with their new places."""
    pieces = _pieces(image)
    needed = _reached(_roots(image, symbols, pieces), _references(image, pieces, relocations))
    kept, at = [], 0
    for piece in sorted(pieces[index] for index in needed):
        at = -(-at // piece.alignment) * piece.alignment
        kept.append(piece._replace(offset=at))
        at += piece.end - piece.address
    return kept


def _size(pieces: list[_Piece]) -> int:
    return pieces[-1].offset + pieces[-1].end - pieces[-1].address


def _pieces(image: Image) -> dict[int, _Piece]:
    """All loaded sections, by index. Raises ImageError unless they have every byte of the segments but zeroes."""
    pieces = sorted(
        _Piece(s.address, s.end, index, max(1, s.alignment))
        for index, s in enumerate(image.elf.sections)
        if s.allocated and s.size
    )
    for before, piece in zip((None, *pieces), pieces, strict=False):
        where = f"{image.path}: section {image.elf.sections[piece.section].name} at {show_address(piece.address)}"
        if piece.alignment > ALIGNMENT or piece.alignment & piece.alignment - 1 or piece.address % piece.alignment:
            raise ImageError(f"{where}: its alignment is {piece.alignment:,} B, no power of two up to {ALIGNMENT}")
        if before is not None and piece.address < before.end:
            raise ImageError(f"{where}: overlaps {image.elf.sections[before.section].name}: damaged")
        if not any(s.address <= piece.address and piece.end <= s.address + len(s.data) for s in image.segments):
            raise ImageError(f"{where}: its {piece.end - piece.address:,} B are in no segment: damaged")
    _require_zeroes(image, pieces)
    return {piece.section: piece for piece in pieces}


def _require_zeroes(image: Image, pieces: list[_Piece]) -> None:
    """Raise ImageError when a segment has anything between its sections."""
    for segment in image.segments:
        end = segment.address + len(segment.data)
        inside = [p for p in pieces if segment.address <= p.address < end]
        starts = [segment.address, *(p.end for p in inside)]
        for low, high in zip(starts, [*(p.address for p in inside), end], strict=True):
            gap = segment.data[low - segment.address : high - segment.address]
            if gap.strip(b"\0"):
                at = low + len(gap) - len(gap.lstrip(b"\0"))
                raise ImageError(
                    f"{image.path}: the byte at {show_address(at)} is in no section: what functions need is unknown;"
                    " link the set as `mcusim kernels build` does"
                )


def _roots(image: Image, symbols: Collection[str], pieces: dict[int, _Piece]) -> list[int]:
    if not symbols:
        raise UsageError(f"{image.path}: name at least one function that is needed")
    roots = [image.symbol(name) for name in sorted(symbols)]
    for symbol in roots:
        if symbol.section not in pieces or not _inside(pieces[symbol.section], symbol.address):
            raise ImageError(f"{image.path}: {symbol.name} at {show_address(symbol.address)} is in no loaded section")
    return [symbol.section for symbol in roots]


def _inside(piece: _Piece, address: int) -> bool:
    return piece.address <= address <= piece.end  # a label may be at the end


def _references(image: Image, pieces: dict[int, _Piece], relocations: list[Relocation]) -> dict[int, set[int]]:
    """Pieces to those that they refer to."""
    references: dict[int, set[int]] = {}
    for address, _, symbol, value, section, owner in relocations:
        where = f"{image.path}: relocation at {show_address(address)}"
        if owner not in pieces or not pieces[owner].address <= address <= pieces[owner].end - 4:
            raise ImageError(f"{where}: outside of section {image.elf.sections[owner].name}, which it is for: damaged")
        if not section:
            continue
        if section not in pieces or not _inside(pieces[section], value):
            raise ImageError(
                f"{where}: symbol {symbol} at {show_address(value)} is in no function or constant of the set"
            )
        references.setdefault(owner, set()).add(section)
    return references


def _reached(roots: Iterable[int], references: dict[int, set[int]]) -> set[int]:
    reached: set[int] = set()
    left = list(roots)
    while left:
        index = left.pop()
        if index not in reached:
            reached.add(index)
            left += references.get(index, ())
    return reached


def _bytes(cells: Cells, piece: _Piece) -> bytearray:
    start, data = next((s, d) for s, d in cells.parts if s <= piece.address and piece.end <= s + len(d))
    return data[piece.address - start : piece.end - start]


def _packed(image: Image, address: int, data: bytes, pieces: list[_Piece], moves: dict[int, int]) -> Image:
    def moved(symbol: Symbol) -> Symbol:
        return replace(symbol, address=symbol.address + moves.get(symbol.section, 0) & 0xFFFF_FFFF)

    symbols = [moved(s) for s in image.symbols if s.section in moves or s.section == _ABSOLUTE]
    sections = tuple(
        replace(s, address=s.address + moves[index]) if index in moves else s
        for index, s in enumerate(image.elf.sections)
    )
    first = image.segments[0]
    segment = replace(first, load_address=address, address=address, data=data, memory_size=len(data))
    places = tuple((address + p.offset, address + p.offset + p.end - p.address, p.address) for p in pieces)
    table = SymbolTable(image.path, symbols, sections)
    return replace(image, entry=address | 1, segments=(segment,), symbols=table, pieces=places)
