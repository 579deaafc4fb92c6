"""What the plots of a sweep share: layout, axes, a line of text."""

from __future__ import annotations

from typing import Any

__all__ = ["LAYOUT", "axis", "note"]

LAYOUT: dict[str, Any] = {
    "hovermode": "closest",
    "hoverlabel": {"align": "left", "bgcolor": "#262c33", "bordercolor": "#262c33", "font": {"size": 12}},
    "plot_bgcolor": "rgba(0,0,0,0)",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif", "size": 12},
    "separators": ".,",
    "margin": {"l": 58, "r": 14, "t": 12, "b": 44},
    "showlegend": False,
}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """A linear axis with plain numbers; a title as HTML that plotly takes."""
    named = {"title": {"text": title, "font": {"size": 12}, "standoff": 6}} if title else {}
    plain = {"separatethousands": True, "exponentformat": "none", "nticks": 7, "tickfont": {"size": 11}}
    return {**named, **plain, "gridcolor": "#dde2e7", "zerolinecolor": "#dde2e7", **more}


def note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """A text in the plot; ``more`` says which axes ``x`` and ``y`` are of, and how it is anchored."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": 11}, **more}
