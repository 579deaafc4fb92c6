"""How one stream or channel is joined to the rest of the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcusim.machine.description import Dma
from mcusim.memory.system import MemorySystem
from mcusim.soc.dma.dma_log import DmaLog
from mcusim.soc.dma.host import DmaHost, RequestLine

Reach = Callable[[int, int, bool], int]


@dataclass(frozen=True, slots=True)
class Wiring:
    """Stream ``number`` of ``controller``: its interrupt, the controller's times, what it is next to.

    ``copies``: whether it moves bytes between memories. ``reach`` gets an address, bytes and whether they are written,
    and says how many of them, from the first on, the controller reaches. ``line`` finds the request line of a channel
    or request number; ``muxed`` has the number that a DMAMUX selects, where there is one.
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
    muxed: Callable[[], int] | None = None

    def unheard(self, channel: int, pc: int) -> str:
        """What is said of a stream that waits for a request that no peripheral here makes."""
        where = f"channel {channel}" if self.muxed is None else f"request {self.muxed()}"
        return (
            f"{self.controller} stream {self.number}, enabled at {pc:#010x}, waits for {where}: no peripheral that is"
            " modelled makes this request, so nothing moves"
        )
