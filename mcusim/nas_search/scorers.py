"""What a network is worth to a search: its multiply-accumulates, a table of yours, a function of yours.

Not modelled: accuracy; a table or a function may know it.
"""

from __future__ import annotations

import csv
import hashlib
import runpy
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from math import isfinite, log
from pathlib import Path
from typing import Any

import numpy as np

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.nas_search.evolution import Scorer
from mcusim.processes import TooLongError, cpu_limited
from mcusim.sweeps.ordered_work import OrderedWork
from mcusim.units import quoted

__all__ = ["scorer_of", "scorer_sha256"]

LARGEST = 1 << 24  # bytes of a table or a function's file
TOO_LARGE = ", the most that a scorer's file may have"
SECONDS = 10.0  # of the processor, for a network


def scorer_of(text: str, work: OrderedWork | None = None) -> Scorer:
    """``macs``; ``TABLE.csv`` with columns ``macs`` and ``score``, interpolated over the logarithm of the
    multiply-accumulates; or ``FILE.py:FUNCTION``, which is called with a network as a dictionary and returns its score,
    in the processes of ``work``.

    Raises UsageError for what is none, or not right.
    """
    if text == "macs":
        return lambda networks: [float(network["macs"]) for network in networks]
    path, _, function = text.rpartition(":")
    if path.endswith(".py"):
        return _by_function(Path(path), function, work)
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


def _by_function(path: Path, name: str, work: OrderedWork | None) -> Scorer:
    mark = scorer_sha256(f"{path}:{name}")
    _function(path, name, mark)

    def scores(networks: Sequence[Mapping[str, Any]]) -> list[float]:
        jobs = [(path, name, mark, network) for network in networks]
        return [*(map(_score, jobs) if work is None else work.map(_score, jobs))]

    return scores


@lru_cache(maxsize=8)
def _function(path: Path, name: str, mark: str | None) -> Callable[[dict[str, Any]], object]:
    """Of a user's file; ``mark`` is its content's."""
    try:
        with cpu_limited(SECONDS):
            function = runpy.run_path(str(path)).get(name)
    except TooLongError:
        raise UsageError(f"{path}: does not end within {SECONDS:g} s of the processor") from None
    except (Exception, SystemExit) as error:  # whatever a user's file does
        raise UsageError(f"{path}: {_said(error)}") from None
    if not callable(function):
        raise UsageError(f"{path} has no function {quoted(name[:80])}")
    called: Callable[[dict[str, Any]], object] = function
    return called


def _score(job: tuple[Path, str, str | None, Mapping[str, Any]]) -> float:
    path, function, mark, network = job
    name = f"{path}:{function}"
    try:
        with cpu_limited(SECONDS):
            value = _function(path, function, mark)(dict(network))
    except TooLongError:
        raise UsageError(f"scorer {name} does not end within {SECONDS:g} s of the processor") from None
    except (Exception, SystemExit) as error:  # whatever a user's function does
        raise UsageError(f"scorer {name}: {_said(error)}") from None
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer) or not isfinite(value):
        raise UsageError(f"scorer {name} gives {str(value)[:80]}, which is no finite number")
    return float(value)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
