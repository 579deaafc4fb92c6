"""The result of a calibration: fitted figures and the errors before and after, as data, text and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from mcusim.display import Displayed
from mcusim.text import columns, percent, wrapped

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
class UnfittedKey:
    """A key that was not fitted, why, and a measurement that would show it."""

    key: str
    reason: str
    measure: str


@dataclass(frozen=True)
class Calibration(Displayed):
    """``machine_text`` is the TOML that extends the machine with the fitted figures; nothing else is in it.

    ``overhead``: an interpreter's cycles an operator, when they were fitted; they are no figure of a machine.
    ``runs`` simulations and ``steps`` of the fit led there.
    """

    machine: str
    measurements: str
    parameters: tuple[Fitted, ...]
    residuals: tuple[FittedRow, ...]
    left: tuple[UnfittedKey, ...]
    machine_text: str = field(repr=False)
    overhead: int | None
    steps: int
    runs: int

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

    def _line(self) -> str:
        rms = f"error {self.rms_before:.3g} % before, {self.rms_after:.3g} % after"
        return (
            f"{self.machine[:60]}: {len(self.parameters)} figures fitted to {len(self.residuals)} measurements, {rms}"
        )


def rms(errors: Sequence[float]) -> float:
    """Root of the mean square."""
    return math.sqrt(sum(error * error for error in errors) / len(errors))


UNITS = {"latency_ms": "ms", "cycles": "cycles", "supply_current_ma": "mA", "energy_mj": "mJ"}
LONGEST = 29  # characters of a run's name
FAR = 5.0  # doubts: a figure that moves by more is reported


def calibration_json(calibration: Calibration) -> dict[str, Any]:
    """``parameters``, ``rows`` with errors in percent before, after and left out, ``left`` keys, and the sums."""
    return {
        "machine": calibration.machine,
        "measurements": calibration.measurements,
        "parameters": [_parameter(p) for p in calibration.parameters],
        "rows": [
            {
                "where": row.where,
                "experiment": row.experiment,
                "quantity": row.quantity,
                "measured": row.measured,
                "before": row.before,
                "after": row.after,
                "error_before_percent": row.error_before,
                "error_after_percent": row.error_after,
                "leave_one_out_percent": row.leave_one_out,
            }
            for row in calibration.residuals
        ],
        "left": [asdict(left) for left in calibration.left],
        "rms_before_percent": calibration.rms_before,
        "rms_after_percent": calibration.rms_after,
        "leave_one_out": calibration.leave_one_out,
        "operator_overhead": calibration.overhead,
        "steps": calibration.steps,
        "simulations": calibration.runs,
    }


def _parameter(p: Fitted) -> dict[str, Any]:
    return asdict(p) | {"at_bound": p.bound}


def calibration_table(calibration: Calibration) -> str:
    """The text that ``mcusim calibrate`` prints."""
    lines = [f"{calibration.machine}, fitted to {calibration.measurements}", ""]
    rows = [["fitted", "before", "after", "+-", "bounds"]]
    for p in calibration.parameters:
        spread = "-" if p.standard_error is None else _spread(p.standard_error)
        after = p.text.partition(" at ")[0]  # of a current at a clock: that clock is the machine's
        rows.append([p.key, f"{p.start:.4g}", after, spread, f"{p.low:.4g} to {p.high:.4g}"])
    lines += columns(rows)
    lines += ["", "  errors in percent of the measurement"]
    table = [["row", "run", "measured", "", "before", "after", "left out"]]
    for row in calibration.residuals:
        errors = [percent(e, short=True) for e in (row.error_before, row.error_after, row.leave_one_out)]
        line = row.where.rpartition(":")[2]
        table.append([line, _cut(row.experiment), _number(row.measured).rjust(8), UNITS[row.quantity], *errors])
    lines += columns(table, left=4)
    lines += ["", *_notes(calibration)]
    return "\n".join(lines)


def _spread(error: float) -> str:
    return "<0.01" if 0 < error < 0.01 else f"{error:.2g}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= value < 1e8 else f"{value:.4g}"


def _cut(text: str) -> str:
    """A run's name with its end left out where a terminal has no room for it."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _notes(calibration: Calibration) -> Iterator[str]:
    yield (
        f"  root of the mean squared error: {calibration.rms_before:.1f} % before, {calibration.rms_after:.1f} % after"
    )
    left_out = calibration.leave_one_out
    if left_out is None:
        yield "  left out: no row can be: without its run the others do not determine the keys"
    else:
        count = f"{left_out['rows']:.0f} of {len(calibration.residuals)} rows"
        yield f"  left out: {count}, median {left_out['median']:.1f} %, worst {left_out['worst']:.1f} %"
    for p in calibration.parameters:
        if p.bound:
            yield from wrapped(_bound(p))
        elif abs(p.value - p.start) > FAR * p.doubt:
            yield from wrapped(
                f"{p.key} has moved by {abs(p.value - p.start):.3g} {p.unit}, such figures are typically off by"
                f" {p.doubt:.2g}: something else may be off"
            )
    if calibration.overhead is not None:
        yield f"  operator_overhead is not a figure of a machine: run with --operator-overhead {calibration.overhead}"
    for left in calibration.left:
        if left.reason != HARDLY:
            yield from wrapped(f"not fitted: {left.key}, {left.reason}; measure {left.measure}")
    unseen = [left.key for left in calibration.left if left.reason == HARDLY]
    if unseen:
        yield from wrapped(f"not fitted, hardly any effect: {', '.join(unseen)}")


def _bound(p: Fitted) -> str:
    limit = f"{p.low if p.bound == 'low' else p.high:.4g} {p.unit}".strip()
    return f"{p.key} is at its bound of {limit}: the rows ask for what such hardware hardly does; something else is off"
