"""The journal of a sweep: every finished row, on the disk before the sweep goes on, so that a killed one loses nothing.

A line is a checksum and a JSON document with the point's key and its row. Lines are only ever appended; one that was
cut short or damaged does not have its checksum and is not read, which costs that point alone. Which study a row belongs
to does not matter: its key says what it rests on.

Left out: two computers that write one journal over a network file system whose locks do not work.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from mcusim.errors import UsageError

__all__ = ["Journal", "journal_path"]

SYNC = 1.0  # seconds at most between a row's end and the disk
Row = dict[str, Any]


def journal_path(output: Path) -> Path:
    """Beside the output."""
    return output.with_name(f"{output.name}.journal")


class Journal:
    """The journal at ``path``, open for this sweep alone. Raises UsageError when it cannot be opened or written."""

    def __init__(self, path: Path, known: Collection[str]) -> None:
        self.path, self.rows = path, {}
        self._synced = monotonic()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            self._lock()
            self._read(known)
        except OSError as error:
            raise self._problem(error) from None

    rows: dict[str, Row]

    def _problem(self, error: OSError) -> UsageError:
        return UsageError(f"cannot write {self.path}: {error.strerror or error}")

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise UsageError(f"{self.path}: another sweep is writing it") from None

    def _read(self, known: Collection[str]) -> None:
        """Rows of ``known`` points; a last line without its end is cut off, so that the next one is whole."""
        end = 0
        with os.fdopen(os.dup(self._file), "rb") as file:
            for line in file:
                found = _line(line)
                if found is not None and found[0] in known:
                    self.rows[found[0]] = found[1]
                end += len(line) if line.endswith(b"\n") else 0
        os.ftruncate(self._file, end)
        os.lseek(self._file, 0, os.SEEK_END)

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Append ``rows``, each with the key of its point."""
        data = b"".join(_written(key, row) for key, row in rows)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            if monotonic() - self._synced > SYNC:
                self.sync()
        except OSError as error:
            raise self._problem(error) from None

    def sync(self) -> None:
        """Wait until the disk has all rows."""
        os.fsync(self._file)
        self._synced = monotonic()

    def remove(self) -> None:
        """The rows are elsewhere now."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)


def _written(key: str, row: Row) -> bytes:
    text = json.dumps([key, row], ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _line(line: bytes) -> tuple[str, Row] | None:
    """A whole line's key and row."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    try:
        if not line.endswith(b"\n") or int(checksum, 16) != zlib.crc32(text):
            return None
        key, row = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return (key, row) if isinstance(key, str) and isinstance(row, dict) else None
