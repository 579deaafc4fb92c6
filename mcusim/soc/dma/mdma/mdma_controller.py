"""The MDMA of an STM32H7 as a block of registers: sixteen channels with one interrupt line."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.soc.dma.block import DmaBlock
from mcusim.soc.dma.mdma.mdma_channel import NAMES, MdmaChannel
from mcusim.soc.dma.wiring import Wiring

FIRST, STRIDE = 0x40, 0x40


class MdmaController(DmaBlock):
    """``wirings``: one for each channel, in order."""

    def __init__(self, name: str, base: int, wirings: Sequence[Wiring]) -> None:
        self._channels = [MdmaChannel(wiring, self._signal) for wiring in wirings]
        super().__init__(name, base, 0x1000, wirings[0].host, self._channels)
        self.irq = wirings[0].irq

    def _waiting(self) -> int:
        """The channels with flags that are enabled, a bit each: GISR0."""
        return sum(1 << n for n, channel in enumerate(self._channels) if channel.flags & channel.enabled)

    def _signal(self) -> None:
        self.request(bool(self._waiting()))

    def store(self, offset: int, value: int) -> None:
        if channel := self._channel(offset):
            channel[0].write(channel[1], value)

    def word(self, offset: int) -> int:
        """What the register at ``offset`` held when the block was last looked at."""
        if offset == 0:
            return self._waiting()
        channel = self._channel(offset)
        return channel[0].read(channel[1]) if channel else 0

    def register_name(self, offset: int) -> str | None:
        channel = self._channel(offset)
        if channel is None or channel[1] not in NAMES:
            return "GISR0" if offset == 0 else None
        return f"C{channel[0].number}{NAMES[channel[1]]}"

    def _channel(self, offset: int) -> tuple[MdmaChannel, int] | None:
        number, register = divmod(offset - FIRST, STRIDE)
        return (self._channels[number], register) if 0 <= number < len(self._channels) else None
