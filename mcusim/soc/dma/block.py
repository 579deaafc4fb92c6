"""A DMA controller as a block of registers that take words."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.soc.dma.channel_base import DmaLane
from mcusim.soc.dma.host import DmaHost
from mcusim.soc.register_block import RegisterBlock


class DmaBlock(RegisterBlock):
    """``streams``: its streams or channels. A store of a byte or a halfword changes nothing and is a finding: the
    manuals allow words only (ST RM0090 10.5, RM0432 11.6) and do not say what else would do."""

    masters = True

    def __init__(self, name: str, base: int, size: int, host: DmaHost, streams: Sequence[DmaLane]) -> None:
        super().__init__(name, base, size, {}, host)
        self._dma_host, self.streams = host, streams

    @property
    def lines(self) -> tuple[int, ...]:
        """The interrupt lines of its streams."""
        return tuple(stream.irq for stream in self.streams)

    @property
    def waiting(self) -> bool:
        """Whether a stream is under way."""
        self.update()
        return any(stream.under_way for stream in self.streams)

    def read(self, offset: int, size: int) -> int:
        """A load of ``size`` bytes at ``offset``."""
        self.update()
        return self.word(offset & ~3) >> 8 * (offset & 3) & (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        """A store of ``size`` bytes at ``offset``."""
        self.update()
        if size == 4 and not offset & 3:
            self.store(offset, value)
        else:
            self._dma_host.warn(
                f"{self.label(offset)} was stored to with {size} B at {self._dma_host.pc:#010x}, which changed nothing:"
                " DMA registers take whole words; store 32 bits"
            )

    def update(self) -> None:
        """Bring all streams to the present."""
        for stream in self.streams:
            stream.update()

    def reset(self) -> None:
        """As after a reset of the block."""
        self.update()
        for stream in self.streams:
            stream.reset()

    def serve(self) -> None:
        """A peripheral has a request, or has one no longer."""
        for stream in self.streams:
            stream.request()

    # what a controller overrides

    def store(self, offset: int, value: int) -> None:
        """A word is stored at ``offset``."""

    def register_name(self, offset: int) -> str | None:
        """The name of the register at ``offset``, without the block's."""

    def label(self, offset: int) -> str:
        """``DMA2_LISR``, ``DMA2_S0CR``, or ``DMA2 + 0xd0`` where no register is."""
        name = self.register_name(offset & ~3)
        return f"{self.name}_{name}" if name else f"{self.name} + {offset & ~3:#04x}"
