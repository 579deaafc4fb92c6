"""A sweep's table as lines: one figure along one input, everything else the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
NEAR = 1.01  # one percent is no difference

Line = tuple[Mapping[str, Any], Mapping[Any, float]]  # what is the same of some points; the figure by what is not


@dataclass(frozen=True, slots=True)
class Conclusion:
    """``text`` says what was found, ``holds`` whether it is so in this sweep."""

    text: str
    holds: bool


def lines(frame: pandas.DataFrame, along: str, value: str = "latency_ms", **fixed: str) -> list[Line]:
    """``value`` along an input, one line for each combination of the others; points that did not run are left out.

    Raises ValueError when none ran, KeyError for a column that is not there.
    """
    inputs = [name for name in frame.columns[: list(frame.columns).index("status")] if name != along]
    kept = frame[frame["status"] == "ok"]
    for name, wanted in fixed.items():
        kept = kept[kept[name] == wanted]
    entries: dict[tuple[Any, ...], dict[Any, float]] = {}
    for row in kept.to_dict("records"):
        entries.setdefault(tuple(row[name] for name in inputs), {})[row[along]] = row[value]
    if not entries:
        raise ValueError(f"no point along {along} ran")
    return [(dict(zip(inputs, key, strict=True)), values) for key, values in entries.items()]


def never_rises(curves: Iterable[Line], near: float = 1.0) -> bool:
    """Along every line, in its order; by less than the factor ``near`` is not rising."""
    return all(b <= a * near for _, line in curves for a, b in pairwise(line.values()))


def never_falls(curves: Iterable[Line]) -> bool:
    return all(b >= a for _, line in curves for a, b in pairwise(line.values()))


def ratios(curves: Iterable[Line], of: Any, to: Any) -> list[float]:
    """The figure at ``of`` in parts of that at ``to``, for each line; infinite when only the latter is 0."""
    return [line[of] / line[to] if line[to] else 1.0 if line[of] == line[to] else inf for _, line in curves]


def span(values: Iterable[float], digits: int = 2) -> str:
    """Least and largest, once if they read the same: ``1.02 to 1.27``."""
    figures = list(values)
    low, high = (f"{value:.{digits}f}" for value in (min(figures), max(figures)))
    return low if low == high else f"{low} to {high}"
