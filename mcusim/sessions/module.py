"""Modules of a session: where the sections of an object file go, and what it offers to others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mcusim.sessions.object_file import VENEER, ObjectFile
from mcusim.sessions.prototypes import Prototype, read_prototypes


class SessionModule:
    """A file that was loaded: ``symbols`` that others can use, with their addresses; ``bytes`` of all its sections,
    from the addresses ``bases`` on (code, and variables that lie elsewhere)."""

    def __init__(
        self, unload: Callable[[SessionModule], object], name: str, bases: tuple[int, ...], size: int,
        symbols: dict[str, int], file: bytes = b"",
    ) -> None:  # fmt: skip
        self._unload, self.name, self.bases, self.bytes, self.symbols = unload, name, bases, size, symbols
        self._file = file

    @cached_property
    def prototypes(self) -> dict[str, Prototype]:
        """Of its functions, by name, as far as its debug information has them."""
        return read_prototypes(self._file) if self._file else {}

    def __repr__(self) -> str:
        return f"<SessionModule {self.name[:60]}: {self.bytes:,} B, {', '.join(self.symbols)[:80]}>"

    def unload(self) -> None:
        """Give its memory back. Raises UsageError for one that is unloaded already.

        Not checked: whether others call it.
        """
        self._unload(self)


@dataclass(frozen=True)
class SectionPlaces:
    """Offsets of sections by number, common symbols as ``-1 - number``: of code and constants with veneers at the end,
    then of variables."""

    file: ObjectFile
    code: Mapping[int, int]
    data: Mapping[int, int]
    code_bytes: int
    data_bytes: int
    alignment: int

    @property
    def bytes(self) -> int:
        return self.code_bytes + self.data_bytes

    def sizes(self, together: bool) -> tuple[int, ...]:
        """Bytes of each piece of memory: one for all, or one for code and one for variables."""
        if together:
            return (-(-self.code_bytes // self.alignment) * self.alignment + self.data_bytes,)
        return self.code_bytes, self.data_bytes

    def addresses(self, bases: Sequence[int]) -> tuple[dict[int, int], dict[int, int], int]:
        """Of sections and common symbols, by their numbers, and of the veneers, in pieces from ``bases`` on."""
        behind = bases[0] + -(-self.code_bytes // self.alignment) * self.alignment
        variables = bases[1] if len(bases) > 1 else behind
        sections = {number: bases[0] + offset for number, offset in self.code.items()}
        sections |= {number: variables + offset for number, offset in self.data.items() if number >= 0}
        commons = {-1 - number: variables + offset for number, offset in self.data.items() if number < 0}
        return sections, commons, bases[0] + self.code_bytes - VENEER * self.file.calls()

    def symbols(self, sections: Mapping[int, int], commons: Mapping[int, int]) -> dict[str, int]:
        """What others can use."""
        symbols = {}
        for number, symbol in enumerate(self.file.symbols):
            if symbol.name and not symbol.local and number in commons:
                symbols[symbol.name] = commons[number]
            elif symbol.name and not symbol.local and symbol.section in sections:
                symbols[symbol.name] = sections[symbol.section] + symbol.value
        return symbols

    def constructors(self, sections: Mapping[int, int]) -> list[int]:
        """Addresses of the words that point at functions to be called once it is loaded, in their order."""
        lists = sorted((self.file.elf.sections[number].name, number) for number in self.file.constructors)
        return [
            sections[number] + at for _, number in lists for at in range(0, self.file.loaded[number].size // 4 * 4, 4)
        ]


def section_places(file: ObjectFile) -> SectionPlaces:
    """Where the sections of a file go."""
    code, code_bytes = _packed({n: (s.size, s.alignment) for n, s in file.loaded.items() if not s.writable})
    variables = {n: (s.size, s.alignment) for n, s in file.loaded.items() if s.writable}
    variables |= {-1 - n: (s.size, min(max(s.value, 4), 32)) for n, s in file.commons.items()}
    data, data_bytes = _packed(variables)
    alignment = max((section.alignment for section in file.loaded.values()), default=32)
    return SectionPlaces(
        file, code, data, -(-code_bytes // 8) * 8 + VENEER * file.calls(), data_bytes, max(alignment, 32)
    )


def _packed(sections: Mapping[int, tuple[int, int]]) -> tuple[dict[int, int], int]:
    offsets, end = {}, 0
    for number, (size, alignment) in sections.items():
        offsets[number] = -(-end // max(alignment, 1)) * max(alignment, 1)
        end = offsets[number] + size
    return offsets, end
