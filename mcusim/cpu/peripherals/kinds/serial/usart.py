"""USART and UART: what is transmitted goes to the terminal.

Registers: ST RM0090 (SR and DR) and RM0385 (ISR and TDR, which have the same bits where both have them). A character
takes the frame's bits at the rate that BRR asks of its bus's clock; with BRR at 0 it is gone at once.

Not modelled: receiving, parity, half duplex, flow control, other clocks than the bus's for the baud rate, DMA requests
of received characters.
"""

from __future__ import annotations

from mcusim.cpu.peripherals.register_block import RegisterBlock

__all__ = ["Usart"]

ENABLE_F4, ENABLE = 1 << 13, 1 << 0  # UE in CR1
TXEIE, TCIE, TE = 1 << 7, 1 << 6, 1 << 3
DMAT = 1 << 7  # in CR3
TXE, TC = 1 << 7, 1 << 6
FRAME = 10  # bits: start, eight of data, stop


class Usart(RegisterBlock):
    """One transmitter with its shift register and one character that waits."""

    _free_at = 0  # cycle at which the last character has left

    def asks(self, request: str) -> bool:
        """TX: it is enabled for that, and has room for a character."""
        room = request == "TX" and self._free_at - self.host.cycles <= self._frame()
        return room and bool(self["CR3"] & DMAT) and self._transmits()

    def _transmits(self) -> bool:
        enable = ENABLE if self._status == "ISR" else ENABLE_F4
        return bool(self["CR1"] & enable and self["CR1"] & TE)

    def _frame(self) -> int:
        return FRAME * (self["BRR"] & 0xFFFF) * self.host.dividers(self.bus)[0]

    @property
    def _status(self) -> str:
        return "ISR" if "ISR" in self._at else "SR"

    def _refresh(self) -> None:
        left = self._free_at - self.host.cycles
        flags = (TXE if left <= self._frame() else 0) | (TC if left <= 0 else 0)
        self[self._status] = self[self._status] & ~(TXE | TC) | flags
        self.request(bool(self["CR1"] & flags & (TXEIE | TCIE)))
        if self.served_by is not None and self["CR3"] & DMAT and flags & TXE:
            self.served_by()

    @property
    def waiting(self) -> bool:
        return super().waiting or self._free_at > self.host.cycles

    def loaded(self, register: str, word: int) -> int:
        self._refresh()
        return self[register]

    def stored(self, register: str, value: int, old: int) -> None:
        if register in ("DR", "TDR"):
            if self._transmits():
                self.host.output(bytes([value & 0xFF]))
                self._free_at = max(self._free_at, self.host.cycles) + self._frame()
                for due in (self._free_at - self._frame(), self._free_at):
                    self.host.at(due, self._refresh)
            self[register] = 0
        self._refresh()
