"""Logs of JSON lines that a killed run goes on with.

A first line says what is run and how; then comes a record for each part of it, written as soon as all before it are
there. A last line that was cut short is not read and written again. Not modelled: two runs that write one file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.validation_errors import rule_of

LARGEST = 1 << 28  # bytes
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class LogKind(Generic[R]):
    """``format`` is in the first line; ``command`` writes such logs; another one is ``other`` (``another search``); a
    line has a ``record`` of type ``model``."""

    format: str
    command: str
    other: str
    record: str
    model: type[R]


@dataclass(frozen=True)
class StoredLog(Generic[R]):
    """What a file has: its first line (empty where there is none), records, bytes up to the last whole line."""

    head: dict[str, Any]
    records: list[R]
    whole: int


def read_log(path: Path, kind: LogKind[R]) -> StoredLog[R]:
    """What a log has. Raises UsageError for a file that is none, with the line."""
    data = read_guarded(path, LARGEST, UsageError, too_large=", the most a log may have")
    *lines, rest = data.split(b"\n")
    if rest and not _cut_short(rest, kind, head=not lines):
        raise UsageError(f"{path}:{len(lines) + 1}: is not a line of a log of `{kind.command}`; name another file")
    records, head = list[R](), _head(path, lines[0], kind) if lines else {}
    for number, line in enumerate(lines[1:], 2):
        try:
            records.append(kind.model.model_validate_json(utf8_text(line, UsageError, path)))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(f"{path}:{number}: is no record of a {kind.record}: {key}: {rule_of(first)}") from None
    return StoredLog(head, records, sum(len(line) + 1 for line in lines))


def _cut_short(rest: bytes, kind: LogKind[R], head: bool) -> bool:
    """Whether ``rest``, behind the last whole line, may be a line that was being written: the first one or a record."""
    start = json.dumps({"format": kind.format})[:-1].encode() if head else b"{"
    return rest.startswith(start) or start.startswith(rest)


def _head(path: Path, line: bytes, kind: LogKind[R]) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != kind.format:
        raise UsageError(f"{path}: is not a log of `{kind.command}`; name another file")
    return head


class RecordLog(Generic[R]):
    """The log at ``path`` (None: nowhere) of a run with ``head``; ``known`` are the records that it had.

    Raises UsageError for another file, and for the log of another run, with what differs.
    """

    def __init__(self, path: Path | None, kind: LogKind[R], head: Mapping[str, Any]) -> None:
        self.known: list[R] = []
        self._file: IO[bytes] | None = None
        if path is None:
            return
        if path.exists() and not path.is_file():
            raise UsageError(f"cannot write {path}: not a regular file")
        line = (json.dumps({"format": kind.format, **head}) + "\n").encode()
        try:
            there = path.stat().st_size if path.exists() else 0
            whole = self._read(path, kind, head) if there else 0
            self._file = path.open("r+b" if there else "wb")
            self._file.truncate(whole)
            self._file.seek(whole)
            self._put(b"" if whole else line)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def _read(self, path: Path, kind: LogKind[R], head: Mapping[str, Any]) -> int:
        log = read_log(path, kind)
        if not log.head:
            return 0
        differing = [key for key in head if log.head.get(key) != head[key]]
        if differing:
            what = "; ".join(f"{key}: {_short(log.head.get(key))}, now {_short(head[key])}" for key in differing[:4])
            raise UsageError(f"{path} is the log of {kind.other} ({what}); name a new file")
        self.known = log.records
        return log.whole

    def __enter__(self) -> RecordLog[R]:
        return self

    def __exit__(self, *reason: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, record: R) -> None:
        """Write a record down."""
        self._put((record.model_dump_json() + "\n").encode())

    def _put(self, data: bytes) -> None:
        if self._file is not None and data:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())


def _short(value: object) -> str:
    return json.dumps(value)[:80]
