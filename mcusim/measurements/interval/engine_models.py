"""The errors of published rows, each inference engine by itself: rows of one say nothing of how far off another is.

An engine is a runtime with somebody's kernels (:func:`mcusim.runtime.runtime.inference_engines`), all builds of them
together; kernels that no engine has are one of their own. Each has a model of its own rows
(:mod:`mcusim.measurements.interval.error_model`), so that a machine without rows is judged by what its own rows differ
by between machines. An engine without rows is taken to be off by as much as the one whose prediction is the widest, in
either direction. Its energy is its time's error with that of a current, where that is wider. The ratio of two engines
has both errors, as if they had nothing in common. What two runs of one engine differ by, as by clock or policy, is not
its kernels' error: an engine with fewer than :data:`FEW` rows takes it from the one that has the most.

Not modelled: what two engines have in common on one board, as its clock's error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from math import hypot, log
from statistics import NormalDist
from typing import NamedTuple

from mcusim.measurements.interval.error_model import CURRENT, ErrorModel, mixture_quantile
from mcusim.measurements.interval.residuals import QUANTITIES, Residual, error_model, stored_residuals
from mcusim.measurements.interval.situation import code_of
from mcusim.results.measurement.interval import RunFeatures
from mcusim.run_config.kernel_choice import CHANGED
from mcusim.runtime.runtime import inference_engines

FEW = 8
Ends = tuple[float, float]
_ONCE = (1.0,)


class _Predicted(NamedTuple):
    """``middle`` and half of the ``width`` of an error's interval."""

    middle: float
    half: float


def engine_of(code: str) -> str:
    """The engine that has kernels of that :func:`code_of`, changed or not; that itself where none has."""
    return _engines().get(code.removesuffix(CHANGED), code)


@cache
def _engines() -> dict[str, str]:
    return {
        code_of(kernels): engine.name
        for runtime, engine in inference_engines()
        for kernels in ((engine.kernels,) if engine.kernels else (*runtime.builds, *runtime.kernels))
    }


class EngineModels:
    """Of ``residuals``, those of ``quantity``."""

    def __init__(self, residuals: Iterable[Residual], quantity: str) -> None:
        rows, groups = list(residuals), dict[str, list[Residual]]()
        for row in rows:
            if row.quantity == quantity:
                groups.setdefault(engine_of(row.situation.code), []).append(row)
        self._models = {engine: error_model(own, quantity) for engine, own in groups.items()}
        self._latency = EngineModels(rows, "latency") if quantity == "energy" else None

    def range(self, of: RunFeatures, level: float, times: Sequence[float] = _ONCE) -> Ends:
        """Low and high of ln(measured / simulated) of a run, which may be any of ``times`` as large."""
        own = self._own(of)
        return _ends(self._by_others(of, level), level, times) if own is None else own.range(of, level, times)

    def difference(self, first: RunFeatures, second: RunFeatures, level: float, times: Sequence[float] = _ONCE) -> Ends:
        """The same of the first's error less the second's; ``times``: of the first over the second."""
        if engine_of(first.code) == engine_of(second.code):
            return self._best_known(first).difference(first, second, level, times)
        a, b = (self._predicted(side, level) for side in (first, second))
        return _ends(_Predicted(a.middle - b.middle, hypot(a.half, b.half)), level, times)

    def widest(self, of: RunFeatures, level: float) -> str:
        """The engine whose width a run has that is of none with rows; empty where no engine has rows."""
        halves = {engine: _predicted(model, of, level).half for engine, model in self._models.items()}
        return max(halves, key=lambda engine: halves[engine], default="")

    def _best_known(self, of: RunFeatures) -> ErrorModel:
        """The model of the run's engine if that has many rows, else that of the engine with the most."""
        most = max(self._models.values(), key=lambda model: len(model.errors), default=ErrorModel([], []))
        own = self._own(of)
        return own if own is not None and len(own.errors) >= FEW else most

    def _own(self, of: RunFeatures) -> ErrorModel | None:
        return self._models.get(engine_of(of.code))

    def _predicted(self, of: RunFeatures, level: float) -> _Predicted:
        own = self._own(of)
        return self._by_others(of, level) if own is None else _predicted(own, of, level)

    def _by_others(self, of: RunFeatures, level: float) -> _Predicted:
        """Of an engine without rows."""
        models = self._models.values() or [ErrorModel([], [])]
        half = max(_predicted(model, of, level).half for model in models)
        if self._latency is not None:
            time = self._latency._predicted(of, level).half
            half = max(half, hypot(time, CURRENT * _reach(level)))
        return _Predicted(0.0, half)


def _predicted(model: ErrorModel, of: RunFeatures, level: float) -> _Predicted:
    low, high = model.range(of, level)
    return _Predicted((low + high) / 2, (high - low) / 2)


def _reach(level: float) -> float:
    """In standard deviations."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _ends(of: _Predicted, level: float, times: Sequence[float]) -> Ends:
    """Of a normal distribution of that width, which may be any of ``times`` as large."""
    import numpy as np

    weights, deviation = np.full(len(times), 1 / len(times)), np.full(len(times), of.half / _reach(level))
    means = np.array([of.middle + log(factor) for factor in times])
    low, high = (mixture_quantile(weights, means, deviation, p) for p in ((1 - level) / 2, (1 + level) / 2))
    return low, high


@lru_cache(maxsize=len(QUANTITIES))
def stored_models(quantity: str) -> EngineModels:
    """Of the residuals that ship."""
    return EngineModels(stored_residuals(), quantity)
