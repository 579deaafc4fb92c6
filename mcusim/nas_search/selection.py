"""Which networks of a population live: the best by one figure, or NSGA-II's selection by several (Deb et al. 2002).

Not modelled: preferences among several; a front is returned whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar

from mcusim.errors import UsageError

OBJECTIVES = {"score": 1, "latency": -1, "macs": -1, "ram": -1, "flash": -1}  # 1: the more the better


class Valued(Protocol):
    """What is selected: its ``values`` of objectives, each the more the better, and its ``genes``, which say which of
    equal ones comes first."""

    @property
    def genes(self) -> tuple[int, ...]: ...
    def values(self, objectives: Sequence[str]) -> tuple[float, ...]: ...


V = TypeVar("V", bound=Valued)


def selected(candidates: Sequence[V], count: int, objectives: Sequence[str]) -> list[V]:
    """The best ``count``, the best first; of several objectives those of the first fronts, and of the last one that
    has room those furthest from others. Raises UsageError without the package for several."""
    ordered = sorted(candidates, key=lambda item: (-item.values(objectives)[0], item.genes))
    if len(objectives) == 1:
        return ordered[:count]
    tools, points = _points(ordered, objectives)
    return [ordered[point.place] for point in tools.selNSGA2(points, min(count, len(points)))]


def front_of(candidates: Sequence[V], objectives: Sequence[str]) -> list[V]:
    """Those that no other one is better than by all objectives, the best by the first one first."""
    ordered = sorted(candidates, key=lambda item: (-item.values(objectives)[0], item.genes))
    if len(objectives) == 1:
        return ordered[:1]
    tools, points = _points(ordered, objectives)
    first = tools.sortNondominated(points, len(points), first_front_only=True)[0] if points else []
    return [ordered[place] for place in sorted(point.place for point in first)]


def spread(candidates: Sequence[V], count: int) -> list[V]:
    """``count`` of them from the first to the last, evenly; the first where one is wanted."""
    if len(candidates) <= count:
        return [*candidates]
    if count == 1:
        return [candidates[0]]
    return [candidates[round(index * (len(candidates) - 1) / (count - 1))] for index in range(count)]


def _points(candidates: Sequence[V], objectives: Sequence[str]) -> tuple[Any, list[Any]]:
    try:
        from deap import base, tools
    except ImportError:
        raise UsageError('several objectives need the package "deap": pip install "mcusim[nas]"') from None
    fitness = type("MoreIsBetter", (base.Fitness,), {"weights": (1.0,) * len(objectives)})
    values = [candidate.values(objectives) for candidate in candidates]
    return tools, [SimpleNamespace(place=index, fitness=fitness(own)) for index, own in enumerate(values)]
