"""The journal of a sweep: every finished row, on the disk before the sweep goes on, so that a killed one loses nothing.

A first line says what the file is; each other one is a checksum and a JSON document with the point's key and its row.
Lines are only ever appended; one that was cut short or damaged does not have its checksum and is not read, nor is a row
that no run gives: this costs that point alone. Which study a row belongs to does not matter: its key says what it
depends on.

Not modelled: two computers that write one journal over a network file system whose locks do not work.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path
from sys import intern
from time import monotonic
from types import TracebackType
from typing import Any

from mcusim.errors import UsageError
from mcusim.sweeps.point import Done, Row
from mcusim.sweeps.saved import is_row

HEAD = b"mcusim sweep journal 1\n"
SYNC = 1.0  # seconds at most between a row's end and the disk


def journal_path(output: Path) -> Path:
    """In the output's folder."""
    return output.with_name(f"{output.name}.journal")


class Journal:
    """The journal at ``path``, open for this sweep alone; ``rows`` are those of ``known`` keys that it had.

    Raises UsageError when it cannot be opened or written, is in use, or is another file.
    """

    def __init__(self, path: Path, known: Collection[str]) -> None:
        self.path, self._synced = path, monotonic()
        self.rows: dict[str, Row] = {}
        try:
            self._open()
        except OSError as error:
            raise self._problem(error) from None
        try:
            self._read(known)
        except BaseException as error:
            os.close(self._file)
            raise (self._problem(error) if isinstance(error, OSError) else error) from None

    def _problem(self, error: OSError) -> UsageError:
        kept = (
            f"; {len(self.rows):,} points are kept in it, and the same command resumes from there" if self.rows else ""
        )
        return UsageError(f"cannot write {self.path}: {error.strerror or error}{kept}")

    def _open(self) -> None:
        """Open and lock the file that has the name: one that another sweep has just removed does not any more."""
        while True:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_there():
                    return
            except BlockingIOError:
                os.close(self._file)
                raise UsageError(f"{self.path}: another sweep is writing it") from None
            os.close(self._file)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            return False

    def _read(self, known: Collection[str]) -> None:
        """Rows of ``known`` points; a last line without its end is cut off, so that the next one is whole."""
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise UsageError(f"{self.path}: is not a regular file, as the journal of a sweep is")
        with os.fdopen(os.dup(self._file), "rb") as file:
            head = file.readline(len(HEAD))
            if not HEAD.startswith(head):
                raise UsageError(f"{self.path}: is not the journal of a sweep; name another output, or move it away")
            end = len(HEAD)
            for line in file if head == HEAD else ():
                pair = _line(line)
                if pair is not None and pair[0] in known:
                    self.rows[pair[0]] = pair[1]
                end += len(line) if line.endswith(b"\n") else 0
        os.ftruncate(self._file, end if head == HEAD else 0)
        os.lseek(self._file, 0, os.SEEK_END)
        if head != HEAD:
            self._append(HEAD)

    def _append(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]

    def add(self, rows: Iterable[Done]) -> None:
        """Append ``rows``, each with the key of its point."""
        entries = dict(rows)
        try:
            self._append(b"".join(_written(key, row) for key, row in entries.items()))
            self.rows |= entries
            if monotonic() - self._synced > SYNC:
                self.sync()
        except OSError as error:
            raise self._problem(error) from None

    def sync(self) -> None:
        """Wait until the disk has all rows."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._problem(error) from None
        self._synced = monotonic()

    def remove(self) -> None:
        """The rows are elsewhere now."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if os.fstat(self._file).st_size <= len(HEAD) and self._is_there():
            self.remove()  # nothing was done; the lock is still held
        os.close(self._file)


def _written(key: str, row: Row) -> bytes:
    text = json.dumps([key, row], ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _shared(pairs: list[tuple[str, Any]]) -> Row:
    """A row whose column names are those of all others."""
    return {intern(key): value for key, value in pairs}


def _line(line: bytes) -> tuple[str, Row] | None:
    """A whole line's key and row."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    try:
        if not line.endswith(b"\n") or int(checksum, 16) != zlib.crc32(text):
            return None
        key, row = json.loads(text, object_pairs_hook=_shared)
    except (ValueError, TypeError, RecursionError):
        return None
    return (key, row) if isinstance(key, str) and isinstance(row, dict) and is_row(row) else None
