"""The table of the page of ``mcusim validate``: one row a run, to be sorted and filtered, with a bar for each interval.

A bar has the simulated figure in the middle, a band where the measurement is expected, and a mark where it is; its axis
is logarithmic, relative to the simulated figure, and the same in all rows, so that lengths can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from mcusim.evidence.validate.table import in_base_unit, ran
from mcusim.measurements.published.validation_result import ValidationRow
from mcusim.report.html.page import plain
from mcusim.text import percent, rounded

BARS = ("latency", "energy")  # quantities with columns of their own; the others share one
_NAMES = {
    "supply_current": "current", "peak_activations": "peak", "file_size": "file", "macs": "MACs",
}  # fmt: skip
_USES = ("validate", "calibrate", "context")
_WIDTH, _HEIGHT, _EDGE = 124, 18, 9  # of a bar, in CSS pixels
_LEAST, _MOST = log(1.25), log(2.5)  # of the axis, to either side
_APART = 24  # pixels between two ticks, at least
_TICKS = (1, 0.5, 2, 0.7, 1.4, 0.8, 1.25, 0.9, 1.1)  # those that have room, the first ones before the others


@dataclass(frozen=True)
class PageRun:
    """What one run is compared with: rows of one source, board, model and placement, by quantity."""

    rows: dict[str, ValidationRow]

    @property
    def first(self) -> ValidationRow:
        return next(iter(self.rows.values()))

    @property
    def shown(self) -> list[ValidationRow]:
        """The rows that have bars, or all where none has."""
        return [self.rows[name] for name in BARS if name in self.rows] or list(self.rows.values())

    @property
    def uses(self) -> list[str]:
        return list(dict.fromkeys(row.use for row in self.shown))

    @property
    def kept(self) -> str:
        """Whether the measurements are where they are expected: ``inside``, ``outside`` (one of them) or nothing."""
        items = [known for row in self.shown if (known := row.covered) is not None]
        return ("inside" if all(items) else "outside") if items else ""

    @property
    def least_use(self) -> int:
        """0 for a run of which something validates, 1 and 2 for the others."""
        return min(_USES.index(use) for use in self.uses)

    @property
    def worst(self) -> float:
        """The largest error of what has bars, without its sign; -1 for a run that has none."""
        return max((abs(self.rows[name].error or 0.0) for name in BARS if name in self.rows), default=-1.0)


def _runs(rows: Sequence[ValidationRow]) -> list[PageRun]:
    """Each run once: those used in no fit first, of these the one with the largest error."""
    validation_rows: dict[tuple[str, ...], dict[str, ValidationRow]] = {}
    for row in rows:
        if row.simulated is not None:
            key = (row.source, row.board, row.model, row.placement, row.run)
            number = 0
            while row.quantity in validation_rows.get((*key, str(number)), ()):  # published twice
                number += 1
            validation_rows.setdefault((*key, str(number)), {})[row.quantity] = row
    return sorted((PageRun(rows) for rows in validation_rows.values()), key=lambda run: (run.least_use, -run.worst))


def runs_section(rows: Sequence[ValidationRow]) -> str:
    """Filters and tables: the runs, and apart from them those of builds whose compiler flags are not known.

    Empty when nothing was run. Without scripts every row is shown, those used in no fit first. Not modelled: rows that
    were not run, and bars of other quantities than latency and energy.
    """
    runs = _runs(rows)
    if not runs:
        return ""
    limit = _limit(runs)
    known = [run for run in runs if run.first.flags_known]
    unknown = [run for run in runs if not run.first.flags_known]
    parts = [_filters(runs), '<p class="shown dim" role="status"></p>', _table(known, limit) if known else ""]
    if unknown:
        parts += ["<h3>Builds of unknown compiler flags</h3>", _table(unknown, limit)]
    return f'<section class="runs"><h2>Runs</h2>{_legend()}{"".join(parts)}</section>'


def _legend() -> str:
    return (
        "<p class=dim>Bars: the line is the simulated figure; the mark is the measured one, relative to it: a disc"
        " where it is inside the interval (the band), a diamond where it is outside, a ring where there is none, an"
        " arrowhead where it is beyond the axis. A click on a heading sorts.</p>"
    )


def _filters(runs: Sequence[PageRun]) -> str:
    def choice(name: str, title: str, values: Sequence[str], texts: Sequence[str] = ()) -> str:
        pairs = zip(values, texts or values, strict=True)
        options = "".join(f'<option value="{plain(value)}">{plain(text)}</option>' for value, text in pairs)
        return f'<label>{title} <select data-filter="{name}"><option value="">all</option>{options}</select></label>'

    def of(key: str) -> list[str]:
        return sorted({getattr(run.first, key) for run in runs} - {""})

    uses = [use for use in _USES if any(use in run.uses for run in runs)]
    kept = [kind for kind in ("inside", "outside") if any(run.kept == kind for run in runs)]
    parts = [
        '<label>text <input type="search" data-filter="text"></label>',
        *(choice(key, key, of(key)) for key in ("board", "source")),
        choice("use", "use", uses),
        *(choice(key, key, of(key)) for key in ("kernels", "policy")),
        choice("kept", "interval", kept, [f"measured {kind}" for kind in kept]) if kept else "",
    ]
    return f'<div class="filters">{"".join(parts)}</div>'


def _table(runs: Sequence[PageRun], limit: float) -> str:
    bars = [name for name in BARS if any(name in run.rows for run in runs)]
    more = any(set(run.rows) - {*BARS} for run in runs)
    units = {name: in_base_unit(next(run.rows[name] for run in runs if name in run.rows))[0] for name in bars}
    above = '<th colspan="3"></th>' + "".join(
        f'<th colspan="4" class="group">{name}, {plain(units[name])}</th>' for name in bars
    )
    heads = [_head("model"), _head("board"), _head("kernels")]
    for _ in bars:
        heads += [_head(text, True) for text in ("measured", "simulated", "error")] + [f"<th>{_axis(limit)}</th>"]
    last = "<th></th>" if more else ""
    other = '<th class="other">other: measured, simulated</th>' if more else ""
    body = "\n".join(_line(run, bars, more, limit) for run in runs)
    return (
        f'<div class="table"><table><thead><tr>{above}{last}</tr><tr>{"".join(heads)}{other}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _head(text: str, number: bool = False) -> str:
    kind = ' class="number"' if number else ""
    return f'<th{kind} aria-sort="none"><button type="button">{text}</button></th>'


def _line(run: PageRun, bars: Sequence[str], more: bool, limit: float) -> str:
    row = run.first
    data = {
        "board": row.board, "source": row.source, "use": " ".join(run.uses), "kernels": row.kernels,
        "policy": row.policy, "kept": run.kept,
    }  # fmt: skip
    attributes = "".join(f' data-{name}="{plain(value)}"' for name, value in data.items())
    uses = ", ".join(run.uses) if len(run.uses) == 1 else ", ".join(f"{row.quantity} {row.use}" for row in run.shown)
    texts = (
        (row.network, f"{row.placement}; {uses}"),
        (row.board or "no board", f"{row.source}, {row.table}"),
        (ran(row), row.policy and f"policy {row.policy}"),
    )
    cells = [f"<td>{plain(above)}<br><span class=dim>{plain(below)}</span></td>" for above, below in texts]
    for name in bars:
        cells.append(_figures(run.rows[name], limit) if name in run.rows else "<td></td>" * 4)
    if more:
        others = [_other(row) for name, row in run.rows.items() if name not in BARS]
        cells.append(f'<td class="other">{"<br>".join(others)}</td>')
    return f"<tr{attributes}>{''.join(cells)}</tr>"


def _figures(row: ValidationRow, limit: float) -> str:
    """Measured, simulated, error and bar; what the script needs to sort and to count."""
    _, measured, simulated = in_base_unit(row)
    known = row.covered
    flags = "known" if row.flags_known else "unknown"
    counted = f' data-quantity="{row.quantity}" data-flags="{flags}" data-counted="{"" if known is None else known}"'
    counted = counted if row.use == "validate" and row.error is not None else ""
    cells = [
        f'<td class="number"{_value(value)}{more}>{text}</td>'
        for value, more, text in (
            (measured, "", rounded(measured)),
            (simulated, "", rounded(simulated)),
            (row.error, counted, percent(row.error)),
        )
    ]
    return f"{''.join(cells)}<td>{_bar(row, limit)}</td>"


def _value(value: float | None) -> str:
    return "" if value is None else f' data-value="{value!r}"'


def _other(row: ValidationRow) -> str:
    unit, measured, simulated = in_base_unit(row)
    name = _NAMES.get(row.quantity, row.quantity)
    use = "" if row.use == "validate" else f" ({row.use})"
    return plain(f"{name} {rounded(measured)}, {rounded(simulated)} {unit} {percent(row.error)}{use}")


def _ratios(row: ValidationRow) -> list[float]:
    """Measured, and where it is expected, relative to the simulated figure; none where that or one of them is 0."""
    values = [row.measured, *(row.interval or ())]
    return [value / row.simulated for value in values] if row.simulated and min(values) > 0 else []


def _limit(runs: Sequence[PageRun]) -> float:
    """Half the length of the axis: all that is counted, within reason."""
    rows = [run.rows[name] for run in runs for name in BARS if name in run.rows]
    ratios = [ratio for row in rows if row.use != "context" for ratio in _ratios(row)]
    return min(_MOST, max(_LEAST, *(abs(log(ratio)) * 1.05 for ratio in (1.0, *ratios))))


def _at(ratio: float, limit: float) -> float:
    """CSS pixels from the left; what is beyond the axis is at its end."""
    share = max(-1.0, min(1.0, log(ratio) / limit))
    return round(_WIDTH / 2 + share * (_WIDTH / 2 - _EDGE), 1)


def _axis(limit: float) -> str:
    ticks: list[float] = []
    for tick in _TICKS:
        apart = min((abs(_at(tick, limit) - _at(other, limit)) for other in ticks), default=_APART)
        if abs(log(tick)) <= limit and apart >= _APART:
            ticks.append(tick)
    texts = "".join(f'<text x="{_at(tick, limit)}" y="13">{tick:g}</text>' for tick in ticks)
    label = f"axis: measured over simulated, from {exp(-limit):.2g} to {exp(limit):.2g}"
    return f'<svg class="bar" width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{label}">{texts}</svg>'


def _bar(row: ValidationRow, limit: float) -> str:
    ratios = _ratios(row)
    if not ratios:
        return ""
    middle, x = _HEIGHT / 2, _at(ratios[0], limit)
    band, label = "", f"measured {ratios[0]:.2f} of simulated"
    if len(ratios) == 3:
        low, high = (_at(ratio, limit) for ratio in ratios[1:])
        band = f'<rect class="band" x="{low}" y="3" width="{max(high - low, 1):.1f}" height="{_HEIGHT - 6}" rx="2"/>'
        label += f", expected {ratios[1]:.2f} to {ratios[2]:.2f}"
    kind = "outside" if row.covered is False else "inside" if band else "alone"
    if abs(log(ratios[0])) > limit:
        mark = f'<path class="{kind}" d="M{x} {middle}l{-7 if ratios[0] > 1 else 7} -5v10z"/>'
        label += ", beyond the axis"
    elif kind == "outside":
        mark = f'<path class="outside" d="M{x} {middle - 6}l6 6l-6 6l-6 -6z"/>'
    else:
        mark = f'<circle class="{kind}" cx="{x}" cy="{middle}" r="4.5"/>'
    line = f'<path class="one" d="M{_WIDTH / 2} 0V{_HEIGHT}"/>'
    return (
        f'<svg class="bar" width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{label}">{band}{line}{mark}</svg>'
    )
