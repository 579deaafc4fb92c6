"""How one stream or channel is joined to the rest of the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcusim.cpu.dma.host import DmaHost, RequestLine
from mcusim.cpu.dma.log import DmaLog
from mcusim.machine.description import Dma
from mcusim.memory.system import MemorySystem

__all__ = ["Reach", "Wiring"]

Reach = Callable[[int, int, bool], int]


@dataclass(frozen=True, slots=True)
class Wiring:
    """Stream ``number`` of ``controller``: its interrupt, the controller's times, what it is next to.

    ``copies``: whether it moves bytes between memories. ``reach`` gets an address, bytes and whether they are written,
    and says how many of them, from the first on, the controller reaches. ``line`` finds the request line of a channel
    or request number.
    """

    controller: str
    number: int
    irq: int
    dma: Dma
    copies: bool
    memory: MemorySystem
    host: DmaHost
    log: DmaLog
    reach: Reach
    line: Callable[[int], RequestLine | None]
