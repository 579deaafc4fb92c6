"""What DMA controllers need of the emulated core next to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["DmaHost"]


class DmaHost(Protocol):
    """The core's clock, its queue of events, and its interrupt lines."""

    @property
    def cycles(self) -> int:
        """Core cycles since the start."""

    def at(self, cycle: int, callback: Callable[[], None]) -> None:
        """Call ``callback`` before the first block that begins at or after ``cycle``."""

    def raise_line(self, irq: int) -> None:
        """The interrupt request ``irq`` (16 less than the exception's number) becomes active."""

    def lower_line(self, irq: int) -> None:
        """The interrupt request ``irq`` is no longer active."""
