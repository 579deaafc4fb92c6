"""The page of ``mcusim emulate --html``: one offline HTML file."""

from __future__ import annotations

from mcusim.report.firmware.stack_figures import firmware_time_figure, latency_figure
from mcusim.report.firmware.table import stop_text
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.report.html.style import PART_COLOURS, legend
from mcusim.report.run.changes import change_texts
from mcusim.results.emulation import EmulationResult
from mcusim.results.firmware.firmware_timeline import firmware_lanes
from mcusim.results.hot_spots import causes, functions
from mcusim.text import quantity

_LISTED = 20
_SEGMENTS = 8  # of the bar of cycles; the smaller causes are one


def firmware_page(result: EmulationResult) -> str:
    """A page with lanes over time, latencies of interrupts, where cycles went, stacks and what it all rests on.

    Equal results give equal text. Not modelled: runs that were not recorded have no lanes.
    """
    title = f"{shortened(result.name, 80)} on {shortened(result.machine.name, 80)}"
    parts: list[str | PlotFigure] = [_summary(result), _cycle_bar(result)]
    lanes = firmware_lanes(result)
    parts += [firmware_time_figure(result, lanes)] if lanes else []
    parts += [latency_figure(result.profile.exceptions)] if result.profile.exceptions else []
    tables = [_exceptions(result), _streams(result), _stacks(result), _functions(result)]
    parts += [f'<h2>In numbers</h2><div class="tables">{"".join(tables)}</div>', _reading(), _rests_on(result)]
    return page(title, parts)


def _summary(result: EmulationResult) -> str:
    profile = result.profile
    text = f"<b>{quantity(1e3 * result.seconds, 'ms')}</b>, {int(profile.cycles):,} cycles at"
    text += f" {result.machine.core.clock / 1e6:g} MHz, {profile.issued:,} instructions: {plain(stop_text(result))}"
    changes = plain("; ".join(change_texts(result.machine, moves=False)))
    return f'<p class="summary">{text}</p>' + (f'<p class="dim">{changes}</p>' if changes else "")


def _cycle_bar(result: EmulationResult) -> str:
    """Where the cycles went as one bar; it needs no script."""
    pairs = list(causes(result.profile).items())
    shown = [*pairs[:_SEGMENTS], ("other", sum(cycles for _, cycles in pairs[_SEGMENTS:]))]
    total = sum(cycles for _, cycles in shown) or 1
    used = [(name, cycles / total, PART_COLOURS[n]) for n, (name, cycles) in enumerate(shown) if cycles > 0]
    bars = "".join(
        f'<i style="background:{colour};flex:{share:.5f}"{"" if share > 0.16 else narrow}>'
        f"{plain(name) if share > 0.06 else ''}</i>"
        for narrow in (' class="narrow"',)
        for name, share, colour in used
    )
    shares = {f"{name} {share:.1%}": colour for name, share, colour in used}
    return f'<div class="cycle-bar">{bars}</div><p>{legend("cycles:", shares)}</p>'


def _exceptions(result: EmulationResult) -> str:
    head = ["exception", "entries", "cycles", "latency, min", "median", "max", "jitter"]
    rows = []
    for exception in result.profile.exceptions:
        function = result.image.function_at(exception.handler)
        name = plain(exception.name) + (
            f' <span class="dim">{plain(shortened(function[0], 32))}</span>' if function else ""
        )
        numbers = [f"{cycles:,.1f}".removesuffix(".0") for cycles in (*exception.latency.values(), exception.jitter)]
        rows.append([name, f"{exception.count:,}", f"{int(exception.cycles):,}", *numbers])
    depth = max(result.profile.depths, default=0)
    note = f'<p class="dim">Handlers active at once: {depth} at most.</p>' if depth else ""
    return f"<div>{table(head, rows)}{note}</div>" if rows else ""


def _streams(result: EmulationResult) -> str:
    rows = [[f"{plain(use.controller)}.s{use.stream}", f"{use.transfers:,}", f"{use.bytes:,} B"] for use in result.dma]
    return table(["DMA stream", "transfers", "moved"], rows) if rows else ""


def _stacks(result: EmulationResult) -> str:
    stack = result.stack
    rows = [
        ["main (MSP)", f"{stack.top:#010x}", f"{stack.used:,} B", _room(stack.used, stack.top, stack.limit or None)]
    ]
    for task_stack in result.task_stacks:
        name = plain(shortened(task_stack.name or "?", 32))
        rows.append(
            [
                f"task (PSP) {name}",
                f"{task_stack.top:#010x}",
                f"{task_stack.used:,} B",
                _room(task_stack.used, task_stack.top, task_stack.limit),
            ]
        )
    return table(["stack", "from", "most used", "of its room"], rows)


def _room(used: int, top: int, limit: int | None) -> str:
    return f"{used / (top - limit):.0%}" if limit is not None and top > limit else "-"


def _functions(result: EmulationResult) -> str:
    total = result.profile.cycles or 1
    costs = functions(result.profile, result.image)
    rows = []
    for cost in costs[:_LISTED]:
        shares = [f"{part / total:.1%}" for part in (cost.cycles, cost.inclusive)]
        calls = f"{cost.calls:,}" if cost.calls else "-"
        rows.append([plain(shortened(cost.name, 40)), f"{int(cost.cycles):,}", *shares, calls])
    return table([f"function, {len(rows)} of {len(costs)}", "cycles", "own", "with calls", "calls"], rows)


def _reading() -> str:
    lines = [
        "The core's lane: code outside handlers under the function that most of the time between two events was spent "
        "in (starts and ends of transfers, ends of waits), handlers, sleep, and waits for a transfer at the end of the "
        "stretch that they belong to.",
        "A handler's lane has it from the push of its frame to the pop, without handlers that preempted it. Latency: "
        "cycles from pending to its first instruction.",
        "What is narrower than a pixel is merged until you zoom in.",
    ]
    return f"<h2>How to read it</h2>{bullets(lines)}"


def _rests_on(result: EmulationResult) -> str:
    findings = [f"Finding: {plain(shortened(str(finding), 400))}" for finding in result.findings]
    warnings = [f"Warning: {plain(shortened(text, 400))}" for text in result.image.warnings]
    html = bullets([*findings, *warnings]) if findings or warnings else ""
    if not result.assumptions:
        return html
    count = f"Rests on {len(result.assumptions)} assumptions"
    texts = bullets([plain(text) for text in result.assumptions])
    return f"{html}<details><summary>{count}</summary>{texts}</details>"
