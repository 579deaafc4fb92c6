"""``mcusim memory`` as text: the orders, the allocators, what is in use at each step, and where everything is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcusim.model.operators import is_control_flow, is_opaque, shown_type
from mcusim.plan.allocators import OFFLINE
from mcusim.plan.patch_figures import PatchFigures
from mcusim.plan.static_array import StaticArray
from mcusim.report.flash_text import flash_text, used_text
from mcusim.report.run.advice_text import limit_name, limits_text
from mcusim.report.run.changes import change_lines
from mcusim.report.run.verdict_text import counted_lines, parts_text, room_text, too_small_text
from mcusim.results.memory_plan import MemoryPlan, Planned
from mcusim.text import columns, cut, hanging_indent, kib, pick_unit, size, wrapped

LONGEST_NAME = 44
MOMENTS = 10  # steps on the first screen
BAR = 16  # characters of the peak


def memory_table(
    plan: MemoryPlan, written: Sequence[Path] = (), assumptions: bool = False, rewritten: bool = False
) -> str:
    """The text that ``mcusim memory --all`` prints; ``written`` are the files that the plan went into, the model too if
    ``rewritten``; ``assumptions`` lists what the price of moving tensors depends on."""
    lines = [*_head(plan, rewritten, columns(_allocators(plan), left=1)), "", *_verdict(plan)]
    lines += [
        f"in use at each step, and the first byte after it ({plan.allocator})",
        "",
        *columns(_steps(plan), left=3),
    ]
    lines += ["", f"lifetimes and addresses ({plan.allocator}: offsets in the arena)", ""]
    lines += columns(_residents(plan), left=2)
    return "\n".join([*lines, *_end(plan, written, assumptions)])


def memory_screen(
    plan: MemoryPlan, written: Sequence[Path] = (), assumptions: bool = False, rewritten: bool = False
) -> str:
    """The first screen: :func:`memory_table` with the steps that need most, and without addresses."""
    answer = _answer(plan)
    about = [line for line in _head(plan, rewritten, _arenas(plan))[len(answer) :] if line]
    lines = [*answer, *[""][: len(answer)], *about]
    head, *rows = columns(_steps(plan), left=3)
    timeline = plan.after.timeline
    largest = sorted(range(len(rows)), key=lambda step: (-timeline.usage[step], step))[:MOMENTS]
    count = f"{len(largest)} of {len(rows)} steps" if len(rows) > len(largest) else "steps"
    lines += ["", *hanging_indent(f"the {count} that need most, and the first byte after it ({plan.allocator})")]
    lines += [head, *(rows[step] for step in largest)]
    end = [line for line in _end(plan, written, assumptions) if line]
    return "\n".join([*lines, "", *end, "  --all: every step, lifetimes and addresses"])


def _head(plan: MemoryPlan, rewritten: bool, allocators: Sequence[str]) -> list[str]:
    """The answer, the orders, the ``allocators``, and what else is known of the memory."""
    verdict = _answer(plan)
    lines = [*verdict, *[""] * bool(verdict), *hanging_indent(_title(plan))]
    lines += [] if plan.machine is None else change_lines(plan.machine)
    lines += columns(_orders(plan), left=3)
    lines += ["", *(allocators if plan.array is None else columns(_array(plan, plan.array), left=1))]
    lines += [] if plan.patches is None else ["", *_patches(plan.patches)]
    blocks = [_counted(plan), _stored(plan, rewritten), _tflm(plan), _state(plan), _price(plan)]
    return lines + [line for block in blocks if block for line in ["", *block]]


def _end(plan: MemoryPlan, written: Sequence[Path], assumptions: bool) -> list[str]:
    lines = ["", f"wrote {', '.join(map(str, written))}"] if written else []
    lines += ["", *wrapped(f"not counted: {_left_out(plan)}the stack")]
    lines += ["", *_assumptions(plan, assumptions)] if plan.assumptions else []
    lines += [line for note in plan.graph.notes for line in wrapped(note)]
    return lines + [line for warning in plan.graph.warnings for line in hanging_indent(f"warning: {warning}")]


def _left_out(plan: MemoryPlan) -> str:
    """What is in none of the figures, to go before another."""
    if not plan.verdict and not plan.array:
        return "kernels' scratch buffers, what an interpreter keeps for itself, "
    unknown = [op for op in plan.graph.operators if is_opaque(op.type)]
    kinds = dict.fromkeys(shown_type(op.type) for op in unknown if not is_control_flow(op.type))
    what = "kernels, parameters and scratch buffers" if plan.array else "scratch buffers"
    return f"{what} of {', '.join(kinds)}, " if kinds else ""


def _answer(plan: MemoryPlan) -> list[str]:
    """Whether it fits the machine and the limits, in a line or two; nothing without a machine."""
    if plan.machine is None or plan.verdict is None:
        return []
    if not plan.verdict.fits:
        return hanging_indent(too_small_text(plan.verdict, plan.machine, plan.flash))
    beyond = ", ".join(limit_name(limit) for limit in plan.limits if not limit.met)
    kept = "" if plan.flash is None else f", flash {used_text(plan.flash)}"
    head = f"exceeds the limit of {beyond}" if beyond else "fits"
    return hanging_indent(f"{head}: {room_text(plan.verdict, plan.machine)}{kept}")


def _counted(plan: MemoryPlan) -> list[str]:
    """What data need on the machine, in the words of ``mcusim run``, flash, and the limits."""
    if plan.machine is None or plan.in_ram is None:
        return []
    lines = wrapped(f"memory: {parts_text(plan.in_ram.parts)}; all {size(plan.in_ram.needed)}")
    lines += [] if plan.flash is None else wrapped(f"flash: {flash_text(plan.flash)}")
    return lines + (wrapped(f"limits: {limits_text(plan.limits)}") if plan.limits else [])


def _patches(figures: PatchFigures) -> list[str]:
    """What patches need and cost, and a warning where they need more."""
    before, after, height, width = figures.before.total, figures.executed.total, *figures.patch
    stage = (
        f"{figures.patches.grid} patches of the first {figures.patches.split} operators: {height} x"
        f" {width} of the input"
    )
    text = (
        f"{stage} each; halos are {figures.halo_macs:,} MACs more"
        f" (+{100 * figures.halo_macs / max(figures.macs, 1):.1f} %)"
    )
    bytes = f"array {after:,} B, without patches {before:,} B, by the public planner's rules {figures.rule.total:,} B"
    analytic, whole = (f"{count / 1024:,.1f} KiB" for count in (figures.analytic, figures.analytic_before))
    share = 100 * figures.analytic_halo_macs / max(figures.stage_macs, 1)
    paper = f"as MCUNetV2 counts: peak {analytic}, without patches {whole}; {figures.analytic_halo_macs:,} MACs more"
    paper += f" (+{share:.1f} % of the operators on patches)"
    more = f"warning: these patches need {after - before:,} B more than none; `mcusim run` refuses them"
    return [*wrapped(text), *wrapped(bytes), *wrapped(paper), *(wrapped(more) if after >= before else [])]


def _title(plan: MemoryPlan) -> str:
    """Of what, in which order; on a machine with whose scratch buffers."""
    counted = plan.after.accounting
    words = ["in the order as stored" if plan.ordering is None else "in the order of least peak"]
    words += [f"compiled by {plan.runtime}"] * (plan.array is not None) + ["in place"] * counted.in_place
    words += [f"weights {counted.weights}"] * (counted.weights != "flash")
    if plan.machine is not None:
        words.append(f"on {plan.machine.name}")
    return f"{plan.graph.name}, {', '.join(words)}"


def _orders(plan: MemoryPlan) -> list[list[str]]:
    rows = []
    if plan.changed:
        rows.append(["peak as stored", _where(plan, plan.before), "", f"{plan.before.timeline.peak:,} B"])
    rows.append(["peak", _where(plan, plan.after), _proof(plan), f"{plan.after.timeline.peak:,} B"])
    return rows


def _proof(plan: MemoryPlan) -> str:
    ordering = plan.ordering
    if ordering is None:
        return ""
    took = f" ({ordering.seconds:.1f} s)" if ordering.seconds > 0.5 else ""
    gap = f" than {ordering.bound:,} B: a gap of {(ordering.peak - ordering.bound) / max(ordering.peak, 1):.1%}"
    return f"no order needs less{'' if ordering.optimal else gap}{took}"


def _where(plan: MemoryPlan, planned: Planned) -> str:
    step = planned.timeline.bottleneck
    return "" if step is None else f"at operator {_operator(plan, planned.timeline.order[step])}"


def _operator(plan: MemoryPlan, index: int) -> str:
    return f"{index} {shown_type(plan.graph.operators[index].type)}"


def _allocators(plan: MemoryPlan) -> list[list[str]]:
    rows = [["allocator", "arena B", "above bound", "moves", "moved B"]]
    for name, placed in plan.after.placed.items():
        moves = [f"{len(placed.moves):,}", f"{placed.moved_bytes:,}"] if placed.moves else ["", ""]
        mark = " *" if name == plan.allocator else ""
        rows.append([f"{name}{mark}", f"{placed.bytes:,}", f"{placed.gap:,}", *moves])
    return rows


def _arenas(plan: MemoryPlan) -> list[str]:
    """The arena by each allocator, the one that was asked for first, in a line or two."""
    names = {plan.addresses.bytes: [plan.allocator]}
    for name, placed in sorted(plan.after.placed.items(), key=lambda item: item[1].bytes):
        if name != plan.allocator:
            names.setdefault(placed.bytes, []).append(name)
    texts = [f"{bytes:,} B by {', '.join(alike)}" for bytes, alike in names.items()]
    return wrapped(f"arena: {'; '.join(texts)}")


def _array(plan: MemoryPlan, array: StaticArray) -> list[list[str]]:
    """What the static array of a compiled runtime has, with what operators in place save, and what is in flash."""
    apart = plan.before.placed[plan.allocator].bytes
    saved = f"{apart:,} B as stored, each tensor apart" if apart != array.arena else ""
    rows = [["arena", f"{array.arena:,} B", saved]]
    rows.append(["scratch of the kernels", f"{array.scratch:,} B", f"im2col {plan.im2col}"])
    rows.append(["widened filters", f"{array.filters:,} B", ""])
    rows.append(["static array", f"{array.total:,} B", kib(array.total) + " KiB"])
    return [*rows, ["parameters, in flash", f"{array.parameters:,} B", kib(array.parameters) + " KiB"]]


def _steps(plan: MemoryPlan) -> list[list[str]]:
    timeline, placed = plan.after.timeline, plan.addresses
    rows = [["step", "operator", "", "in use B", "up to B", ""]]
    tops = placed.tops(timeline.blocks, len(timeline.order))
    for step, (index, used) in enumerate(zip(timeline.order, timeline.usage, strict=True)):
        mark = "bottleneck" if step == timeline.bottleneck else ""
        bar = "#" * round(BAR * used / timeline.peak) if timeline.peak else ""
        rows.append([f"{step}", cut(_operator(plan, index), 23), bar, f"{used:,}", f"{tops[step]:,}", mark])
    return rows


def _residents(plan: MemoryPlan) -> list[list[str]]:
    rows = [["tensors", "name", "bytes", "steps", "offset"]]
    order = plan.after.timeline.order
    listed = sorted(enumerate(plan.after.timeline.residents), key=lambda item: (item[1].first, item[0]))
    for i, resident in listed:
        steps = f"{resident.first}" if resident.first == resident.last else f"{resident.first}-{resident.last}"
        places = _offsets(plan.addresses.places[i])
        rows.append(
            [_tensors(resident.tensors), _name(resident.name), f"{resident.bytes:,}", steps if order else "", places]
        )
    return rows


def _tensors(tensors: Sequence[int]) -> str:
    return "=".join(map(str, tensors)) if len(tensors) < 5 else f"{tensors[0]}={tensors[1]}=...={tensors[-1]}"


def _offsets(places: Sequence[tuple[int, int]]) -> str:
    shown = [f"{offset:,}" for _, offset in places]
    return " > ".join(shown if len(shown) < 5 else [*shown[:3], "...", shown[-1]])


def _name(name: str) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in name)
    return plain if len(plain) <= LONGEST_NAME else f"...{plain[3 - LONGEST_NAME :]}"


def _tflm(plan: MemoryPlan) -> list[str]:
    """What TFLM makes of it, which is more where its kernels ask for scratch buffers."""
    if plan.array is None and plan.tflm_head is None and plan.graph.folded:
        why = "it runs, where it has kernels for them, the operators that were computed when the file was read"
        return [*wrapped(f"TensorFlow Lite Micro: the head of its arena is not known: {why}")]
    if plan.tflm_head is None:
        return []
    scratch = plan.tflm_head - plan.addresses.bytes
    why = f", {scratch:,} more for its reference kernels' scratch buffers and unused tensors" if scratch > 0 else ""
    return [*wrapped(f"TensorFlow Lite Micro: {plan.tflm_head:,} B at the head of its arena{why}")]


def _state(plan: MemoryPlan) -> list[str]:
    """What is kept besides, from one inference to the next."""
    states = [tensor.bytes for tensor in plan.graph.tensors if tensor.variable and tensor.bytes]
    if not states:
        return []
    count = f"{len(states)} variable{'s' * (len(states) > 1)}"
    tail = "" if plan.array else " (TensorFlow Lite Micro: in the tail)"
    text = f"state: {sum(states):,} B besides, in {count} kept between inferences{tail}"
    return wrapped(text)


def _price(plan: MemoryPlan) -> list[str]:
    if not plan.defragmentation:
        return []
    time = pick_unit("ms", [1e3 * item.seconds for item in plan.defragmentation])
    energy = pick_unit("mJ", [item.energy_mj for item in plan.defragmentation])
    rows = [["moving tensors together", "cycles", time.unit, energy.unit, "most of it"]]
    for defragmentation in plan.defragmentation:
        cause = max(defragmentation.by_cause, key=lambda name: defragmentation.by_cause[name], default="")
        figures = [time.shown(1e3 * defragmentation.seconds), energy.shown(defragmentation.energy_mj)]
        rows.append([f"by {defragmentation.copy}", f"{defragmentation.cycles:,}", *figures, cause])
    return columns(rows)


def _assumptions(plan: MemoryPlan, listed: bool) -> list[str]:
    if not listed:
        return [f"Moving depends on {len(plan.assumptions)} assumptions; --assumptions lists them, --json too."]
    return ["Assumptions (moving)", *(line for text in plan.assumptions for line in wrapped(text))]


def _verdict(plan: MemoryPlan) -> list[str]:
    """What was counted, to the byte, and what memory does not count."""
    if plan.machine is None or plan.verdict is None:
        return []
    who = f"runtime {plan.runtime}" if plan.array else f"kernels {plan.kernels}, {plan.allocator} allocator"
    return [f"on {plan.machine.name}, {who}", *counted_lines(plan.verdict, plan.machine), ""]


def _stored(plan: MemoryPlan, written: bool) -> list[str]:
    """What becomes of the plan inside the file, and whether the file written needs more than the one read."""
    lines = []
    if plan.keeps_stored:
        fate = (
            "taken, as TensorFlow Lite Micro does" if plan.allocator == OFFLINE else "kept: nothing smaller was found"
        )
        lines += wrapped(f"the memory plan in the file is {fate}")
    needed = plan.addresses.bytes
    if written and needed > plan.read_bytes:
        by, keep = ("its own plan", "--allocator offline") if plan.stored else ("TFLM's planner", "--allocator greedy")
        best = min((placed.bytes, name) for name, placed in plan.after.placed.items() if not placed.moves)
        keep = f"--allocator {best[1]}" if best[0] <= plan.read_bytes else f"--order default {keep}"
        text = f"the file written needs {needed:,} B, more than the one read: {plan.read_bytes:,} B by {by};"
        lines += wrapped(f"warning: {text} {keep} writes a smaller one")
    return lines
