"""The page of ``mcusim diff``: two runs operator by operator."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.report.compare.bars import RUN_COLOURS, differences_figure, operator_bars
from mcusim.report.diff.table import change, label, said, value
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.results.difference import in_words
from mcusim.results.saved.run_difference import RunDifference
from mcusim.text import percent, rounded

_Part = str | PlotFigure | Sequence[PlotFigure]
_NAMES = "first", "second"


def diff_page(difference: RunDifference) -> str:
    """What differs in settings and figures, why, and every operator of both runs.

    Equal differences give equal text; nothing is loaded. Not modelled: lanes over time and memory, which the saved JSON
    of a run does not have (``mcusim compare --html`` draws them).
    """
    name = shortened(difference.second.settings.get("model", "") or "a model without a name", 80)
    parts: list[_Part] = [f'<p class="summary">{plain(_names(difference))}</p>', *_settings(difference)]
    if difference.negative is not None:
        return page(f"{name}: two runs", [*parts, f"<p>{plain(difference.negative)}</p>"])
    parts += [bullets([plain(text) for text in [*said(difference), *_limits(difference)]]), _figures(difference)]
    differing = differences_figure({"the second run": difference.parts}) if difference.parts else None
    parts += [part for part in (differing, _bars(difference)) if part is not None]
    parts += [_operators(difference), _reading()]
    return page(f"{name}: two runs operator by operator", parts)


def _names(difference: RunDifference) -> str:
    a, b = (shortened(run.name, 80) for run in (difference.first, difference.second))
    return f"first: {a}; second: {b}"


def _limits(difference: RunDifference) -> list[str]:
    return [f"Limit exceeded: {text}" for text in difference.exceeded]


def _settings(difference: RunDifference) -> list[str]:
    if not difference.settings:
        return ["<p>Model, machine, kernels and options are the same.</p>"]
    rows = [
        [plain(key.replace("_", " ")), *(plain(shortened(value, 60)) for value in values)]
        for key, values in difference.settings.items()
    ]
    return ["<h2>What differs</h2>", table(["", *_NAMES], rows, left=3)]


def _figures(difference: RunDifference) -> str:
    rows = [
        [pair.name, value(pair, pair.first), value(pair, pair.second), change(pair), percent(pair.percent)]
        for pair in difference.figures
    ]
    return table(["", *_NAMES, "change", "%"], rows)


def _bars(difference: RunDifference) -> PlotFigure | None:
    """Milliseconds of each operator, one bar a run."""
    if not difference.operators:
        return None
    labels = [f"{label(pair)} {plain(shortened(pair.any.type, 24))}" for pair in difference.operators]
    values = {
        "first": [pair.ms.first for pair in difference.operators],
        "second": [pair.ms.second for pair in difference.operators],
    }
    return operator_bars(labels, values, dict(zip(_NAMES, RUN_COLOURS, strict=False)))


def _operators(difference: RunDifference) -> str:
    head = ["operator", "type", "most of it", "first ms", "second ms", "change ms", "%", "first mJ", "second mJ"]
    rows = []
    for pair in difference.operators:
        ms, energy, parts = pair.ms, pair.energy, pair.parts
        why = plain(pair.mostly)
        if len(parts) > 1 and None not in (pair.first, pair.second):
            more = "".join(f"<li>{plain(in_words(part))}: {part.ms:+,.4g} ms</li>" for part in parts[:8])
            why = f"<details><summary>{why}</summary><ul>{more}</ul></details>"
        numbers = [rounded(ms.first), rounded(ms.second), f"{1000 * float(pair.seconds):+,.3g}", percent(ms.percent)]
        joules = [rounded(energy.first), rounded(energy.second)]
        rows.append([plain(label(pair)), plain(shortened(pair.any.type, 40)), why, *numbers, *joules])
    return f"<h2>Every operator</h2>{table(head, rows, left=3)}"


def _reading() -> str:
    lines = [
        "Operators of both runs are matched by their place where types and MACs agree, else by type and the name of "
        "their output, else by the longest stretches of equal types. One that only one run has counts in full.",
        "The parts of a change sum exactly to it. They say where the time went, not what is to blame.",
    ]
    return f"<h2>How to read it</h2>{bullets(lines)}"
