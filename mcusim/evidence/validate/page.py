"""The pictures of ``mcusim validate``: each published number against its simulation, in one offline HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.evidence.published.validation_result import Statistics, Validation, ValidationRow
from mcusim.evidence.validate.table import in_base_unit, ran
from mcusim.evidence.validate.validation_figure import scatter
from mcusim.report.html.page import Figure, page, plain, table
from mcusim.text import percent, rounded

__all__ = ["validation_html"]

_PLOTS = (
    ("Latency", ("latency",)),
    ("Energy", ("energy",)),
    ("Supply current", ("supply_current",)),
    ("Memory: arena and peak of activations", ("arena", "peak_activations")),
)
_NAMES = {"supply_current": "supply current", "peak_activations": "peak of activations", "file_size": "file size"}


def validation_html(validation: Validation) -> str:
    """A page with a plot for each kind of quantity, the summary of the errors, every row, and what was not run and why.

    Equal validations give equal text. Leaves out MACs and file sizes from the plots.
    """
    parts: list[str | Figure] = [_lead(validation)]
    boards = list(dict.fromkeys(row.board for row in validation.rows))
    for title, quantities in _PLOTS:
        rows = [row for row in validation.rows if row.quantity in quantities and row.simulated is not None]
        if rows:
            parts.append(scatter(rows, f"<b>{title}</b> {_caption(rows)}", boards))
    parts += [_summary(validation.summary), _rows(validation.rows), _missing(validation)]
    return page("Simulated beside measured", [part for part in parts if part])


def _lead(validation: Validation) -> str:
    found = [one for one in validation.summary if one.use == "validate" and one.quantity in ("latency", "energy")]
    texts = []
    for quantity in ("latency", "energy"):
        widest = next((one for one in found if one.quantity == quantity), None)
        if widest is not None:
            rows = f"{widest.count} {quantity} rows" if widest.count > 1 else f"1 {quantity} row"
            texts.append(f"<b>{rows}</b>: median error {widest.median:.1f} %, worst {percent(widest.worst)}")
    told = "; ".join(texts) or "nothing was run that could validate"
    return f'<p class="lead">What nothing was fitted to: {told}.</p>'


def _caption(rows: Sequence[ValidationRow]) -> str:
    unit = in_base_unit(rows[0])[0]
    return f"<span class=dim>in {unit}; solid: simulated = measured, dashed: 10 % more and less</span>"


def _summary(found: Sequence[Statistics]) -> str:
    if not found:
        return ""
    rows = []
    for one in found:
        rank = "-" if one.rank is None else f"{one.rank:.2f}"
        numbers = [str(one.count), f"{one.median:.1f} %", percent(one.worst), percent(one.bias), rank]
        rows.append([_name(one.quantity), one.use, plain(one.board or "no board"), *numbers])
    head = ["quantity", "use", "board", "rows", "median", "worst", "bias", "rank"]
    notes = (
        "<p>Calibrate: machine figures were fitted to these rows or to others of their experiment; validate: nothing"
        " was. Median: of absolute errors; worst: the largest, with its sign; bias: mean of signed errors; rank:"
        " Spearman's correlation within a board.</p>"
    )
    return f"<h2>Errors</h2>{table(head, rows, left=3)}{notes}"


def _rows(rows: Sequence[ValidationRow]) -> str:
    head = ["source", "board", "model", "placement", "run", "use", "confidence", "quantity"]
    cells = []
    for row in rows:
        if row.simulated is None:
            continue
        unit, measured, simulated = in_base_unit(row)
        texts = (
            f"{row.source}, {row.table}", row.board, row.network, row.placement, ran(row), row.use,
            row.confidence or "-",
        )  # fmt: skip
        numbers = [f"{_name(row.quantity)}, {unit}", rounded(measured), rounded(simulated), percent(row.error)]
        cells.append([*map(plain, texts), *numbers])
    return f"<h2>Rows</h2>{table([*head, 'measured', 'simulated', 'error'], cells, left=8)}" if cells else ""


def _missing(validation: Validation) -> str:
    lines = []
    for reason, rows in validation.missing.items():
        models = dict.fromkeys(row.built for row in rows)
        lines.append(f"<li>{plain(reason)}: {len(rows)} of {plain('; '.join(models))}</li>")
    return f"<h2>Not run</h2><ul>{''.join(lines)}</ul>" if lines else ""


def _name(quantity: str) -> str:
    return _NAMES.get(quantity, quantity)
