"""What a fit of machine figures to measurements gave, as data for its table and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

__all__ = ["HARDLY", "Calibration", "Fitted", "FittedRow", "Left", "rms"]


HARDLY = "hardly shows in any row"


@dataclass(frozen=True, slots=True)
class Fitted:
    """One key: where the fit began, where it ended, its bounds, in ``unit``; ``text`` is the value as the file has it.

    ``doubt`` is by how much such a figure is typically off. ``standard_error`` follows from the residuals, None when
    there are as many parameters as rows.
    """

    key: str
    unit: str
    start: float
    value: float
    text: str
    low: float
    high: float
    doubt: float
    standard_error: float | None

    @property
    def bound(self) -> str | None:
        """``low`` or ``high`` when the fit ended at that bound."""
        if self.value <= self.low:
            return "low"
        return "high" if self.value >= self.high else None


@dataclass(frozen=True, slots=True)
class FittedRow:
    """One measurement; errors in percent of it, positive when the simulation is above.

    ``leave_one_out`` is the error when the row's experiment took no part in the fit; None when the others do not
    determine the parameters.
    """

    where: str
    experiment: str
    quantity: str
    measured: float
    before: float
    after: float
    leave_one_out: float | None

    @property
    def error_before(self) -> float:
        return 100 * (self.before / self.measured - 1)

    @property
    def error_after(self) -> float:
        return 100 * (self.after / self.measured - 1)


@dataclass(frozen=True, slots=True)
class Left:
    """A key that was not fitted, why, and a measurement that would show it."""

    key: str
    reason: str
    measure: str


@dataclass(frozen=True)
class Calibration:
    """``machine_text`` is the TOML that extends the machine with the fitted figures; nothing else is in it.

    ``overhead``: an interpreter's cycles an operator, when they were fitted; they are no figure of a machine.
    ``runs`` simulations and ``steps`` of the fit led there.
    """

    machine: str
    measurements: str
    parameters: tuple[Fitted, ...]
    residuals: tuple[FittedRow, ...]
    left: tuple[Left, ...]
    machine_text: str = field(repr=False)
    overhead: int | None
    steps: int
    runs: int

    def __str__(self) -> str:
        """The table that ``mcusim calibrate`` prints."""
        from mcusim.evidence.calibrate.result import calibration_table

        return calibration_table(self)

    @property
    def rms_before(self) -> float:
        """Root of the mean squared error before, in percent."""
        return rms([row.error_before for row in self.residuals])

    @property
    def rms_after(self) -> float:
        """Root of the mean squared error after, in percent."""
        return rms([row.error_after for row in self.residuals])

    @property
    def leave_one_out(self) -> Mapping[str, float] | None:
        """``median`` and ``worst`` absolute error of rows that took no part, in percent; None when there is none."""
        errors = [abs(row.leave_one_out) for row in self.residuals if row.leave_one_out is not None]
        return {"rows": len(errors), "median": median(errors), "worst": max(errors)} if errors else None


def rms(errors: Sequence[float]) -> float:
    """Root of the mean square."""
    return math.sqrt(sum(error * error for error in errors) / len(errors))
