"""Energy, results and tables, computed from a run after it has ended."""

from mcusim.report.assumptions import assumptions
from mcusim.report.energy import Energy, energy
from mcusim.report.measured import Measured
from mcusim.report.outputs import Output
from mcusim.report.result import Result, sram_bytes, to_json

__all__ = ["Energy", "Measured", "Output", "Result", "assumptions", "energy", "sram_bytes", "to_json"]
