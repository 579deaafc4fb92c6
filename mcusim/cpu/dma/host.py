"""What DMA controllers need of the emulated core and of the peripherals next to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["DmaHost", "RequestLine"]


class DmaHost(Protocol):
    """The core's clock, its queue of events and its interrupt lines; the registers of peripherals."""

    @property
    def cycles(self) -> int:
        """Core cycles since the start."""

    def at(self, cycle: int, callback: Callable[[], None]) -> object:
        """Call ``callback`` before the first block that begins at or after ``cycle``."""

    def raise_line(self, irq: int) -> None:
        """The interrupt request ``irq`` (16 less than the exception's number) becomes active."""

    def lower_line(self, irq: int) -> None:
        """The interrupt request ``irq`` is no longer active."""

    def load(self, address: int, size: int) -> int:
        """What a load of a peripheral's register finds."""

    def store(self, address: int, size: int, value: int) -> None:
        """Store to a peripheral's register."""


class RequestLine(Protocol):
    """A peripheral's request to move one unit: a character that has come, room for one to be sent."""

    @property
    def active(self) -> bool:
        """Whether it asks now."""
