"""Relocatable object files (ELF32, Arm, ``gcc -c`` and ``ld -r``): what is in one, and its bytes at given addresses.

ELF for the Arm Architecture, IHI 0044, "Relocation": S is a symbol's address with its Thumb bit, A the addend that the
field holds, P the field's own address. A call that does not reach goes through a veneer, ``LDR PC, [PC]`` and a word.

Not modelled: position-independent code with a global offset table, thread-local storage, group sections with the same
contents (each is loaded), Arm code, destructors.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from mcusim.errors import ImageError
from mcusim.image.elf import ElfFile, Section, parse_object, program_bytes, readable_name
from mcusim.kernels.link.branches import branch_distance, with_branch_distance

MOST_SYMBOLS, MOST_RELOCATIONS, LARGEST_ALIGNMENT = 100_000, 200_000, 4096
VENEER = 8  # bytes
_RELA, _REL, _NOBITS, _SYMBOLS = 4, 9, 8, 2
_UNDEFINED, _RESERVED, _ABSOLUTE, _COMMON = 0, 0xFF00, 0xFFF1, 0xFFF2
_FUNCTION, _SECTION_SYMBOL, _LOCAL, _WEAK = 2, 3, 0, 2
_ABS32, _REL32, _CALL, _JUMP24, _TARGET1, _PREL31, _MOVW, _MOVT, _JUMP19 = 2, 3, 10, 30, 38, 42, 47, 48, 51
_CONSTRUCTORS = (14, 16)  # SHT_INIT_ARRAY, SHT_PREINIT_ARRAY
_NOTHING = (0, 40)  # R_ARM_NONE, R_ARM_V4BX
_WORDS, _HALVES, _BRANCHES = (_ABS32, _REL32, _TARGET1, _PREL31), (_MOVW, _MOVT), (_CALL, _JUMP24, _JUMP19)
_KINDS = (*_WORDS, *_HALVES, *_BRANCHES)


class ObjectSymbol(NamedTuple):
    """``section`` is 0 for one of another file; ``value`` is behind the section's begin, Thumb bit included."""

    name: str
    section: int
    value: int
    size: int
    function: bool
    local: bool
    weak: bool

    @property
    def elsewhere(self) -> bool:
        """Whether another module has it."""
        return self.section == _UNDEFINED and bool(self.name)


class ObjectRelocation(NamedTuple):
    """Of the field ``place`` bytes behind its section's begin; ``addend`` None: the field has it."""

    place: int
    kind: int
    symbol: int
    addend: int | None


