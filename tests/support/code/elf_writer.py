"""Writes small ELF executables for Arm out of bytes, so that tests need no compiler."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

EXECUTE, WRITE, READ = 1, 2, 4
LABEL, OBJECT, FUNCTION = 0, 1, 2


@dataclass(frozen=True)
class DataSegment:
    """``data`` used at ``address``, loaded to ``load_address`` (None: there); zeroes up to ``memory_size``."""

    address: int
    data: bytes = b""
    memory_size: int = 0
    load_address: int | None = None
    flags: int = READ | WRITE


@dataclass(frozen=True)
class ElfSymbol:
    """A function's ``value`` has its Thumb bit. ``section`` None: the one it lies in, else absolute."""

    value: int
    size: int = 0
    kind: int = FUNCTION
    binding: int = 1
    section: int | None = None


Symbols = Mapping[str, int | ElfSymbol] | Iterable[tuple[str, int | ElfSymbol]]


def write_elf(
    path: Path,
    code: bytes,
    address: int,
    symbols: Symbols = (),
    entry: int | None = None,
    data_segments: Iterable[DataSegment] = (),
    sections: Mapping[str, bytes] | None = None,
    load_address: int | None = None,
) -> Path:
    """An ELF at ``path`` with ``code`` at ``address`` (section ``.text``), and returns ``path``.

    ``entry`` is ``address`` with the Thumb bit unless given. A symbol that is a number is a function of that address
    (its Thumb bit is set). ``sections`` are further ones that are not loaded, such as ``.debug_line``.
    """
    loads = [DataSegment(address, code, len(code), load_address, READ | EXECUTE), *data_segments]
    loads = [DataSegment(s.address, s.data, max(s.memory_size, len(s.data)), s.load_address, s.flags) for s in loads]
    path.write_bytes(_elf(loads, _symbols(symbols), address | 1 if entry is None else entry, dict(sections or {})))
    return path


def _symbols(symbols: Symbols) -> list[tuple[str, ElfSymbol]]:
    pairs = symbols.items() if isinstance(symbols, Mapping) else symbols
    return [(name, s if isinstance(s, ElfSymbol) else ElfSymbol(s | 1)) for name, s in pairs]


class _Strings:
    def __init__(self) -> None:
        self.content = b"\0"

    def add(self, text: str) -> int:
        at = len(self.content)
        self.content += text.encode() + b"\0"
        return at


def _section_of(value: int, loads: list[DataSegment]) -> int:
    for index, load in enumerate(loads):
        if load.address <= value <= load.address + load.memory_size:
            return index + 1
    return 0xFFF1


def _elf(loads: list[DataSegment], symbols: list[tuple[str, ElfSymbol]], entry: int, more: dict[str, bytes]) -> bytes:
    header_size = 52 + 32 * len(loads)
    body, offsets = b"", []
    for load in loads:
        body += b"\0" * (-(header_size + len(body)) % 4)
        offsets.append(header_size + len(body))
        body += load.data
    names, strings = _Strings(), _Strings()
    table = bytes(16)
    for name, s in sorted(symbols, key=lambda pair: pair[1].binding != 0):
        section = _section_of(s.value & ~1, loads) if s.section is None else s.section
        table += struct.pack("<IIIBBH", strings.add(name), s.value, s.size, s.binding << 4 | s.kind, 0, section)
    headers = [(0,) * 10]
    for index, (load, offset) in enumerate(zip(loads, offsets, strict=True)):
        name = names.add(".text" if not index else f".data{index}" if load.data else f".bss{index}")
        kind, flags = (1 if load.data else 8), 2 | (4 if load.flags & EXECUTE else 0) | (load.flags & WRITE) // 2
        headers.append((name, kind, flags, load.address, offset, len(load.data) or load.memory_size, 0, 0, 4, 0))
    extra = {".symtab": table, ".strtab": strings.content, **more}
    for name, content in extra.items():
        body += b"\0" * (-(header_size + len(body)) % 4)
        kind = {".symtab": 2, ".strtab": 3}.get(name, 1)
        link, entry_size = (len(loads) + 2, 16) if kind == 2 else (0, 0)
        offset = header_size + len(body)
        headers.append((names.add(name), kind, 0, 0, offset, len(content), link, 1, 4, entry_size))
        body += content
    headers.append((names.add(".shstrtab"), 3, 0, 0, header_size + len(body), len(names.content), 0, 0, 1, 0))
    body += names.content
    body += b"\0" * (-(header_size + len(body)) % 4)
    numbers = (2, 40, 1, entry, 52, header_size + len(body), 0x0500_0200, 52, 32, len(loads), 40)
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", *numbers, len(headers), len(headers) - 1)
    programs = b""
    for load, offset in zip(loads, offsets, strict=True):
        to = load.address if load.load_address is None else load.load_address
        row = (1, offset, load.address, to, len(load.data), load.memory_size, load.flags, 4)
        programs += struct.pack("<8I", *row)
    return head + programs + body + b"".join(struct.pack("<10I", *header) for header in headers)
