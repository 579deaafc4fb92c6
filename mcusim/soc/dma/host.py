"""What DMA controllers need of the emulated core and of the peripherals next to them."""

from __future__ import annotations

from typing import Protocol

from mcusim.soc.register_block import BlockHost


class DmaHost(BlockHost, Protocol):
    """The core's clock, its queue of events and its interrupt lines; the registers of peripherals."""

    @property
    def pc(self) -> int:
        """Address of the instruction whose access is under way."""

    def warn(self, text: str) -> None:
        """Something that the program does and a board does not answer as it may expect."""

    def answers(self, address: int) -> bool:
        """Whether a peripheral has ``address``."""

    def load(self, address: int, size: int) -> int:
        """What a load of a peripheral's register finds."""

    def store(self, address: int, size: int, value: int) -> None:
        """Store to a peripheral's register."""


class RequestLine(Protocol):
    """A peripheral's request to move one unit: a character that has come, room for one to be sent."""

    @property
    def active(self) -> bool:
        """Whether it asks now."""

    def dma_ack(self) -> None:
        """A unit was moved for it."""
