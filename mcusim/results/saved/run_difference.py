"""Two runs operator by operator: which belong together, what each takes more or less, and which limits that exceeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from fractions import Fraction
from typing import Any

from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.errors import InputError
from mcusim.results.difference import Difference, explain_cycles, in_words
from mcusim.results.measurement.interval import Ratios
from mcusim.results.saved.fail_if import ChangeLimit
from mcusim.results.saved.saved_run import SavedOperator, SavedRun

UNITS: Mapping[str, str] = {
    "latency": "ms", "energy": "mJ", "current": "mA", "cycles": "", "sram": "B", "flash": "B",
}  # fmt: skip
"""The figures of a run and what they are in."""
_QUADRATIC = 4_000_000  # pairs of operators that are compared to align two lists; longer ones are taken as they come


@dataclass(frozen=True, slots=True)
class FigurePair:
    """A figure of both runs, in ``unit``; None where a file has none."""

    name: str
    unit: str
    first: float | None
    second: float | None

    @property
    def change(self) -> float | None:
        """The second less the first."""
        return None if self.first is None or self.second is None else self.second - self.first

    @property
    def percent(self) -> float | None:
        """The change in percent of the first; None where that is 0."""
        return 100 * self.change / self.first if self.change is not None and self.first else None


@dataclass(frozen=True, slots=True)
class OperatorPair(Displayed):
    """An operator of both runs, or of one of them; times in ms."""

    first: SavedOperator | None
    second: SavedOperator | None
    clocks: tuple[int, int]

    @property
    def any(self) -> SavedOperator:
        """That of the second run where it has one."""
        operator = self.second or self.first
        assert operator is not None
        return operator

    @property
    def ms(self) -> FigurePair:
        """Time; None on the side without it."""
        sides = (self.first, self.second)
        a, b = (None if side is None else 1e3 * side.cycles / f for side, f in zip(sides, self.clocks, strict=True))
        return FigurePair("ms", "ms", a, b)

    @property
    def energy(self) -> FigurePair:
        """Energy; None on the side without it."""
        a, b = (None if operator is None else operator.energy_mj for operator in (self.first, self.second))
        return FigurePair("energy", "mJ", a, b)

    @property
    def seconds(self) -> Fraction:
        """What the second run takes longer for it, exactly."""
        a, b = (0 if operator is None else operator.cycles for operator in (self.first, self.second))
        return Fraction(b, self.clocks[1]) - Fraction(a, self.clocks[0])

    @property
    def parts(self) -> tuple[Difference, ...]:
        """The same in parts that sum to it, largest first."""
        a, b = (operator.parts if operator is not None else {} for operator in (self.first, self.second))
        return explain_cycles(a, self.clocks[0], b, self.clocks[1])

    @property
    def mostly(self) -> str:
        """The largest part in words; '' when nothing differs."""
        if self.first is None or self.second is None:
            return "only in the second run" if self.first is None else "only in the first run"
        parts = self.parts
        return in_words(parts[0]) if parts else ""


@dataclass(frozen=True)
class RunDifference(Displayed, SavedAsJson, SavedAsPage):
    """``first`` and ``second`` run; ``operators`` in the order of the second, those of the first alone where they were.

    ``parts`` sum to the difference of both latencies as the operators' cycles give them. ``exceeded`` are the limits
    that the second run is beyond, in words. ``ratios`` are those of the second over the first
    (:func:`mcusim.api.diff.diff` adds them).
    """

    first: SavedRun
    second: SavedRun
    operators: tuple[OperatorPair, ...]
    parts: tuple[Difference, ...]
    exceeded: tuple[str, ...] = ()
    ratios: Ratios | None = None

    @property
    def negative(self) -> str | None:
        """Why there is nothing to compare: a run that did not take place."""
        for which, run in (("first", self.first), ("second", self.second)):
            if run.negative is not None:
                return f"{run.name}: the {which} run did not take place: {run.negative}"
        return None

    @property
    def figures(self) -> tuple[FigurePair, ...]:
        """The figures that at least one of both runs has."""
        pairs = [FigurePair(n, u, self.first.figures.get(n), self.second.figures.get(n)) for n, u in UNITS.items()]
        return tuple(pair for pair in pairs if pair.first is not None or pair.second is not None)

    @property
    def settings(self) -> dict[str, tuple[str, str]]:
        """What of model, machine, kernels and options is not alike; '-' where it is not set.

        A run that did not take place has no options of its plan to compare.
        """
        a, b = (
            {key: text for key, text in run.settings.items() if not (self.negative and key.startswith("option "))}
            for run in (self.first, self.second)
        )
        return {key: (a.get(key, "-"), b.get(key, "-")) for key in {**a, **b} if a.get(key) != b.get(key)}

    @property
    def unmatched(self) -> tuple[int, int]:
        """How many operators only the first and only the second run has."""
        return sum(pair.second is None for pair in self.operators), sum(pair.first is None for pair in self.operators)

    def to_json(self) -> dict[str, Any]:
        """Plain data: ``first`` and ``second`` (``name``, ``settings``), ``settings`` that differ, ``figures`` and
        ``operators`` with both values, ``change`` and ``percent``, ``parts`` in ms, the
        ratios with their intervals, ``exceeded``, ``negative``."""
        return {
            "first": {"name": self.first.name, "settings": dict(self.first.settings)},
            "second": {"name": self.second.name, "settings": dict(self.second.settings)},
            "settings": {key: list(values) for key, values in self.settings.items()},
            "figures": {pair.name: {"unit": pair.unit, **_values(pair)} for pair in self.figures},
            "parts": [_part(part) for part in self.parts],
            "operators": [_operator(pair) for pair in self.operators],
            **(self.ratios.to_json() if self.ratios else {"latency_ratio": None, "energy_ratio": None}),
            "exceeded": list(self.exceeded),
            "negative": self.negative,
        }

    def _line(self) -> str:
        if self.negative is not None:
            return self.negative
        latency = next((pair for pair in self.figures if pair.name == "latency"), None)
        share = "" if latency is None or latency.percent is None else f", {latency.percent:+.1f} % latency"
        return f"{self.first.name[:60]} -> {self.second.name[:60]}{share}, {len(self.exceeded)} limits exceeded"


def _values(pair: FigurePair) -> dict[str, float | None]:
    return {"first": pair.first, "second": pair.second, "change": pair.change, "percent": pair.percent}


def _part(part: Difference) -> dict[str, Any]:
    return {"cause": part.cause, "region": part.region, "what": part.what, "ms": part.ms}


def _operator(pair: OperatorPair) -> dict[str, Any]:
    sides = {
        name: None if operator is None else operator.index
        for name, operator in (("first", pair.first), ("second", pair.second))
    }
    whole = {"ms": _values(pair.ms), "energy_mj": _values(pair.energy)}
    return {"type": pair.any.type, **sides, **whole, "mostly": pair.mostly, "parts": [_part(p) for p in pair.parts]}


def compared(first: SavedRun, second: SavedRun, limits: Iterable[ChangeLimit] = ()) -> RunDifference:
    """Two runs next to each other. Raises InputError for a limit of a figure that one of them does not have."""
    clocks = first.clock, second.clock
    pairs = tuple(OperatorPair(a, b, clocks) for a, b in matched(first.operators, second.operators))
    parts = explain_cycles(_parts(first), first.clock, _parts(second), second.clock)
    difference = RunDifference(first, second, pairs, parts)
    over = () if difference.negative else tuple(_exceeded(difference, limits))
    return RunDifference(first, second, pairs, parts, over)


def _exceeded(difference: RunDifference, limits: Iterable[ChangeLimit]) -> Iterator[str]:
    pairs = {pair.name: pair for pair in difference.figures}
    for limit in limits:
        pair = pairs.get(limit.figure, FigurePair(limit.figure, "", None, None))
        if pair.first is None or pair.second is None:
            name = (difference.first if pair.first is None else difference.second).name
            raise InputError(f"{name}: has no {limit.figure}, which --fail-if '{limit.text}' is about")
        if limit.exceeded(pair.first, pair.second):
            share = "" if pair.percent is None else f", {pair.percent:+.1f} %"
            amounts = f"{pair.first:,.6g} -> {pair.second:,.6g} {pair.unit}".rstrip()
            yield f"{limit.text}: {limit.figure} {amounts}{share}"


def _parts(run: SavedRun) -> dict[tuple[str, str, str], int]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for operator in run.operators:
        counts.update(operator.parts)
    return dict(counts)


def matched(
    first: Sequence[SavedOperator], second: Sequence[SavedOperator]
) -> list[tuple[SavedOperator | None, SavedOperator | None]]:
    """Which operators of two runs belong together, each in one pair, in the order of the second run.

    Lists of the same types and MACs in the same order: those at the same place. Else those of one type whose outputs
    have the same name, where names are unique; of the rest, the longest stretches of equal types, in order.
    """
    a, b = (sorted(operators, key=lambda op: (op.step, op.index)) for operators in (first, second))
    if [(op.type, op.macs) for op in a] == [(op.type, op.macs) for op in b]:
        return list(zip(a, b, strict=True))
    partners = _by_name(a, b)
    taken = set(partners.values())
    rest_a = [i for i in range(len(a)) if i not in taken]
    rest_b = [j for j in range(len(b)) if j not in partners]
    partners |= {rest_b[j]: rest_a[i] for i, j in _aligned([a[i].type for i in rest_a], [b[j].type for j in rest_b])}
    return _in_order(a, b, partners)


def _by_name(a: Sequence[SavedOperator], b: Sequence[SavedOperator]) -> dict[int, int]:
    """Places in ``a`` by places in ``b``."""
    keys = [[(op.type, op.output) if op.output else None for op in operators] for operators in (a, b)]
    once = [{key for key, n in Counter(item).items() if key and n == 1} for item in keys]
    places = {key: i for i, key in enumerate(keys[0]) if key in once[0] & once[1]}
    return {j: places[key] for j, key in enumerate(keys[1]) if key in places}


def _aligned(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of places of equal types, increasing in both."""
    if len(a) * len(b) > _QUADRATIC:
        yield from ((i, i) for i, (text, other) in enumerate(zip(a, b, strict=False)) if text == other)
        return
    for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        yield from ((block.a + i, block.b + i) for i in range(block.size))


def _in_order(
    a: Sequence[SavedOperator], b: Sequence[SavedOperator], partners: Mapping[int, int]
) -> list[tuple[SavedOperator | None, SavedOperator | None]]:
    """Those of ``a`` alone follow the one that was before them."""
    result: list[tuple[SavedOperator | None, SavedOperator | None]] = []
    places = {i: j for j, i in partners.items()}
    after: dict[int, list[SavedOperator]] = {}
    last = -1
    for i, op in enumerate(a):
        if i in places:
            last = places[i]
        else:
            after.setdefault(last, []).append(op)
    result += [(op, None) for op in after.get(-1, ())]
    for j, op in enumerate(b):
        result.append((a[partners[j]] if j in partners else None, op))
        result += [(operator, None) for operator in after.get(j, ())]
    return result
