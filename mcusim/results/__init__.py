"""Energy, results and tables, computed from a run after it has ended."""

from mcusim.results.assumptions import assumptions
from mcusim.results.energy import Energy, energy
from mcusim.results.measured import KernelOutput, Measured
from mcusim.results.result import Result, sram_bytes, to_json

__all__ = ["Energy", "KernelOutput", "Measured", "Result", "assumptions", "energy", "sram_bytes", "to_json"]
