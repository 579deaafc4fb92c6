"""Intervals of a run's latency and energy and of the ratio of two runs, from the published rows that ship."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import exp, hypot, log2, sqrt

from mcusim.measurements.interval.engine_models import engine_of, stored_models
from mcusim.measurements.interval.residuals import stored_residuals
from mcusim.model.operators import shown_type
from mcusim.results.energy import Energy
from mcusim.results.measurement.interval import AS_PUBLISHED, LEVEL, Interval, RatioInterval, Ratios, RunFeatures

_USER = "the user"  # the source of both of two runs
DIGITS = 4  # of the ends of an interval
_FIGURE = {"latency": "latency_ms", "energy": "energy_mj"}
_ONCE = (1.0,)
_OUTER = sqrt(1.5)  # of two out of three points, one in the middle, in standard deviations
_NEAR = 0.7  # a mix of operators that a published run has in common to this extent counts as measured
_LARGE = 0.1  # share of the cycles in operators that no published run has, from which they are named


def interval(of: RunFeatures, energy: Energy) -> Interval:
    """Where measurements of that run's latency and energy are expected.

    Not modelled: what :mod:`mcusim.measurements.interval.error_model` does not model.
    """
    rows = _rows(of)
    latency, joules = (_scaled(getattr(energy, figure), _range(quantity, of)) for quantity, figure in _FIGURE.items())
    like = sum(
        (situation.machine, situation.code, situation.policy) == (of.machine, of.code, of.policy) for situation in rows
    )
    return Interval(LEVEL, latency, joules, len(rows), like, not_measured(of), of)


def ratios(first: tuple[RunFeatures, Energy], second: tuple[RunFeatures, Energy]) -> Ratios | None:
    """Of the first run's latency and energy over the second's; None when that takes no time or energy."""
    intervals = []
    for quantity, figure in _FIGURE.items():
        numerator, denominator = getattr(first[1], figure), getattr(second[1], figure)
        if not (numerator > 0 and denominator > 0):
            return None
        intervals.append(ratio_interval(first[0], second[0], numerator / denominator, quantity))
    return Ratios(*intervals)


def ratio_interval(first: RunFeatures, second: RunFeatures, simulated: float, quantity: str) -> RatioInterval:
    """That of the first run's figure over the second's, which is ``simulated``; ``quantity`` is a key of
    :data:`mcusim.measurements.interval.residuals.QUANTITIES`. Both are taken to be measured by the same people."""
    if first == second and simulated == 1.0:
        return RatioInterval(LEVEL, 1.0, 1.0, 1.0)  # one run
    situation, other = (replace(side, source=_USER) for side in (first, second))
    times = _relative(first, second, quantity)
    low, high = stored_models(quantity).difference(situation, other, LEVEL, times)
    return RatioInterval(LEVEL, kept(simulated), kept(simulated * exp(low)), kept(simulated * exp(high)))


@lru_cache(maxsize=512)
def _range(quantity: str, of: RunFeatures) -> tuple[float, float]:
    several = product(of.builds or _ONCE, _on(of, quantity), _around(of.unfitted))
    return stored_models(quantity).range(of, LEVEL, [a * b * c for a, b, c in several])


def _around(error: float) -> tuple[float, ...]:
    """Three factors, each as likely, whose logarithms have that root mean square."""
    away = exp(error * _OUTER)
    return (1 / away, 1.0, away) if error else _ONCE


def _on(of: RunFeatures, quantity: str) -> tuple[float, ...]:
    """What peripherals that are on make of the quantity: none, half, or all of them."""
    return (1.0, (1 + of.peripherals) / 2, of.peripherals) if quantity == "energy" and of.peripherals > 1 else _ONCE


def _relative(first: RunFeatures, second: RunFeatures, quantity: str) -> list[float]:
    """The first's factors over the second's: of the same build where both may be any of as many, with as many
    peripherals on where they are on the same board."""
    sides = first.builds or _ONCE, second.builds or _ONCE
    alike = len(sides[0]) == len(sides[1])
    builds = [a / b for a, b in (zip(*sides, strict=True) if alike else product(*sides))]
    on = _on(first, quantity), _on(second, quantity)
    same_board = first.machine == second.machine and len(on[0]) == len(on[1])
    others = [a / b for a, b in (zip(*on, strict=True) if same_board else product(*on))]
    return [a * b * c for a, b, c in product(builds, others, _around(hypot(first.unfitted, second.unfitted)))]


def _scaled(value: float, ends: tuple[float, float]) -> tuple[float, float]:
    """The ends around ``value``, which lies between them: builds and peripherals alone may make all others larger."""
    return kept(value * exp(min(ends[0], 0.0))), kept(value * exp(max(ends[1], 0.0)))


def kept(value: float) -> float:
    """As many digits as are the same on every machine."""
    return float(f"{value:.{DIGITS}g}")


def not_measured(of: RunFeatures) -> tuple[str, ...]:
    """What of a run no published row has, in words."""
    rows, texts = _rows(of), []
    if not rows:
        widest = stored_models("latency").widest(of, LEVEL)
        return (f"kernels {of.code[-80:]}, so that it is as wide as that of the widest engine, {widest}",)
    for name, words in (("machine", "machine {}"), ("code", "kernels {}"), ("policy", "policy {}")):
        if all(getattr(situation, name) != getattr(of, name) for situation in rows):
            texts.append(words.format(str(getattr(of, name))[-80:]))
    known = {(situation.machine, situation.code, situation.policy) for situation in rows}
    if not texts and (of.machine, of.code, of.policy) not in known:
        texts.append("this machine, these kernels and this policy together")
    texts += [of.setting] if of.setting != AS_PUBLISHED else []
    texts += [f"{of.clock:.3g} times its clock"] if abs(log2(of.clock)) > 1e-9 else []
    return (*texts, *_unmet_operators(of, rows))


def _rows(of: RunFeatures) -> list[RunFeatures]:
    """Published latencies of the run's engine."""
    engine, latencies = engine_of(of.code), (row for row in stored_residuals() if row.quantity == "latency")
    return [row.situation for row in latencies if engine_of(row.situation.code) == engine]


def _unmet_operators(of: RunFeatures, rows: list[RunFeatures]) -> list[str]:
    """Operators that make the mix unlike that of any row."""
    shares = [dict(situation.mix) for situation in rows]
    if any(sum(min(share, values.get(name, 0.0)) for name, share in of.mix) >= _NEAR for values in shares):
        return []
    far = [
        (name, share)
        for name, share in of.mix
        if share >= _LARGE and all(values.get(name, 0.0) < share / 2 for values in shares)
    ]
    named = ", ".join(f"{100 * share:.0f} % of the time in {shown_type(name)}" for name, share in far)
    return [f"its mix of operators{f' ({named})' if named else ''}"]
