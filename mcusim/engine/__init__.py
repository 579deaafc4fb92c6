"""The engine: a program played on a machine."""

from mcusim.engine.execute import execute

__all__ = ["execute"]
