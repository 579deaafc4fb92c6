"""One result as text: summary, memory, cycles by cause, slowest operators, what it depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcusim.model.operators import shown_type
from mcusim.plan.verdict import ARRAY, MemoryVerdict
from mcusim.program.order import stored_index
from mcusim.program.unknown_operators import left_out_text
from mcusim.report.flash_text import flash_lines
from mcusim.report.run.advice_text import advice_lines
from mcusim.report.run.changes import change_lines
from mcusim.report.run.first_screen import first_screen, memory_parts
from mcusim.report.run.interval_text import interval_lines
from mcusim.report.run.other_code_text import other_code_lines
from mcusim.report.run.period_text import period_notes, period_rows
from mcusim.report.run.settings_text import title_lines
from mcusim.report.run.verdict_text import counted_lines, doubtful_text, parts_text, reason_lines, verdict_text
from mcusim.results.cautions import cautions
from mcusim.results.measurement.measured import Measured, output_text
from mcusim.results.result import Result
from mcusim.text import columns, cut, hanging_indent, percent, pick_unit, size, wrapped

if TYPE_CHECKING:
    from mcusim.engine.run import Run

LISTED = 10  # operators, and invocations
LONGEST_TYPE = 32
SECTIONS = ("timing", "memory", "flash", "operators", "assumptions")
"""What ``--show`` takes."""


def run_table(result: Result, slowest: int = LISTED, assumptions: bool = False) -> str:
    """All that there is to say, as ``mcusim run --all`` prints it, at most 80 columns wide except for long names and
    assumptions.

    ``slowest`` is the number of operators listed; ``assumptions`` lists them all instead of counting them.
    """
    verdict = hanging_indent(verdict_text(result))
    lines = [*verdict, *[""] * bool(verdict), *title_lines(result), *change_lines(result.machine), ""]
    if result.run is None:
        lines += [*reason_lines(result), *_flash(result), *advice_lines(result.advice)]
        return "\n".join(lines)
    lines += _summary(result, result.run)
    lines += [*_peak_memory(result), *_flash(result), *_cycles(result, result.run)]
    lines += [*_operators(result.run, slowest), *_outputs(result)]
    lines += ["", *_rests_on(result, assumptions), *advice_lines(result.advice), *wrapped(doubtful_text(result))]
    return "\n".join(lines)


def screen_table(result: Result, sections: Iterable[str] = (), slowest: int = LISTED) -> str:
    """The first screen, then those of :data:`SECTIONS` that are named, ``slowest`` operators among them."""
    lines = [*first_screen(result), *(line for name in sections for line in _section(result, name, slowest))]
    return "\n".join(lines)


def _section(result: Result, name: str, slowest: int) -> list[str]:
    if name == "memory":
        return _peak_memory(result) if result.run else ["", *reason_lines(result)]
    if name == "flash":
        return _flash(result) or ["", "Flash", "  not known: a saved program does not say what its model keeps there"]
    if result.run is None:
        return ["", name.capitalize(), "  there was no run"]
    if name == "timing":
        changes = change_lines(result.machine)
        return ["", "Timing", *changes, *_summary(result, result.run), *_cycles(result, result.run)]
    return _operators(result.run, slowest) if name == "operators" else ["", *_rests_on(result, listed=True)]


def _peak_memory(result: Result) -> list[str]:
    if result.run is None or result.run.header.recorded:
        return []
    return ["", "Peak memory", *_memory(result, result.run)]


def _flash(result: Result) -> list[str]:
    return ["", "Flash", *flash_lines(result.flash)] if result.flash else []


def _cycles(result: Result, run: Run) -> list[str]:
    again = ["", "Invocations", *_invocations(result, run)] if result.invocations else []
    return [*again, "", "Cycles by cause", *_causes(run)]


def _operators(run: Run, slowest: int) -> list[str]:
    head = f"Slowest operators ({min(slowest, len(run.operators))} of {len(run.operators)})"
    return ["", head, *_slowest(run, slowest)]


def _outputs(result: Result) -> list[str]:
    lines = [line for output in result.outputs for line in wrapped(output_text(output))]
    return ["", "Output", *lines] if lines else []


def _summary(result: Result, run: Run) -> list[str]:
    measured = result.measured
    rows = [_figure(result, "latency", "latency_ms", "ms")]
    rows.append(["cycles", f"{run.cycles:,}", f"at {run.clock / 1e6:g} MHz"])
    rows.append(_figure(result, "energy", "energy_mj", "mJ"))
    rows.append(_figure(result, "supply current", "supply_current_ma", "mA"))
    rows += [] if result.duty is None else period_rows(result.duty)
    per_mac = f"{run.cycles / result.macs:.2f} cycles per MAC" if result.macs else ""
    rows.append(["MACs", f"{result.macs or 0:,}", per_mac])
    issued = run.counters.get("instructions")
    if issued:
        each = f", {issued / result.macs:.2f} per MAC" if result.macs else ""
        rows.append(["instructions", f"{issued:,}", f"{issued / max(1, run.cycles):.2f} per cycle{each}"])
    without = left_out_text(result.left_out)
    notes = [] if result.duty is None else period_notes(result.duty)
    notes += [line for text in cautions(result) for line in wrapped(text)]
    notes += other_code_lines(result.other_code)
    return _with_remark(rows) + notes + (wrapped(without) if without else []) + _source(measured)


def _invocations(result: Result, run: Run) -> list[str]:
    """The first, all others apart while they are few, and their mean: the figures above are those of the first."""
    cycles = [invocation.cycles for invocation in result.invocations]
    scale = pick_unit("ms", [1e3 * max(cycles) / run.clock])
    rows = [[str(i), f"{n:,}", scale.text(1e3 * n / run.clock)] for i, n in enumerate(cycles[:LISTED], 1)]
    rows += [["..."]] * (len(cycles) > LISTED)
    mean = sum(cycles[1:]) / (len(cycles) - 1)
    rows.append(["mean from 2", f"{mean:,.0f}", scale.text(1e3 * mean / run.clock)])
    return columns([[*row, *[""] * (3 - len(row))] for row in rows])


def _with_remark(rows: list[list[str]]) -> list[str]:
    """Label, number, remark: the number to the right, the remark to the left."""
    plain = columns([row[:2] for row in rows])
    return [f"{line}  {row[2]}".rstrip() for line, row in zip(plain, rows, strict=True)]


def _figure(result: Result, label: str, name: str, unit: str) -> list[str]:
    """A row of the summary, with what was measured in the same unit."""
    value, scale = result.value(name), pick_unit(unit, [result.value(name)])
    if result.measured is None or name not in result.measured.figures:
        return [label, scale.text(value), ""]
    measured = f"measured {scale.shown(result.measured.figures[name])}, error {percent(result.error_percent(name))}"
    return [label, scale.text(value), measured]


def _source(measured: Measured | None) -> list[str]:
    return [f"  measured: {measured.reference}"] if measured else []


def _memory(result: Result, run: Run) -> list[str]:
    rows = []
    for name, used in sorted(run.header.peak_bytes.items()):
        region = result.machine.memory.get(name)
        share = f"of {size(region.size)} ({100 * used / region.size:.0f} %)" if region and region.size else ""
        kept = ", constants alone" if region and not region.writable else ""  # the table of flash has all
        rows.append([name, size(used), share + kept])
    memory = run.header.memory
    text = parts_text(memory_parts(result, run))
    inside = result.verdict is not None and "scratch" in result.verdict.parts and memory.scratch
    if inside and memory.scratch > memory_parts(result, run)["scratch"]:
        text += f"; the largest scratch buffer, {size(memory.scratch)}, has room among the activations"
    counted = [] if result.verdict is None else counted_lines(result.verdict, result.machine)
    counted += _smaller_budget(run.header.options, result.verdict)
    return [*_with_remark(rows), *wrapped(f"in parts: {text}"), *counted, *_arena(result, memory.arena)]


def _smaller_budget(options: Mapping[str, Any], verdict: MemoryVerdict | None) -> list[str]:
    """What a plan says that was made for less than there is."""
    if "planned_budget" not in options or verdict is None:
        return []
    budget, count = options["planned_budget"], options["plans_tried"]
    room = size(options["sram_budget"] or verdict.available)
    return wrapped(f"buffers as for a budget of {size(budget)}: the fastest of {count} plans within {room}")


def _arena(result: Result, planned: int) -> list[str]:
    if result.measured is None or "arena_bytes" not in result.measured.figures:
        compiled = result.verdict is not None and result.verdict.what == ARRAY
        return [] if compiled else [f"  TFLM-style arena {size(planned)}"]
    exported, measured = (result.value("arena_bytes") or 0) / 1000, result.measured.figures["arena_bytes"] / 1000
    error = percent(result.error_percent("arena_bytes"))
    if planned == result.arena(exported=True):  # the PADs are in the network
        return [f"  TFLM-style arena {exported:,.1f} KB (KB = 1000) measured {measured:.0f}, error {error}"]
    return [
        f"  TFLM-style arena {exported:,.1f} KB (KB = 1000) measured {measured:.0f}, error {error}",
        "    with explicit PADs, which the published network is inferred to have had",
        f"    as planned, without PADs: {planned / 1000:,.1f} KB, error {percent(result.planned_arena_error)}",
    ]


def _causes(run: Run) -> list[str]:
    total = run.cycles or 1
    shown = {cause: cycles for cause, cycles in run.by_cause.items() if cycles}
    return columns([[cause, f"{cycles:,}", f"{100 * cycles / total:.1f} %"] for cause, cycles in shown.items()])


def _slowest(run: Run, count: int) -> list[str]:
    total = run.cycles or 1
    rows = [["operator", "type", "tiles", "cycles", "share", "most of it"]]
    for operator in sorted(run.operators, key=lambda o: (-o.cycles, o.index))[:count]:
        cause = max(operator.by_cause, key=lambda c: operator.by_cause[c], default="-")
        share = f"{100 * operator.cycles / total:.1f} %"
        index = stored_index(run.header, operator.index)
        kind = cut(shown_type(operator.type), LONGEST_TYPE)
        rows.append([str(index), kind, str(operator.tiles), f"{operator.cycles:,}", share, cause])
    return columns(rows, left=2)


def _rests_on(result: Result, listed: bool) -> list[str]:
    lines = [line for warning in result.warnings for line in hanging_indent(f"warning: {warning}")]
    count = len(result.assumptions)
    if not listed:
        lines.append(f"Rests on {count} assumptions; --assumptions lists them, --json too.")
    else:
        lines += [f"Rests on {count} assumptions:", *(line for text in result.assumptions for line in wrapped(text))]
    return lines + interval_lines(result.interval)
