"""Limits and ways out as text."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mcusim.report.run.interval_text import ends_text
from mcusim.results.advice import RULE, Advice, Attempt, LimitCheck, WayOut
from mcusim.text import WIDTH, columns, hanging_indent, pick_unit, quantity, size, wrapped

_TITLES = {"sram": "SRAM"}


def advice_lines(advice: Advice) -> list[str]:
    """Whether the limits are met, in a line when all are, and the ways out, or what was tried; nothing without
    either."""
    lines: list[str] = []
    if advice.limits and advice.met:
        lines += ["", *wrapped(limits_text(advice.limits))]
    elif advice.limits:
        lines += ["", "Limits", *columns([_row(limit) for limit in advice.limits])]
    return [*lines, *ways_lines(advice)]


def limits_text(limits: Sequence[LimitCheck]) -> str:
    """In words: those that are exceeded alone, where any is."""
    exceeded = ", ".join(exceeded_text(limit) for limit in limits if not limit.met)
    return exceeded or f"within {', '.join(_within(limit) for limit in limits)}"


def ways_lines(advice: Advice, most: int | None = None) -> list[str]:
    """The ways out, ``most`` of them, or what was tried in vain; nothing where nothing was tried."""
    lines: list[str] = []
    if advice.ways_out:
        lines += ["", *hanging_indent(f"Ways out ({advice.note}; {RULE})")]
        for number, way in enumerate(advice.ways_out[:most], 1):
            lines += [
                *wrapped(f"{number}. {way.what.removesuffix(' as it ships')}: {_figures(way)}"),
                *command_lines(way.command, "       "),
            ]
        if most is not None and len(advice.ways_out) > most:
            lines.append(f"  {len(advice.ways_out) - most} more with --all")
        if most is None and advice.attempts:
            names = [attempt.what.removesuffix(" as it ships") for attempt in advice.attempts]
            lines += wrapped(f"tried in vain: {'; '.join(names)}")
    elif advice.note:
        tried = f"none of {advice.tried} tries ({advice.note}), each with what it is over by" if advice.tried else ""
        tried = tried or advice.note
        lines += ["", *hanging_indent(f"Ways out: {tried}"), *_attempts(advice.attempts)]
    return lines


def _attempts(attempts: Sequence[Attempt]) -> list[str]:
    """What was tried in vain, those that lack the same together; the closest in full, with its command."""
    if not attempts:
        return []
    by_lack: dict[str, list[str]] = {}
    for attempt in attempts[1:]:
        by_lack.setdefault(attempt.lacks, []).append(attempt.what.removesuffix(" as it ships"))
    lines = [line for lacks, names in by_lack.items() for line in wrapped(f"{'; '.join(names)}: {lacks}")]
    closest = attempts[0]
    what = closest.what.removesuffix(" as it ships")
    return [*lines, *wrapped(f"the closest: {what}: {closest.why}"), *command_lines(closest.command, "       ")]


def command_lines(command: str, indent: str) -> list[str]:
    """A command as lines that a shell takes as they are, of at most 80 columns but for long words."""
    lines, words = [indent], list[str]()
    for word in map(shlex.quote, shlex.split(command)):
        if words and words[-1].startswith("--") and "=" not in words[-1] and not word.startswith("-"):
            words[-1] += f" {word}"  # an option with its value
        else:
            words.append(word)
    for word in words:
        if len(lines[-1]) + len(word) + 3 > WIDTH and lines[-1].strip():
            lines[-1] += " \\"
            lines.append(f"{indent}  {word}")
        else:
            lines[-1] += word if lines[-1] == indent else f" {word}"
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
    scale = pick_unit("ms", [way.latency_ms])
    within = f" ({ends_text(way.interval_ms, scale)})" if way.interval_ms else ""
    return f"{scale.text(way.latency_ms)}{within}, {energy}, SRAM {size(way.peak_sram_bytes)}"
