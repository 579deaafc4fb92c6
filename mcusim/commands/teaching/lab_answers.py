"""Where a lab's answers come from: a terminal, a pipe or a file; and the file that keeps them for later."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Protocol

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.labs import LEAVE
from mcusim.labs.lab import Lab

_LONGEST = 1 << 20
_HEAD = re.compile(r"# answers of mcusim lab [a-z0-9-]+(, seed (?P<seed>[0-9]{1,6})(, student (?P<student>.{1,80}))?)?")
Read = Callable[[str], str]


class Say(Protocol):
    def __call__(self, text: str, end: str = "\n") -> None: ...


def typed(say: Say) -> Read:
    """What is typed at a terminal, where to end the input is to leave, or comes through a pipe and is then shown."""
    if sys.stdin is None:  # closed by the caller
        return _none
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")  # a key may send what is no text
    return _terminal(say) if sys.stdin.isatty() else _pipe(say)


def _none(prompt: str) -> str:
    raise EOFError


def _terminal(say: Say) -> Read:
    def read(prompt: str) -> str:
        try:
            if sys.stdout.isatty():
                return input(prompt)
            say(prompt, end="")  # on standard error
            return input()
        except EOFError:
            say("")
            return LEAVE

    return read


def _pipe(say: Say) -> Read:
    def read(prompt: str) -> str:
        say(prompt, end="")
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        say(line.rstrip("\n"))
        return line

    return read


def from_file(path: Path, say: Say) -> Read:
    """The lines of a file, each shown after its prompt as if it were typed."""
    return _replayed(iter(_lines(path)), say, _none)


def kept_seed(path: Path) -> tuple[int | None, str | None]:
    """The seed and the student of a file that :func:`kept` has written; None where it says none, or is not there."""
    if not path.is_file():
        return None, None
    first = utf8_text(_guarded(path), UsageError, path).partition("\n")[0]
    match = _HEAD.fullmatch(first.strip())
    return (int(match["seed"]), match["student"]) if match and match["seed"] else (None, None)


def kept(path: Path, lab: Lab, say: Say, read: Read) -> Read:
    """First the lines of ``path``, then those of ``read``, each of which is added to the file at once.

    Raises UsageError for a file that is not one of ``lab`` and its seed, and for one that cannot be read or written.
    """
    whose = f", seed {lab.seed}{f', student {lab.student}' if lab.student else ''}" if lab.seed else ""
    head = f"# answers of mcusim lab {lab.name}{whose}"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"{head}\n")
        lines: list[str] = []
    except FileExistsError:
        lines = _lines(path, head)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def noted(prompt: str) -> str:
        line = read(prompt).strip()
        if line and not line.startswith("#") and line not in (LEAVE, "quit", "exit"):
            try:
                with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(f"{line}\n")
            except OSError as error:
                raise UsageError(f"cannot write {path}: {error.strerror}") from None
        return line

    return _replayed(iter(lines), say, noted)


def _replayed(lines: Iterator[str], say: Say, then: Read) -> Read:
    def read(prompt: str) -> str:
        line = next(lines, None)
        if line is None:
            return then(prompt)
        say(f"{prompt}{line if line.isprintable() else ascii(line)[:80]}")
        return line

    return read


def _lines(path: Path, head: str | None = None) -> list[str]:
    """The answers in a file. Raises UsageError for one that is no text, or does not begin with ``head``."""
    lines = [] if str(path) == os.devnull else utf8_text(_guarded(path), UsageError, path).splitlines()
    if head is not None and lines[:1] != [head]:
        raise UsageError(f"{path} is not what --save has written: it does not begin with {head!r}")
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _guarded(path: Path) -> bytes:
    too_large = ", the most a file of answers may have"
    return read_guarded(path, _LONGEST, UsageError, too_large=too_large, directory="is a directory")
