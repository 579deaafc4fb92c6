"""Several results as one table, simulated next to measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from mcusim.report.compare.pairs import differences_lines, times_text, verdict_lines
from mcusim.report.flash_text import flash_notes
from mcusim.report.run.changes import change_lines, change_texts
from mcusim.report.run.interval_text import builds_text, interval_summary
from mcusim.report.run.period_text import period_lines
from mcusim.results.cautions import cautions
from mcusim.results.measurement.measured import error_percent, reference
from mcusim.results.result import Result, sram_bytes
from mcusim.run_config.kernel_choice import kernels_title
from mcusim.text import UnitScale, hanging_indent, kib, percent, pick_unit, rounded, size, wrapped

Ratio = tuple[float, float | None]


def compare_table(results: Sequence[Result], explain: bool = False) -> str:
    """One line per result, grouped by model and machine, at most 80 columns wide.

    Each column has the unit that suits its largest figure. SRAM is the peak in on-chip RAM; arena is the TFLM-style
    arena, wherever it lies, in KB (1000 B) where one was published. A group with the
    policies ``external`` and ``tinyops`` ends with the ratio of their latencies. In a group with a published arena the
    column is the arena of the network as a PyTorch export stores it, with explicit PADs (inferred, see
    :mod:`mcusim.plan.pytorch_arena`), and the group ends with the arena as planned. Above the groups is which run is
    fastest; below them, with ``explain``, why runs of a model differ in time (:mod:`mcusim.report.compare.pairs`), then
    what flash keeps. Machine keys that were set are
    at the end, or in each group when machines differ in them.
    """
    exported = {_group(result) for result in results if result.arena_published}
    units = _Units.of(results)
    lines = _layout(units.headings, [_cells(result, _group(result) in exported, units) for result in results])
    table, body = lines[:2], iter(lines[2:])
    alike = all(change_texts(result.machine) == change_texts(results[0].machine) for result in results)
    for _, group in groupby(results, key=_group):
        members = list(group)
        table += ["", _title(members[0]), *([] if alike else change_lines(members[0].machine, ""))]
        table += [_line(result, next(body)) for result in members]
        table += _ratio_line(members) + _planned_line(members)
        table += interval_summary((result.label, result.interval) for result in members)
        table += period_lines(members)
    if explain and (why := differences_lines(results)):
        table += ["", *why]
    flash = flash_notes([(f"{row.model} on {row.machine.name}", row.label, row.flash) for row in results if row.flash])
    table += ["", *flash] if flash else []
    if verdict := verdict_lines(results):
        table = [*verdict, "", *table, *([] if explain else ["", "--explain says where the time goes"])]
    return "\n".join([*table, *_footer(results, change_lines(results[0].machine, "") if alike and results else [])])


def ratio(results: Sequence[Result]) -> Ratio | None:
    """Latency of ``external`` over that of ``tinyops`` in one group: simulated and, where both were, measured."""
    by_policy = {result.policy: result for result in results if result.label == result.planner}
    pair = [by_policy.get(policy) for policy in ("external", "tinyops")]
    if any(result is None or result.energy is None for result in pair):
        return None
    simulated = [result.value("latency_ms") or 0.0 for result in pair if result]
    published = [result.measured.figures.get("latency_ms") for result in pair if result and result.measured]
    if not simulated[1]:
        return None
    known = [value for value in published if value]
    return simulated[0] / simulated[1], known[0] / known[1] if len(known) == 2 else None


def _group(result: Result) -> tuple[str, str, int | None, tuple[tuple[str, str], ...]]:
    return result.model, result.machine.name, result.sram_budget, tuple(result.machine.changes.items())


def _title(result: Result) -> str:
    budget = f", SRAM budget {size(result.sram_budget)}" if result.sram_budget else ""
    return f"{result.model} on {result.machine.name}{budget}"


@dataclass(frozen=True)
class _Units:
    """The unit of each column."""

    latency: UnitScale
    current: UnitScale
    energy: UnitScale
    arena: UnitScale

    @classmethod
    def of(cls, results: Sequence[Result]) -> _Units:
        kib = UnitScale("KB", 1e-3) if any(result.arena_published for result in results) else UnitScale("KiB", 1 / 1024)
        chosen = {name: pick_unit(unit, _figures(results, name)) for name, unit in _SUITED.items()}
        return cls(chosen["latency_ms"], chosen["supply_current_ma"], chosen["energy_mj"], kib)

    @property
    def headings(self) -> list[tuple[str, tuple[str, ...]]]:
        """Groups of columns: title, then one heading a column."""
        return [
            ("", ("policy",)),
            (f"latency, {self.latency.unit}", ("sim.", "meas", "error")),
            (f"current, {self.current.unit}", ("sim.", "meas")),
            (f"energy, {self.energy.unit}", ("sim.", "meas", "error")),
            ("SRAM", ("KiB",)),
            (f"arena, {self.arena.unit}", ("sim.", "meas", "error")),
        ]


_SUITED = {"latency_ms": "ms", "supply_current_ma": "mA", "energy_mj": "mJ"}


def _figures(results: Sequence[Result], name: str) -> list[float | None]:
    measured = [result.measured.figures.get(name) for result in results if result.measured]
    return [*(result.value(name) for result in results), *measured]


def _cells(result: Result, exported: bool, units: _Units) -> list[str]:
    measured = result.measured.figures if result.measured else {}
    arena, published_arena = result.arena(exported), measured.get("arena_bytes")
    return [
        result.label,
        units.latency.shown(result.value("latency_ms")),
        units.latency.shown(measured.get("latency_ms")),
        percent(result.error_percent("latency_ms"), short=True),
        units.current.shown(result.value("supply_current_ma")),
        units.current.shown(measured.get("supply_current_ma")),
        units.energy.shown(result.value("energy_mj")),
        units.energy.shown(measured.get("energy_mj")),
        percent(result.error_percent("energy_mj"), short=True),
        kib(sram_bytes(result)),
        units.arena.shown(arena or None),
        units.arena.shown(published_arena or None),
        percent(result.error_percent("arena_bytes"), short=True),
    ]


def _layout(groups: Sequence[tuple[str, tuple[str, ...]]], rows: Sequence[Sequence[str]]) -> list[str]:
    """Group titles, headings, rows; one blank inside a group and two between groups keep 80 columns. Columns without
    a value are left out."""
    groups, rows = _with_values(groups, rows)
    headings = [heading for _, group in groups for heading in group]
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]
    titles, lines, start = [], [""] * (1 + len(rows)), 0
    for title, group in groups:
        stop = start + len(group)
        blank = "  " if start else ""
        room = max(sum(widths[start:stop]) + len(group) - 1, len(title))
        titles.append(blank + title.rjust(room))
        for number, row in enumerate((headings, *rows)):
            cells = [
                c.rjust(w) if start else c.ljust(w) for c, w in zip(row[start:stop], widths[start:stop], strict=True)
            ]
            lines[number] += blank + " ".join(cells).rjust(room)
        start = stop
    return ["".join(titles).rstrip(), *(line.rstrip() for line in lines)]


def _with_values(
    groups: Sequence[tuple[str, tuple[str, ...]]], rows: Sequence[Sequence[str]]
) -> tuple[list[tuple[str, tuple[str, ...]]], list[list[str]]]:
    """Without the columns, but the first, that have nothing but dashes."""
    known = [number == 0 or any(cell != "-" for cell in cells) for number, cells in enumerate(zip(*rows, strict=True))]
    kept, start = [], 0
    for title, headings in groups:
        left = tuple(heading for number, heading in enumerate(headings, start) if number < len(known) and known[number])
        kept += [(title, left)] if left else []
        start += len(headings)
    return kept, [[cell for cell, use in zip(row, known, strict=True) if use] for row in rows]


def _line(result: Result, line: str) -> str:
    if result.fits:
        return line
    return "\n".join([line, *wrapped(str(result.negative or result.unusable))])


def _ratio_line(members: Sequence[Result]) -> list[str]:
    pair = ratio(members)
    if pair is None:
        return []
    simulated, published = pair
    line = times_text("external", "tinyops", f"{simulated:.2f}")
    if published is not None:
        line += f", {published:.2f} measured, error {percent(error_percent(simulated, published))}"
    return [line]


def _planned_line(members: Sequence[Result]) -> list[str]:
    for result in members:
        arena, error = result.arena(exported=False), result.planned_arena_error
        if arena is not None and error is not None and arena != result.arena(exported=True):
            return [f"arena as planned, without PADs: {rounded(arena / 1000)} KB, error {percent(error)}"]
    return []


def _footer(results: Sequence[Result], changes: Sequence[str]) -> list[str]:
    tables: dict[str, list[str]] = {}
    for published in (result.measured for result in results if result.measured):
        tables.setdefault(published.source, []).extend(published.tables)
    sources = [f"measured: {reference(source, names)}" for source, names in tables.items()]
    warnings = dict.fromkeys(f"warning: {text}" for result in results for text in result.warnings)
    lines = [*changes, *sources, *warnings]
    texts = dict.fromkeys(text for result in results for text in cautions(result))
    lines += [line for text in texts for line in wrapped(text)]
    if any(result.arena_published and result.fits for result in results):
        lines.append("arena: with a PAD before each padded strided window, as a PyTorch export has it;")
        lines.append("  that the published networks had these PADs is inferred, not published")
    if any("random weights" in text for result in results for text in result.assumptions):
        lines.append("random weights: published architectures with seeded random numbers")
    if several := max((len(result.invocations) for result in results), default=0):
        lines.append(f"invocations: figures are of the first of {several}; --json has them all")
    for name in dict.fromkeys(result.kernels for result in results if result.run is not None):
        title = kernels_title(name)
        lines += hanging_indent(f"kernels: {name}: {title}") if title else []
    lines += _basis(results)
    return ["", *lines] if lines else []


def _basis(results: Sequence[Result]) -> list[str]:
    """What the intervals rest on, and what makes some of them wider."""
    entries: dict[str, None] = {}
    for result in results:
        if result.interval is not None:
            entries |= dict.fromkeys(result.interval.not_measured)
    rows = [result.interval.rows for result in results if result.interval is not None]
    if not rows:
        return []
    least, most = min(rows), max(rows)
    counted = f"{least}" if least == most else f"{least} to {most}"
    lines = hanging_indent(f"intervals: from {counted} published latencies of an engine that no figure was fitted to")
    lines += hanging_indent(f"wider, for no such row has: {'; '.join(entries)}") if entries else []
    shapes = dict.fromkeys(result.interval.not_fitted for result in results if result.interval is not None)
    for text in filter(None, shapes):
        lines += hanging_indent(f"wider, for {text}")
    factors = [factor for result in results if result.interval for factor in result.interval.situation.builds]
    if factors:
        lines += hanging_indent(f"wider, {builds_text(factors)}")
    return lines
