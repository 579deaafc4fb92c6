"""Energy, results and tables, computed from a run after it has ended."""

from mcusim.results.assumptions import assumptions
from mcusim.results.energy import Energy, energy
from mcusim.results.measured import Measured, Output
from mcusim.results.result import Result, sram_bytes, to_json

__all__ = ["Energy", "Measured", "Output", "Result", "assumptions", "energy", "sram_bytes", "to_json"]
