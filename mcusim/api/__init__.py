"""The public functions: simulate, replay, compare, emulate, plan memory, reorder and defragment."""

from mcusim.api.compare import Comparison, compare_cases
from mcusim.api.firmware.emulate import emulate
from mcusim.api.simulate import replay, simulate

__all__ = ["Comparison", "compare_cases", "emulate", "replay", "simulate"]
