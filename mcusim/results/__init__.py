"""Results of runs as data: time, energy, outputs, assumptions, differences; no text."""

from mcusim.results.assumptions import assumptions
from mcusim.results.energy import Energy, energy
from mcusim.results.measurement.measured import KernelOutput, Measured
from mcusim.results.result import Result, sram_bytes, to_json

__all__ = ["Energy", "KernelOutput", "Measured", "Result", "assumptions", "energy", "sram_bytes", "to_json"]
