"""What a network is worth to a search: its multiply-accumulates, a table of yours, a function of yours.

Not modelled: accuracy; a table or a function may know it.
"""

from __future__ import annotations

import csv
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from io import StringIO
from math import isfinite, log
from pathlib import Path
from typing import Any

import numpy as np

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.nas_search.evolution import Scorer
from mcusim.processes import TooLongError, time_limited
from mcusim.sweeps.ordered_work import OrderedWork
from mcusim.units import quoted
from mcusim.user_code import reasons, short_text

LARGEST = 1 << 24  # bytes of a table or a function's file
TOO_LARGE = ", the most that a scorer's file may have"
SECONDS = 60.0  # for a network
MOST = 1e100  # of a score, so that sums of scores are finite


def scorer_of(text: str, work: OrderedWork | None = None, seconds: float = SECONDS) -> Scorer:
    """``macs``; ``TABLE.csv`` with columns ``macs`` and ``score``, interpolated over the logarithm of the
    multiply-accumulates; or ``FILE.py:FUNCTION``, which is called with a network as a dictionary and returns its score,
    in the processes of ``work``, and has ``seconds`` for each. Without ``work`` it is called in this process.

    Raises UsageError for what is none, or not right.
    """
    if text == "macs":
        return lambda networks: [float(network["macs"]) for network in networks]
    if (path := scorer_file(text)) is None:
        raise UsageError(f"--scorer {quoted(text[:80])}: macs, TABLE.csv or FILE.py:FUNCTION")
    if path.suffix.lower() == ".csv":
        return _by_table(path)
    function = _UserFunction(path, text.rpartition(":")[2], scorer_sha256(text), seconds)
    # in a process of its own, which it may end
    if work is None:
        function.loaded()
    else:
        _ = [*work.map(_UserFunction.checked, [function], apart=True)]

    def scores(networks: Sequence[Mapping[str, Any]]) -> list[float]:
        jobs = [(function, network) for network in networks]
        return [*(map(_score, jobs) if work is None else work.map(_score, jobs, apart=True))]

    return scores


def scorer_file(text: str) -> Path | None:
    """That of a table or a function; None for ``macs`` and for what is no scorer."""
    path, _, _ = text.rpartition(":")
    if path.lower().endswith(".py"):
        return Path(path)
    return Path(text) if text.lower().endswith(".csv") else None


def scorer_sha256(text: str) -> str | None:
    """Of a scorer's file, so that scores of another one are not taken for its own; None for ``macs``. Raises
    UsageError for a file that cannot be read."""
    path = scorer_file(text)
    return None if path is None else sha256(read_guarded(path, LARGEST, UsageError, too_large=TOO_LARGE)).hexdigest()


def _by_table(path: Path) -> Scorer:
    data = read_guarded(path, LARGEST, UsageError, too_large=TOO_LARGE)
    try:
        head, *rows = [*csv.reader(StringIO(utf8_text(data, UsageError, path)))] or [[]]
    except csv.Error as error:
        raise UsageError(f"{path}: is no table: {error}") from None
    names = [name.strip() for name in head]
    if any(names.count(name) != 1 for name in ("macs", "score")):
        shown = quoted(",".join(names)[:80])
        raise UsageError(f"{path}: has no columns `macs` and `score`, once each; its head is {shown}")
    points = dict[float, float]()
    for number, row in enumerate(rows, 2):
        if row:
            macs, score = _point(path, number, dict(zip(names, row, strict=False)))
            if log(macs) in points:
                raise UsageError(f"{path}:{number}: macs = {macs:g} is there twice")
            points[log(macs)] = score
    if not points:
        raise UsageError(f"{path}: has no rows; the head is macs,score")
    known = sorted(points)
    values = [points[x] for x in known]
    return lambda networks: [float(np.interp(log(max(n["macs"], 1)), known, values)) for n in networks]


def _point(path: Path, number: int, row: Mapping[str, str]) -> tuple[float, float]:
    try:
        macs, score = float(row["macs"]), float(row["score"])
    except (KeyError, ValueError):
        raise UsageError(f"{path}:{number}: has no numbers `macs` and `score`") from None
    if not 0 < macs < MOST or not abs(score) < MOST:
        raise UsageError(f"{path}:{number}: macs = {macs:g}, score = {score:g}: must be below {MOST:g}, macs above 0")
    return macs, score


@dataclass(frozen=True)
class _UserFunction:
    """A function of a user's file, whose content is ``mark``; it and the file have ``seconds``."""

    path: Path
    name: str
    mark: str | None
    seconds: float

    @lru_cache(maxsize=8)  # noqa: B019  # a few, for as long as the process
    def loaded(self) -> Callable[[dict[str, Any]], object]:
        """Raises UsageError for a file that does not end well, or does not have it."""
        sys.path.insert(0, str(self.path.parent.resolve()))  # as for a script: modules beside it
        with self._heard(str(self.path)):
            function = runpy.run_path(str(self.path)).get(self.name)
        if not callable(function):
            raise UsageError(f"{self.path} has no function {quoted(self.name[:80])}")
        called: Callable[[dict[str, Any]], object] = function
        return called

    def checked(self) -> None:
        """Raises UsageError as :meth:`loaded`."""
        self.loaded()

    def score(self, network: Mapping[str, Any]) -> float:
        """Raises UsageError for what is no score."""
        function, shown = self.loaded(), f"scorer {self.path}:{self.name}"
        with self._heard(shown):
            value = function(dict(network))
            if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
                with suppress(OverflowError):
                    if isfinite(number := float(value)) and abs(number) < MOST:
                        return number
        raise UsageError(f"{shown} gives {short_text(value)}, which is no finite number")

    @contextmanager
    def _heard(self, shown: str) -> Iterator[None]:
        """A user's code: what it prints is no result, whatever it raises becomes a UsageError that names it, as
        ``shown``, and it has its time."""
        try:
            with reasons(shown, UsageError), redirect_stdout(sys.stderr), time_limited(self.seconds):
                yield
        except TooLongError:
            raise UsageError(f"{shown} does not end within {self.seconds:g} s; --scorer-limit gives it more") from None


def _score(job: tuple[_UserFunction, Mapping[str, Any]]) -> float:
    function, network = job
    return function.score(network)
