"""TFLM's linear planner: nothing is ever reused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from mcusim.plan.allocators.greedy import Arena, Block, align_up

__all__ = ["linear"]


def linear(blocks: Sequence[Block], align: int = 16) -> Arena:
    """TFLM's LinearMemoryPlanner: the blocks one behind the other in the order given, each in a place of its own.

    ``Arena.bytes`` is the sum of all aligned sizes: what an engine needs that never reclaims a tensor (the static
    allocation of Liberis & Lane 2019, Table 1). Leaves out: lifetimes, which do not matter here.
    """
    ends = list(accumulate((align_up(b.bytes, align) for b in blocks), initial=0))
    return Arena(tuple(ends[:-1]), ends[-1])
