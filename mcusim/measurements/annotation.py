"""What was measured of a run, and where a measurement of it is to be expected.

A firmware's own schedule has neither: what was published is of inferences. Not modelled: what
:mod:`mcusim.measurements.published.matching` and :mod:`mcusim.measurements.interval.error_model` say they do not.
"""

from __future__ import annotations

from dataclasses import replace

from mcusim.engine.run import Run
from mcusim.machine.description import Machine
from mcusim.measurements.interval.builds import builds_of
from mcusim.measurements.interval.intervals import interval
from mcusim.measurements.interval.situation import situation
from mcusim.measurements.interval.unfitted import Unfitted, of_floats, unfitted
from mcusim.measurements.published.deviation import differs_from_published
from mcusim.measurements.published.matching import published_for, published_for_program
from mcusim.program.program import Program
from mcusim.results.energy import Energy, with_peripherals
from mcusim.results.measurement.interval import Interval, RunFeatures
from mcusim.results.measurement.measured import Measured
from mcusim.run_config.kernel_choice import CHANGED
from mcusim.run_config.settings import RunRequest, Settings

_DIGITS = 3


def measured_of(request: RunRequest, machine: Machine) -> Measured | None:
    """The published figures of that very experiment."""
    if request.graph is not None and not request.given:
        return published_for(request.graph, machine, request.settings, request.program)
    if request.program is None or request.program.header.recorded:
        return None
    return published_for_program(request.program, machine, request.settings)


def interval_of(request: RunRequest, machine: Machine, run: Run, energy: Energy) -> Interval | None:
    """Where a measurement of ``run`` is expected."""
    if run.header.recorded:
        return None
    chosen, program = request.settings, request.program
    deviation = differs_from_published(run.header, machine, chosen.run)
    outside = _unfitted(chosen, program, machine, run)
    interval = expected(_features(request, machine, run, deviation, outside), machine, energy)
    return replace(interval, not_fitted=outside.text(chosen.kernels.label(run.kernels)))


def features_of(chosen: Settings, program: Program, machine: Machine, run: Run) -> RunFeatures:
    """What ``run`` of ``program`` may have in common with measured ones, and the builds that kernels which nobody named
    may be."""
    request = RunRequest(chosen, program=program)
    return _features(request, machine, run, None, _unfitted(chosen, program, machine, run))


def _features(request: RunRequest, machine: Machine, run: Run, deviation: str | None, outside: Unfitted) -> RunFeatures:
    chosen, program = request.settings, request.program
    kernels = chosen.kernels.stands_for
    features = situation(run, program, machine, kernels, deviation)
    code = features.code + (CHANGED if chosen.kernels.changed else "")
    features = replace(features, code=code, unfitted=round(outside.error, _DIGITS))
    if program is None or chosen.kernels.named:
        return features
    return replace(features, builds=builds_of(run, program, machine, kernels, chosen.options.runtime.builds))


def _unfitted(chosen: Settings, program: Program | None, machine: Machine, run: Run) -> Unfitted:
    if program is None:
        return Unfitted()
    if run.fidelity != "replay":
        return of_floats(run, program)
    profile = chosen.kernels.cost_profile().without(chosen.options.runtime.left_out)
    return unfitted(run, program, machine.core.isa, profile)


def expected(features: RunFeatures, machine: Machine, energy: Energy) -> Interval:
    """Where a measurement of a run of these features is expected, which took ``energy`` on ``machine``."""
    more = round(with_peripherals(energy, machine), _DIGITS)
    return interval(replace(features, peripherals=more), energy)
