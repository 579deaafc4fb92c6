"""The page of ``mcusim memory``: one offline HTML file, before and after side by side."""

from __future__ import annotations

from mcusim.plan.allocators import BufferMove, Placed
from mcusim.plan.verdict import ARENA
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.report.memory.figures.hover import Tooltips, operator_label
from mcusim.report.memory.figures.order_figure import Scale, order_figure
from mcusim.report.run.changes import change_texts
from mcusim.results.memory_plan import MemoryPlan, Planned
from mcusim.results.provenance import plan_made
from mcusim.text import quantity

_WEIGHTS = {
    "flash": "Weights stay in flash and need no RAM.",
    "streamed": "Weights are in RAM while the operator that reads them runs.",
    "resident": "Weights are in RAM all the time.",
}


def memory_html(plan: MemoryPlan) -> str:
    """A page with what needs RAM at each operator (Liberis & Lane 2019, Appendix A) and where the chosen allocator puts
    it, before and after where they differ, under tables of the figures and over what these leave out.

    Equal plans give equal text, whatever seconds they took. Not modelled: residents of 0 bytes, and the smallest pieces
    of a plot that would have more than 8,000.
    """
    sides = [plan.before, plan.after] if plan.changed else [plan.after]
    placed = [plan.addresses if side is plan.after else _before(plan) for side in sides]
    scale = Scale(max(side.timeline.peak for side in sides), max(p.bytes for p in placed), plan.room)
    figures = []
    for side, offsets in zip(sides, placed, strict=True):
        before = plan.before.timeline.peak if side is plan.after and plan.changed else None
        tooltips = Tooltips(plan.graph, side.timeline)
        costs = _costs(plan) if side is plan.after else None
        figures.append(order_figure(tooltips, offsets, scale, _caption(plan, side), before, costs))
    title = f"Memory of {shortened(plan.graph.name or 'a model without a name', 80)}"
    parts: list[str | list[PlotFigure]] = [_lead(plan), _tables(plan), _fits(plan), figures, _notes(plan)]
    return page(title, parts, by=plan_made(plan))


def _before(plan: MemoryPlan) -> Placed:
    """The chosen allocator on the order as stored; TFLM's where that cannot have placed it."""
    return plan.before.placed.get(plan.allocator) or plan.before.placed["greedy"]


def _order(plan: MemoryPlan, side: Planned) -> str:
    """How the operators are ordered, and what counts."""
    reordered = plan.ordering is not None and side is plan.after
    best = "optimal order" if plan.ordering and plan.ordering.optimal else "best order found"
    words = [best if reordered else "order as stored"]
    words += ["in place"] if side.accounting.in_place else []
    words += [f"weights {side.accounting.weights}"] if side.accounting.weights != "flash" else []
    return ", ".join(words)


def _caption(plan: MemoryPlan, side: Planned) -> str:
    placed, name = plan.placed if side is plan.after else _before(plan), plain(shortened(plan.graph.name, 48))
    when = "" if not plan.changed else "Before: " if side is plan.before else "After: "
    figures = f"peak {side.timeline.peak:,} B, {plan.allocator} arena {placed.bytes:,} B"
    return f"<b>{when}{_order(plan, side)}</b> <span class=dim>of <bdi>{name}</bdi></span><br>{figures}"


def _lead(plan: MemoryPlan) -> str:
    before, after = plan.before.timeline.peak, plan.after.timeline.peak
    if not plan.changed:
        text = f"Peak <b>{after:,} B</b> in the {_order(plan, plan.after)}"
    else:
        alike = plan.before.accounting.weights == plan.after.accounting.weights
        less = f" ({(after - before) / before:+.1%})" if before and alike else ""
        text = f"Peak <b>{before:,} B</b> → <b>{after:,} B</b>{less} in the {_order(plan, plan.after)}"
    if plan.ordering is not None:
        bound = plan.ordering.bound
        proof = "no order needs less" if plan.ordering.optimal else f"no order needs less than {bound:,} B"
        text += f"; {proof}"
    return f'<p class="summary">{text}.</p>'


def _tables(plan: MemoryPlan) -> str:
    sides = [("before", plan.before), ("after", plan.after)] if plan.changed else [("", plan.after)]
    return f'<div class="tables">{_orders(plan, sides)}{_allocators(plan, sides)}{_price(plan)}</div>'


def _orders(plan: MemoryPlan, sides: list[tuple[str, Planned]]) -> str:
    rows = []
    for name, side in sides:
        timeline, step = side.timeline, side.timeline.bottleneck
        where = "-" if step is None else f"{operator_label(plan.graph, timeline.order[step])} (step {step})"
        row = [f"{name}: {_order(plan, side)}" if name else _order(plan, side), where, f"{timeline.peak:,} B"]
        if plan.ordering is not None:
            row.append(f"{plan.ordering.bound:,} B" if side is plan.after else "-")
        rows.append(row)
    return table(["operators", "bottleneck", "peak", "lower bound"][: len(rows[0])], rows, left=2)


