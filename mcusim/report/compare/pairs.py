"""Which runs of a comparison are explained by which, and what is written about each pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mcusim.report.html.page import shortened
from mcusim.report.run.interval_text import ratio_text
from mcusim.report.run.verdict_text import negative_text, timed
from mcusim.results.difference import Difference, energy_sentence, explain, sentence
from mcusim.results.result import Result
from mcusim.runtime.runtime import DEFAULT, find_runtime
from mcusim.text import hanging_indent, quantity, size


@dataclass(frozen=True)
class Pair:
    """Why ``label`` takes longer than ``base``, two short names; ``place`` says where both ran, ``rows`` which of the
    results they are."""

    base: str
    label: str
    place: str
    rows: tuple[int, int]
    first: Result
    second: Result
    parts: tuple[Difference, ...]

    def sentence(self, most: int = 5) -> str:
        """In one sentence, the ``most`` largest parts by name."""
        return f"{self.place}{sentence(self.parts, self.base, self.label, most)}"

    @property
    def claimed(self) -> bool:
        """Whether the difference is beyond what measurements scatter by; True where that is not known."""
        return self.second.ratios is None or self.second.ratios.latency.differs

    @property
    def ratio(self) -> str:
        """``"external takes 2.15 times internal's time (1.91 to 2.43)"``."""
        if self.second.ratios is not None:
            return ratio_text("", self.second.ratios.latency, lambda times: times_text(self.label, self.base, times))
        longer, shorter = (row.value("latency_ms") or 0.0 for row in (self.second, self.first))
        return times_text(self.label, self.base, f"{longer / shorter:.2f}" if shorter else "-")

    def energy(self) -> str:
        """What differs in energy; '' when nothing does."""
        return energy_sentence(self.first, self.second)


def times_text(label: str, base: str, times: str) -> str:
    """``"external takes 2.15 times internal's time"``."""
    own = f"{base}'" if base.endswith("s") else f"{base}'s"
    return f"{label} takes {times} times {f'the time of {base}' if ',' in base else f'{own} time'}"


def by_model(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results of each model, in the order given."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.model, []).append(result)
    return groups


def labels(results: Sequence[Result]) -> list[str]:
    """A name for each result: its policy, and what of machine, kernels, fidelity, budget and changes is not alike."""
    aspects = [
        [result.label for result in results],
        [result.machine.name for result in results],
        ["" if _is_its_kernels(result) else result.kernels for result in results],
        [result.fidelity for result in results],
        ["" if result.sram_budget is None else f"SRAM budget {size(result.sram_budget)}" for result in results],
        [_changes(result) for result in results],
    ]
    named = [aspects[0], *(aspect for aspect in aspects[1:] if len(set(aspect)) > 1)]
    words = [", ".join(shortened(text, 80) for text in texts if text) for texts in zip(*named, strict=True)]
    return [f"{name} ({words[: i + 1].count(name)})" if words.count(name) > 1 else name for i, name in enumerate(words)]


def _is_its_kernels(result: Result) -> bool:
    """Whether the runtime, which the label has, says what the kernels are."""
    return find_runtime(str(result.planning["runtime"] or DEFAULT)).own_kernels


def pairs(results: Sequence[Result]) -> list[Pair]:
    """Of runs of one model: on each machine every run by the fastest one, and that by the fastest of all."""
    several = len({_machine(result) for result in results}) > 1
    return [_pair(results, base, number, several) for base, number in paired(results)]


def paired(results: Sequence[Result]) -> list[tuple[int, int]]:
    """Places of the runs that :func:`pairs` are of, the faster one first; no run is the slower one twice."""
    machines: dict[tuple[str, str], list[int]] = {}  # places, as a result may occur twice
    for index, result in enumerate(results):
        if result.run is not None:
            machines.setdefault(_machine(result), []).append(index)
    seconds = [result.run.cycles / result.run.clock if result.run else 0.0 for result in results]
    best = [min(places, key=lambda place: seconds[place]) for places in machines.values()]
    chosen = [
        (base, number)
        for base, machine in zip(best, machines.values(), strict=True)
        for number in machine
        if number != base
    ]
    first = min(best, key=lambda place: seconds[place], default=0)
    return chosen + [(first, number) for number in best if number != first]


def differences_lines(results: Sequence[Result], most: int = 3) -> list[str]:
    """The pairs of every model as text of at most 80 columns, ms, a difference that can be claimed with its parts; no
    line without any."""
    groups = by_model(results)
    lines = []
    for model, members in groups.items():
        name = f"{shortened(model or 'a model without a name', 80)}: " if len(groups) > 1 else ""
        for pair in pairs(members):
            taken_apart = f"{pair.sentence(most)}. " if pair.claimed else pair.place
            lines += hanging_indent(f"{name}{taken_apart}{_ratios(pair)}".rstrip(" "))
    return lines


def verdict_lines(results: Sequence[Result]) -> list[str]:
    """Of every model on every machine the fastest run, and how much longer the others take; then what did not run, and
    why. At most 80 columns."""
    groups = by_model(results)
    lines = []
    for model, members in groups.items():
        name = f"{shortened(model or 'a model without a name', 80)}: " if len(groups) > 1 else ""
        for (place, base), group in groupby(pairs(members), key=lambda pair: (pair.place, pair.base)):
            others = list(group)
            fastest = f"{base} is fastest, {quantity(others[0].first.value('latency_ms'), 'ms')}"
            lines += hanging_indent(f"{name}{place}{fastest}; {'; '.join(pair.ratio for pair in others)}")
        named = list(zip(labels(members), members, strict=True))
        runs = [f"{label} runs, {timed(row)}" for label, row in named if row.run is not None]
        reasons: dict[str, list[str]] = {}
        for label, row in named:
            if row.run is None:
                reasons.setdefault(negative_text(row), []).append(label)
        texts = [*runs[: len(runs) == 1], *(f"{', '.join(texts)} {why}" for why, texts in reasons.items())]
        lines += hanging_indent(f"{name}{'; '.join(texts)}") if texts else []
    return lines


def _ratios(pair: Pair) -> str:
    """Those of latency and energy with their intervals, in a sentence of its own; '' when they are not known."""
    ratios = pair.second.ratios
    if ratios is None:
        return ""
    texts = ratio_text("latency", ratios.latency), ratio_text("energy", ratios.energy)
    return f"{pair.label}/{pair.base}: {'; '.join(texts)}."


def differences_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Each pair as plain data: ``row`` takes ``ms`` longer than ``than_row``, numbers of rows from 0; ``parts`` are
    milliseconds too and sum to it, largest first, by ``cause``, ``region`` ('' for none) and ``what``, as
    :class:`~mcusim.results.difference.Difference` has them. ``latency_ratio`` and ``energy_ratio`` have the interval of
    the row's figure over the other's (:class:`mcusim.results.measurement.interval.RatioInterval`)."""
    places: dict[str, list[int]] = {}
    for index, result in enumerate(results):
        places.setdefault(result.model, []).append(index)
    return [
        {
            "model": model,
            "row": numbers[pair.rows[1]],
            "than_row": numbers[pair.rows[0]],
            "ms": float(1000 * sum(part.seconds for part in pair.parts)),
            "parts": [_part(part) for part in pair.parts],
            **(pair.second.ratios.to_json() if pair.second.ratios else {}),
        }
        for model, numbers in places.items()
        for pair in pairs([results[place] for place in numbers])
    ]


def _part(part: Difference) -> Mapping[str, Any]:
    return {"cause": part.cause, "region": part.region, "what": part.what, "ms": part.ms}


def _pair(results: Sequence[Result], base: int, number: int, several: bool) -> Pair:
    a, b = results[base], results[number]
    first, second = labels([a, b])
    where = ", ".join(text for text in (a.machine.name, shortened(_changes(a), 80)) if text)
    location = f"On {where}: " if several and _machine(a) == _machine(b) else ""
    return Pair(first, second, location, (base, number), a, b, explain(a, b))


def _machine(result: Result) -> tuple[str, str]:
    return result.machine.name, str(result.machine.changes)


def _changes(result: Result) -> str:
    return ", ".join(f"{key} = {value}" for key, value in result.machine.changes.items())
