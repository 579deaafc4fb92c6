"""The headers of an ELF file for Cortex-M: what is checked before anything in the file is used.

The structures are pyelftools'; the walk over them is not, because sizes and counts of a damaged file are to be checked
against the file's length first. Every error is an ImageError that begins with the path.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mcusim.errors import ImageError
from mcusim.files import read_guarded
from mcusim.machine.document import show_address

LARGEST_FILE = 128 << 20
LARGEST_SECTION = 64 << 20  # unpacked
MOST_SEGMENTS = 128
_HEADER, _PROGRAM, _SECTION = 52, 32, 40
_ADDRESSES = 1 << 32
_NOT_ELF = {
    b"!<arch>\n": "a static library: link it into a program first",
    b":": "Intel HEX: give the ELF file it was made from",
    b"S0": "Motorola S-records: give the ELF file they were made from",
    b"": "no ELF file, which begins with 7F 45 4C 46: give the linker's output, not a .bin of it",
}
_TYPES = {
    1: "relocatable (an object file): link it first",
    2: "an executable, linked already: `mcusim emulate` runs it",
    3: "position-independent: link it with -no-pie",
    4: "a core dump",
}
_NOBITS, _COMPRESSED = 8, 0x800


@dataclass(frozen=True, slots=True)
class Segment:
    """A PT_LOAD program header: written to ``load_address`` when flashed, at ``address`` for the running program.

    ``memory_size`` in bytes is at least ``len(data)``; the rest is zero once the program runs.
    """

    index: int
    load_address: int
    address: int
    data: bytes
    memory_size: int
    flags: int  # 1 execute, 2 write, 4 read

    @property
    def end(self) -> int:
        """First address after the segment as the running program sees it."""
        return self.address + self.memory_size

    @property
    def executable(self) -> bool:
        return bool(self.flags & 1)

    @property
    def writable(self) -> bool:
        return bool(self.flags & 2)

    def __str__(self) -> str:
        letters = "".join(letter if self.flags & bit else "-" for bit, letter in ((4, "r"), (2, "w"), (1, "x")))
        return f"segment {self.index} ({letters})"


@dataclass(frozen=True, slots=True)
class Section:
    """A section header; ``name`` is empty when the names cannot be read."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int = 1  # bytes; 0 is 1

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def allocated(self) -> bool:
        return bool(self.flags & 2)

    @property
    def executable(self) -> bool:
        return bool(self.flags & 4)

    @property
    def writable(self) -> bool:
        return bool(self.flags & 1)


@dataclass
class ElfFile:
    """An executable's bytes and headers, checked. ``warnings`` say what was left out because it is damaged."""

    path: str
    data: bytes
    entry: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]
    warnings: list[str]

    @cached_property
    def _first_named(self) -> dict[str, Section]:
        return {section.name: section for section in reversed(self.sections)}

    def named(self, name: str) -> Section | None:
        """The first section of that name."""
        return self._first_named.get(name)

    def content(self, section: Section) -> bytes:
        """A section's bytes, unpacked. Raises ValueError when they are not all there."""
        if section.kind == _NOBITS:
            return b""
        if section.offset + section.size > len(self.data):
            raise ValueError(f"section {section.name} runs beyond the end of the file")
        raw = self.data[section.offset : section.offset + section.size]
        return _unpacked(raw, section.name) if section.flags & _COMPRESSED else raw


def _unpacked(raw: bytes, name: str) -> bytes:
    """Of a section compressed with zlib: a 12-byte header, then the stream; no more than LARGEST_SECTION."""
    if len(raw) < 12 or struct.unpack_from("<I", raw)[0] != 1:
        raise ValueError(f"section {name} is compressed by a method other than zlib")
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(raw[12:], LARGEST_SECTION)
    except zlib.error as error:
        raise ValueError(f"section {name} cannot be unpacked ({error})") from None
    if not stream.eof:
        raise ValueError(f"section {name} is truncated or larger than {LARGEST_SECTION:,} B when unpacked")
    return content


def readable_name(raw: bytes) -> str:
    """A name from the file as text that is safe to print."""
    name = raw.decode("utf-8", "backslashreplace")
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


def read_elf(path: str | Path) -> ElfFile:
    """The checked headers of the ELF executable at ``path``. Raises ImageError.

    Not modelled: 64-bit and big-endian files, object files and shared objects, more than 65,279 sections.
    """
    shown = str(path)[:300]
    return parse_elf(program_bytes(Path(path), shown), shown)


def parse_elf(data: bytes, shown: str) -> ElfFile:
    """As :func:`read_elf`, of bytes that were read from the file ``shown``."""
    header = _header(data, shown)
    warnings: list[str] = []
    sections = _sections(data, header, warnings)
    segments = _segments(data, header, sections, shown)
    return ElfFile(shown, data, header["e_entry"], segments, sections, warnings)


def parse_object(data: bytes, shown: str) -> ElfFile:
    """The same of a relocatable object file, which has sections and no segments."""
    header = _header(data, shown, kind=1)
    warnings: list[str] = []
    return ElfFile(shown, data, 0, (), _sections(data, header, warnings), warnings)


def program_bytes(path: Path, shown: str) -> bytes:
    """The bytes of a program's file. Raises ImageError when it is no regular file or too large."""
    return read_guarded(
        path,
        LARGEST_FILE,
        ImageError,
        shown=shown,
        too_large="; strip its debug sections",
        irregular="is not a regular file, a program is read from a file",
        directory="is a directory, a program is read from a file",
        missing="no such file",
    )


