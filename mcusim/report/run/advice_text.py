"""Limits and ways out as text."""

from __future__ import annotations

from mcusim.results.advice import RULE, Advice, LimitCheck, WayOut
from mcusim.text import columns, quantity, size, wrapped

_TITLES = {"sram": "SRAM"}


def advice_lines(advice: Advice) -> list[str]:
    """Whether the limits are met, in one line when all are, and the ways out; nothing without either."""
    lines: list[str] = []
    if advice.limits and advice.met:
        lines += ["", *wrapped(f"within {', '.join(_within(limit) for limit in advice.limits)}")]
    elif advice.limits:
        lines += ["", "Limits", *columns([_row(limit) for limit in advice.limits])]
    if advice.ways_out:
        lines += ["", "Ways out", *wrapped(f"{advice.note}; {RULE}")]
        for number, way in enumerate(advice.ways_out, 1):
            lines += [*wrapped(f"{number}. {way.what}: {_figures(way)}"), f"       {way.command}"]
    elif advice.note:
        tried = f"none of {advice.tried} tries ({advice.note})" if advice.tried else advice.note
        lines += ["", "Ways out", *wrapped(tried)]
        lines += wrapped(f"the closest: {advice.closest}") if advice.closest else []
    return lines


def advice_table(advice: Advice) -> str:
    """The text of ``advice`` alone."""
    return "\n".join(advice_lines(advice)).strip("\n")


def exceeded_text(limit: LimitCheck) -> str:
    """A limit that is not met, in words."""
    name, most = limit_name(limit), shown(limit.limit, limit.unit)
    if limit.value is None:
        return f"{name} is not known, limit {most}"
    return f"{name} {shown(limit.value, limit.unit)} exceeds {most} by {shown(limit.over or 0, limit.unit)}"


def limit_name(limit: LimitCheck) -> str:
    """What is limited, in words."""
    return _TITLES.get(limit.name, limit.name)


def shown(value: float | None, unit: str) -> str:
    """A figure with its unit, bytes in binary units."""
    if value is None:
        return "-"
    return size(int(value)) if unit == "B" else quantity(value, unit)


def _within(limit: LimitCheck) -> str:
    return f"{limit_name(limit)} {shown(limit.value, limit.unit)} of {shown(limit.limit, limit.unit)}"


def _row(limit: LimitCheck) -> list[str]:
    over = "within" if limit.met else "not known" if limit.over is None else f"{shown(limit.over, limit.unit)} too much"
    return [limit_name(limit), shown(limit.value, limit.unit), f"of {shown(limit.limit, limit.unit)}", over]


def _figures(way: WayOut) -> str:
    energy = "no energy" if way.energy_mj is None else shown(way.energy_mj, "mJ")
    return f"{shown(way.latency_ms, 'ms')}, {energy}, SRAM {size(way.peak_sram_bytes)}"
