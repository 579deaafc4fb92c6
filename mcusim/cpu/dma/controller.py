"""DMA1 or DMA2 of an STM32F4, F7 or H7 as a block of registers: eight streams and their flags.

Not modelled: stores of a byte or a halfword (the registers take words; such a store changes nothing).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from mcusim.cpu.dma.host import DmaHost, RequestLine
from mcusim.cpu.dma.log import DmaLog
from mcusim.cpu.dma.reach import reached
from mcusim.cpu.dma.stream import Stream
from mcusim.cpu.dma.stream_registers import FLAG_SHIFTS
from mcusim.cpu.dma.wiring import Wiring
from mcusim.cpu.peripherals.register_block import RegisterBlock
from mcusim.machine.description import Dma
from mcusim.memory.system import MemorySystem

__all__ = ["STREAM_IRQS", "StreamController"]

STREAM_IRQS = {  # CMSIS headers of the STM32F4, F7 and H7
    "dma1": (11, 12, 13, 14, 15, 16, 17, 47),
    "dma2": (56, 57, 58, 59, 60, 68, 69, 70),
}
FLAGS, CLEARS = (0x00, 0x04), (0x08, 0x0C)  # LISR, HISR; LIFCR, HIFCR
FIRST, STRIDE = 0x10, 0x18
ALL = 0x3D  # a stream's flags
NAMES = {0x00: "LISR", 0x04: "HISR", 0x08: "LIFCR", 0x0C: "HIFCR"}
STREAM_NAMES = ("CR", "NDTR", "PAR", "M0AR", "M1AR", "FCR")


class StreamController(RegisterBlock):
    """``dma`` and ``copies``: as for a :class:`Stream`. ``lines``: request lines by stream and channel."""

    def __init__(
        self,
        name: str,
        base: int,
        dma: Dma,
        copies: bool,
        memory: MemorySystem,
        host: DmaHost,
        lines: Mapping[tuple[int, int], RequestLine],
        log: DmaLog,
    ) -> None:
        super().__init__(name.upper(), base, 0x400, {}, host)
        reach = partial(reached, memory.machine)
        self.streams = [
            Stream(Wiring(self.name, n, irq, dma, copies, memory, host, log, reach, partial(_line, lines, n)))
            for n, irq in enumerate(STREAM_IRQS[name])
        ]

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
        if size != 4 or offset & 3:
            return
        if offset in CLEARS:
            half = CLEARS.index(offset)
            for stream, shift in zip(self.streams[4 * half :], FLAG_SHIFTS, strict=False):
                stream.clear(value >> shift & ALL)
        elif found := self._stream(offset):
            found[0].write(found[1], value)

    def word(self, offset: int) -> int:
        """What the register at ``offset`` held when the block was last looked at."""
        if offset in FLAGS:
            half = self.streams[4 * FLAGS.index(offset) :]
            return sum(stream.flags << shift for stream, shift in zip(half, FLAG_SHIFTS, strict=False))
        found = self._stream(offset)
        return found[0].read(found[1]) if found else 0

    def label(self, offset: int) -> str:
        """``DMA2_LISR``, ``DMA2_S0CR``, or ``DMA2 + 0xd0`` where no register is."""
        offset &= ~3
        number, register = divmod(offset - FIRST, STRIDE)
        name = NAMES.get(offset)
        if name is None and 0 <= number < len(self.streams):
            name = f"S{number}{STREAM_NAMES[register // 4]}"
        return f"{self.name}_{name}" if name else f"{self.name} + {offset:#04x}"

    def update(self) -> None:
        """Bring all streams to the present."""
        for stream in self.streams:
            stream.update()

    def serve(self) -> None:
        """A peripheral has a request, or has one no longer."""
        for stream in self.streams:
            stream.request()

    def _stream(self, offset: int) -> tuple[Stream, int] | None:
        number, register = divmod(offset - FIRST, STRIDE)
        return (self.streams[number], register) if 0 <= number < len(self.streams) else None


def _line(lines: Mapping[tuple[int, int], RequestLine], stream: int, channel: int) -> RequestLine | None:
    return lines.get((stream, channel))
