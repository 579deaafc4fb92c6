"""Which stream or channel serves which request of a peripheral: by its number there, or through a DMAMUX.

The tables are in the families' files. Not modelled: the requests of peripherals without a model here; a stream that
listens to one of those waits for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcusim.soc.dma.host import RequestLine
from mcusim.soc.register_block import RegisterBlock

Lines = Mapping[tuple[str, int, int], RequestLine]


class _BlockLine:
    """A block's request ``name``."""

    def __init__(self, block: RegisterBlock, name: str) -> None:
        self._block, self._name = block, name

    @property
    def active(self) -> bool:
        return self._block.dma_request(self._name)

    def dma_ack(self) -> None:
        self._block.dma_ack(self._name)


def lines_of(requests: Mapping[str, Any], blocks: Iterable[RegisterBlock]) -> Lines:
    """The request lines by controller, stream and channel, or by DMAMUX, 0 and number, of those blocks that are there.

    ``requests``: ``USART1_TX`` as [controller, stream, channel] each, or {DMAMUX: number}.
    """
    there = {block.name: block for block in blocks}
    lines: dict[tuple[str, int, int], RequestLine] = {}
    for request, where in requests.items():
        name, _, kind = request.rpartition("_")
        if name not in there:
            continue
        line = _BlockLine(there[name], kind)
        places = [(mux, 0, number) for mux, number in where.items()] if isinstance(where, dict) else where
        lines |= dict.fromkeys(map(tuple, places), line)
    return lines
