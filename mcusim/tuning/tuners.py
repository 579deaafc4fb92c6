"""Tuners: what to try next. Each proposes configurations by their numbers, and is told what they took.

``genetic`` follows the GATuner of microTVM in its idea: the fastest are crossed and changed. ``model`` follows the
cost-model tuners: a regression over features of the loop nest (:mod:`mcusim.tuning.features`) ranks what was not tried.
``replay`` tries what a replay expects to be fastest.

Not modelled: early stopping; a tuner goes on for as many trials as it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from math import e, inf, isfinite, log
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import numpy as np

from mcusim.errors import InputError, UsageError

if TYPE_CHECKING:
    from mcusim.tuning.config_space import Config, ConfigSpace
    from mcusim.tuning.tuner_warm_start import WarmTrial

Array = np.ndarray[Any, np.dtype[np.float64]]
FOREIGN = 0.2  # weight of a sample of another layer or board


class TunerFeatures(Protocol):
    """What a tuner sees of what is tuned: its ``space``, the features of a configuration's number, all of one length,
    what is expected of a configuration without a measurement (0: nothing), and how many a model may rank."""

    space: ConfigSpace
    pool: int

    def of(self, number: int) -> Array: ...
    def estimate(self, config: Config) -> float: ...


class Tuner:
    """Proposes for the space of ``features``; ``taken`` are the numbers it has proposed, the default one first."""

    def __init__(self, features: TunerFeatures, seed: int, task: str) -> None:
        self.features, self.space = features, features.space
        self.dice = np.random.default_rng([seed, crc32(task.encode())])
        self.taken: set[int] = set()
        self.predicted: dict[int, float] = {}  # cycles that a cost model expects of what it proposes
        self.cycles: dict[int, float] = {}  # of what was measured; endless for what gave no right output

    def propose(self, count: int) -> list[int]:
        """Up to ``count`` numbers that were not proposed before; none when the space has no more."""
        result = [] if self.taken else [self.space.number(self.space.default)]
        self.taken.update(result)
        ranked = self._ranked(count - len(result))
        while len(result) < count and (number := next(ranked, None)) is not None:
            if number not in self.taken:
                self.taken.add(number)
                result.append(number)
        return result

    def learn(self, numbers: Sequence[int], cycles: Sequence[float]) -> None:
        """What a batch took."""
        self.cycles.update(zip(numbers, cycles, strict=True))

    def warm(self, trials: Sequence[WarmTrial]) -> None:
        """Learn from trials of the same template for other layers or boards. Raises UsageError where it cannot."""
        if trials:
            raise UsageError("--warm is for the tuners genetic and model; others do not learn")

    def _ranked(self, count: int) -> Iterator[int]:
        """Numbers, those to be tried first in front; some may be taken."""
        raise NotImplementedError

    def _drawn(self) -> Iterator[int]:
        """Any that were not tried, without an end but that of the space."""
        while (number := self.space.drawn(self.dice, self.taken)) is not None:
            yield number

    def _best(self, count: int) -> list[int]:
        """Numbers of the fastest right ones."""
        right = sorted((cycles, number) for number, cycles in self.cycles.items() if isfinite(cycles))
        return [number for _, number in right[:count]]

    def _changed(self, number: int, rate: float) -> int | None:
        """A configuration with each knob's value changed with a probability of ``rate``; None where the rules do not
        allow it."""
        config = dict(self.space.config(number))
        for knob in self.space.knobs:
            if self.dice.random() < rate:
                config[knob.name] = knob.values[int(self.dice.integers(len(knob.values)))]
        return self.space.number(config) if self.space.allows(config) else None


class RandomTuner(Tuner):
    """Any configuration that was not tried yet, each as likely as another."""

    def _ranked(self, count: int) -> Iterator[int]:
        return self._drawn()


class GridTuner(Tuner):
    """All configurations, one after another."""

    def __init__(self, features: TunerFeatures, seed: int, task: str) -> None:
        super().__init__(features, seed, task)
        self._all = self.space.allowed()

    def _ranked(self, count: int) -> Iterator[int]:
        return self._all


class GeneticTuner(Tuner):
    """Children of the fastest ones so far: each knob from either parent, some changed."""

    PARENTS, TRIES, RATE = 8, 200, 1.5
    _first: Sequence[Config] = ()

    def warm(self, trials: Sequence[WarmTrial]) -> None:
        """The fastest ones are tried first, where this space has them."""
        self._first = [trial.config for trial in sorted(trials, key=lambda trial: trial.against_default)]

    def _ranked(self, count: int) -> Iterator[int]:
        parents = self._best(self.PARENTS)
        if not parents:
            yield from islice(filter(None, map(self._here, self._first)), self.PARENTS)
        if len(parents) >= 4:
            for _ in range(self.TRIES):
                child = self._child(parents)
                if child is not None:
                    yield child
        yield from self._drawn()

    def _here(self, config: Config) -> int | None:
        """The number of a configuration, where this space has and allows it."""
        try:
            return self.space.number(config) if self.space.allows(config) else None
        except InputError:
            return None

    def _child(self, parents: Sequence[int]) -> int | None:
        first, second = (self.space.config(min(self._two(parents), key=self.cycles.__getitem__)) for _ in range(2))
        config = {name: (first if self.dice.random() < 0.5 else second)[name] for name in first}
        return self._changed(self.space.number(config), self.RATE / len(self.space.knobs))

    def _two(self, parents: Sequence[int]) -> list[int]:
        return [parents[int(self.dice.integers(len(parents)))] for _ in range(2)]


class ModelTuner(Tuner):
    """Those that a model of the cycles ranks first: trees over the features, trained on what was measured.

    The first batch is half what the replay's estimate ranks first, half drawn. Later ones are ranked by the trees' mean
    less half of their spread, of all configurations or of drawn ones and relatives of the fastest; one of eight is
    drawn.
    """

    POOL, WHOLE, RELATIVES, TREES, DARING = 1500, 6000, 400, 120, 0.5

    def __init__(self, features: TunerFeatures, seed: int, task: str) -> None:
        super().__init__(features, seed, task)
        self.regressor = _regressor()
        self._space: list[int] | None = None
        self._foreign: list[tuple[Array, float]] = []

    def warm(self, trials: Sequence[WarmTrial]) -> None:
        """They are samples of the model, of a fifth of the weight of this layer's own."""
        self._foreign = [(trial.features, log(trial.against_default)) for trial in trials]

    def _ranked(self, count: int) -> Iterator[int]:
        pool = self._pool()
        if len(self._best(4)) < 4 and not self._foreign:
            ranked = sorted(pool, key=lambda number: self.features.estimate(self.space.config(number)))
            drawn = self._drawn()
            for number in ranked:
                yield number
                yield next(drawn, number)
            return
        scores, means = self._scores(pool)
        order = [pool[i] for i in np.argsort(scores, kind="stable")]
        expected = dict(zip(pool, means, strict=True))
        for number in order[: max(1, count - count // 8)]:
            self.predicted[number] = float(np.exp(expected[number])) * next(iter(self.cycles.values()), 1.0)
            yield number
        yield from self._drawn()

    def _pool(self) -> list[int]:
        """What may be proposed: all that is left of a small space, else some of it and relatives of the fastest."""
        most, whole = min(self.POOL, self.features.pool), min(self.WHOLE, 4 * self.features.pool)
        if self.space.size <= whole * 4:
            self._space = [*self.space.allowed()] if self._space is None else self._space
            if len(self._space) <= whole:
                return [number for number in self._space if number not in self.taken]
        drawn: dict[int, None] = {}
        for number in self._drawn():
            if len(drawn) >= most or number in drawn:
                break
            drawn[number] = None
        best = self._best(8)
        for _ in range(min(self.RELATIVES, most) if best else 0):
            relative = self._changed(best[int(self.dice.integers(len(best)))], 2 / len(self.space.knobs))
            if relative is not None and relative not in self.taken:
                drawn[relative] = None
        return [*drawn]

    def _scores(self, pool: Sequence[int]) -> tuple[Any, Any]:
        own = [cycles for cycles in self.cycles.values() if isfinite(cycles)]
        base, worst = (own[0], max(own)) if own else (1.0, 1.0)
        samples = [
            (self.features.of(number), log((cycles if cycles != inf else e * worst) / base), 1.0)
            for number, cycles in self.cycles.items()
        ] + [(features, against, FOREIGN) for features, against in self._foreign]
        known, took, weights = zip(*samples, strict=True)
        model = self.regressor(n_estimators=self.TREES, random_state=int(self.dice.integers(1 << 31)), n_jobs=1)
        model.fit(np.stack(known), took, sample_weight=weights)
        rows = np.stack([self.features.of(number) for number in pool])
        trees = np.stack([tree.predict(rows) for tree in model.estimators_])
        means = trees.mean(axis=0)
        return means - self.DARING * trees.std(axis=0), means


class ReplayTuner(Tuner):
    """Those that the replay expects to be fastest: each value of each knob alone, the best of each together, then a few
    knobs at a time of the best ones changed."""

    STEPS, PARENTS, RATE = 12, 6, 2.0

    def __init__(self, features: TunerFeatures, seed: int, task: str) -> None:
        super().__init__(features, seed, task)
        self._expected: dict[int, float] = {}

    def _ranked(self, count: int) -> Iterator[int]:
        if not self._expected:
            self._alone()
        for _ in range(self.STEPS * count):
            best = sorted(self._expected, key=self._key)[: self.PARENTS]
            self._look(self._changed(best[int(self.dice.integers(len(best)))], self.RATE / len(self.space.knobs)))
        plain = self.space.number(self.space.default)
        ratio = self.cycles.get(plain, self._expected[plain]) / self._expected[plain]
        for number in sorted(self._expected, key=self._key):
            if number not in self.taken and self._expected[number] < inf:
                self.predicted[number] = self._expected[number] * ratio
                yield number
        yield from self._drawn()

    def _key(self, number: int) -> tuple[float, int]:
        return self._expected[number], number

    def _look(self, number: int | None) -> float:
        if number is None:
            return inf
        if number not in self._expected:
            self._expected[number] = self.features.estimate(self.space.config(number))
        return self._expected[number]

    def _alone(self) -> None:
        """Each value of each knob with the others as they are by default; then the best of each, together, and added
        one by one."""
        plain = dict(self.space.default)
        took = {knob.name: {v: self._at({**plain, knob.name: v}) for v in knob.values} for knob in self.space.knobs}
        best = {name: min(values, key=values.__getitem__) for name, values in took.items()}
        gains = sorted(best, key=lambda name: took[name][best[name]])
        added = plain
        for name in gains:
            tried = {**added, name: best[name]}
            if self._at(tried) < self._at(added):
                added = tried

    def _at(self, config: Config) -> float:
        return self._look(self.space.number(config)) if self.space.allows(config) else inf


def _regressor() -> Any:
    try:
        return import_module("sklearn.ensemble").ExtraTreesRegressor
    except ImportError:
        raise UsageError("--tuner model needs scikit-learn: pip install 'mcusim[tune]'") from None


TUNERS: Mapping[str, Callable[[TunerFeatures, int, str], Tuner]] = {
    "random": RandomTuner, "grid": GridTuner, "genetic": GeneticTuner, "model": ModelTuner, "replay": ReplayTuner,
}  # fmt: skip
