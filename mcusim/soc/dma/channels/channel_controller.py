"""DMA1 or DMA2 of an STM32L4, or the H7's BDMA, as a block of registers: channels and their flags."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.soc.dma.block import DmaBlock
from mcusim.soc.dma.channels.channel import Channel
from mcusim.soc.dma.wiring import Wiring

ISR, IFCR = 0x00, 0x04
FIRST, STRIDE = 0x08, 0x14
ANY, ALL = 1, 0xE  # GIF, and the flags behind it
NAMES = {ISR: "ISR", IFCR: "IFCR"}


class ChannelController(DmaBlock):
    """``wirings``: one for each channel, in order; ``two_buffers``: channels have double-buffer mode."""

    def __init__(self, name: str, base: int, wirings: Sequence[Wiring], two_buffers: bool) -> None:
        self._channels = [Channel(wiring, two_buffers) for wiring in wirings]
        super().__init__(name, base, 0x400, wirings[0].host, self._channels)
        self._registers_of_one = ("CCR", "CNDTR", "CPAR", *(("CM0AR", "CM1AR") if two_buffers else ("CMAR",)))

    def store(self, offset: int, value: int) -> None:
        if offset == IFCR:
            for n, channel in enumerate(self._channels):
                flags = value >> 4 * n
                channel.clear(ALL if flags & ANY else flags & ALL)
        elif pair := self._channel(offset):
            pair[0].write(pair[1], value)

    def word(self, offset: int) -> int:
        """What the register at ``offset`` held when the block was last looked at."""
        if offset == ISR:
            flags = enumerate(channel.flags for channel in self._channels)
            return sum((number | ANY * bool(number)) << 4 * n for n, number in flags)
        pair = self._channel(offset)
        return pair[0].read(pair[1]) if pair else 0

    def register_name(self, offset: int) -> str | None:
        channel = self._channel(offset)
        if channel is None:
            return NAMES.get(offset)
        names = self._registers_of_one
        return f"{names[channel[1] // 4]}{channel[0].number}" if channel[1] // 4 < len(names) else None

    def _channel(self, offset: int) -> tuple[Channel, int] | None:
        number, register = divmod(offset - FIRST, STRIDE)
        return (self._channels[number], register) if 0 <= number < len(self._channels) else None
