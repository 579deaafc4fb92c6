"""A TOML file that a user wrote: reading it, limits of size, encoding and nesting, the lines of its keys."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcusim.errors import InputError
from mcusim.machine.positions import TooDeepError, key_lines

__all__ = ["LARGEST_FILE", "read_toml"]

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
    """The file's text; what is no regular file is not opened, since a pipe would block."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            raise problem(f"{shown}: is {kind}, a {what} is a TOML file")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise problem(f"{shown}: no such file") from None
    except (OSError, ValueError) as error:
        raise problem(f"{shown[:200]}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST_FILE:
        raise problem(f"{shown}: larger than {LARGEST_FILE:,} B, no {what} file is")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(f"{shown}:{line}: not UTF-8 text (byte {data[error.start]:#04x})") from None
