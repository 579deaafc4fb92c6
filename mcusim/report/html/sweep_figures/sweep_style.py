"""What the plots of a sweep have of their own beside :mod:`mcusim.report.html.style`: margins, a line of text."""

from __future__ import annotations

from typing import Any

from mcusim.report.html import style

__all__ = ["LAYOUT", "axis", "note"]

LAYOUT: dict[str, Any] = {**style.LAYOUT, "margin": {"l": 58, "r": 14, "t": 12, "b": 44}, "showlegend": False}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """A linear axis with plain numbers, about seven of them; a title as HTML that plotly takes."""
    return style.axis(title, **{"nticks": 7, **more})


def note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """A text in the plot; ``more`` says which axes ``x`` and ``y`` are of, and how it is anchored."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": 11}, **more}