@dataclass
class ObjectFile:
    """A file's sections, symbols and relocations, checked."""

    elf: ElfFile

    @property
    def path(self) -> str:
        return self.elf.path

    @cached_property
    def loaded(self) -> dict[int, Section]:
        """The sections that go into memory, by their numbers. Raises ImageError for one that cannot."""
        sections = {number: item for number, item in enumerate(self.elf.sections) if item.allocated and item.size}
        for section in sections.values():
            alignment = max(section.alignment, 1)
            if alignment & (alignment - 1) or alignment > LARGEST_ALIGNMENT:
                raise ImageError(f"{self.path}: section {section.name} is aligned to {section.alignment} B: damaged")
        return sections

    @cached_property
    def symbols(self) -> tuple[ObjectSymbol, ...]:
        """By their numbers. Raises ImageError for a damaged table."""
        table = next((section for section in self.elf.sections if section.kind == _SYMBOLS), None)
        if table is None:
            return ()
        content = self._content(table)
        if len(content) % 16 or len(content) // 16 > MOST_SYMBOLS:
            raise ImageError(f"{self.path}: its symbols have {len(content):,} B: damaged")
        names = self._content(self.elf.sections[table.link]) if table.link < len(self.elf.sections) else b""
        return tuple(self._symbol(names, *row) for row in struct.iter_unpack("<IIIBBH", content))

    def _symbol(
        self, names: bytes, name: int, value: int, size: int, info: int, other: int, section: int
    ) -> ObjectSymbol:
        end = names.find(b"\0", name, name + 400) if name < len(names) else -1
        text = readable_name(names[name:end]) if end > name else ""
        if section not in (_ABSOLUTE, _COMMON) and not section < min(_RESERVED, len(self.elf.sections)):
            raise ImageError(f"{self.path}: symbol {text!r} is in section {section}, there is none: damaged")
        kind, bind = info & 15, info >> 4
        return ObjectSymbol(text, section, value, size, kind == _FUNCTION, bind == _LOCAL, bind == _WEAK)

    @cached_property
    def relocations(self) -> dict[int, tuple[ObjectRelocation, ...]]:
        """Of each loaded section, in the order of their places. Raises ImageError for damaged ones."""
        entries: dict[int, tuple[ObjectRelocation, ...]] = {}
        for table in self.elf.sections:
            if table.kind in (_REL, _RELA) and table.info in self.loaded:
                entries[table.info] = (*entries.get(table.info, ()), *self._read(table))
        if sum(map(len, entries.values())) > MOST_RELOCATIONS:
            raise ImageError(f"{self.path}: has over {MOST_RELOCATIONS:,} relocations")
        return {
            number: tuple(sorted(several, key=lambda relocation: relocation.place))
            for number, several in entries.items()
        }

    def _read(self, table: Section) -> Iterator[ObjectRelocation]:
        content, size = self._content(table), 8 if table.kind == _REL else 12
        owner = self.loaded[table.info]
        if len(content) % size:
            raise ImageError(f"{self.path}: relocations {table.name} have {len(content):,} B, {size} each: damaged")
        for row in struct.iter_unpack("<II" if size == 8 else "<IIi", content):
            place, info = row[:2]
            kind, symbol = info & 0xFF, info >> 8
            if kind in _NOTHING:
                continue
            where = f"{self.path}: {owner.name}+{place:#x}: relocation {_name(kind)}"
            if kind not in _KINDS:
                raise ImageError(f"{where} cannot be applied; compile without -fPIC, for -mthumb")
            if symbol >= len(self.symbols):
                raise ImageError(f"{where}: of symbol {symbol}, there is none: damaged")
            if place + 4 > owner.size or owner.kind == _NOBITS:
                raise ImageError(f"{where}: lies outside of its section: damaged")
            yield ObjectRelocation(place, kind, symbol, row[2] if size == 12 else None)

    def _content(self, section: Section) -> bytes:
        try:
            return self.elf.content(section)
        except ValueError as error:
            raise ImageError(f"{self.path}: {error}: damaged") from None

    def needed(self) -> list[str]:
        """Names of other modules' symbols, weak ones not, in the order of the file."""
        used = {relocation.symbol for several in self.relocations.values() for relocation in several}
        return [
            symbol.name
            for number, symbol in enumerate(self.symbols)
            if number in used and symbol.elsewhere and not symbol.weak
        ]

    def linked(
        self, addresses: Mapping[int, int], commons: Mapping[int, int], known: Callable[[str], int | None], veneers: int
    ) -> tuple[dict[int, bytes], bytes]:
        """The bytes of each loaded section at ``addresses``, and of the veneers at address ``veneers``.

        ``commons``: addresses of common symbols by number; ``known``: of other modules' symbols, with the Thumb bit,
        None for none (a weak one is then 0). Raises ImageError for a field that cannot hold what it should.
        """
        link = _Linking(self, addresses, commons, known, veneers)
        entries = {}
        for number, section in self.loaded.items():
            if section.kind != _NOBITS:
                data = bytearray(self._content(section))
                for relocation in self.relocations.get(number, ()):
                    link.apply(relocation, data, addresses[number], section.name)
                entries[number] = bytes(data)
        return entries, bytes(link.made)

    def calls(self) -> int:
        """How many symbols may need a veneer."""
        branches = {
            relocation.symbol
            for several in self.relocations.values()
            for relocation in several
            if relocation.kind in _BRANCHES
        }
        return len(branches)

    @property
    def constructors(self) -> list[int]:
        """Numbers of the sections with addresses of functions that are to be called once the file is loaded."""
        return [number for number, section in self.loaded.items() if section.kind in _CONSTRUCTORS]

    @property
    def commons(self) -> dict[int, ObjectSymbol]:
        """Variables without a section of their own, by number; ``value`` is what they are aligned to."""
        return {number: symbol for number, symbol in enumerate(self.symbols) if symbol.section == _COMMON}


