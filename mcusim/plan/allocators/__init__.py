"""Ways to place buffers in memory: greedy as TFLM does it, linear, dynamic, optimal."""

from mcusim.plan.allocators.by_name import ALLOCATORS, OFFLINE, Placed, allocate, linear
from mcusim.plan.allocators.dynamic import MOST_MOVES, BufferMove, Moves, dynamic, moves_at_most
from mcusim.plan.allocators.optimal import Optimum, optimal

__all__ = [
    "ALLOCATORS",
    "MOST_MOVES",
    "OFFLINE",
    "BufferMove",
    "Moves",
    "Optimum",
    "Placed",
    "allocate",
    "dynamic",
    "linear",
    "moves_at_most",
    "optimal",
]
