"""ITM: what a program stores to its 32 stimulus ports, as text (Arm DDI0403 C1.7).

Port 0 is the program's terminal, byte by byte, as debuggers show it. Of each other port a byte is a character of a line
of its own, ``[itm 3] text``, which is shown when it ends; a halfword or a word is a value, ``[itm 3] 0x0000002a``. A
port takes what is stored while ITM_TCR.ITMENA and its bit of ITM_TER are set; a debugger that is connected sets them
before the program runs, and so does ``enabled``.

Not modelled: the TPIU, SWO and their bandwidth (the FIFO always has room), ITM_TPR, ITM_LAR, time stamps, and packets
of the DWT.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system.ppb_words import put
from mcusim.errors import UsageError
from mcusim.native.structs import Words

PORTS = 32
LONGEST_LINE = 1 << 12
ITM_TER = 0xE00


def port_mask(text: str) -> int:
    """A bit for each port of ``"0,3-5"``, ``"all"`` or ``"none"``. Raises UsageError."""
    if text in ("all", "none"):
        return (1 << PORTS) - 1 if text == "all" else 0
    mask = 0
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        texts = (first, last if dash else first)
        ends = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) < 3]
        if len(ends) != 2 or not ends[0] <= ends[1] < PORTS:
            raise UsageError(f'--itm {text[:80]!r}: ports are numbers from 0 to 31, as in "0,3-5", or all or none')
        mask |= (2 << ends[1]) - (1 << ends[0])
    return mask


class TracePorts:
    """``entries`` is what the native code fills: port << 40 | size << 32 | value, ``state.console_used`` of them."""

    def __init__(self, state: CoreState, entries: Any, output: Callable[[bytes], object]) -> None:
        self._state, self._entries, self._output = state, entries, output
        self._lines: dict[int, bytearray] = {}
        state.console_size = len(entries)

    def write(self, data: bytes) -> object:
        """What comes from elsewhere, behind what the ports have got so far."""
        self.show()
        return self._output(data)

    def show(self) -> None:
        """Print what has come since the last time."""
        used = int(self._state.console_used)
        if not used:
            return
        self._state.console_used = 0
        terminal = bytearray()
        for entry in self._entries[:used].tolist():
            port, size, value = entry >> 40, entry >> 32 & 7, entry & 0xFFFF_FFFF
            data = value.to_bytes(4, "little")[:size]
            terminal += data if port == 0 else self._line(port, data, value)
        if terminal:
            self._output(bytes(terminal))

    def _line(self, port: int, data: bytes, value: int) -> bytes:
        """What another port than 0 shows now, if a line has ended."""
        if len(data) > 1:
            return self._rest(port) + b"[itm %d] 0x%0*x\n" % (port, 2 * len(data), value)
        line = self._lines.setdefault(port, bytearray())
        line += data
        return self._rest(port) if data == b"\n" or len(line) >= LONGEST_LINE else b""

    def _rest(self, port: int) -> bytes:
        line = bytes(self._lines.pop(port, b""))
        return b"[itm %d] %s\n" % (port, line.rstrip(b"\r\n")) if line else b""

    def end(self) -> None:
        """The run is over: lines that have not ended are shown too."""
        self.show()
        rest = b"".join(self._rest(port) for port in sorted(self._lines))
        if rest:
            self._output(rest)


def enable(ppb: Words, mask: int) -> None:
    """Set ITM_TER, as a debugger would."""
    put(ppb, ITM_TER, mask)
