"""The allocator ``offline``: tensors where the memory plan inside the model's file puts them, as TFLM reads it.

Format: TFLM's docs/memory_management.md, "Offline planned tensor allocations". TFLM ignores version and subgraph.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcusim.errors import ModelError
from mcusim.model.graph import Graph
from mcusim.model.operators import is_opaque
from mcusim.plan.liveness.lifetimes import Lifetime, lifetimes, unmade

LARGEST = 2**31  # offsets are int32


def offline_offsets(graph: Graph) -> Mapping[int, int]:
    """The planned offset of each activation of ``graph``, by tensor; those left to the planner are not in it.

    Tensors may share bytes where one is computed in place of the other, the input and the output of an operator that is
    not known (an accelerator's compiler knows when its command stream reads and writes), and with an accelerator's
    scratch memory.
    Raises ModelError for a graph without a plan, a plan for another number of tensors, an offset out of range, and
    tensors in each other's bytes. Not modelled: what the plan says of constants, which TFLM does not read either.
    """
    plan = graph.offline_plan
    if plan is None:
        raise ModelError(f"{graph.name}: has no offline memory plan for this order of its operators")
    if len(plan) != len(graph.tensors):
        raise _wrong(graph, f"has {len(plan):,} offsets, the model {len(graph.tensors):,} tensors")
    lives = lifetimes(graph)
    for life in lives:
        offset = plan[life.tensor]
        if offset != -1 and not 0 <= offset <= LARGEST - life.bytes:
            raise _wrong(graph, f"puts {_tensor(graph, life)} at offset {offset:,}; it must be 0 to 2^31, or -1")
    scratch = unmade(graph)
    _check_apart(graph, [life for life in lives if plan[life.tensor] != -1 and life.tensor not in scratch], plan)
    return {life.tensor: plan[life.tensor] for life in lives if plan[life.tensor] != -1}


def _check_apart(graph: Graph, lives: list[Lifetime], plan: tuple[int, ...]) -> None:
    together = {t: life.tensor for life in lifetimes(graph, in_place=True) for t in (life.tensor, *life.shared)}
    alive: list[Lifetime] = []
    for life in sorted(lives, key=lambda life: life.first):
        low, high = plan[life.tensor], plan[life.tensor] + life.bytes
        alive = [other for other in alive if other.last >= life.first]
        for other in alive:
            start = plan[other.tensor]
            op = graph.operators[max(life.first, 0)]
            overwritten = together[life.tensor] == together[other.tensor] and start == low
            shared = overwritten or (is_opaque(op.type) and other.last == life.first)
            if start < high and low < start + other.bytes and not shared:
                both = f"{_tensor(graph, other)} at offset {start:,} and {_tensor(graph, life)} at {low:,}"
                raise _wrong(graph, f"puts {both}, both in use at operator {op.index} {op.type}")
        alive.append(life)


def _tensor(graph: Graph, life: Lifetime) -> str:
    return f"tensor {life.tensor} '{graph.tensors[life.tensor].name[:60]}' ({life.bytes:,} B)"


def _wrong(graph: Graph, reason: str) -> ModelError:
    return ModelError(
        f"{graph.name}: its offline memory plan cannot be used: it {reason}; --allocator greedy plans without it"
    )
