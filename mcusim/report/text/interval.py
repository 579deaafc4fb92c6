"""Prediction intervals as text: the figures, what they rest on, and the ratio of two runs."""

from __future__ import annotations

from collections.abc import Iterable

from mcusim.results.measurement.interval import Interval, Range, RatioInterval
from mcusim.text import UnitScale, columns, hanging, suited

__all__ = [
    "ends",
    "ends_text",
    "interval_basis",
    "interval_figures",
    "interval_lines",
    "interval_sentences",
    "interval_summary",
    "percentage",
    "range_text",
    "ratio_text",
]


def percentage(level: float) -> str:
    """``"90 %"``."""
    return f"{100 * level:g} %"


def interval_figures(found: Interval) -> str:
    """``"latency 840 to 1,190 ms, energy 180 to 250 mJ"``."""
    return f"latency {range_text(found.latency_ms, 'ms')}, energy {range_text(found.energy_mj, 'mJ')}"


def range_text(found: Range, unit: str) -> str:
    """``"840 to 1,190 ms"``, in the unit that suits; ``found`` is kept in ``unit``."""
    scale = suited(unit, list(found))
    return f"{ends_text(found, scale)} {scale.unit}"


def ends_text(found: Range, scale: UnitScale) -> str:
    """``"840 to 1,190"``, in the unit of ``scale``."""
    return " to ".join(scale.text(end).removesuffix(f" {scale.unit}") for end in found)


def ends(found: Range, scale: UnitScale) -> str:
    """``"840 to 1190"``, as in columns of numbers, in the unit of ``scale``."""
    return f"{scale.shown(found[0])} to {scale.shown(found[1])}"


def interval_sentences(found: Interval | None) -> list[str]:
    """What it is, and what it rests on; nothing without one."""
    if found is None:
        return []
    return [
        f"{percentage(found.level)} of measurements are expected within: {interval_figures(found)}.",
        interval_basis(found),
    ]


def interval_basis(found: Interval) -> str:
    """What it rests on, in a sentence or two."""
    like = "none of them" if not found.like else "all of them" if found.like == found.rows else f"{found.like} of them"
    text = f"From {found.rows} published latencies that no figure was fitted to, {like} of this machine, kernels and"
    text += " policy."
    if found.not_measured:
        text += f" Wider, for no such row has: {'; '.join(found.not_measured)}."
    return text


def interval_lines(found: Interval | None, label: str = "") -> list[str]:
    """Both, at most 80 columns wide; nothing without an interval."""
    if found is None:
        return []
    head = f"{percentage(found.level)} interval{label}"
    return hanging(f"{head}: {interval_figures(found)}. {interval_basis(found)}")


def ratio_text(name: str, found: RatioInterval) -> str:
    """``"external/tinyops 1.32 (1.21 to 1.44)"``, and that nothing can be claimed when 1 is inside."""
    text = f"{name} {found.simulated:.2f} ({found.low:.2f} to {found.high:.2f})"
    return text if found.differs else f"{text}: no difference can be claimed"


def interval_summary(named: Iterable[tuple[str, Interval | None]]) -> list[str]:
    """Latencies and energies of several runs, by short names, a line each."""
    known = [(name, found) for name, found in named if found is not None]
    if not known:
        return []
    rows = [[name, range_text(found.latency_ms, "ms"), range_text(found.energy_mj, "mJ")] for name, found in known]
    return columns([[f"{percentage(known[0][1].level)} interval", "latency", "energy"], *rows])
