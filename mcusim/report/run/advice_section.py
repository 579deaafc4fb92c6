"""What does not fit, limits and ways out as a part of a page."""

from __future__ import annotations

from mcusim.plan.verdict import MemoryVerdict
from mcusim.report.html.page import plain, table
from mcusim.report.run.advice_text import shown
from mcusim.results.advice import RULE, Advice, WayOut


def advice_section(verdict: MemoryVerdict | None, advice: Advice) -> str:
    """What does not fit, in parts; the limits with what there is; the ways out, best first, with their commands."""
    needed = _needed(verdict) if verdict is not None and not verdict.fits else ""
    return needed + _limits(advice) + _ways(advice)


def _needed(verdict: MemoryVerdict) -> str:
    rows = [[plain(name), f"{size:,} B"] for name, size in verdict.parts.items()]
    rows += [["<b>together</b>", f"<b>{verdict.needed:,} B</b>"], ["available", f"{verdict.available:,} B"]]
    rows.append(["<b>too many</b>", f"<b>{verdict.over:,} B</b>"])
    return f"<h2>Needed in {plain(verdict.region)}</h2>{table(['part', 'bytes'], rows)}"


def _limits(advice: Advice) -> str:
    rows = []
    for limit in advice.limits:
        over = "within" if limit.met else "not known" if limit.over is None else f"{shown(limit.over, limit.unit)} over"
        rows.append([limit.name, shown(limit.limit, limit.unit), shown(limit.value, limit.unit), over])
    return f"<h2>Limits</h2>{table(['limit', 'at most', 'is', 'verdict'], rows)}" if rows else ""


def _ways(advice: Advice) -> str:
    if not advice.ways_out:
        if advice.note is None:
            return ""
        closest = f" The closest: {plain(advice.closest)}." if advice.closest else ""
        text = f"None of {advice.tried} tries ({plain(advice.note)})." if advice.tried else f"{plain(advice.note)}."
        rows = [
            [plain(attempt.what), plain(attempt.lacks), f"<code>{plain(attempt.command)}</code>"]
            for attempt in advice.attempts
        ]
        tried = table(["tried in vain", "lacks", "command"], rows, left=3) if rows else ""
        return f"<h2>Ways out</h2><p>{text}{closest}</p>{tried}"
    rows = [_row(number, way) for number, way in enumerate(advice.ways_out, 1)]
    head = ["", "change", "command", "latency", "energy", "SRAM", "flash"]
    note = f'<p class="dim">{plain(advice.note or "")}; {RULE}</p>'
    return f"<h2>Ways out</h2>{note}{table(head, rows, left=3)}"


def _row(number: int, way: WayOut) -> list[str]:
    figures = [shown(way.latency_ms, "ms"), shown(way.energy_mj, "mJ")]
    sizes = [shown(way.peak_sram_bytes, "B"), shown(way.flash_bytes, "B")]
    return [str(number), plain(way.what), f"<code>{plain(way.command)}</code>", *figures, *sizes]
