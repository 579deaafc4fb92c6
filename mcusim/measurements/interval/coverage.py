"""Whether the intervals keep their word: published rows predicted from rows of other sources, or of other boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from statistics import median

from mcusim.measurements.interval.engine_models import EngineModels, engine_of
from mcusim.measurements.interval.intervals import kept
from mcusim.measurements.interval.published_errors import PublishedError
from mcusim.measurements.interval.residuals import QUANTITIES
from mcusim.measurements.published.validation_result import Coverage, ValidationRow
from mcusim.results.measurement.interval import LEVEL

LEFT_OUT = ("source", "board", "row")
Ends = tuple[float, float]


def coverage(errors: Sequence[PublishedError], more: Sequence[PublishedError] = ()) -> tuple[Coverage, ...]:
    """Of ``errors`` by quantity and what is left out, predicted from them and ``more``; none for a quantity without
    rows."""
    return tuple(
        _coverage(quantity, left_out, own, more)
        for quantity in QUANTITIES
        if (own := [error for error in errors if error.quantity == quantity])
        for left_out in LEFT_OUT
    )


def _coverage(
    quantity: str, left_out: str, errors: Sequence[PublishedError], more: Sequence[PublishedError]
) -> Coverage:
    entries = predicted(errors, left_out, more)
    half = [50 * (exp(high) - exp(low)) for low, high in entries.values()]
    off = [
        abs(2 * published_error.error - low - high) / (high - low) for published_error, (low, high) in entries.items()
    ]
    covered = sum(value <= 1 for value in off)
    needed = -(-int(1000 * LEVEL) * len(off) // 1000)  # rows, rounded up
    narrower = sorted(off)[needed - 1] if covered >= needed else None
    return Coverage(quantity, left_out, LEVEL, len(off), covered, median(half), narrower, _by_engine(entries))


def _by_engine(entries: Mapping[PublishedError, Ends]) -> tuple[tuple[str, int, int], ...]:
    """Engine, rows inside their interval, rows."""
    inside: dict[str, list[bool]] = {}
    for error, (low, high) in entries.items():
        inside.setdefault(engine_of(error.situation.code), []).append(low <= error.error <= high)
    return tuple((engine, sum(values), len(values)) for engine, values in inside.items())


def predicted(
    errors: Sequence[PublishedError], left_out: str, more: Sequence[PublishedError] = ()
) -> dict[PublishedError, Ends]:
    """Ends of the interval of each of ``errors``, of one quantity, from those of them and ``more`` that differ in
    ``left_out``."""
    result = {}
    for error in errors:
        others = [other for other in (*errors, *more) if _apart(error.row, other.row, left_out) and other is not error]
        result[error] = EngineModels(others, error.quantity).range(error.unmeasured, LEVEL)
    return result


def _apart(row: ValidationRow, other: ValidationRow, left_out: str) -> bool:
    return left_out == "row" or bool(getattr(row, left_out) != getattr(other, left_out))


def row_intervals(errors: Sequence[PublishedError], more: Sequence[PublishedError] = ()) -> dict[ValidationRow, Ends]:
    """Of each row of ``errors`` the interval that rows of other sources give, in its unit."""
    result = {}
    for quantity in QUANTITIES:
        ends = predicted([error for error in errors if error.quantity == quantity], "source", more)
        for published_error, (low, high) in ends.items():
            simulated = published_error.row.simulated or 0.0
            result[published_error.row] = (kept(simulated * exp(low)), kept(simulated * exp(high)))
    return result
