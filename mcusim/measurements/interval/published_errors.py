"""The published rows that intervals are made from: latencies and energies that were not used to fit any figure.

Residuals of rows that were used are no evidence of accuracy and have no part in this. Not modelled: the spread of the
measurements themselves, of which the publications say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import log

from mcusim.machine import load_shipped
from mcusim.measurements.interval.residuals import QUANTITIES, Residual
from mcusim.measurements.interval.situation import SHARE, code_of
from mcusim.measurements.published.stored import stored_outcomes, stored_rows
from mcusim.measurements.published.validation_result import ValidationRow
from mcusim.results.measurement.interval import RunFeatures

_UNKNOWN = "flags unknown"  # how a published build says so

Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedError(Residual):
    """The residual of ``row``."""

    row: ValidationRow


def published_errors(rows: Iterable[ValidationRow], figures: Figures) -> tuple[PublishedError, ...]:
    """Of the rows that count; ``figures`` of each run by its command, with the shares of its operators."""
    errors = []
    for row in rows:
        counts = row.quantity in QUANTITIES and row.use == "validate" and row.policy
        if counts and row.simulated and row.run in figures:
            situation, error = _situation(row, figures[row.run]), log(row.measured / row.simulated)
            errors.append(PublishedError(row.quantity, situation, error, row))
    return tuple(errors)


def _situation(row: ValidationRow, figures: Mapping[str, float]) -> RunFeatures:
    shares = ((name.removeprefix(SHARE), share) for name, share in figures.items() if name.startswith(SHARE))
    return RunFeatures(
        machine=row.machine,
        core=load_shipped(row.machine).core.isa,
        code=code_of(row.kernels),
        fidelity=row.fidelity,
        policy=f"{row.policy} {row.variant}".rstrip(),
        mix=tuple(shares),
        model=row.network,
        source=row.source,
        flags_known=_UNKNOWN not in row.build,
    )


@cache
def stored_errors() -> tuple[PublishedError, ...]:
    """From the figures that ship."""
    outcomes = stored_outcomes()
    return published_errors(stored_rows(), {run.command: outcome.figures for run, outcome in outcomes.items()})
