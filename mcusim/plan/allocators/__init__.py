"""Ways to place buffers in memory, compared on the same lifetimes (TFLM's greedy planner is in
mcusim.plan.allocators.greedy).
"""

from mcusim.plan.allocators.by_name import ALLOCATORS, Placed, allocate, linear
from mcusim.plan.allocators.dynamic import MOST_MOVES, Move, Moves, dynamic, moves_at_most
from mcusim.plan.allocators.optimal import Optimum, optimal

__all__ = [
    "ALLOCATORS",
    "MOST_MOVES",
    "Move",
    "Moves",
    "Optimum",
    "Placed",
    "allocate",
    "dynamic",
    "linear",
    "moves_at_most",
    "optimal",
]
