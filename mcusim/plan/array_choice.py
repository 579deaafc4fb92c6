"""What a static array leaves open, chosen for least memory: patches, and whether operators are in place.

Not modelled: time, whose price is the halos, in the search; patches of other shapes than a grid.
"""

from __future__ import annotations

from mcusim.errors import UsageError
from mcusim.model.geometry import graph_macs
from mcusim.model.graph import Graph
from mcusim.plan.liveness.lifetimes import lifetimes
from mcusim.plan.options import IN_PLACE, PATCH_MACS, PATCH_SPLIT, PATCHES, PlanOptions
from mcusim.plan.registry import takers
from mcusim.plan.static_array import StaticArray, array_blocks, first_fit, static_array
from mcusim.runtime.patch_stage import legal_splits, operators_of_blocks
from mcusim.runtime.patches import AUTO, Patches
from mcusim.runtime.runtime import ArrayRules, Runtime

COUNTS = (2, 3, 4)  # along both axes
MOST_MACS = 2.0  # of the network's without patches


def resolve_options(options: PlanOptions, graph: Graph, policy: str | None = None) -> PlanOptions:
    """``options`` with what they leave open about the static array of ``graph``: the patches that ``auto`` finds, none
    where none need less memory; and operators in place by default, but where the array is smaller without.

    Patches are for a ``policy`` that takes them. Raises UsageError for patches that the graph cannot be cut into, and
    for those that need no less than none.
    """
    if policy is not None and policy not in takers(PATCHES.name):
        options = options.having(PATCHES, None).having(PATCH_SPLIT, None).having(PATCH_MACS, None)
    chosen = _with_patches(options, graph)
    runtime = chosen.runtime
    if runtime.array is None or not runtime.array.own_kernels or chosen[IN_PLACE] is not None or not graph.operators:
        return chosen
    whole = runtime.executed(graph)
    apart = planned_array(whole, runtime, over_input=False).total < planned_array(whole, runtime).total
    return chosen.having(IN_PLACE, False) if apart else chosen


def _with_patches(options: PlanOptions, graph: Graph) -> PlanOptions:
    if options[PATCH_MACS] is not None and options[PATCHES] != AUTO:
        raise UsageError(f"--{PATCH_MACS.flag} limits what --patches auto looks for; there is no such --patches here")
    if options[PATCHES] is None or graph.patches:
        return options
    options = counted_split(options, graph)
    runtime = options.having(PATCHES, None).having(PATCH_SPLIT, None).runtime
    over_input = options[IN_PLACE] is not False
    if options[PATCHES] == AUTO:
        _ = options.runtime  # raises where there are no patches
        more = options[PATCH_MACS]
        best = best_patches(runtime.executed(graph), runtime, over_input, MOST_MACS if more is None else 1 + more / 100)
        chosen = options.having(PATCH_MACS, None).having(PATCHES, None if best is None else best.grid)
        return chosen.having(PATCH_SPLIT, None if best is None else best.split)
    _refuse(graph, runtime, options.runtime.patches, over_input)
    return options


def counted_split(options: PlanOptions, graph: Graph) -> PlanOptions:
    """``options`` with the operators of ``graph`` where a split is in blocks. Raises UsageError."""
    split = options[PATCH_SPLIT]
    if not isinstance(split, str):
        return options
    whole = options.having(PATCHES, None).having(PATCH_SPLIT, None).runtime.executed(graph)
    return options.having(PATCH_SPLIT, operators_of_blocks(whole, int(split.split()[0])))


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
    rules = array_rules(runtime)
    arena = first_fit(array_blocks(graph, rules.in_place if over_input else None)).bytes
    return static_array(graph, rules, arena, over_input, rules.im2col[0])


def array_rules(runtime: Runtime) -> ArrayRules:
    """Those of a runtime that has patches."""
    assert runtime.array is not None  # others have no patches
    return runtime.array


def best_patches(
    graph: Graph, runtime: Runtime, over_input: bool = True, most_macs: float = MOST_MACS
) -> Patches | None:
    """Those of all splits and 4, 9 or 16 patches that need the least memory, of equal ones fewer operations; None where
    none need less than no patches. ``graph``: as ``runtime`` executes it; ``most_macs``: times its operations."""
    assert runtime.cut is not None  # others have no patches
    whole, result = planned_array(graph, runtime, over_input).total, None
    best = (whole, graph_macs(graph))
    limit = most_macs * best[1]
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
                best, result = needed, patches
    return result


def _bound(graph: Graph) -> int:
    """Bytes that any array has at least: the tensors that an operator reads."""
    lives = {life.tensor: life for life in lifetimes(graph)}
    return max(sum(lives[t].bytes for t in set(op.inputs) if t in lives) for op in graph.operators)
