"""The published rows that intervals are made from: latencies and energies that were not used to fit any figure.

Residuals of rows that were used are no evidence of accuracy and have no part in this. Not modelled: the spread of the
measurements themselves, of which the publications say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log

from mcusim.machine import load_shipped
from mcusim.measurements.interval.error_model import CURRENT, ErrorModel
from mcusim.measurements.interval.situation import SHARE, code_of
from mcusim.measurements.published.stored import stored_outcomes, stored_rows
from mcusim.measurements.published.validation_result import ValidationRow
from mcusim.results.measurement.interval import RunFeatures

QUANTITIES = ("latency", "energy")
_UNKNOWN = "flags unknown"  # how a published build says so

Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedError:
    """``error`` is ln(measured / simulated) of ``row``, whose run was in ``situation``."""

    row: ValidationRow
    situation: RunFeatures
    error: float

    @property
    def unmeasured(self) -> RunFeatures:
        """The same run as a user's: of no publication."""
        return replace(self.situation, source=None)


def published_errors(rows: Iterable[ValidationRow], figures: Figures) -> tuple[PublishedError, ...]:
    """Of the rows that count; ``figures`` of each run by its command, with the shares of its operators."""
    errors = []
    for row in rows:
        counts = row.quantity in QUANTITIES and row.use == "validate" and row.policy
        if counts and row.simulated and row.run in figures:
            errors.append(PublishedError(row, _situation(row, figures[row.run]), log(row.measured / row.simulated)))
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


def error_model(errors: Iterable[PublishedError], quantity: str) -> ErrorModel:
    """Fitted to those of ``quantity``."""
    own = [error for error in errors if error.row.quantity == quantity]
    current = CURRENT if quantity == "energy" else 0.0
    return ErrorModel(
        [published_error.situation for published_error in own],
        [published_error.error for published_error in own],
        current,
    )


@lru_cache(maxsize=len(QUANTITIES))
def stored_model(quantity: str) -> ErrorModel:
    """Fitted to the figures that ship."""
    return error_model(stored_errors(), quantity)