class _Linking:
    """One file that is put at its addresses."""

    def __init__(
        self, file: ObjectFile, addresses: Mapping[int, int], commons: Mapping[int, int],
        known: Callable[[str], int | None], veneers: int,
    ) -> None:  # fmt: skip
        self.file, self.addresses, self.commons, self.known = file, addresses, commons, known
        self.veneers, self.made = veneers, bytearray()
        self._veneers: dict[int, int] = {}

    def _value(self, number: int) -> int:
        symbol = self.file.symbols[number]
        if symbol.section == _COMMON:
            return self.commons[number]
        if symbol.section == _ABSOLUTE:
            return symbol.value
        if symbol.section == _UNDEFINED:
            return (self.known(symbol.name) if symbol.name else None) or 0
        return self.addresses.get(symbol.section, 0) + symbol.value

    def apply(self, relocation: ObjectRelocation, data: bytearray, base: int, name: str) -> None:
        where = f"{self.file.path}: {name}+{relocation.place:#x}: {_name(relocation.kind)}"
        value, address = self._value(relocation.symbol), base + relocation.place
        if relocation.kind in _BRANCHES:
            self._branch(where, relocation, data, value, address)
        elif relocation.kind in _HALVES:
            self._half(where, relocation, data, value)
        else:
            held = int.from_bytes(data[relocation.place : relocation.place + 4], "little", signed=True)
            top = held & 0x8000_0000 if relocation.kind == _PREL31 else 0
            if relocation.kind == _PREL31:
                held = (held & 0x7FFF_FFFF ^ 0x4000_0000) - 0x4000_0000
            new = value + (held if relocation.addend is None else relocation.addend)
            new -= address if relocation.kind in (_REL32, _PREL31) else 0
            if relocation.kind == _PREL31:
                if not -(1 << 30) <= new < 1 << 30:
                    raise ImageError(f"{where}: cannot reach {new:+,} B")
                new = new & 0x7FFF_FFFF | top
            data[relocation.place : relocation.place + 4] = (new & 0xFFFF_FFFF).to_bytes(4, "little")

    def _half(self, where: str, relocation: ObjectRelocation, data: bytearray, value: int) -> None:
        first, second = struct.unpack_from("<HH", data, relocation.place)
        if first & 0xFBF0 not in (0xF240, 0xF2C0) or second & 0x8000:
            raise ImageError(f"{where}: no such instruction there: damaged")
        held = (first & 15) << 12 | (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
        held = (held ^ 0x8000) - 0x8000
        full = value + (held if relocation.addend is None else relocation.addend)
        new = (full >> 16 if relocation.kind == _MOVT else full) & 0xFFFF
        first = first & 0xFBF0 | new >> 12 | (new >> 11 & 1) << 10
        second = second & 0x8F00 | (new >> 8 & 7) << 12 | new & 0xFF
        struct.pack_into("<HH", data, relocation.place, first, second)

    def _branch(self, where: str, relocation: ObjectRelocation, data: bytearray, value: int, place: int) -> None:
        symbol, conditional = self.file.symbols[relocation.symbol], relocation.kind == _JUMP19
        first, second = struct.unpack_from("<HH", data, relocation.place)
        held = branch_distance(first, second, conditional)
        if held is None:
            raise ImageError(f"{where}: no such instruction there: damaged")
        addend = held if relocation.addend is None else relocation.addend
        if symbol.elsewhere and not value:  # weak and nowhere: on to the next instruction
            struct.pack_into("<HH", data, relocation.place, 0xF3AF, 0x8000)
            return
        if symbol.function and not value & 1:
            raise ImageError(f"{where}: {symbol.name} is Arm code, which a Cortex-M has not")
        distance = (value & ~1) + addend - place
        reach = 1 << 20 if conditional else 1 << 24
        if not -reach <= distance < reach:
            distance = self._veneer(relocation.symbol, value | 1) + addend - place
        if not -reach <= distance < reach:
            raise ImageError(f"{where}: cannot reach {symbol.name or 'its target'}, {distance:+,} B away")
        struct.pack_into("<HH", data, relocation.place, *with_branch_distance(first, second, conditional, distance))

    def _veneer(self, number: int, target: int) -> int:
        if number not in self._veneers:
            self._veneers[number] = self.veneers + len(self.made)
            self.made += struct.pack("<HHI", 0xF8DF, 0xF000, target)  # ldr.w pc, [pc]
        return self._veneers[number]


def _name(kind: int) -> str:
    from elftools.elf.enums import ENUM_RELOC_TYPE_ARM

    return next((name for name, number in ENUM_RELOC_TYPE_ARM.items() if number == kind), f"of type {kind}")


def read_object(path: str | Path, name: str | None = None) -> ObjectFile:
    """The object file at ``path``, checked; errors call it ``name``. Raises ImageError."""
    shown = name or str(path)[:300]
    object_file = ObjectFile(parse_object(program_bytes(Path(path), shown), shown))
    if object_file.elf.warnings:
        raise ImageError(f"{shown}: {object_file.elf.warnings[0]}")
    if not object_file.loaded:
        raise ImageError(f"{shown}: has nothing to load")
    assert (
        object_file.symbols is not None and object_file.relocations is not None
    )  # read now: what is damaged is said at once
    return object_file