def _allocators(plan: MemoryPlan, sides: list[tuple[str, Planned]]) -> str:
    head, rows = ["allocator"], []
    for name, _ in sides:
        head += [f"arena {name}".rstrip(), "gap", "moves"]
    for allocator in plan.after.placed:
        row = [f"<b>{allocator}</b> (shown)" if allocator == plan.allocator else allocator]
        for _, side in sides:
            placed = side.placed.get(allocator)
            if placed is None:
                row += ["-"] * 3
                continue
            moves = f"{len(placed.moves):,} ({placed.moved_bytes:,} B)" if placed.moves else "-"
            row += [f"{placed.bytes:,} B", f"{placed.gap:,} B" if placed.gap else "0", moves]
        rows.append(row)
    return table(head, rows)


def _price(plan: MemoryPlan) -> str:
    """What all moves of one run cost."""
    rows = [
        [
            f"by {defragmentation.copy}",
            f"{defragmentation.cycles:,}",
            quantity(1e3 * defragmentation.seconds, "ms"),
            quantity(defragmentation.energy_mj, "mJ"),
        ]
        for defragmentation in plan.defragmentation
    ]
    return table(["moving tensors together", "cycles", "time", "energy"], rows) if rows else ""


def _costs(plan: MemoryPlan) -> dict[BufferMove, str]:
    """What each move costs."""
    texts: dict[BufferMove, str] = {}
    for defragmentation in plan.defragmentation:
        for move, cycles in zip(defragmentation.moves, defragmentation.cycles_by_move, strict=True):
            texts[move] = f"{texts[move]}, " if move in texts else ""
            texts[move] += f"{cycles:,} cycles by {defragmentation.copy}"
    return texts


def _fits(plan: MemoryPlan) -> str:
    """Does the arena fit into the machine's memory, and what TFLM makes of it."""
    text = _machine(plan)
    if plan.tflm_head is not None:
        text += (
            f" At the head of TensorFlow Lite Micro's arena: {plan.tflm_head:,} B, scratch buffers of kernels included."
        )
    return f"<p>{text.strip()}</p>" if text else ""


def _machine(plan: MemoryPlan) -> str:
    pool = plan.room
    if plan.machine is None or pool is None:
        return ""
    machine = plain(shortened(plan.machine.name, 80))
    memory = f"{pool.size:,} B of SRAM ({plain(shortened(pool.name, 80))}) of {machine}"
    memory += "".join(f" ({plain(shortened(line, 400))})" for line in change_texts(plan.machine))
    verdict = plan.verdict
    counted = "" if verdict is None else f" With kernels {plain(str(plan.kernels))}, {plain(str(verdict))}."
    if verdict is not None and verdict.what != ARENA:
        return counted.strip()
    arena = plan.placed.bytes if verdict is None else verdict.needed
    if plan.fits:
        return f"The {plan.allocator} arena takes {arena / pool.size:.1%} of the {memory}.{counted}"
    return f"The {plan.allocator} arena is {arena - pool.size:,} B larger than the {memory}.{counted}"


def _notes(plan: MemoryPlan) -> str:
    counted = plan.after.accounting
    shared = (
        "An element-wise operator writes over an input that dies at it, and a view is its input's bytes."
        if counted.in_place
        else "Every tensor has bytes of its own; nothing is computed in place."
    )
    if plan.array is not None and counted.in_place:
        shared = "A depthwise convolution writes over its input: both are at one address, fewer bytes after a stride."
    if plan.before.accounting != counted:
        shared += " Before: each in bytes of its own, weights in flash."
    lines = [
        "One bar per operator, in the order in which they run; a colour is a tensor, the same in all plots; the number "
        "inside is the operator whose output it is. Hatched: weights. The grey of the address map is free space.",
        "In use: the tensors' own bytes, inputs and outputs of the running operator included. Offsets are multiples of "
        f"{plan.placed.align} B; gap: bytes above what is proven that any placement needs.",
        f"{_WEIGHTS[counted.weights]} {shared}",
        "Not counted in the plots: scratch buffers of kernels, what an interpreter keeps for itself, the stack.",
    ]
    if plan.placed.moves:
        lines.append("Arrows: what is copied between two operators, so that no free space lies between tensors.")
    lines += [f"Warning: {plain(shortened(warning, 400))}" for warning in plan.graph.warnings]
    return f"<h2>How to read it</h2>{bullets(lines)}{_assumptions(plan)}"


def _assumptions(plan: MemoryPlan) -> str:
    if not plan.assumptions:
        return ""
    texts = bullets([plain(text) for text in plan.assumptions])
    return f"<details><summary>What the cost of moving tensors assumes</summary>{texts}</details>"