def _structures() -> Any:
    from elftools.elf.structs import ELFStructs

    structures = ELFStructs(little_endian=True, elfclass=32)
    structures.create_basic_structs()
    structures.create_advanced_structs(e_machine="EM_ARM")
    return structures


def _header(data: bytes, shown: str, kind: int = 2) -> Any:
    if data[:4] != b"\x7fELF":
        other = next(text for magic, text in _NOT_ELF.items() if data.startswith(magic))
        raise ImageError(f"{shown}: is {'empty' if not data else other}")
    if len(data) < _HEADER:
        raise ImageError(f"{shown}: truncated: {len(data)} B, the ELF header alone has {_HEADER}")
    if data[4] != 1:
        what = "a 64-bit ELF file" if data[4] == 2 else f"of unknown ELF class {data[4]}"
        raise ImageError(f"{shown}: is {what}; a Cortex-M program is 32-bit (arm-none-eabi)")
    if data[5] != 1:
        what = "big-endian" if data[5] == 2 else f"of unknown byte order {data[5]}"
        raise ImageError(f"{shown}: is {what}; a Cortex-M program is little-endian")
    elf_type, machine = struct.unpack_from("<HH", data, 16)
    if machine != 40:
        raise ImageError(f"{shown}: is for ELF machine {machine}, not 40 (Arm); build it with arm-none-eabi-gcc")
    if elf_type != kind:
        wanted = "an executable has type 2" if kind == 2 else "an object file has type 1"
        raise ImageError(f"{shown}: is {_TYPES.get(elf_type, f'of ELF type {elf_type}')}; {wanted}")
    return _structures().Elf_Ehdr.parse(data[:_HEADER])


def _segments(data: bytes, header: Any, sections: tuple[Section, ...], shown: str) -> tuple[Segment, ...]:
    count, start = header["e_phnum"], header["e_phoff"]
    if count and header["e_phentsize"] != _PROGRAM:
        raise ImageError(f"{shown}: e_phentsize is {header['e_phentsize']}, a program header has {_PROGRAM} B: damaged")
    if count > MOST_SEGMENTS:
        raise ImageError(f"{shown}: has {count:,} program headers, at most {MOST_SEGMENTS:,} are read: damaged")
    if start + count * _PROGRAM > len(data):
        raise ImageError(
            f"{shown}: {count} program headers at {start:#x} run beyond the end ({len(data):,} B): truncated"
        )
    parse = _structures().Elf_Phdr.parse
    values = [parse(data[at : at + _PROGRAM]) for at in range(start, start + count * _PROGRAM, _PROGRAM)]
    loads = [(index, raw) for index, raw in enumerate(values) if raw["p_type"] == "PT_LOAD" and raw["p_memsz"]]
    if not loads:
        raise ImageError(f"{shown}: has no loadable segments: nothing to run; link it as an executable")
    if sum(raw["p_filesz"] for _, raw in loads) > len(data):
        raise ImageError(
            f"{shown}: its segments have more bytes together than the file ({len(data):,} B): damaged or truncated"
        )
    return tuple(_segment(data, index, raw, sections, shown) for index, raw in loads)


def _segment(data: bytes, index: int, raw: Any, sections: tuple[Section, ...], shown: str) -> Segment:
    offset, size, memory = raw["p_offset"], raw["p_filesz"], raw["p_memsz"]
    load, address = raw["p_paddr"], raw["p_vaddr"]
    where = f"{shown}: segment {index} at {show_address(address)}"
    if offset + size > len(data):
        raise ImageError(f"{where}: its {size:,} B at {offset:#x} run beyond the end ({len(data):,} B): truncated")
    if size > memory:
        raise ImageError(f"{where}: has {size:,} B in the file and {memory:,} B in memory: damaged")
    if address + memory > _ADDRESSES or load + size > _ADDRESSES:
        raise ImageError(f"{where}: {memory:,} B run past the 32-bit address space")
    skip = _headers_in_front(offset, size, sections)
    return Segment(
        index, load + skip, address + skip, data[offset + skip : offset + size], memory - skip, raw["p_flags"]
    )


def _headers_in_front(offset: int, size: int, sections: tuple[Section, ...]) -> int:
    """Bytes of a segment that are the file's own headers: linkers let the first page begin with them."""
    if offset:
        return 0
    starts = [
        section.offset
        for section in sections
        if section.allocated and section.kind != _NOBITS and section.offset < size
    ]
    return min(starts) if starts and min(starts) >= _HEADER else 0


def _sections(data: bytes, header: Any, warnings: list[str]) -> tuple[Section, ...]:
    start, count = header["e_shoff"], header["e_shnum"]
    if not count:
        return ()
    if header["e_shentsize"] != _SECTION or start + count * _SECTION > len(data):
        warnings.append(f"section headers ({count} at {start:#x}) cannot be read: no symbols, no source lines")
        return ()
    rows = list(struct.iter_unpack("<10I", data[start : start + count * _SECTION]))
    names = _section_names(data, rows, header["e_shstrndx"], warnings)
    return tuple(Section(names(row[0]), row[1], row[2], *row[3:9]) for row in rows)


def _section_names(data: bytes, rows: list[tuple[int, ...]], index: int, warnings: list[str]) -> Any:
    if index >= len(rows) or rows[index][4] + rows[index][5] > len(data):
        warnings.append("section names cannot be read: no source lines")
        return lambda _offset: ""
    start, size = rows[index][4:6]

    def name(offset: int) -> str:
        if offset >= size:
            return ""
        begin = start + offset
        end = data.find(b"\0", begin, min(start + size, begin + 200))
        return readable_name(data[begin:end]) if end >= 0 else ""

    return name
