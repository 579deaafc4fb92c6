"""A sweep's table as its plots need it: points, the inputs that vary, their levels, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, isnan, log
from typing import Any, Protocol

from mcusim.report.html.page import plain, shortened
from mcusim.text import KEPT_UNITS, UnitScale, pick_unit, with_unit
from mcusim.units import column_unit, largest_unit, magnitude

# distinguishable with any colour vision: M. Okabe and K. Ito, "Color Universal Design", 2008
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7d8590", "#a3a500")
SYMBOLS = ("circle", "diamond", "square", "cross")
GOOD, BAD = "#009e73", "#d55e00"
OUTPUTS = {"latency_ms": ("latency", "ms"), "energy_mj": ("energy", "mJ"), "peak_sram_bytes": ("peak SRAM", "KiB")}
_LEVELS, _BINS = 12, 6  # more levels than these are put into so many bins
Point = Mapping[str, Any]


class StudyLike(Protocol):
    """What a page needs of a study."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def units(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Level:
    """One value of an input, or a range of values; ``has`` says which points have it."""

    label: str
    has: Callable[[Any], bool]


class Sweep:
    """``points`` are the rows of the table, ``ran`` those with a latency; missing values are None."""

    def __init__(self, rows: Sequence[Point], study: StudyLike) -> None:
        self.study = study
        self.points = [{name: _known(value) for name, value in row.items()} for row in rows]
        self.ran = [point for point in self.points if point["status"] == "ok"]
        self.scales = {name: self._scale(name) for name in OUTPUTS}

    def _scale(self, output: str) -> UnitScale:
        """The unit that suits an output's largest value."""
        unit = OUTPUTS[output][1]
        values = [point.get(output) for point in self.ran]
        return UnitScale(unit, 1 / 1024) if unit == "KiB" else pick_unit(unit, values)

    def title(self, output: str) -> str:
        """An output with its unit: ``latency, ms``."""
        return f"{OUTPUTS[output][0]}, {self.scales[output].unit}"

    def scale(self, name: str) -> UnitScale:
        """The unit that suits the largest output, or the smallest input, of a column of numbers."""
        if name in self.scales:
            return self.scales[name]
        unit = self.study.units.get(name) or column_unit(name)
        values = [value for point in self.points if isinstance(value := point.get(name), int | float)]
        if unit in KEPT_UNITS:
            return pick_unit(unit, values)
        factor, largest = largest_unit(min((abs(value) for value in values if value), default=0), unit)
        return UnitScale(largest, float(1 / factor))

    def heading(self, name: str) -> str:
        """A column and its unit: ``sram_budget, KiB``; plotly's markup."""
        unit = self.scale(name).unit
        return f"{plain(OUTPUTS[name][0] if name in OUTPUTS else name)}{f', {unit}' if unit else ''}"

    def scaled(self, output: str, value: float) -> float:
        """An output in the unit of its title."""
        return value * self.scales[output].factor

    def shown(self, output: str, value: float) -> str:
        """An output in the unit of its title, as text."""
        return self.scales[output].shown(value)

    @cached_property
    def varying(self) -> list[str]:
        """Inputs of more than one value, the model left out."""
        return [name for name in self.study.inputs if name != "model" and len(self.values(name)) > 1]

    @cached_property
    def models(self) -> list[str]:
        """The models, in the order of the table."""
        return [str(value) for value in self.values("model")]

    def values(self, name: str) -> list[Any]:
        """The values of an input: quantities from small to large, others as they come in the table."""
        values = list(dict.fromkeys(point[name] for point in self.points))
        numbers = [_quantity(value) for value in values]
        known = [number for number in numbers if number is not None]
        if len(known) < len(values):
            return values
        return [value for _, value in sorted(zip(known, values, strict=True), key=lambda pair: pair[0])]

    def levels(self, name: str) -> list[Level]:
        """Its values, or ranges of about as many points each where there are many."""
        values = self.values(name)
        if len(values) <= _LEVELS:
            return [Level(self.label(name, value), _is(value)) for value in values]
        cuts = [values[len(values) * n // _BINS : len(values) * (n + 1) // _BINS] for n in range(_BINS)]
        return [Level(f"{self.label(name, cut[0])} – {self.label(name, cut[-1])}", _among(cut)) for cut in cuts]

    def label(self, name: str, value: Any) -> str:
        """:meth:`text`, shortened, in plotly's markup."""
        return plain(shortened(self.text(name, value), 40))

    def text(self, name: str, value: Any) -> str:
        """A value of an input as a reader knows it."""
        whole = isinstance(value, float) and value.is_integer()  # pandas has no whole numbers beside missing ones
        return with_unit(int(value) if whole else value, self.study.units.get(name, ""))

    def with_ends(self, name: str, point: Point) -> str:
        """The figure of a point in the unit of its title, with its interval where it has one; a dash without it."""
        if point.get(name) is None:
            return "-"
        figure, unit = name.rsplit("_", 1)
        ends = [point.get(f"{figure}_{end}_{unit}") for end in ("low", "high")]
        known = [self.shown(name, end) for end in ends if end is not None]
        return self.shown(name, point[name]) + (f" ({' to '.join(known)})" if len(known) == 2 else "")

    def tooltip(self, point: Point) -> str:
        """All of a point, for its hover text."""
        lines = [f"<b>{self.label('model', point['model'])}</b>"]
        lines += [f"{plain(name)}: {self.label(name, point[name])}" for name in self.varying]
        lines += [
            f"{self.title(name)}: {self.shown(name, point[name])}" for name in OUTPUTS if point.get(name) is not None
        ]
        return "<br>".join(lines)

    def effects(self, name: str, output: str) -> list[tuple[str, float]]:
        """By how much each level of an input changes an output, everything else the same: factors of the mean.

        Means are geometric, over lines of points that differ in this input alone; where no two points do, over the
        points of each model.
        """
        others = [other for other in self.study.inputs if other != name]
        groups = _groups(self.ran, others, output)
        if all(len({point[name] for point in group}) < 2 for group in groups):
            groups = _groups(self.ran, ["model"], output)
        logs: list[tuple[Any, float]] = []
        for group in groups:
            if len({point[name] for point in group}) > 1:
                mean = sum(log(point[output]) for point in group) / len(group)
                logs += [(point[name], log(point[output]) - mean) for point in group]
        effects = []
        for level in self.levels(name):
            each = [value for at, value in logs if level.has(at)]
            if each:
                effects.append((level.label, exp(sum(each) / len(each))))
        return effects

    @cached_property
    def ranked(self) -> list[str]:
        """The inputs that vary, the one with the largest effect on the latency first."""

        def spread(name: str) -> float:
            factors = [factor for _, factor in self.effects(name, "latency_ms")] or [1.0]
            return max(factors) / min(factors)

        return sorted(self.varying, key=lambda name: (-spread(name), self.varying.index(name)))


def _known(value: Any) -> Any:
    """None for what pandas has for a missing value; plain Python numbers."""
    plain_value = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain_value, float) and isnan(plain_value) else plain_value


def _quantity(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    pair = magnitude(str(value))
    return None if pair is None else float(pair[0])


def _is(value: Any) -> Callable[[Any], bool]:
    return lambda other: type(other) is type(value) and other == value


def _among(values: Sequence[Any]) -> Callable[[Any], bool]:
    return set(values).__contains__


def _groups(points: Sequence[Point], names: Sequence[str], output: str) -> list[list[Point]]:
    entries: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        if (point.get(output) or 0) > 0:
            entries.setdefault(tuple(point[name] for name in names), []).append(point)
    return list(entries.values())
