"""The text of a study file: reading, size and encoding limits, the lines of its keys."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcusim.errors import StudyError
from mcusim.machine.positions import TooDeepError, key_lines

__all__ = ["LARGEST_FILE", "document"]

LARGEST_FILE = 1 << 20


def document(path: Path, shown: str) -> tuple[Mapping[str, Any], Mapping[str, int]]:
    """The parsed TOML and the line of every dotted key. Raises StudyError, which calls the file ``shown``."""
    text = _text(path, shown)
    try:
        return tomllib.loads(text), key_lines(text)
    except TooDeepError as error:
        raise StudyError(f"{shown}:{error.line}: keys or brackets are nested too deep for a study") from None
    except RecursionError:
        raise StudyError(f"{shown}: keys or brackets are nested too deep for a study") from None
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{shown}: not valid TOML: {error}") from None
    except ValueError:  # what Python says of a number with thousands of digits
        raise StudyError(f"{shown}: has a number with too many digits") from None


def _text(path: Path, shown: str) -> str:
    """The file's text; what is no regular file is not opened, since a pipe would block."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            raise StudyError(f"{shown}: is {kind}, a study is a TOML file")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise StudyError(f"{shown}: no such file") from None
    except (OSError, ValueError) as error:
        raise StudyError(f"{shown[:200]}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST_FILE:
        raise StudyError(f"{shown}: larger than {LARGEST_FILE:,} B, no study is")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyError(f"{shown}:{line}: not UTF-8 text (byte {data[error.start]:#04x})") from None
