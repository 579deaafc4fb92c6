"""DMA1 or DMA2 of an STM32F4, F7 or H7 as a block of registers: eight streams and their flags."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.soc.dma.block import DmaBlock
from mcusim.soc.dma.streams.stream import Stream
from mcusim.soc.dma.streams.stream_registers import FLAG_SHIFTS
from mcusim.soc.dma.wiring import Wiring

FLAGS, CLEARS = (0x00, 0x04), (0x08, 0x0C)  # LISR, HISR; LIFCR, HIFCR
FIRST, STRIDE = 0x10, 0x18
ALL = 0x3D  # a stream's flags
NAMES = {0x00: "LISR", 0x04: "HISR", 0x08: "LIFCR", 0x0C: "HIFCR"}
STREAM_NAMES = ("CR", "NDTR", "PAR", "M0AR", "M1AR", "FCR")


class StreamController(DmaBlock):
    """``wirings``: one for each stream, in order."""

    def __init__(self, name: str, base: int, wirings: Sequence[Wiring]) -> None:
        self._streams = [Stream(wiring) for wiring in wirings]
        super().__init__(name, base, 0x400, wirings[0].host, self._streams)

    def store(self, offset: int, value: int) -> None:
        if offset in CLEARS:
            half = CLEARS.index(offset)
            for stream, shift in zip(self._streams[4 * half :], FLAG_SHIFTS, strict=False):
                stream.clear(value >> shift & ALL)
        elif pair := self._stream(offset):
            pair[0].write(pair[1], value)

    def word(self, offset: int) -> int:
        """What the register at ``offset`` held when the block was last looked at."""
        if offset in FLAGS:
            half = self._streams[4 * FLAGS.index(offset) :]
            return sum(stream.flags << shift for stream, shift in zip(half, FLAG_SHIFTS, strict=False))
        pair = self._stream(offset)
        return pair[0].read(pair[1]) if pair else 0

    def register_name(self, offset: int) -> str | None:
        number, register = divmod(offset - FIRST, STRIDE)
        if 0 <= number < len(self._streams):
            return f"S{number}{STREAM_NAMES[register // 4]}"
        return NAMES.get(offset)

    def _stream(self, offset: int) -> tuple[Stream, int] | None:
        number, register = divmod(offset - FIRST, STRIDE)
        return (self._streams[number], register) if 0 <= number < len(self._streams) else None
