"""A user's TOML file: reading it within limits of size, encoding and nesting, and the line numbers of its keys.

``tomllib`` reports no line numbers. They come from a small scanner, not a parser: it follows tables, dotted keys,
inline tables and strings in one linear pass, and is right on valid TOML. A table in an array has its number, from 0, as
a part of its key (``part.2.title``). On malformed text its answer means nothing, but it ends, and it refuses the
nesting on which a recursive parser would take long. Not modelled: arrays in arrays, whose tables share numbers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcusim.errors import InputError
from mcusim.files import read_guarded, utf8_text

_TOKEN = re.compile(
    r'(?P<long>"""(?:\\.|[^\\])*?(?:"""|\\?\Z)|\'\'\'.*?(?:\'\'\'|\Z))'
    r'|(?P<short>"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?)'
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<newline>\n)"
    r"|(?P<space>[ \t\r]+)"
    r"|(?P<mark>[\[\]{}=,.])"
    r"|(?P<word>[^\s\[\]{}=,.#\"']+|.)",
    re.DOTALL,
)
_DEEPEST = 32


class TooDeepError(ValueError):
    """Keys or brackets nested beyond any use; ``line`` says where."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}: nested deeper than {_DEEPEST}")
        self.line = line


@dataclass
class _Scanner:
    lines: dict[str, int] = field(default_factory=dict)
    line: int = 1
    table: tuple[str, ...] = ()  # of the last [header]
    key: tuple[str, ...] = ()  # parts of the key being read
    after_dot: bool = False  # the next part belongs to the same key
    outer: list[tuple[str, ...]] = field(default_factory=list)  # keys of the open inline tables
    before: list[tuple[str, ...]] = field(default_factory=list)  # those of the values that these are in
    open_: list[str] = field(default_factory=list)  # open brackets of the value
    within: list[int] = field(default_factory=list)  # commas in each of them
    array: bool = False  # the header is of an array of tables
    counts: dict[tuple[str, ...], int] = field(default_factory=dict)  # tables of each such array
    state: str = "key"  # key, header, value

    def prefix(self) -> tuple[str, ...]:
        return self.outer[-1] if self.outer else self.table

    def note(self, parts: tuple[str, ...]) -> None:
        if len(parts) > _DEEPEST:
            raise TooDeepError(self.line)
        for end in range(1, len(parts) + 1):
            self.lines.setdefault(".".join(parts[:end]), self.line)

    def newline(self) -> None:
        if self.state == "header" or not self.open_:
            self.state, self.key = "key", ()
        self.line += 1

    def text(self, token: str) -> None:
        if self.state != "value":
            self.key = (*self.key, token.strip("\"'")) if self.after_dot else (token.strip("\"'"),)
            self.after_dot = False
            if len(self.key) > _DEEPEST:
                raise TooDeepError(self.line)

    def mark(self, mark: str) -> None:
        self.after_dot = mark == "." and self.state != "value"
        if self.state == "header":
            self._header(mark)
        elif self.state == "key":
            self._in_key(mark)
        else:
            self._in_value(mark)

    def _header(self, mark: str) -> None:
        if mark == "[":
            self.array = True
        if mark == "]" and self.key:
            self.table, self.key = self._numbered(self.key), ()
            self.note(self.table)

    def _numbered(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """A header's key with the numbers of the arrays that it is in, and of its own."""
        numbered: tuple[str, ...] = ()
        for end, part in enumerate(key, 1):
            numbered = (*numbered, part)
            if self.array and end == len(key):
                self.counts[numbered] = self.counts.get(numbered, 0) + 1
            if numbered in self.counts:
                numbered = (*numbered, str(self.counts[numbered] - 1))
        return numbered

    def _in_key(self, mark: str) -> None:
        if mark == "[" and not self.open_:
            self.state, self.key, self.array = "header", (), False
        elif mark == "=":
            self.key = (*self.prefix(), *self.key)
            self.note(self.key)
            self.state = "value"
        elif mark == "}":
            self._close()

    def _in_value(self, mark: str) -> None:
        if mark in "[{":
            if len(self.open_) >= _DEEPEST:
                raise TooDeepError(self.line)
            number = (str(self.within[-1]),) if mark == "{" and self.open_ and self.open_[-1] == "[" else ()
            self.open_.append(mark)
            self.within.append(0)
            if mark == "{":
                self.before.append(self.key)
                self.outer.append((*self.key, *number))
                self.state, self.key = "key", ()
        elif mark in "]}":
            self._close()
        elif mark == "," and self.open_ and self.open_[-1] == "{":
            self.state, self.key = "key", ()
        elif mark == "," and self.open_:
            self.within[-1] += 1

    def _close(self) -> None:
        if self.open_ and self.open_.pop() == "{":
            self.key = self.before.pop()
            self.outer.pop()
        self.within[-1:] = []
        self.state = "value"


def key_lines(text: str) -> dict[str, int]:
    """The 1-based line of every dotted key and table of a TOML text. Raises TooDeepError."""
    scanner = _Scanner()
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "newline":
            scanner.newline()
        elif kind == "mark":
            scanner.mark(token)
        elif kind in ("word", "short", "long"):
            scanner.text(token)
            scanner.line += token.count("\n")
    return scanner.lines


LARGEST_FILE = 1 << 20


def read_toml(
    path: Path, shown: str, what: str, problem: Callable[[str], InputError]
) -> tuple[Mapping[str, Any], Mapping[str, int]]:
    """The parsed document and the line of every dotted key.

    Raises ``problem``, whose text calls the file ``shown`` and says that it is no ``what`` (``machine``, ``study``).
    """
    text = _text(path, shown, what, problem)
    try:
        lines = key_lines(text)
        raw = tomllib.loads(text)
    except TooDeepError as error:
        raise problem(f"{shown}:{error.line}: keys or brackets are nested too deep for a {what} file") from None
    except RecursionError:
        raise problem(f"{shown}: keys or brackets are nested too deep for a {what} file") from None
    except tomllib.TOMLDecodeError as error:
        raise problem(f"{shown}: not valid TOML: {error}") from None
    except ValueError:  # what Python says of a number with thousands of digits
        raise problem(f"{shown}: has a number with too many digits") from None
    return raw, lines


def _text(path: Path, shown: str, what: str, problem: Callable[[str], InputError]) -> str:
    """The file's text."""
    data = read_guarded(
        path,
        LARGEST_FILE,
        problem,
        shown=shown,
        too_large=f", the most a {what} file may have",
        irregular=f"is not a regular file, a {what} is a TOML file",
        directory=f"is a directory, a {what} is a TOML file",
        missing="no such file",
    )
    return utf8_text(data, problem, shown)
