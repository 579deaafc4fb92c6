"""Where something that was written comes from: the version and commit of mcusim, when it was made, by which command."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from mcusim._version import __version__
from mcusim.errors import UsageError

Sha256 = str | Mapping[str, str] | None  # of one, or by name
EPOCH = "SOURCE_DATE_EPOCH"  # seconds since 1970 to write in place of now, so that equal results are equal files


@dataclass(frozen=True, slots=True)
class Made:
    """``commit`` is None where the package was not built from a checkout, ``command`` where it was made in Python.

    ``seeds`` are of what was drawn at random; ``model_sha256`` and ``machine_sha256`` are texts, by name where there
    were several; ``plug_ins`` are files from outside the package, each a ``kind``, ``name`` and ``sha256``. Not
    modelled: versions of other packages.
    """

    version: str
    commit: str | None
    date: str
    command: str | None
    seeds: Mapping[str, int | str] = field(default_factory=dict)
    model_sha256: Sha256 = None
    machine_sha256: Sha256 = None
    plug_ins: Sequence[Mapping[str, str]] = ()

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return asdict(self) | {"plug_ins": [dict(plug_in) for plug_in in self.plug_ins]}

    @property
    def lines(self) -> list[str]:
        """For people: what made it, the command, the hashes."""
        built = f" ({self.commit[:12]}{self.commit[40:]})" if self.commit else ""
        hashes = [("model", self.model_sha256), ("machine", self.machine_sha256)]
        known = [f"{what} sha256 {value}" for what, value in hashes if isinstance(value, str)]
        texts = [f"mcusim {self.version}{built}, {self.date}", self.command, ", ".join(known)]
        return [text for text in texts if text]


_command: list[str | None] = [None]


def run_by(command: str | None) -> None:
    """Name the ``command`` that makes what is written from now on; None for none."""
    _command[0] = command


def made(
    seeds: Mapping[str, int | str] | None = None,
    model_sha256: Sha256 = None,
    machine_sha256: Sha256 = None,
    plug_ins: Sequence[Mapping[str, str]] = (),
    command: str | None = None,
) -> Made:
    """By this process, now; ``command`` is what is said where no command line runs. Raises UsageError for a date in
    SOURCE_DATE_EPOCH that is none."""
    command = _command[0] or command
    return Made(__version__, built_from(), _date(), command, seeds or {}, model_sha256, machine_sha256, plug_ins)


def _date() -> str:
    text = os.environ.get(EPOCH)
    try:
        if text is not None and not (text.isascii() and text.isdigit()):
            raise ValueError
        now = datetime.now(UTC) if text is None else datetime.fromtimestamp(int(text), UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{EPOCH}={text!r}: must be a whole number of seconds since 1970") from None
    return f"{now:%Y-%m-%dT%H:%M:%SZ}"


@cache
def built_from() -> str | None:
    """The commit that the package was built from, with ``+changes`` where the tree had any; None where nothing says."""
    file = files("mcusim").joinpath("_commit.txt")
    return file.read_text(encoding="ascii").strip() or None if file.is_file() else None
