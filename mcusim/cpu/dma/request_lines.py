"""Which stream and channel of DMA1 and DMA2 serve which peripheral of an STM32F4 or F7.

ST RM0090 tables 42 and 43 and RM0385 tables 25 and 26, from memory (assumed). Not modelled: the requests of all other
peripherals, those of received characters, and the H7, whose DMAMUX joins any of them to any stream.
"""

from __future__ import annotations

from collections.abc import Iterable

from mcusim.cpu.dma.host import RequestLine
from mcusim.cpu.peripherals.kinds.usart import Usart
from mcusim.cpu.peripherals.register_block import RegisterBlock

__all__ = ["lines_of", "transmitters"]

_TRANSMIT = {  # controller, stream, channel
    "USART1": (("dma2", 7, 4),),
    "USART2": (("dma1", 6, 4),),
    "USART3": (("dma1", 3, 4), ("dma1", 4, 7)),
    "UART4": (("dma1", 4, 4),),
    "UART5": (("dma1", 7, 4),),
    "USART6": (("dma2", 6, 5), ("dma2", 7, 5)),
}


class _Transmit:
    """A transmitter that has DMA enabled and room for a character."""

    def __init__(self, usart: Usart) -> None:
        self._usart = usart

    @property
    def active(self) -> bool:
        return self._usart.asks_for_data


def transmitters(blocks: Iterable[RegisterBlock]) -> list[Usart]:
    """The blocks that may ask for characters."""
    return [block for block in blocks if isinstance(block, Usart) and block.name in _TRANSMIT]


def lines_of(controller: str, blocks: Iterable[RegisterBlock]) -> dict[tuple[int, int], RequestLine]:
    """The request lines of one controller by stream and channel."""
    return {
        (stream, channel): _Transmit(usart)
        for usart in transmitters(blocks)
        for name, stream, channel in _TRANSMIT[usart.name]
        if name == controller
    }
