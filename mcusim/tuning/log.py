"""The log of a tuning: JSON lines, a first one that says what is tuned and how, then a record for each trial in the
order of proposal, written as soon as all before it are there.

A log is gone on with by the same tuning; a last line that was cut short is not read and written again. Not modelled:
two tunings that write one file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.tuning.space import KnobValue
from mcusim.tuning.trial import TrialResult
from mcusim.validation_errors import rule_of

__all__ = ["TrialRecord", "TuningLog", "read_log"]

LARGEST = 1 << 28  # bytes
HEAD = "mcusim-tuning"


class TrialRecord(BaseModel):
    """One trial: ``trial`` counts a task's, from 0; ``predicted`` are the cycles that a cost model expected;
    ``seconds`` is the host's time, the one figure that changes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    task: str
    trial: int = Field(ge=0)
    config: dict[str, int | str]
    result: Literal["ok", "compile_error", "fault", "wrong_output", "does_not_fit", "timeout"]
    cycles: float | None = None
    causes: dict[str, float] = {}
    text: str = ""
    predicted: float | None = None
    seconds: float = 0.0

    @property
    def best_of(self) -> float:
        """Cycles to compare by: without a right output they are endless."""
        return self.cycles if self.cycles is not None else float("inf")

    @classmethod
    def of(
        cls, task: str, trial: int, config: Mapping[str, KnobValue], measured: TrialResult, predicted: float | None
    ) -> TrialRecord:
        """The record of a trial."""
        return cls(
            task=task, trial=trial, config=dict(config), result=measured.result, cycles=measured.cycles,
            causes=dict(measured.causes), text=measured.text, predicted=predicted, seconds=round(measured.seconds, 3),
        )  # fmt: skip


@dataclass(frozen=True)
class _LogFile:
    head: dict[str, Any]
    records: list[TrialRecord]
    whole: int  # bytes up to the last line that is whole


def read_log(path: Path) -> _LogFile:
    """What a log has. Raises UsageError for a file that is none, with the line."""
    data = read_guarded(path, LARGEST, UsageError, too_large=", the most a log may have")
    lines = data.split(b"\n")[:-1]  # the rest was cut short
    records, head = [], _head(path, lines[0]) if lines else {}
    for number, line in enumerate(lines[1:], 2):
        try:
            records.append(TrialRecord.model_validate_json(utf8_text(line, UsageError, path)))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(f"{path}:{number}: is no record of a trial: {key}: {rule_of(first)}") from None
    return _LogFile(head, records, sum(len(line) + 1 for line in lines))


def _head(path: Path, line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != HEAD:
        raise UsageError(f"{path}: is not a log of `mcusim tune`; name another file")
    return head


class TuningLog:
    """The log at ``path`` (None: nowhere), for a tuning with ``head``; ``known`` has the records that it had, by task.

    Raises UsageError for another file, and for the log of another tuning, with what differs.
    """

    def __init__(self, path: Path | None, head: Mapping[str, Any]) -> None:
        self.known: dict[str, list[TrialRecord]] = {}
        self._file: IO[bytes] | None = None
        if path is None:
            return
        line = (json.dumps({"format": HEAD, **head}) + "\n").encode()
        try:
            there = path.stat().st_size if path.exists() else 0
            whole = self._read(path, head) if there else 0
            self._file = path.open("r+b" if there else "wb")
            self._file.truncate(whole)
            self._file.seek(whole)
            self._put(b"" if whole else line)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def _read(self, path: Path, head: Mapping[str, Any]) -> int:
        log = read_log(path)
        if not log.head:
            return 0
        differing = [key for key in head if log.head.get(key) != head[key]]
        if differing:
            what = "; ".join(f"{key}: {_short(log.head.get(key))}, now {_short(head[key])}" for key in differing[:4])
            raise UsageError(f"{path} is the log of another tuning ({what}); name a new file")
        for record in log.records:
            self.known.setdefault(record.task, []).append(record)
        return log.whole

    def append(self, record: TrialRecord) -> None:
        """Write a record down."""
        self._put((record.model_dump_json() + "\n").encode())

    def _put(self, data: bytes) -> None:
        if self._file is not None and data:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """No more records."""
        if self._file is not None:
            self._file.close()


def _short(value: object) -> str:
    return json.dumps(value)[:80]
