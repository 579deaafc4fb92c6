"""The engine: runs a program on a machine, as SimPy processes."""

from mcusim.engine.execute import execute

__all__ = ["execute"]
