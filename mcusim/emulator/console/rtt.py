"""SEGGER RTT: up-buffer 0 of a program's control block goes to the terminal, as a debug probe reads it while it runs.

The control block begins with ``SEGGER RTT`` and NULs to 16 bytes; then the numbers of up-buffers and of down-buffers;
then each up-buffer: name, buffer, its size, WrOff, RdOff, flags, a word each (SEGGER UM08001, "RTT control block"). The
reader takes the bytes from RdOff up to WrOff and moves RdOff. Reads and writes of the probe take no time of the core.

A program that has RTT is looked at every 50,000 instructions, where its symbols or its bytes say so; others are not.

Not modelled: down-buffers (the program finds no input), up-buffers other than 0, how often a real probe looks, control
blocks in external memory of programs without symbols.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcusim.emulator.core_state import GuestCore
    from mcusim.image.image import Image

EVERY = 50_000  # instructions from one look to the next
ID = b"SEGGER RTT".ljust(16, b"\0")
SYMBOL = "_SEGGER_RTT"
WRITTEN_OUT = (b"SEGGER", b"REGGES", b"TTR REGGES")  # versions of its source make the ID of these when they start
HEADER, BUFFER = struct.Struct("<16s2I"), struct.Struct("<6I")
MOST = 1 << 24  # bytes of a buffer


def uses_rtt(image: Image) -> bool:
    """Whether the program may have a control block: by its symbol, or by the ID in its bytes."""
    return image.symbols.get(SYMBOL) is not None or any(part in s.data for s in image.segments for part in WRITTEN_OUT)


class Rtt:
    """Finds the block once it is there, and drains its buffer."""

    def __init__(self, core: GuestCore, image: Image, output: Callable[[bytes], object]) -> None:
        self._core, self._output = core, output
        symbol = image.symbols.get(SYMBOL)
        self._symbol = None if symbol is None else symbol.address
        self._at: int | None = None

    def look(self) -> None:
        """Show what the program has written since the last look."""
        if self._at is None:
            self._at = self._found()
        if self._at is not None:
            self._drain(self._at)

    def _found(self) -> int | None:
        peek = self._core.core.peek
        if self._symbol is not None:
            return self._symbol if peek(self._symbol, len(ID)) == ID else None
        for region in self._core.machine.memory.values():
            if region.writable and region.kind in ("tcm", "sram"):
                at = (peek(region.base, region.size) or b"").find(ID)
                if at >= 0 and at % 4 == 0:
                    return region.base + at
        return None

    def _drain(self, block: int) -> None:
        peek = self._core.core.peek
        header = peek(block, HEADER.size + BUFFER.size)
        if header is None or not header.startswith(ID):
            self._at = None
            return
        _, ups, _ = HEADER.unpack_from(header)
        _, buffer, size, write, read, _ = BUFFER.unpack_from(header, HEADER.size)
        data = peek(buffer, size) if ups and 0 < size <= MOST and write < size and read < size else None
        if data is None or write == read:
            return
        self._output(data[read:write] if read < write else data[read:] + data[:write])
        self._core.write(block + HEADER.size + 16, write.to_bytes(4, "little"))
