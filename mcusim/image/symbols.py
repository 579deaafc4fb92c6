"""The symbols of a program: names to addresses, and addresses to the function they are in."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from mcusim.errors import ImageError
from mcusim.image.elf import ElfFile, Section, readable_name
from mcusim.machine.document import show_address

MOST_SYMBOLS = 500_000
_LONGEST_NAME, _MOST_NAME_BYTES = 4096, 64 << 20
_SYMTAB, _ABSOLUTE, _RESERVED = 2, 0xFFF1, 0xFF00
_KINDS: dict[int, Literal["label", "object", "function"]] = {0: "label", 1: "object", 2: "function", 10: "function"}
_ENCLOSING = 16  # symbols looked back at for one that encloses an address


@dataclass(frozen=True, slots=True)
class Symbol:
    """``address`` has no Thumb bit (``thumb`` has it); ``size`` in bytes, 0 when the file does not say.

    ``kind`` is ``label`` for symbols without a type: assembler labels and what linker scripts define.
    """

    name: str
    address: int
    size: int
    kind: Literal["label", "object", "function"]
    binding: int  # 0 local, 1 global, 2 weak
    section: int  # index, or 0xFFF1 for an absolute value
    thumb: bool = False


class SymbolTable:
    """Symbols in the file's order; look-ups by name and by address.

    An address belongs to the function whose range it is in; a function of size 0 reaches to the next one in its
    section. Labels in executable sections count as functions where no function is. Not modelled: C++ names are not
    demangled.
    """

    def __init__(self, path: str, symbols: Iterable[Symbol], sections: tuple[Section, ...]) -> None:
        self._path = path
        self.symbols = tuple(symbols)
        self._named: dict[str, list[Symbol]] = {}
        for symbol in self.symbols:
            self._named.setdefault(symbol.name, []).append(symbol)
        self._ranges = _function_ranges(self.symbols, sections)
        self._starts = [start for start, _, _ in self._ranges]

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.symbols)

    def get(self, name: str) -> Symbol | None:
        """The symbol of that name: a global one, else a weak one, else the first local one."""
        symbols = self._named.get(name)
        return min(symbols, key=lambda symbol: (1, 0, 0)[min(symbol.binding, 2)]) if symbols else None

    def named(self, name: str) -> Symbol:
        """As :meth:`get`. Raises ImageError, with names like it, when none has it or several local ones differ."""
        symbol = self.get(name)
        if symbol is None:
            raise ImageError(f"{self._path}: {self._unknown(name)}")
        places = sorted({same.address for same in self._named[name]})
        if symbol.binding == 0 and len(places) > 1:
            shown = ", ".join(map(show_address, places[:6])) + (", ..." if len(places) > 6 else "")
            raise ImageError(
                f'{self._path}: "{name}" is local to several files ({shown}): make the one you mean global'
            )
        return symbol

    def _unknown(self, name: str) -> str:
        shown = readable_name(name[:100].encode("utf-8", "backslashreplace"))
        if not self.symbols:
            return f'has no symbols, so none is called "{shown}"; link it without -s'
        candidates = [known for known in self._named if abs(len(known) - len(name)) <= 12][:20_000]
        near = get_close_matches(name[:100], candidates, 4, 0.6)
        hint = f"; near names are {', '.join(near)}" if near else '; "arm-none-eabi-nm" lists its symbols'
        return f'has no symbol "{shown}"{hint}'

    @property
    def starts(self) -> Sequence[int]:
        """First addresses of all functions, sorted."""
        return self._starts

    def function_at(self, address: int) -> tuple[str, int] | None:
        """Name of the function that ``address`` is in, and the offset into it in bytes; None outside of all."""
        index = bisect_right(self._starts, address) - 1
        for start, end, name in reversed(self._ranges[max(0, index - _ENCLOSING + 1) : index + 1]):
            if address < end:
                return name, address - start
        return None


def _function_ranges(symbols: tuple[Symbol, ...], sections: tuple[Section, ...]) -> list[tuple[int, int, str]]:
    """``(start, end, name)`` in order of address, one for every start."""
    functions = _ranges([s for s in symbols if s.kind == "function" and s.section < _RESERVED], sections)
    starts = [start for start, _, _ in functions]

    def covered(address: int) -> bool:
        index = bisect_right(starts, address) - 1
        return index >= 0 and address < functions[index][1]

    code = {index for index, section in enumerate(sections) if section.executable}
    labels = [s for s in symbols if s.kind == "label" and s.section in code and not covered(s.address)]
    return sorted(functions + _ranges(labels, sections, starts))


def _ranges(
    symbols: list[Symbol], sections: tuple[Section, ...], others: Iterable[int] = ()
) -> list[tuple[int, int, str]]:
    best: dict[int, Symbol] = {}
    for symbol in symbols:
        if symbol.address not in best or _rank(symbol) < _rank(best[symbol.address]):
            best[symbol.address] = symbol
    starts = sorted({*best, *others})
    ranges = []
    for address, symbol in sorted(best.items()):
        following = bisect_right(starts, address)
        limit = starts[following] if following < len(starts) else 1 << 32
        if symbol.section < len(sections) and sections[symbol.section].end > address:
            limit = min(limit, sections[symbol.section].end)
        elif not symbol.size:
            limit = address  # of a section that is not there: a label behind its end
        end = address + symbol.size if symbol.size else limit
        if end > address:
            ranges.append((address, end, symbol.name))
    return ranges


def _rank(symbol: Symbol) -> tuple[int, int, int, str]:
    """Of several names for one address: global, local, weak; with a size; short."""
    return (1, 0, 2)[min(symbol.binding, 2)], not symbol.size, len(symbol.name), symbol.name


def read_symbols(elf: ElfFile) -> SymbolTable:
    """The symbols of ``elf``; what cannot be read is left out and noted in ``elf.warnings``. Never raises."""
    tables = [section for section in elf.sections if section.kind == _SYMTAB]
    symbols: list[Symbol] = []
    if tables:
        try:
            symbols = _read(elf, tables[0])
        except (ValueError, struct.error) as error:
            elf.warnings.append(f"symbols cannot be read: {error}")
    return SymbolTable(elf.path, symbols, elf.sections)


def _read(elf: ElfFile, table: Section) -> list[Symbol]:
    content = elf.content(table)
    if table.link >= len(elf.sections):
        raise ValueError("the symbol table names no string table")
    names = _Names(elf.content(elf.sections[table.link]))
    if len(content) // 16 > MOST_SYMBOLS:
        elf.warnings.append(f"only the first {MOST_SYMBOLS:,} of {len(content) // 16:,} symbols are read")
    symbols = []
    rows = struct.iter_unpack("<IIIBBH", content[: min(len(content) // 16, MOST_SYMBOLS) * 16])
    for offset, value, size, info, _, section in rows:
        kind = _KINDS.get(info & 15)
        if kind is None or not section or (section >= _RESERVED and section != _ABSOLUTE):
            continue
        name = names.at(offset)
        if not name or _is_mapping(name):
            continue
        thumb = kind == "function" and bool(value & 1)
        symbols.append(Symbol(name, value & ~1 if thumb else value, size, kind, info >> 4, section, thumb))
    if names.cut:
        elf.warnings.append("symbol names are damaged: some are cut or left out")
    return symbols


def _is_mapping(name: str) -> bool:
    """``$a``, ``$t``, ``$d`` mark where code and data begin (Arm AAELF32); ``$t.1`` too."""
    return name[0] == "$" and name[1:2] in ("a", "t", "d", "x") and (len(name) == 2 or name[2] == ".")


class _Names:
    """A string table read within bounds: a damaged one could make every name megabytes long."""

    def __init__(self, content: bytes) -> None:
        self._content, self._known, self._left = content, dict[int, str](), _MOST_NAME_BYTES
        self.cut = False

    def at(self, offset: int) -> str:
        if offset in self._known:
            return self._known[offset]
        end = self._content.find(b"\0", offset, offset + _LONGEST_NAME)
        if end < 0 or self._left <= 0:
            self.cut = True
            end = min(offset + 64, len(self._content)) if self._left > 0 else offset
        self._left -= end - offset
        name = self._known[offset] = readable_name(self._content[offset:end])
        return name
