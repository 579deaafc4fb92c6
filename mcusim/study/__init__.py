"""Simulations beside each other and beside published measurements."""

from mcusim.study.cases import tinyops_cases
from mcusim.study.compare import Comparison, compare, compare_cases
from mcusim.study.emulate import emulate
from mcusim.study.settings import Execution
from mcusim.study.simulate import replay, simulate

__all__ = ["Comparison", "Execution", "compare", "compare_cases", "emulate", "replay", "simulate", "tinyops_cases"]
