"""Source lines of a program's addresses, from the line number programs of DWARF 2 to 5 (section ``.debug_line``).

The reader is not pyelftools', which builds an object for every row and trusts the counts in the headers, so that a
damaged table costs minutes or gigabytes. Here every step takes at least one byte of the section, and steps are limited.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

from mcusim.image.elf import ElfFile, readable_name

MOST_ROWS = 1_000_000
MOST_STEPS = 4_000_000  # opcodes, names and units
_MASK = 0xFFFF_FFFF
_LONGEST_PATH = 1024
_PATH, _DIRECTORY = 1, 2  # DW_LNCT_path, DW_LNCT_directory_index

Row = tuple[int, int, int]  # address, index into the paths, line


class _Cursor:
    """Bytes read forward, never beyond ``end``."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        if not 0 <= at <= end <= len(data):
            raise ValueError("a length runs beyond the section")
        self.data, self.at, self.end = data, at, end

    def fixed(self, size: int) -> int:
        start, self.at = self.at, self.at + size
        if self.at > self.end:
            raise ValueError("a value runs beyond its table")
        return int.from_bytes(self.data[start : self.at], "little")

    def leb(self) -> int:
        """Unsigned LEB128, kept to 32 bits."""
        return self._leb()[0] & _MASK

    def signed_leb(self) -> int:
        value, bits = self._leb()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _leb(self) -> tuple[int, int]:
        """The value and how many bits it was written in."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.fixed(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, shift + 7
        raise ValueError("a number of more than 64 bits")

    def text(self) -> str:
        terminator = self.data.find(b"\0", self.at, self.end)
        if terminator < 0:
            raise ValueError("a file name does not end")
        raw, self.at = self.data[self.at : min(terminator, self.at + _LONGEST_PATH)], terminator + 1
        return readable_name(raw)


@dataclass
class _LineHeader:
    """Of one line number program, as DWARF calls the fields."""

    minimum_instruction_length: int
    line_base: int
    line_range: int
    opcode_base: int
    lengths: list[int]  # operands of each standard opcode
    files: list[int]  # index into the reader's paths; the file register of DWARF 2 to 4 counts from 1


@dataclass
class _State:
    """The registers of the line number state machine, and the rows since the last end of a sequence."""

    address: int = 0
    file: int = 1
    line: int = 1
    rows: list[Row] = field(default_factory=list)

    def row(self, files: list[int]) -> None:
        known = 0 <= self.file < len(files) and 0 < self.line < 1 << 31
        self.rows.append((self.address, files[self.file], self.line) if known else (self.address, 0, 0))


def _standard(opcode: int, unit: _Cursor, state: _State, header: _LineHeader) -> None:
    """One standard opcode, by its number in DWARF; unknown ones have only LEB128 operands."""
    if opcode == 1:
        state.row(header.files)
    elif opcode == 2:
        state.address = (state.address + unit.leb() * header.minimum_instruction_length) & _MASK
    elif opcode == 3:
        state.line += unit.signed_leb()
    elif opcode == 4:
        state.file = unit.leb()
    elif opcode == 8:  # DW_LNS_const_add_pc
        steps = (255 - header.opcode_base) // header.line_range
        state.address = (state.address + steps * header.minimum_instruction_length) & _MASK
    elif opcode == 9:  # DW_LNS_fixed_advance_pc
        state.address = (state.address + unit.fixed(2)) & _MASK
    else:
        for _ in range(header.lengths[opcode]):
            unit.leb()


class _TooMany(ValueError):
    """Reading on would not end soon."""


@dataclass
class LineReader:
    """Reads ``.debug_line`` into ``sequences``. Not modelled: 64-bit DWARF, operations per instruction (VLIW)."""

    strings: dict[int, bytes] = field(default_factory=dict)  # by form: .debug_line_str, .debug_str
    paths: list[str] = field(default_factory=list)
    sequences: list[list[Row]] = field(default_factory=list)
    rows: int = 0
    _known: dict[str, int] = field(default_factory=dict)
    _steps: int = 0

    def read(self, data: bytes) -> str:
        """Reads all units and returns what was wrong with the first bad one, or an empty text."""
        at, wrong = 0, ""
        while at + 4 <= len(data):
            length = int.from_bytes(data[at : at + 4], "little")
            if length >= 0xFFFF_FFF0:
                raise ValueError("64-bit DWARF")
            unit = _Cursor(data, at + 4, at + 4 + length)
            at = unit.end
            try:
                self._step()
                version = unit.fixed(2)
                if not 2 <= version <= 5:
                    raise ValueError(f"DWARF version {version}")
                self._program(unit, self._header(unit, version))
            except _TooMany as error:
                return str(error)
            except ValueError as error:
                wrong = wrong or str(error)
        return wrong

    def path(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = len(self.paths)
            self.paths.append(name)
        return self._known[name]

    def _header(self, unit: _Cursor, version: int) -> _LineHeader:
        if version >= 5 and unit.fixed(2) != 4:
            raise ValueError("addresses of other than 4 B")
        length = unit.fixed(4)
        program = unit.at + length
        minimum = unit.fixed(1)
        if version >= 4:
            unit.fixed(1)  # operations per instruction, of VLIW machines
        unit.fixed(1)  # default_is_stmt
        base, span, opcodes = unit.fixed(1), unit.fixed(1), unit.fixed(1)
        if not span or not opcodes:
            raise ValueError("a header with line_range or opcode_base 0")
        lengths = [0, *(unit.fixed(1) for _ in range(opcodes - 1))]
        head = _Cursor(unit.data, unit.at, min(program, unit.end))
        files = self._tables(head) if version >= 5 else self._old_tables(head)
        unit.at = program
        return _LineHeader(minimum, base - 256 if base > 127 else base, span, opcodes, lengths, files)

    def _old_tables(self, head: _Cursor) -> list[int]:
        directories = [""]
        while name := head.text():
            directories.append(name)
            self._step()
        files = [self.path("")]  # no file 0
        while name := head.text():
            directory = head.leb()
            head.leb(), head.leb()  # time and length
            files.append(self.path(_join(directories, directory, name)))
            self._step()
        return files

    def _tables(self, head: _Cursor) -> list[int]:
        directories = [name for name, _ in self._entries(head)]
        directories[:1] = [""]  # the compilation's own: names stay as the compiler was given them
        return [self.path(_join(directories, directory, name)) for name, directory in self._entries(head)]

    def _entries(self, head: _Cursor) -> list[tuple[str, int]]:
        formats = [(head.leb(), head.leb()) for _ in range(head.fixed(1))]
        count = head.leb()
        if count and not formats:
            raise ValueError("file names without a format")
        entries = []
        for _ in range(count):
            values = {content: self._form(head, form) for content, form in formats}
            name, directory = values.get(_PATH, ""), values.get(_DIRECTORY, 0)
            entries.append((name if isinstance(name, str) else "", directory if isinstance(directory, int) else 0))
            self._step()
        return entries

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise _TooMany(f"more than {MOST_STEPS:,} opcodes and names")

    def _form(self, head: _Cursor, form: int) -> str | int:
        sizes = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}  # data1, data2, data4, data8, data16
        if form in sizes:
            return head.fixed(sizes[form])
        if form == 0x08:
            return head.text()
        if form == 0x0F:
            return head.leb()
        if form in self.strings:
            strings, at = self.strings[form], head.fixed(4)
            terminator = strings.find(b"\0", at, at + _LONGEST_PATH)
            return readable_name(strings[at : terminator if terminator >= 0 else at + _LONGEST_PATH])
        raise ValueError(f"file names of form {form:#x}")

    def _program(self, unit: _Cursor, header: _LineHeader) -> None:
        """The state machine of DWARF 5 section 6.2; columns, flags and discriminators are read over."""
        state = _State()
        data, base, span, scale = unit.data, header.opcode_base, header.line_range, header.minimum_instruction_length
        while unit.at < unit.end:
            opcode = data[unit.at]
            unit.at += 1
            self._step()
            if opcode >= base:
                steps, lines = divmod(opcode - base, span)
                state.address = (state.address + steps * scale) & _MASK
                state.line += header.line_base + lines
                state.row(header.files)
            elif opcode == 0:
                if self._extended(unit, state):
                    self._end(state, header.files)
                    state = _State()
            else:
                _standard(opcode, unit, state, header)
            if self.rows + len(state.rows) > MOST_ROWS:
                raise _TooMany(f"more than {MOST_ROWS:,} rows")

    def _extended(self, unit: _Cursor, state: _State) -> bool:
        """Whether the sequence ends."""
        length = unit.leb()
        after = unit.at + length
        if not length or after > unit.end:
            raise ValueError("an extended opcode runs beyond its table")
        opcode = unit.fixed(1)
        if opcode == 2:  # DW_LNE_set_address
            state.address = unit.fixed(min(length - 1, 4))
        unit.at = after
        return opcode == 1  # DW_LNE_end_sequence

    def _end(self, state: _State, files: list[int]) -> None:
        self.rows += len(state.rows)
        rows = state.rows
        if rows and state.address > rows[0][0] and all(a[0] <= b[0] for a, b in pairwise(rows)):
            self.sequences.append([*rows, (state.address, 0, 0)])


def _join(directories: list[str], index: int, name: str) -> str:
    directory = directories[index] if index < len(directories) else ""
    return f"{directory}/{name}" if directory and not name.startswith("/") else name


class LineTable:
    """Rows in order of address; a row is valid up to the next one. Not modelled: columns, inlined calls,
    discriminators.
    """

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
    joined: list[Row] = []
    reached = -1
    inside = [s for s in sequences if any(low <= s[0][0] and s[-1][0] <= high for low, high in code)]
    for sequence in sorted(inside, key=lambda s: (s[0][0], -s[-1][0])):
        if sequence[0][0] >= reached:
            if joined and joined[-1][0] == sequence[0][0]:
                joined.pop()  # the end of the sequence before
            joined += sequence
            reached = sequence[-1][0]
    return joined
