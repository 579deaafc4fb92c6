"""What patches need and cost: as a run has them, and by the published rules.

A run has the whole input in the array and joins the patches by copies. The public planner plans the stage once, at the
size of a patch that no border cuts off, its input too, and counts the stage's output, into which all patches are
written, from the first operator to the last, though only the next one reads it. The paper's analytic figures (Lin et
al. 2021) count the input, the output and a branch around each operator, and halos without borders.

Not modelled: the public planner's floor of heights that the patches do not divide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mcusim.model.geometry import geometry, graph_macs
from mcusim.model.graph import Graph
from mcusim.plan.array_choice import array_rules, planned_array
from mcusim.plan.liveness.lifetimes import Lifetime, lifetimes
from mcusim.plan.static_array import StaticArray, array_blocks
from mcusim.runtime.patch_stage import Area, patch_stage
from mcusim.runtime.patches import Patches
from mcusim.runtime.runtime import Runtime


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
        fields: dict[str, Any] = {"grid": self.patches.grid, "split": self.patches.split, "halo_macs": self.halo_macs}
        fields |= {"arena": self.executed.arena, "patch": list(self.patch), "stage_macs": self.stage_macs}
        fields |= {"macs": self.macs, "analytic_halo_macs": self.analytic_halo_macs}
        fields |= {"analytic_bytes_before": self.analytic_before, "analytic_bytes": self.analytic}
        return fields | {name: getattr(self, name).to_json() for name in ("before", "rule", "executed")}


def patch_figures(graph: Graph, runtime: Runtime, patches: Patches, over_input: bool = True) -> PatchFigures:
    """Of ``graph``, as ``runtime`` executes it whole. Raises UsageError where it cannot be cut so."""
    assert runtime.cut is not None  # others have no patches
    stage, cut, rule = patch_stage(graph, patches.split), runtime.cut(graph, patches), _rule_graph(graph, patches)
    patch, count = rule.tensors[rule.inputs[0]], patches.rows * patches.columns
    stage_macs = sum(geometry(graph, op).macs for op in stage.operators)
    number = sum(geometry(rule, op).macs for op in rule.operators[: patches.split])
    macs, parameters = graph_macs(graph), array_rules(runtime).parameters(graph)
    return PatchFigures(
        patches,
        (patch.shape[1], patch.shape[2]),
        stage_macs,
        macs,
        graph_macs(cut) - macs,
        count * number - stage_macs,
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
    phases = [
        phase for array_block in array_blocks(graph, array_rules(runtime).in_place) for phase in array_block.phases
    ]
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
