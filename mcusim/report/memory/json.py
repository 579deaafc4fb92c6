"""``mcusim memory`` as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mcusim.plan.allocators import BufferMove, Placed
from mcusim.results.memory_plan import Defragmentation, MemoryPlan
from mcusim.results.provenance import plan_made


def memory_json(plan: MemoryPlan) -> dict[str, Any]:
    """``model sha256 runtime order in_place weights allocator align`` say what was asked for, ``order`` as operator
    indices; ``peak_before peak_after lower_bound optimal seconds`` are those of the orders (the last three null without
    a search), ``bottleneck`` the step of the peak (null without operators), ``arena_bytes`` the chosen allocator's,
    ``read_arena_bytes`` that of the file as read, ``keeps_stored_plan`` whether the offsets are those of its own plan,
    ``tflm_head_bytes`` null where TFLM has no such plan, ``state_bytes`` what is kept between inferences besides. Of a
    compiled runtime ``planned{arena scratch filters total parameters}``, bytes of its static array and of what is in
    flash, ``im2col``, and ``columns[]{operator columns}`` of inputs in scratch; null and empty of an interpreter;
    ``patches`` is null or :meth:`mcusim.plan.patch_figures.PatchFigures.to_json`.
    ``steps[]{operator type bytes top}``, ``residents[]{name kind tensors operator bytes first last places[]{step
    offset}}`` (on a machine with room for the kernels' scratch buffers), ``allocators[]{allocator bytes lower_bound gap
    seconds moved_bytes moves[]{step resident source target bytes}}``. Of a machine ``machine set memory{name bytes
    fits}``, null, empty and null without one, ``kernels``; a run's ``verdict{fits what region needed available over
    parts{activations scratch state runtime} memory_of unused[]{region bytes why}}``, null without one, ``flash{parts[]{
    basis source} regions[]{used size} total_bytes uncounted}`` and ``limits[]{name unit limit value met}``; of moves
    made there ``defragmentation[]{copy memory moves bytes cycles by_cause ms energy_mj cycles_by_move}``,
    ``assumptions``; then ``notes``, ``warnings`` and ``made``, a :class:`mcusim.provenance.Made`."""
    timeline = plan.after.timeline
    return {
        "model": plan.graph.name,
        "sha256": plan.graph.sha256,
        "runtime": plan.runtime,
        "order": list(timeline.order),
        "in_place": plan.after.accounting.in_place,
        "weights": plan.after.accounting.weights,
        "allocator": plan.allocator,
        "align": plan.placed.align,
        **_peaks(plan),
        "bottleneck": timeline.bottleneck,
        **_bytes(plan),
        **_array(plan),
        "steps": _steps(plan),
        "residents": _residents(plan),
        "allocators": [_allocator(placed) for placed in plan.after.placed.values()],
        **_machine(plan),
        "defragmentation": [_defragmentation(defragmentation) for defragmentation in plan.defragmentation],
        "assumptions": list(plan.assumptions),
        "notes": list(plan.graph.notes),
        "warnings": list(plan.graph.warnings),
    }


def _peaks(plan: MemoryPlan) -> dict[str, Any]:
    ordering = plan.ordering
    return {
        "peak_before": plan.before.timeline.peak,
        "peak_after": plan.after.timeline.peak,
        "lower_bound": None if ordering is None else ordering.bound,
        "optimal": None if ordering is None else ordering.optimal,
        "seconds": None if ordering is None else round(ordering.seconds, 3),
    }


def _bytes(plan: MemoryPlan) -> dict[str, Any]:
    return {
        "arena_bytes": plan.placed.bytes,
        "read_arena_bytes": plan.read_bytes,
        "keeps_stored_plan": plan.keeps_stored,
        "tflm_head_bytes": plan.tflm_head,
        "state_bytes": sum(t.bytes for t in plan.graph.tensors if t.variable),
    }


def _array(plan: MemoryPlan) -> dict[str, Any]:
    array, order = plan.array, plan.after.timeline.order
    held = [] if array is None else [(i, n) for i, n in zip(order, array.columns, strict=True) if n]
    return {
        "planned": None if array is None else array.to_json(),
        "im2col": plan.im2col,
        "columns": [{"operator": i, "columns": n} for i, n in held],
        "patches": None if plan.patches is None else plan.patches.to_json(),
    }


def _machine(plan: MemoryPlan) -> dict[str, Any]:
    return {
        "machine": None if plan.machine is None else plan.machine.name,
        "set": {} if plan.machine is None else dict(plan.machine.changes),
        "memory": None if plan.room is None else {"name": plan.room.name, "bytes": plan.room.size, "fits": plan.fits},
        "kernels": plan.kernels,
        "verdict": None if plan.verdict is None or plan.machine is None else plan.verdict.to_json(plan.machine),
        "made": plan_made(plan).to_json(),
        "flash": None if plan.flash is None else plan.flash.to_json(),
        "limits": [asdict(limit) | {"met": limit.met} for limit in plan.limits],
    }


def _steps(plan: MemoryPlan) -> list[dict[str, Any]]:
    timeline = plan.after.timeline
    tops = plan.addresses.tops(timeline.blocks, len(timeline.order))
    rows = zip(timeline.order, timeline.usage, tops, strict=True)
    return [{"operator": i, "type": plan.graph.operators[i].type, "bytes": used, "top": top} for i, used, top in rows]


def _residents(plan: MemoryPlan) -> list[dict[str, Any]]:
    rows = zip(plan.after.timeline.residents, plan.addresses.places, strict=True)
    return [
        {
            "name": resident.name,
            "kind": resident.kind,
            "tensors": list(resident.tensors),
            "operator": resident.operator,
            "bytes": resident.bytes,
            "first": resident.first,
            "last": resident.last,
            "places": [{"step": step, "offset": offset} for step, offset in places],
        }
        for resident, places in rows
    ]


def _allocator(placed: Placed) -> dict[str, Any]:
    return {
        "allocator": placed.allocator,
        "bytes": placed.bytes,
        "lower_bound": placed.bound,
        "gap": placed.gap,
        "seconds": round(placed.seconds, 3),
        "moved_bytes": placed.moved_bytes,
        "moves": [_move(move) for move in placed.moves],
    }


def _defragmentation(defragmentation: Defragmentation) -> dict[str, Any]:
    return {
        "copy": defragmentation.copy,
        "memory": defragmentation.memory,
        "moves": len(defragmentation.moves),
        "bytes": defragmentation.bytes,
        "cycles": defragmentation.cycles,
        "by_cause": dict(defragmentation.by_cause),
        "ms": 1e3 * defragmentation.seconds,
        "energy_mj": defragmentation.energy_mj,
        "cycles_by_move": list(defragmentation.cycles_by_move),
    }


def _move(move: BufferMove) -> dict[str, int]:
    return {
        "step": move.step, "resident": move.block, "source": move.source, "target": move.target, "bytes": move.bytes,
    }  # fmt: skip
