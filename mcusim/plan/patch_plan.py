"""Patches of least memory, and what patches need and cost: as a run has them, and by the published rules.

A run has the whole input in the array and joins the patches by copies. The public planner plans the stage once, at the
size of a patch that no border cuts off, its input too, and counts the stage's output, into which all patches are
written, from the first operator to the last, though only the next one reads it. The paper's analytic figures (Lin et
al. 2021) count the input, the output and a branch around each operator, and halos without borders.

Not modelled: time, whose price is the halos, in the search; patches of other shapes than a grid; the public planner's
floor of heights that the patches do not divide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mcusim.errors import UsageError
from mcusim.model.geometry import geometry, graph_macs
from mcusim.model.graph import Graph
from mcusim.plan.liveness.lifetimes import Lifetime, lifetimes
from mcusim.plan.options import IN_PLACE, PATCH_SPLIT, PATCHES, PlanOptions
from mcusim.plan.static_array import StaticArray, array_blocks, first_fit, static_array
from mcusim.runtime.patches import AUTO, Patches
from mcusim.runtime.runtime import ArrayRules, Runtime
from mcusim.runtime.tinyengine.patch_stage import Area, legal_splits, patch_stage

__all__ = ["PatchFigures", "best_patches", "options_on_patches", "patch_figures", "planned_array"]

COUNTS = (2, 3, 4)  # along both axes
MOST_MACS = 2.0  # of the network's without patches


def options_on_patches(options: PlanOptions, graph: Graph) -> PlanOptions:
    """``options`` with the patches of ``graph`` that ``auto`` finds; with none where none need less memory.

    Raises UsageError for patches that it cannot be cut into, and for those that need no less than none.
    """
    if options[PATCHES] is None or graph.patches:
        return options
    runtime = options.having(PATCHES, None).having(PATCH_SPLIT, None).runtime
    over_input = options[IN_PLACE] is not False
    if options[PATCHES] == AUTO:
        best = best_patches(runtime.executed(graph), runtime, over_input)
        chosen = options.having(PATCHES, None if best is None else best.grid)
        return chosen.having(PATCH_SPLIT, None if best is None else best.split)
    _refuse(graph, runtime, options.runtime.patches, over_input)
    return options


def _refuse(graph: Graph, runtime: Runtime, patches: Patches | None, over_input: bool) -> None:
    """Raise UsageError for patches that need no less memory than none."""
    assert patches is not None and runtime.cut is not None  # options have both
    whole = runtime.executed(graph)
    before = planned_array(whole, runtime, over_input).total
    after = planned_array(runtime.cut(whole, patches), runtime, over_input).total
    if after >= before:
        raise UsageError(
            f"{patches} needs {after:,} B in the static array, without patches it is {before:,} B: leave them out, or"
            " take --patches auto"
        )


def planned_array(graph: Graph, runtime: Runtime, over_input: bool = True) -> StaticArray:
    """The array of ``graph``, as it is executed, by the rules of ``runtime``."""
    rules = _rules(runtime)
    arena = first_fit(array_blocks(graph, rules.in_place if over_input else None)).bytes
    return static_array(graph, rules, arena, over_input, rules.im2col[0])


def _rules(runtime: Runtime) -> ArrayRules:
    assert runtime.array is not None  # others have no patches
    return runtime.array


def best_patches(graph: Graph, runtime: Runtime, over_input: bool = True) -> Patches | None:
    """Those of all splits and 4, 9 or 16 patches that need the least memory, of equal ones fewer operations; None where
    none need less than no patches. ``graph``: as ``runtime`` executes it."""
    assert runtime.cut is not None  # others have no patches
    whole, found = planned_array(graph, runtime, over_input).total, None
    best = (whole, graph_macs(graph))
    limit = MOST_MACS * best[1]
    for split, stage in legal_splits(graph).items():
        for count in COUNTS:
            if count > min(stage.size):
                continue
            patches = Patches(count, count, split)
            tried = runtime.cut(graph, patches)
            macs = graph_macs(tried)
            if macs > limit or _bound(tried) >= best[0]:
                continue
            needed = (planned_array(tried, runtime, over_input).total, macs)
            if needed[0] < whole and needed < best:
                best, found = needed, patches
    return found


def _bound(graph: Graph) -> int:
    """Bytes that any array has at least: the tensors that an operator reads."""
    lives = {life.tensor: life for life in lifetimes(graph)}
    return max(sum(lives[t].bytes for t in set(op.inputs) if t in lives) for op in graph.operators)


@dataclass(frozen=True, slots=True)
class PatchFigures:
    """``patch``: height and width of the input that a patch reads where no border is. ``stage_macs`` of the stage on
    the whole map, ``macs`` of the network; ``halo_macs`` what patches add as executed, ``analytic_halo_macs`` without
    borders. Bytes: ``analytic_before`` and ``analytic`` peaks of the network and of the network on patches; the arrays
    ``before``, by the ``rule`` of the public planner, and ``executed``, of what a run has."""

    patches: Patches
    patch: tuple[int, int]
    stage_macs: int
    macs: int
    halo_macs: int
    analytic_halo_macs: int
    analytic_before: int
    analytic: int
    before: StaticArray
    rule: StaticArray
    executed: StaticArray

    def to_json(self) -> dict[str, Any]:
        """``grid split halo_macs arena``, then ``patch stage_macs macs analytic_halo_macs analytic_bytes_before
        analytic_bytes``, and ``before``, ``rule`` and ``executed`` as arrays. ``arena``: bytes of activations, as
        executed."""
        found: dict[str, Any] = {"grid": self.patches.grid, "split": self.patches.split, "halo_macs": self.halo_macs}
        found |= {"arena": self.executed.arena, "patch": list(self.patch), "stage_macs": self.stage_macs}
        found |= {"macs": self.macs, "analytic_halo_macs": self.analytic_halo_macs}
        found |= {"analytic_bytes_before": self.analytic_before, "analytic_bytes": self.analytic}
        return found | {name: getattr(self, name).to_json() for name in ("before", "rule", "executed")}


def patch_figures(graph: Graph, runtime: Runtime, patches: Patches, over_input: bool = True) -> PatchFigures:
    """Of ``graph``, as ``runtime`` executes it whole. Raises UsageError where it cannot be cut so."""
    assert runtime.cut is not None  # others have no patches
    stage, cut, rule = patch_stage(graph, patches.split), runtime.cut(graph, patches), _rule_graph(graph, patches)
    patch, count = rule.tensors[rule.inputs[0]], patches.rows * patches.columns
    stage_macs = sum(geometry(graph, op).macs for op in stage.operators)
    one = sum(geometry(rule, op).macs for op in rule.operators[: patches.split])
    macs, parameters = graph_macs(graph), _rules(runtime).parameters(graph)
    return PatchFigures(
        patches,
        (patch.shape[1], patch.shape[2]),
        stage_macs,
        macs,
        graph_macs(cut) - macs,
        count * one - stage_macs,
        max(_usage(graph, runtime)),
        _analytic(graph, rule, runtime, stage.target, patches.split),
        planned_array(graph, runtime, over_input),
        replace(planned_array(rule, runtime, over_input), parameters=parameters),
        planned_array(cut, runtime, over_input),
    )


def _rule_graph(graph: Graph, patches: Patches) -> Graph:
    """``graph`` with one patch's tensors in its stage; the stage's output is an input of the network besides.

    Not modelled: values.
    """
    stage = patch_stage(graph, patches.split)
    first = stage.patches(patches)[0][0]
    needed = stage.needed(Area(0, first.height, 0, first.width), bounded=False)
    tensors = list(graph.tensors)
    for index, area in needed.items():
        shape = (1, area.height, area.width, tensors[index].shape[3])
        tensors[index] = replace(tensors[index], shape=shape)
    patch = replace(tensors[stage.target], index=len(tensors), name="a patch of the stage's output")
    tensors[stage.target] = graph.tensors[stage.target]
    *before, last = (replace(op, options=_unpadded(dict(op.options))) for op in stage.operators)
    operators = (*before, replace(last, outputs=(patch.index,)), *graph.operators[patches.split :])
    inputs = (stage.source, *(t for t in graph.inputs if t != stage.source), stage.target)
    kept = [t for t, op in ((stage.target, operators[patches.split]), (patch.index, last)) if not op.traits.depthwise]
    outputs = tuple(dict.fromkeys((*graph.outputs, *kept)))
    tensors = [*tensors, patch]
    return replace(
        graph, tensors=tuple(tensors), operators=operators, inputs=inputs, outputs=outputs, offline_plan=None
    )


def _unpadded(options: dict[str, Any]) -> dict[str, Any]:
    return options | {"padding": "EXPLICIT", "pads": (0, 0, 0, 0)} if "padding" in options else options


def _analytic(graph: Graph, rule: Graph, runtime: Runtime, target: int, split: int) -> int:
    """The peak of a patch alone, or of the rest of the network; the stage's output counts when the stage has ended."""
    stage = max(_usage(rule, runtime)[:split]) - graph.tensors[target].bytes
    return max(stage, *_usage(graph, runtime)[split:])


def _usage(graph: Graph, runtime: Runtime) -> list[int]:
    """Bytes alive at each operator: depthwise convolutions in place, and what is added to a branch in the branch."""
    phases = [phase for one in array_blocks(graph, _rules(runtime).in_place) for phase in one.phases]
    steps = range(len(graph.operators))
    usage = [sum(phase.bytes for phase in phases if phase.first <= step <= phase.last) for step in steps]
    lives: dict[int, Lifetime] = {life.tensor: life for life in lifetimes(graph)}
    for op in graph.operators:
        data = [t for t in dict.fromkeys(op.inputs) if t in lives and lives[t].last == op.index]
        if not (op.traits.broadcast and op.traits.elementwise) or len(data) < 2:
            continue
        latest = max((lives[t] for t in data), key=lambda life: life.first)
        for step in range(latest.first, op.index + 1):
            usage[step] -= latest.bytes
        usage[op.index] -= graph.tensors[op.outputs[0]].bytes
    return usage
