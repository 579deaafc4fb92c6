"""Prediction intervals as text: the figures, what they rest on, and the ratio of two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mcusim.results.measurement.interval import Interval, Range, RatioInterval
from mcusim.text import UnitScale, columns, hanging_indent, pick_unit

HALF = 0.5  # share of the cycles from which what they are in is why an interval is wide


def percentage(level: float) -> str:
    """``"90 %"``."""
    return f"{100 * level:g} %"


def interval_figures(interval: Interval) -> str:
    """``"latency 840 to 1,190 ms, energy 180 to 250 mJ"``."""
    return f"latency {range_text(interval.latency_ms, 'ms')}, energy {range_text(interval.energy_mj, 'mJ')}"


def range_text(bounds: Range, unit: str) -> str:
    """``"840 to 1,190 ms"``, in the unit that suits; ``bounds`` is kept in ``unit``."""
    scale = pick_unit(unit, list(bounds))
    return f"{ends_text(bounds, scale)} {scale.unit}"


def ends_text(bounds: Range, scale: UnitScale) -> str:
    """``"840 to 1,190"``, in the unit of ``scale``."""
    return " to ".join(scale.text(end).removesuffix(f" {scale.unit}") for end in bounds)


def ends(pair: Range, scale: UnitScale) -> str:
    """``"840 to 1190"``, as in columns of numbers, in the unit of ``scale``."""
    return f"{scale.shown(pair[0])} to {scale.shown(pair[1])}"


def interval_sentences(interval: Interval | None) -> list[str]:
    """What it is, and what it rests on; nothing without one."""
    if interval is None:
        return []
    return [
        f"{percentage(interval.level)} of measurements are expected within: {interval_figures(interval)}.",
        interval_basis(interval),
    ]


def interval_basis(interval: Interval) -> str:
    """What it rests on, in a sentence or two."""
    like = (
        "none of them"
        if not interval.like
        else "all of them"
        if interval.like == interval.rows
        else f"{interval.like} of them"
    )
    text = f"From {interval.rows} published latencies of its engine that no figure was fitted to, {like} of this"
    text += " machine, kernels and policy."
    text = text if interval.rows else "No published latency is of its engine."
    if interval.not_measured:
        text += f" Wider, for no such row has: {'; '.join(interval.not_measured)}."
    if interval.not_fitted:
        text += f" Wider, for {interval.not_fitted}."
    if interval.situation.builds:
        text += f" Wider, {builds_text(interval.situation.builds)}."
    if interval.situation.peripherals > 1:
        text += f" Energy wider: all peripherals on make it {interval.situation.peripherals:.2f} times as large."
    return text


def interval_reason(interval: Interval | None) -> str:
    """:func:`interval_basis` in a line; '' without an interval."""
    if interval is None:
        return ""
    in_floats = sum(share for kind, share in interval.situation.mix if "float32" in kind)
    reasons = [f"{100 * in_floats:.0f} % in loops of float32, of which nothing is published"] * (in_floats >= HALF)
    reasons += ["--kernels says which are yours"] * bool(interval.situation.builds)
    reasons += ["nothing like it is published"] * bool(interval.not_measured or not interval.rows)
    reasons += ["shapes without a fit"] * bool(interval.not_fitted)
    like = f"by {interval.rows} published latencies, {interval.like} of them like this"
    return f"{percentage(interval.level)} of measurements; {f'wide: {reasons[0]}' if reasons else like}"


def builds_text(factors: Sequence[float]) -> str:
    """What a build that nobody named may change."""
    ends = f"{min(factors):.2f} to {max(factors):.2f}"
    return f"for the build of the kernels is not named: {ends} times as long with those known (--kernels names yours)"


def interval_lines(interval: Interval | None, label: str = "") -> list[str]:
    """Both, at most 80 columns wide; nothing without an interval."""
    if interval is None:
        return []
    head = f"{percentage(interval.level)} interval{label}"
    return hanging_indent(f"{head}: {interval_figures(interval)}. {interval_basis(interval)}")


def ratio_text(name: str, interval: RatioInterval, words: Callable[[str], str] | None = None) -> str:
    """``"external/tinyops 1.32 (1.21 to 1.44)"``, and that nothing can be claimed when 1 is inside; ``words`` says the
    ratio otherwise."""
    ratio = f"{interval.simulated:.2f}"
    text = f"{words(ratio) if words else f'{name} {ratio}'} ({interval.low:.2f} to {interval.high:.2f})"
    return text if interval.differs else f"{text}: no difference can be claimed"


def interval_summary(named: Iterable[tuple[str, Interval | None]]) -> list[str]:
    """Latencies and energies of several runs, by short names, a line each."""
    known = [(name, interval) for name, interval in named if interval is not None]
    if not known:
        return []
    rows = [
        [name, range_text(interval.latency_ms, "ms"), range_text(interval.energy_mj, "mJ")] for name, interval in known
    ]
    return columns([[f"{percentage(known[0][1].level)} interval", "latency", "energy"], *rows])
