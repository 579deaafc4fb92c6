"""The points of a study: all combinations of its axes, one value of each at a time, or a Latin hypercube."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from random import Random

from mcusim.errors import StudyError, UsageError
from mcusim.sweeps.expressions import Value
from mcusim.sweeps.study import Sampling, Study

MOST_POINTS = 100_000  # that are run
MOST_DRAWN = 1_000_000  # before the filters

Point = tuple[Value, ...]


def total(study: Study) -> int:
    """How many points there are before the filters."""
    crossed = (study.models, study.machines, study.policies, study.kernels or (None,), study.fidelities)
    return prod(len(names) for names in crossed) * _count(study)


def _count(study: Study) -> int:
    if study.sampling.method == "latin-hypercube":
        return study.sampling.points or 0
    lengths = [len(axis.values) for axis in study.axes]
    return prod(lengths) if study.sampling.method == "grid" else max(lengths, default=1)


def points(study: Study) -> list[Point]:
    """The points that pass the filters, the values in the order of ``study.inputs``; always the same, in one order.

    Raises StudyError when there are none or too many, or a filter cannot be computed.
    """
    if total(study) > MOST_DRAWN:
        raise StudyError(f"{study.name}: has {total(study):,} points before its filters; at most {MOST_DRAWN:,}")
    result = [point for point in _drawn(study) if _kept(study, point)]
    if not result:
        raise StudyError(f"{study.name}: no point passes its filters, of {total(study):,}")
    if len(result) > MOST_POINTS:
        raise StudyError(f"{study.name}: has {len(result):,} points; at most {MOST_POINTS:,}: split it")
    return result


def _drawn(study: Study) -> Iterator[Point]:
    """Points; a runtime with kernels of its own has the same ones whichever are named, and is there once."""
    sampled = list(_sampled(study))
    keys, named = [axis.key for axis in study.axes], study.kernels or (None,)
    crossed = product(study.models, study.machines, study.policies, range(len(named)), study.fidelities)
    for model, machine, policy, number, fidelity in crossed:
        for values in sampled:
            under = dict(zip(keys, values, strict=True))
            *before, kernels = (study.kernels_of(name, under) for name in named[: number + 1])
            if kernels not in before:
                yield (model, machine, policy, kernels, fidelity, *values)


def _sampled(study: Study) -> Iterator[Point]:
    values = [axis.values for axis in study.axes]
    if study.sampling.method == "grid":
        return product(*values)
    if study.sampling.method == "list":
        return zip(*values, strict=True) if values else iter([()])
    return zip(*_hypercube(study.sampling, values), strict=True) if values else iter([()])


def _hypercube(sampling: Sampling, values: list[tuple[Value, ...]]) -> list[list[Value]]:
    """Of each axis a column of as many values as there are points: every n-th part of the axis is met once.

    Drawn with ``Random.random`` alone, whose numbers Python promises not to change.
    """
    random, count = Random(sampling.seed), sampling.points or 0
    columns = []
    for of_axis in values:
        keys = [random.random() for _ in range(count)]
        strata = sorted(range(count), key=lambda n: (keys[n], n))
        columns.append([of_axis[int((stratum + random.random()) / count * len(of_axis))] for stratum in strata])
    return columns


def _kept(study: Study, point: Point) -> bool:
    row = dict(zip(study.inputs, point, strict=True))
    for expression in study.where:
        try:
            if not expression(row):
                return False
        except UsageError as error:
            raise StudyError(f"{expression.place or study.name}: {error}") from None
    return True
