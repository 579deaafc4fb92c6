"""What a network is worth to a search: its multiply-accumulates, a table of yours, a function of yours.

Not modelled: accuracy; a table or a function may know it.
"""

from __future__ import annotations

import csv
import hashlib
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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

__all__ = ["SECONDS", "scorer_of", "scorer_sha256"]

LARGEST = 1 << 24  # bytes of a table or a function's file
TOO_LARGE = ", the most that a scorer's file may have"
SECONDS = 60.0  # for a network


def scorer_of(text: str, work: OrderedWork | None = None, seconds: float = SECONDS) -> Scorer:
    """``macs``; ``TABLE.csv`` with columns ``macs`` and ``score``, interpolated over the logarithm of the
    multiply-accumulates; or ``FILE.py:FUNCTION``, which is called with a network as a dictionary and returns its score,
    in the processes of ``work``, and has ``seconds`` for each.

    Raises UsageError for what is none, or not right.
    """
    if text == "macs":
        return lambda networks: [float(network["macs"]) for network in networks]
    path, _, function = text.rpartition(":")
    if path.endswith(".py"):
        return _by_function(Path(path), function, seconds, work)
    if text.endswith(".csv"):
        return _by_table(Path(text))
    raise UsageError(f"--scorer {quoted(text[:80])}: macs, TABLE.csv or FILE.py:FUNCTION")


def scorer_sha256(text: str) -> str | None:
    """Of a scorer's file, so that scores of another one are not taken for its own; None for ``macs``. Raises
    UsageError for a file that cannot be read."""
    name = text.rpartition(":")[0] if text.rpartition(":")[0].endswith(".py") else text
    if not name.endswith((".py", ".csv")):
        return None
    return hashlib.sha256(read_guarded(Path(name), LARGEST, UsageError, too_large=TOO_LARGE)).hexdigest()


def _by_table(path: Path) -> Scorer:
    data = read_guarded(path, LARGEST, UsageError, too_large=TOO_LARGE)
    try:
        rows = [*csv.DictReader(StringIO(utf8_text(data, UsageError, path)))]
    except csv.Error as error:
        raise UsageError(f"{path}: is no table: {error}") from None
    points: dict[float, float] = {}
    for number, row in enumerate(rows, 2):
        try:
            macs, score = float(row["macs"]), float(row["score"])
        except (KeyError, TypeError, ValueError):
            raise UsageError(f"{path}:{number}: has no numbers `macs` and `score`; the head is macs,score") from None
        if not macs > 0 or not isfinite(macs) or not isfinite(score):
            raise UsageError(f"{path}:{number}: macs = {macs:g}, score = {score:g}: must be finite, macs above 0")
        points[log(macs)] = score
    if not points:
        raise UsageError(f"{path}: has no rows; the head is macs,score")
    known = sorted(points)
    values = [points[x] for x in known]
    return lambda networks: [float(np.interp(log(max(n["macs"], 1)), known, values)) for n in networks]


def _by_function(path: Path, name: str, seconds: float, work: OrderedWork | None) -> Scorer:
    mark = scorer_sha256(f"{path}:{name}")
    function = _UserFunction(path, name, mark, seconds)
    function.loaded()

    def scores(networks: Sequence[Mapping[str, Any]]) -> list[float]:
        jobs = [(function, network) for network in networks]
        return [*(map(_score, jobs) if work is None else work.map(_score, jobs))]

    return scores


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
        try:
            with time_limited(self.seconds):
                function = runpy.run_path(str(self.path)).get(self.name)
        except TooLongError:
            raise UsageError(f"{self.path}: {self.late}") from None
        except (Exception, SystemExit) as error:  # whatever a user's file does
            raise UsageError(f"{self.path}: {_said(error)}") from None
        if not callable(function):
            raise UsageError(f"{self.path} has no function {quoted(self.name[:80])}")
        called: Callable[[dict[str, Any]], object] = function
        return called

    @property
    def late(self) -> str:
        """What it does that takes too long."""
        return f"does not end within {self.seconds:g} s; --scorer-limit gives it more"

    def score(self, network: Mapping[str, Any]) -> float:
        """Raises UsageError for what is no score."""
        name, function = f"{self.path}:{self.name}", self.loaded()
        try:
            with time_limited(self.seconds):
                value = function(dict(network))
        except TooLongError:
            raise UsageError(f"scorer {name} {self.late}") from None
        except (Exception, SystemExit) as error:  # whatever a user's function does
            raise UsageError(f"scorer {name}: {_said(error)}") from None
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not isfinite(value):
            raise UsageError(f"scorer {name} gives {str(value)[:80]}, which is no finite number")
        return float(value)


def _score(job: tuple[_UserFunction, Mapping[str, Any]]) -> float:
    function, network = job
    return function.score(network)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
