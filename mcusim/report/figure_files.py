"""The plots of a page as SVG and PDF, drawn by matplotlib: no browser is needed.

What is drawn of plotly's traces is what the plots of sweeps have: lines and markers, horizontal bars, heat maps, notes,
one or two panels. Not modelled: what the pointer shows, and any other trace.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError
from mcusim.report.html.page import PlotFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("svg", "pdf")
_PIXELS = 100  # of a page an inch is
_WIDTH = 6.3  # inches: the text of an A4 page
_MARKERS = {"circle": "o", "diamond": "D", "square": "s", "cross": "P"}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # texts stay texts
    "svg.hashsalt": "mcusim",  # equal plots are equal files
    "pdf.fonttype": 42,
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dde2e7",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.dpi": _PIXELS,
}


def require_matplotlib() -> None:
    """Raise UsageError when it is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise UsageError('--figures needs the package "matplotlib": pip install "mcusim[figures]"') from None


def figure_files(figures: Sequence[PlotFigure]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of files: each figure as SVG and as PDF, by its name. Equal figures give equal files."""
    names: set[str] = set()
    for number, figure in enumerate(figures, 1):
        name = re.sub(r"[^A-Za-z0-9.]+", "-", figure.name).strip("-.")[:100] or f"figure-{number}"
        name = f"{name}-{number}" if name in names else name
        names.add(name)
        yield from ((f"{name}.{kind}", _drawn(figure, kind)) for kind in KINDS)


def _drawn(figure: PlotFigure, kind: str) -> bytes:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = BytesIO()
    with rc_context(_STYLE):
        sheet = Figure(figsize=(_WIDTH, figure.height / _PIXELS * 0.85), layout="constrained")
        _draw(sheet, figure)
        sheet.savefig(file, format=kind, metadata={"Date" if kind == "svg" else "CreationDate": None})
    return file.getvalue()


def _draw(sheet: Figure, figure: PlotFigure) -> None:
    layout = figure.layout
    panels = [name for name in ("yaxis", "yaxis2") if name in layout]
    axes = dict(zip(panels, sheet.subplots(len(panels), sharex=True, squeeze=False)[:, 0], strict=True))
    for panel in axes.values():
        panel.margins(y=0.08)
    for trace in figure.data:
        panel = axes["yaxis2" if trace.get("yaxis") == "y2" else "yaxis"]
        {"scatter": _scatter, "bar": _bar, "heatmap": _heat_map}[trace["type"]](panel, trace)
    for name, panel in axes.items():
        _axis(panel, "y", layout[name])
    _axis(list(axes.values())[-1], "x", layout["xaxis"])
    _labels(list(axes.values())[-1], layout.get("meta", {}).get("labels", ()))
    for note in layout.get("annotations", ()):
        _note(axes["yaxis"], note)
    sheet.suptitle(text_of(figure.caption), fontsize=8, x=0.01, ha="left")
    first = axes["yaxis"]
    if layout.get("showlegend") and first.get_legend_handles_labels()[1]:
        first.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=7)


def _scatter(panel: Axes, trace: Mapping[str, Any]) -> None:
    line, marker = trace.get("line", {}), trace.get("marker", {})
    lines, markers = "lines" in trace["mode"], "markers" in trace["mode"]
    shown = trace.get("showlegend", True)
    panel.plot(
        trace["x"] if isinstance(trace["x"][0], str) else _numbers(trace["x"]),
        _numbers(trace["y"]),
        label=text_of(trace["name"]) if shown else "_",
        color=line.get("color") or marker.get("color"),
        linestyle="-" if lines else "none",
        linewidth=0.7 * line.get("width", 2),
        drawstyle="steps-post" if line.get("shape") == "hv" else "default",
        marker=_MARKERS[marker.get("symbol", "circle")] if markers else "",
        markersize=4,
        alpha=trace.get("opacity", marker.get("opacity", 1)),
    )


def _bar(panel: Axes, trace: Mapping[str, Any]) -> None:
    panel.barh(trace["y"], trace["x"], height=trace["width"], color=trace["marker"]["color"])


def _heat_map(panel: Axes, trace: Mapping[str, Any]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    ends = [_colour(colour) for _, colour in trace["colorscale"]]
    cells = [_numbers(row) for row in trace["z"]]
    panel.pcolormesh(cells, cmap=LinearSegmentedColormap.from_list("cells", ends), edgecolors="white", linewidth=1.5)
    for down, row in enumerate(trace["text"]):
        for across, text in enumerate(row):
            panel.text(across + 0.5, down + 0.5, text, ha="center", va="center", fontsize=7)
    panel.set_xticks([number + 0.5 for number in range(len(trace["x"]))], [text_of(name) for name in trace["x"]])
    panel.set_yticks([number + 0.5 for number in range(len(trace["y"]))], [text_of(name) for name in trace["y"]])
    panel.grid(visible=False)
    panel.tick_params(length=0)


def _axis(panel: Axes, name: str, settings: Mapping[str, Any]) -> None:
    axis = panel.xaxis if name == "x" else panel.yaxis
    axis.set_label_text(text_of(settings.get("title", {}).get("text", "")))
    if settings.get("type") == "log":
        (panel.set_xscale if name == "x" else panel.set_yscale)("log")
    if "tickvals" in settings:
        axis.set_ticks(settings["tickvals"], [text_of(text) for text in settings["ticktext"]])
        axis.set_ticks([], minor=True)
    if "range" in settings:
        (panel.set_xlim if name == "x" else panel.set_ylim)(settings["range"])
    elif settings.get("rangemode") == "tozero":
        (panel.set_xlim if name == "x" else panel.set_ylim)(0)
    if settings.get("showticklabels") is False:
        axis.set_ticks([])
    if settings.get("showgrid") is False:
        axis.grid(visible=False)


def _labels(panel: Axes, names: Sequence[str]) -> None:
    """Names of the whole numbers of the x axis."""
    if names:
        panel.set_xticks(range(len(names)), [text_of(name) for name in names], rotation=30, ha="right")


def _note(panel: Axes, note: Mapping[str, Any]) -> None:
    of_paper = note.get("xref") == "paper"
    anchors = {"middle": "center", "bottom": "bottom", "top": "top"}
    panel.text(
        note["x"],
        note["y"],
        text_of(note["text"]),
        transform=panel.get_yaxis_transform() if of_paper else panel.transData,
        ha=note.get("xanchor", "center"),
        va=anchors[note.get("yanchor", "middle")],
        rotation=-note.get("textangle", 0),
        fontsize=6.5,
        bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5},
    )


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else float(value) for value in values]


def _colour(text: str) -> tuple[float, ...]:
    """Of ``rgba(213,94,0,0.04)`` as it is on white."""
    red, green, blue, opacity = (float(part) for part in text.removeprefix("rgba(").removesuffix(")").split(","))
    return tuple(1 - opacity + opacity * part / 255 for part in (red, green, blue))


def text_of(markup: str) -> str:
    """Plotly's markup as plain text."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup.replace("<br>", "\n"))).replace("$", r"\$")
