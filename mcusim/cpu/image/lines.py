"""Addresses of a program to source lines."""

from __future__ import annotations

from bisect import bisect_right

from mcusim.cpu.image.dwarf_lines import LineReader, Row
from mcusim.cpu.image.elf import ElfFile

__all__ = ["LineTable", "read_lines"]


class LineTable:
    """Rows in order of address; a row holds up to the next one. Left out: columns, inlined calls, discriminators."""

    def __init__(self, rows: list[Row], paths: list[str]) -> None:
        self._rows, self._paths = rows, paths
        self._addresses = [row[0] for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, address: int) -> tuple[str, int] | None:
        """File (as the compiler was given it) and line of the instruction at ``address``, or None."""
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return None
        _, path, line = self._rows[index]
        return (self._paths[path], line) if line else None


def read_lines(elf: ElfFile) -> LineTable:
    """The line table of ``elf``; what cannot be read is left out and noted in ``elf.warnings``. Never raises."""
    section = elf.named(".debug_line")
    reader = LineReader()
    if section is not None:
        try:
            reader.strings = {0x1F: _optional(elf, ".debug_line_str"), 0x0E: _optional(elf, ".debug_str")}
            wrong = reader.read(elf.content(section))
        except ValueError as error:
            wrong = str(error)
        if wrong:
            elf.warnings.append(f"source lines: some cannot be read ({wrong})")
    code = [(s.address, s.address + len(s.data)) for s in elf.segments if s.executable]
    return LineTable(_joined(reader.sequences, code), reader.paths)


def _optional(elf: ElfFile, name: str) -> bytes:
    section = elf.named(name)
    return elf.content(section) if section is not None else b""


def _joined(sequences: list[list[Row]], code: list[tuple[int, int]]) -> list[Row]:
    """One table of all sequences inside the program's code, without overlaps.

    Functions the linker dropped have sequences at address 0, or near it: where no code is, they go by that; where
    several begin at one address, the longest stays.
    """
    found: list[Row] = []
    reached = -1
    inside = [s for s in sequences if any(low <= s[0][0] and s[-1][0] <= high for low, high in code)]
    for sequence in sorted(inside, key=lambda s: (s[0][0], -s[-1][0])):
        if sequence[0][0] >= reached:
            if found and found[-1][0] == sequence[0][0]:
                found.pop()  # the end of the sequence before
            found += sequence
            reached = sequence[-1][0]
    return found
