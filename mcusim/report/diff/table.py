"""Two runs operator by operator, as text."""

from __future__ import annotations

from mcusim.report.run.interval_text import ratio_text
from mcusim.results.difference import energy_words, sentence
from mcusim.results.saved.run_difference import FigurePair, OperatorPair, RunDifference
from mcusim.text import columns, hanging_indent, percent, rounded, size, wrapped

_TITLES = {"sram": "SRAM", "current": "supply current"}
_TYPE = 24  # columns of an operator's type


def diff_table(difference: RunDifference, slowest: int = 10) -> str:
    """The text that ``mcusim diff`` prints; ``slowest``: how many operators are listed, the largest change first."""
    lines = [*hanging_indent(f"first:  {difference.first.name}", others="        ")]
    lines += hanging_indent(f"second: {difference.second.name}", others="        ")
    lines += ["", *_settings(difference), ""]
    if difference.negative is not None:
        return "\n".join([*lines, *wrapped(difference.negative)])
    lines += [*_figures(difference), "", *(line for text in said(difference) for line in hanging_indent(text))]
    lines += ["", *_operators(difference, slowest)]
    if difference.exceeded:
        lines += ["", "Limits exceeded", *(line for text in difference.exceeded for line in wrapped(text))]
    return "\n".join(lines)


def said(difference: RunDifference) -> list[str]:
    """Why the second run takes longer, what more energy it takes, and what of that can be claimed, a sentence each."""
    words = sentence(difference.parts, "the first", "the second run")
    joules = energy_words(difference.first.energy_by_part, difference.second.energy_by_part)
    ratios = difference.ratios
    claims = [] if ratios is None else [ratio_text("Latency, second/first", ratios.latency)]
    claims += [] if ratios is None else [ratio_text("Energy, second/first", ratios.energy)]
    return [words[:1].upper() + words[1:], *([f"Energy: {joules}"] if joules else []), *claims]


def _settings(difference: RunDifference) -> list[str]:
    if not difference.settings:
        return ["Model, machine, kernels and options are the same."]
    rows = [[key.replace("_", " "), *(_cut(value) for value in values)] for key, values in difference.settings.items()]
    return ["What differs", *columns([["", "first", "second"], *rows], left=3)]


def _cut(text: str, most: int = 28) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _figures(difference: RunDifference) -> list[str]:
    rows = [["", "first", "second", "change", ""]]
    for pair in difference.figures:
        cells = [value(pair, pair.first), value(pair, pair.second), change(pair), percent(pair.percent)]
        rows.append([_TITLES.get(pair.name, pair.name), *cells])
    return columns(rows)


def value(pair: FigurePair, number: float | None) -> str:
    """One side of a pair with its unit, a dash for None."""
    if number is None:
        return "-"
    if pair.unit == "B":
        return size(round(number))
    return f"{number:,.0f}" if not pair.unit else f"{_significant(number)} {pair.unit}"


def change(pair: FigurePair) -> str:
    """The change with its sign and unit, a dash for None."""
    if pair.change is None:
        return "-"
    sign = "-" if pair.change < 0 else "+"
    return f"{sign}{value(pair, abs(pair.change))}"


def _significant(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 9999.5 else f"{number:.4g}" if abs(number) >= 1 else rounded(number)


def largest(difference: RunDifference, count: int) -> list[OperatorPair]:
    """The operators whose time differs most, those without a change left out."""
    order = sorted(difference.operators, key=lambda pair: -abs(pair.seconds))
    return [pair for pair in order if pair.seconds][:count]


def label(pair: OperatorPair) -> str:
    """The operator's index, or both where they differ."""
    a, b = (None if operator is None else str(operator.index) for operator in (pair.first, pair.second))
    return f"{a} -> {b}" if a != b and None not in (a, b) else a or b or ""


def _operators(difference: RunDifference, count: int) -> list[str]:
    shown = largest(difference, count)
    same = sum(not pair.seconds for pair in difference.operators)
    head = f"Operators by change ({len(shown)} of {len(difference.operators)}"
    lines = [head + (f"; {same} unchanged)" if same else ")")]
    rows = [["ms", "type", "first", "second", "change", "", "most of it"]]
    for pair in shown:
        ms = pair.ms
        numbers = [rounded(ms.first), rounded(ms.second), f"{1000 * float(pair.seconds):+,.3g}"]
        cells = [*numbers, percent(ms.percent, short=True), pair.mostly.removeprefix("waiting for ")]
        rows.append([label(pair), _cut(pair.any.type, _TYPE), *cells])
    texts = columns([row[:-1] for row in rows], left=2)
    lines += [f"{text}  {row[-1]}".rstrip() for text, row in zip(texts, rows, strict=True)] if shown else []
    only = [
        f"{n} only in the {which} run" for n, which in zip(difference.unmatched, ("first", "second"), strict=True) if n
    ]
    return lines + ([f"  not in both: {', '.join(only)}"] if only else [])
