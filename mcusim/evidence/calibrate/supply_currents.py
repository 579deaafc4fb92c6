"""Supply currents from other people's tables: a line for each setting of a regulator, a median over submissions.

Both are what shipped machine files have (``scripts/evidence/currents/compare`` compares them).

Not modelled: temperature, spread from one specimen to the next, and peripherals beyond what a table's condition says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Points = Sequence[tuple[float, float]]  # MHz, mA


@dataclass(frozen=True, slots=True)
class Spread:
    """``middle`` in mA, and by how much the least and the largest submission differ from it, in parts of it."""

    middle: float
    low: float
    high: float


def scale_lines(points: Mapping[str, Points]) -> dict[str, tuple[float, float]]:
    """The static part (mA) and the one per MHz of each setting, from a data sheet's points (MHz, mA).

    The setting with the widest range of clocks gives the static part, by least squares. Others have one to three points
    close together, which say little about it: they keep it, and their slope goes through them by least squares.
    Raises ValueError when no setting has two points.
    """
    widest = max(points, key=lambda name: max(points[name])[0] / min(points[name])[0])
    static, slope = _line(points[widest])
    others = {name: _slope(pairs, static) for name, pairs in points.items()}
    return {name: (static, slope if name == widest else others[name]) for name in points}


def _line(points: Points) -> tuple[float, float]:
    """The least-squares line: its value at 0 and its slope."""
    if len({clock for clock, _ in points}) < 2:
        raise ValueError("a line needs two clocks")
    clock, current = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope = sum((x - clock) * (y - current) for x, y in points) / sum((x - clock) ** 2 for x, _ in points)
    return current - slope * clock, slope


def _slope(points: Points, static: float) -> float:
    """The least-squares slope of a line that begins at ``static``."""
    return sum(x * (y - static) for x, y in points) / sum(x * x for x, _ in points)


def median_current(submissions: Mapping[str, tuple[float, float]]) -> Spread:
    """The median over submissions, each counted once by the middle of its least and largest current in mA."""
    middles = [(low + high) / 2 for low, high in submissions.values()]
    middle = median(middles)
    return Spread(middle, min(middles) / middle - 1, max(middles) / middle - 1)
