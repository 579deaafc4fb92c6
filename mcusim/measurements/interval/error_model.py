"""The errors of published rows as draws of a hierarchical normal model, and what it predicts of a run's error.

The error of a row is e = ln(measured / simulated). Rows that have something in common share a part of it::

    e        = effects + own
    cov(i,j) = t^2 x sum over effects: weight x likeness of i and j  +  s^2 x own part of i and j
    with PRIOR in place of t for effects in which no rows differ

Effects are what two rows can have in common (:data:`WEIGHTS`): all rows share the first; ``machine``, ``core``,
``code``, ``fidelity``, ``policy`` and ``setting`` are alike or not; ``clock`` fades as exp(-(log2 of the ratio)^2 /
2); ``mix`` is the sum of the smaller of the two shares of each type of operator; ``source`` is shared by rows of one
publication alone, so that a run that nobody measured never has it. Three quarters of a row's own part are its
network's on its machine (:data:`OF_MODEL`). A source that does not know its compiler's flags has a further effect of
:data:`FLAGS`: kernels of 2020 by -Os and by -O3 (``cmsis-2020-os``, ``cmsis-2020``) differ by d = 0.21 in the
logarithm (root mean square of MLPerf Tiny's four networks, emulated on the nucleo-l4r5zi), and simulating one of the
two where each is equally likely errs by d / sqrt(2). So has a run whose kernels no row of known flags has: what build
a user has of them is not known.

Rows that do not differ in an effect say nothing of its scale: it is :data:`PRIOR` then, so that a clock, a setting or
kernels that no row has make the prediction wide however alike the rows are. The same holds for the types of operators
of which every row spends less than :data:`MET` (uint8, the interpreter). The other scales t and s are not known: they
are averaged over a grid, weighed by the rows' likelihood and a half-Cauchy prior of :data:`FLAGS`, what builds of
unknown flags differ by, so few rows and rows that disagree make the prediction wide, and two rows that are far off make
it about as wide as they are. What is predicted is a measurement, not a mean: between sources and boards as well as
within. What nobody said of a run, as the build of its kernels, is a choice of several, each as likely: the prediction
reaches beyond the least and the largest of them.

Source: Gaussian-process regression with several random effects, C. E. Rasmussen and C. K. I. Williams, "Gaussian
Processes for Machine Learning", 2006, 2.2 and 5.2; hierarchical models, A. Gelman et al., "Bayesian Data Analysis",
3rd edition, chapter 5. The weights are assumptions, chosen before the coverage was looked at; leave-one-out coverage
(:mod:`mcusim.measurements.interval.coverage`) is what checks them. Not modelled: errors that are not symmetric in the
logarithm, and scales that differ between sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

from mcusim.results.measurement.interval import RunFeatures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WEIGHTS = {
    "all": 1.0,
    "machine": 1.0,
    "core": 0.5,
    "code": 1.0,
    "fidelity": 0.25,
    "policy": 0.5,
    "setting": 0.5,
    "clock": 0.5,
    "mix": 1.0,
    "source": 1.0,
}
OF_MODEL = 0.75
MET = 0.1  # share of a row's time from which a type of operator counts as measured
FLAGS = 0.15  # of ln(measured / simulated): a build of unknown flags, simulated with others
CURRENT = 0.092  # of ln(measured / simulated): root mean square over the middles of scripts/evidence/currents/l4r5.csv
PRIOR = 0.1  # of effects that no rows speak of
_BY_VALUE = ("machine", "core", "code", "fidelity", "policy", "setting")
_ALWAYS = frozenset({"all", "mix", "source"})  # effects that any rows speak of
_SCALES = [0.01 * 1.25**step for step in range(28)]  # 1 % to a factor of 60
_ONCE = (1.0,)
_LIGHT = 1e-3  # of a point's weight in the grid, which is left out


class _Alike:
    """How alike each of ``first`` and each of ``second`` are in each effect, 0 to 1, as matrices."""

    def __init__(self, first: Sequence[RunFeatures], second: Sequence[RunFeatures]) -> None:
        self._first, self._second = first, second
        self.same = self._matrix([[run is other for other in second] for run in first])

    def _matrix(self, rows: Sequence[Sequence[bool]]) -> Array:
        import numpy as np

        return np.array(rows, float).reshape(len(self._first), len(self._second))

    def equal(self, *names: str) -> Array:
        """1 where all these features are equal."""
        feature = attrgetter(*names)
        second = [feature(run) for run in self._second]
        return self._matrix([[value == other for other in second] for value in map(feature, self._first)])

    def _apart(self, of: Callable[[Array, Array], Array], first: Any, second: Any) -> Array:
        import numpy as np

        return of(np.array(first, float)[:, None], np.array(second, float)[None, :]).astype(float)

    def common(self, without: Container[str] = ()) -> Array:
        """Sum of the smaller of the two shares of each type of operator, but for those of ``without``."""
        import numpy as np

        runs = (*self._first, *self._second)
        names = [*dict.fromkeys(name for run in runs for name, _ in run.mix if name not in without)]
        if not names:
            return np.zeros_like(self.same)
        shares = [dict(run.mix) for run in runs]
        table = np.array([[mix.get(name, 0.0) for name in names] for mix in shares]).reshape(len(runs), len(names))
        count = len(self._first)
        return cast("Array", np.minimum(table[:count, None], table[None, count:]).sum(axis=2))

    def of(self, effect: str) -> Array:
        """That of one of :data:`WEIGHTS`."""
        import numpy as np

        if effect in _BY_VALUE:
            return self.equal(effect)
        if effect == "mix":
            return self.common()
        if effect == "source":
            unknown = np.array([run.source is None for run in self._first], bool)[:, None]
            return np.maximum(self.same, np.where(unknown, 0.0, self.equal("source")))
        if effect == "clock":
            clocks = [[math.log2(run.clock) for run in side] for side in (self._first, self._second)]
            return self._apart(lambda a, b: np.exp(-((a - b) ** 2) / 2), *clocks)
        return np.ones_like(self.same)

    def likeness(self, effects: Iterable[str]) -> Array:
        """Sum over ``effects`` of weight times likeness."""
        import numpy as np

        return sum((WEIGHTS[name] * self.of(name) for name in effects), np.zeros_like(self.same))

    def own(self) -> Array:
        """The part of s^2 that two rows share."""
        import numpy as np

        return np.where(self.same > 0, 1.0, OF_MODEL * self.equal("model", "machine"))

    def flags(self) -> Array:
        """Covariance by unknown flags, which rows share that one source has of the same kernels."""
        import numpy as np

        known = [np.array([run.flags_known for run in side], bool) for side in (self._first, self._second)]
        unknown = ~known[0][:, None] & ~known[1][None, :]
        return cast("Array", FLAGS**2 * unknown * np.maximum(self.same, self.equal("source", "code")))


def likeness(a: RunFeatures, b: RunFeatures, effects: Iterable[str] = WEIGHTS) -> float:
    """Sum over ``effects`` of weight times likeness, 0 to 1, of two situations."""
    return float(_Alike([a], [b]).likeness(effects)[0, 0])


@dataclass(frozen=True)
class _Grid:
    """Points of (t, s) with their weights, and at each what the rows say."""

    t2: Array
    s2: Array
    weights: Array
    inverse: Array  # of each covariance
    solved: Array  # inverse times the errors


class ErrorModel:
    """Fitted to ``errors``, ln(measured / simulated), of rows in ``situations``; none at all gives the prior alone.

    ``current`` is the scale of what a source's errors on one machine share, known beforehand.
    """

    def __init__(self, situations: Sequence[RunFeatures], errors: Sequence[float], current: float = 0.0) -> None:
        self._current = current
        self.situations = tuple(situations)
        self.errors = tuple(errors)
        differing = {
            name for name in (*_BY_VALUE, "clock") if len({getattr(situation, name) for situation in situations}) > 1
        }
        self._learned = [name for name in WEIGHTS if name in _ALWAYS | differing]
        self._assumed = [name for name in WEIGHTS if name not in self._learned]
        self._met = {name for situation in situations for name, share in situation.mix if share >= MET}
        self._grid = self._fitted()

    def _fitted(self) -> _Grid:
        import numpy as np

        t, s = (grid.ravel() for grid in np.meshgrid(_SCALES, _SCALES, indexing="ij"))
        covariance = self._covariance(self.situations, self.situations, t**2, s**2)
        errors, count = np.array(self.errors), len(self.errors)
        inverse = np.linalg.inv(covariance) if count else np.zeros((len(t), 0, 0))
        solved = inverse @ errors
        fit = -0.5 * (solved @ errors) - 0.5 * (np.linalg.slogdet(covariance)[1] if count else np.zeros(len(t)))
        prior = -1.5 * np.log1p((t**2 + s**2) / FLAGS**2) + np.log(t) + np.log(s)  # the grid is even in the logarithm
        log = fit + prior
        weights = np.exp(log - log.max())
        weights /= weights.sum()
        kept = weights > _LIGHT
        weights = weights[kept] / weights[kept].sum()
        return _Grid(t[kept] ** 2, s[kept] ** 2, weights, inverse[kept], solved[kept])

    def _covariance(self, first: Sequence[RunFeatures], second: Sequence[RunFeatures], t2: Array, s2: Array) -> Array:
        alike = _Alike(first, second)
        # by what the rows do not speak of
        assumed = PRIOR**2 * (alike.likeness(self._assumed) + WEIGHTS["mix"] * alike.common(without=self._met))
        assumed += alike.flags() + self._current**2 * alike.equal("machine") * alike.of("source")
        return t2[:, None, None] * alike.likeness(self._learned) + s2[:, None, None] * alike.own() + assumed

    def range(self, of: RunFeatures, level: float, times: Sequence[float] = _ONCE) -> tuple[float, float]:
        """Low and high of the error of a measurement of ``of``, which it is within with probability ``level``; it may
        be any of ``times`` as large, each as likely."""
        mean, covariance = self._predicted((of,))
        return self._quantiles(mean[:, 0], covariance[:, 0, 0], level, times)

    def difference(
        self, first: RunFeatures, second: RunFeatures, level: float, times: Sequence[float] = _ONCE
    ) -> tuple[float, float]:
        """The same of the first's error less the second's; ``times``: of the first over the second."""
        mean, covariance = self._predicted((first, second))
        variance = covariance[:, 0, 0] + covariance[:, 1, 1] - 2 * covariance[:, 0, 1]
        return self._quantiles(mean[:, 0] - mean[:, 1], variance, level, times)

    def _predicted(self, of: Sequence[RunFeatures]) -> tuple[Array, Array]:
        """At each point of the grid the mean of the errors, and their covariance, given the rows."""
        grid, of = self._grid, [self._as_seen(situation) for situation in of]
        prior = self._covariance(of, of, grid.t2, grid.s2)
        shared = self._covariance(of, self.situations, grid.t2, grid.s2)
        mean = (shared @ grid.solved[:, :, None])[:, :, 0]
        return mean, prior - shared @ grid.inverse @ shared.transpose(0, 2, 1)

    def _as_seen(self, situation: RunFeatures) -> RunFeatures:
        """Of unknown flags unless a row of known flags has its kernels."""
        seen = any(row.code == situation.code and row.flags_known for row in self.situations)
        return situation if seen else replace(situation, flags_known=False)

    def _quantiles(self, mean: Array, variance: Array, level: float, times: Sequence[float]) -> tuple[float, float]:
        """Of the mixture over the grid, and over ``times``."""
        import numpy as np

        count = len(times)
        deviation = np.tile(np.sqrt(np.maximum(variance, 1e-12)), count)
        means = np.concatenate([mean + math.log(factor) for factor in times])
        weights, below = np.tile(self._grid.weights / count, count), (1 - level) / 2
        low, high = (mixture_quantile(weights, means, deviation, p) for p in (below, 1 - below))
        return low, high


def mixture_quantile(weights: Array, mean: Array, deviation: Array, p: float) -> float:
    """Of a mixture of normal distributions: Newton's steps, and halves of the bracket where one would leave it."""
    low, high = float((mean - 12 * deviation).min()), float((mean + 12 * deviation).max())
    points = list(zip(weights.tolist(), mean.tolist(), (deviation * math.sqrt(2)).tolist(), strict=True))
    middle = float(weights @ mean)
    spread = math.sqrt(float(weights @ (deviation**2 + (mean - middle) ** 2)))
    guess = middle + NormalDist().inv_cdf(p) * spread  # of one normal distribution
    for _ in range(60):
        over, slope = -p, 0.0
        for weight, center, scale in points:
            offset = (guess - center) / scale
            over += weight * 0.5 * (1 + math.erf(offset))
            slope += weight * math.exp(-offset * offset) / (scale * math.sqrt(math.pi))
        low, high = (guess, high) if over < 0 else (low, guess)
        step = guess - over / slope if slope > 0 else low
        if abs(step - guess) < 1e-12:
            break
        guess = step if low < step < high else (low + high) / 2
    return guess
