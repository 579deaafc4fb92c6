"""Physical figures of a machine fitted to measurements: which, from what, how well, and how well elsewhere.

The fit is least squares of the relative errors of all rows (:mod:`mcusim.evidence.calibrate.least_squares`), within
bounds (:mod:`mcusim.evidence.calibrate.parameters`); cycles come from the simulation itself, at every point. A fit that
the rows do not determine is refused by name: keys without an effect on any row, and keys whose effects on all rows are
alike. The leave-one-out error of a row is that of a fit without its *experiment* (all that was measured in the same
run, since energy, current and latency of one run say the same thing twice): one Gauss-Newton step from the full fit,
simulated there. A row has one when the other rows determine what it depends on.

The "+-" of a figure takes the residuals of all rows for one kind of noise: the misfit of a latency is in that of a
current. It leaves out that simulated time is a rough function of some figures, by hundredths of a cycle, where
refreshes fall elsewhere.

Not modelled: minima besides the nearest, measurement errors that differ between rows, errors of the model that no key
has (they end up in the keys: look at the residuals and at bounds that are hit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, floor
from pathlib import Path

import numpy as np

from mcusim.errors import UsageError
from mcusim.evidence.calibrate.calibration import Calibration, Fitted, FittedRow, UnfittedKey
from mcusim.evidence.calibrate.experiments import Rig
from mcusim.evidence.calibrate.identifiability import at_the_fit, chosen_keys, named_keys, without
from mcusim.evidence.calibrate.least_squares import Array, Mask, Problem, Solution, both_sides, leave_out, solve
from mcusim.evidence.calibrate.machine_file import machine_text, parent_of
from mcusim.evidence.calibrate.measurements import Row, read_measurements
from mcusim.evidence.calibrate.parameters import OVERHEAD, Parameter, candidates
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.run_config.settings import MachineArg, as_list, require_type

__all__ = ["Calibration", "calibrate"]


def calibrate(
    machine: str | Path | Machine,
    measurements: str | Path,
    keys: Sequence[str] | str | None = None,
    *,
    output: str | Path | None = None,
    progress: Callable[[object], object] | None = None,
) -> Calibration:
    """Fit figures of ``machine`` to the rows of the CSV file ``measurements``
    (:mod:`mcusim.evidence.calibrate.measurements`).

    ``keys`` are dotted machine keys of :mod:`mcusim.evidence.calibrate.parameters`, or ``operator_overhead``. None
    chooses those that the file does not give as measured or from a data sheet, that the rows see and that they tell
    apart, the ones with the largest effect first, and leaves one row more than keys. ``output`` is where
    ``Calibration.machine_text`` will be: the path by which it extends the machine is relative to it. ``progress`` is
    called after every simulation.

    Raises :class:`~mcusim.errors.InputError` for a machine, a file or a row that cannot be used, UsageError for a key
    that cannot be fitted and for a fit that the rows do not determine.
    """
    require_type("machine", machine, MachineArg)
    require_type("measurements", measurements, ((str, Path), "the path of a CSV file"))
    named = None if keys is None else list(dict.fromkeys(as_list("keys", keys, ((str,), "machine keys"))))
    target = machine if isinstance(machine, Machine) else load_machine(machine)
    if target.changes:
        raise UsageError(f"{target.name} was changed after loading; write {', '.join(target.changes)} into its file")
    file = None if output is None else Path(output)
    parent_of(target, file)
    rows = read_measurements(measurements)
    known = candidates(target, _overhead(target, rows))
    rig = Rig(target, rows, known, progress)
    rig.check()
    parameters, left = named_keys(named, known, rig) if named is not None else chosen_keys(known, rig)
    solution = _FitProblem(rig, parameters).solve()
    while flat := at_the_fit(parameters, solution):
        parameters, left = without(parameters, left, flat, named is not None)
        solution = _FitProblem(rig, parameters).solve()
    fit = _FitProblem(rig, parameters)
    return fit.result(solution, Path(measurements), left, file)


def _overhead(machine: Machine, rows: Sequence[Row]) -> int | None:
    """Where an interpreter's cycles start; None when no row is a network's."""
    from mcusim.runtime.planning_costs import operator_cycles

    return operator_cycles(machine.core.isa) if any(row.experiment.model for row in rows) else None


@dataclass(frozen=True)
class _FitProblem:
    rig: Rig
    parameters: tuple[Parameter, ...]

    @property
    def problem(self) -> Problem:
        low, high, doubt = ([getattr(p, name) for p in self.parameters] for name in ("low", "high", "doubt"))
        return Problem(self.residuals, *(np.array(values, float) for values in (low, high, doubt)))

    def values(self, x: Array) -> Mapping[str, float]:
        return {parameter.key: float(value) for parameter, value in zip(self.parameters, x, strict=True)}

    def residuals(self, x: Array) -> Array:
        """Relative errors of the rows."""
        values = self.rig.simulate(self.values(x))
        return np.array([value / row.value - 1 for value, row in zip(values, self.rig.rows, strict=True)])

    def solve(self) -> Solution:
        """The best point whose values are those that the file will have: whole ones by trying both neighbours."""
        x, steps = solve(self.problem, np.array([parameter.start for parameter in self.parameters]))
        whole = [i for i, p in enumerate(self.parameters) if p.stepped]
        options = [sorted({floor(x[i] + 1e-6), ceil(x[i] - 1e-6)}) for i in whole]
        points = [self._rounded(self._held(x, whole, values) if whole else x) for values in product(*options)]
        tried = [(point, self.residuals(point)) for point in points]
        best, residuals = min(tried, key=lambda pair: float(pair[1] @ pair[1]))
        slopes, effects = both_sides(self.problem, best, residuals, 0.25)
        return Solution(best, residuals, slopes, effects, steps)

    def _held(self, start: Array, whole: Sequence[int], values: Sequence[int]) -> Array:
        """``start`` with its ``whole`` parameters at ``values`` and the others fitted again."""
        x = start.copy()
        x[list(whole)] = values
        rest = [i for i in range(len(x)) if i not in whole]
        if not rest:
            return x

        def residuals(others: Array) -> Array:
            point = x.copy()
            point[rest] = others
            return self.residuals(point)

        problem = self.problem
        part = Problem(residuals, problem.low[rest], problem.high[rest], problem.doubt[rest])
        x[rest] = solve(part, x[rest])[0]
        return x

    def _rounded(self, x: Array) -> Array:
        values = [parameter.rounded(value) for parameter, value in zip(self.parameters, x, strict=True)]
        return np.clip(values, self.problem.low, self.problem.high)

    def result(
        self, solution: Solution, measurements: Path, left: tuple[UnfittedKey, ...], output: Path | None
    ) -> Calibration:
        fitted = self._parameters(solution)
        overhead = next((round(p.value) for p in fitted if p.key == OVERHEAD), None)
        return Calibration(
            machine=self.rig.machine.name,
            measurements=measurements.name,
            parameters=fitted,
            residuals=self._rows(solution),
            left=left,
            machine_text=machine_text(self.rig.machine, fitted, measurements.name, len(self.rig.rows), output),
            overhead=overhead,
            steps=solution.steps,
            runs=self.rig.played,
        )

    def _parameters(self, solution: Solution) -> tuple[Fitted, ...]:
        spare = len(solution.residuals) - len(solution.x)
        errors: list[float | None] = [None] * len(solution.x)
        if spare > 0:
            scaled = solution.jacobian * self.problem.doubt
            spread = np.sqrt(
                solution.residuals @ solution.residuals / spare * np.diag(np.linalg.pinv(scaled.T @ scaled))
            )
            errors = [float(value) for value in spread * self.problem.doubt]
        return tuple(
            Fitted(p.key, p.unit, p.start, float(value), p.text(value), p.low, p.high, p.doubt, error)
            for p, value, error in zip(self.parameters, solution.x, errors, strict=True)
        )

    def _rows(self, solution: Solution) -> tuple[FittedRow, ...]:
        before = self.rig.simulate({p.key: p.start for p in self.parameters})
        elsewhere = self._without_each(solution)
        return tuple(
            FittedRow(row.where, str(row.experiment), row.quantity, row.value, first, row.value * (1 + last), error)
            for row, first, last, error in zip(
                self.rig.rows, before, solution.residuals.tolist(), elsewhere, strict=True
            )
        )

    def _without_each(self, solution: Solution) -> list[float | None]:
        """Of every row, the error in percent when its experiment took no part in the fit."""
        errors: list[float | None] = [None] * len(self.rig.rows)
        for experiment in dict.fromkeys(row.experiment for row in self.rig.rows):
            inside = np.array([row.experiment == experiment for row in self.rig.rows])
            step, foreseen = leave_out(self.problem, solution, inside)
            values = self._only(inside).simulate(self.values(solution.x + step))
            for i, known, value in zip(np.flatnonzero(inside).tolist(), foreseen, values, strict=True):
                errors[i] = 100 * (value / self.rig.rows[i].value - 1) if known else None
        return errors

    def _only(self, inside: Mask) -> Rig:
        """The rig with some of its rows; what was played stays known."""
        rows = [row for row, kept in zip(self.rig.rows, inside, strict=True) if kept]
        return replace(self.rig, rows=rows)
