"""USART and UART: what is transmitted goes to the terminal, what is received comes from a file.

Registers: ST RM0090 (SR and DR) and RM0385 (ISR and TDR, which have the same bits where both have them). A character
takes the frame's bits at the rate that BRR asks of its bus's clock; with BRR at 0 it is gone at once, and none is
received. Characters are received one behind the other from when the receiver is enabled; one that comes while the last
is not read is lost (ORE), and a frame after the last the line is idle (IDLE).

Not modelled: parity, noise and framing errors, half duplex, flow control, nine data bits, oversampling by 8, other
clocks than the bus's for the baud rate.
"""

from __future__ import annotations

from mcusim.soc.register_block import BlockHost, RegisterBlock, Registers

ENABLE_F4, ENABLE = 1 << 13, 1 << 0  # UE in CR1
PEIE, TXEIE, TCIE, RXNEIE, IDLEIE, TE, RE = 1 << 8, 1 << 7, 1 << 6, 1 << 5, 1 << 4, 1 << 3, 1 << 2
DMAT, DMAR, EIE, CTSIE = 1 << 7, 1 << 6, 1 << 0, 1 << 10  # in CR3
TXE, TC, RXNE, IDLE, ORE = 1 << 7, 1 << 6, 1 << 5, 1 << 4, 1 << 3  # in SR and ISR; ICR has IDLE and ORE too
RXFRQ = 1 << 3  # in RQR
FRAME = 10  # bits: start, eight of data, stop


class Usart(RegisterBlock):
    """One transmitter and one receiver, each with its shift register and one character that waits."""

    by_events = True
    _free_at = 0  # cycle at which the last character has left
    _comes = -1  # cycle at which the next character has come, or the line is idle; -1: the receiver is off
    _tc_cleared = False  # by the program, since the last character has left
    _character, _seen = 0, 0  # the one that was received, and the flags that a load of SR has shown
    _loaded = 0  # SR as the program has loaded it last

    def __init__(self, name: str, base: int, size: int, registers: Registers, host: BlockHost, irq: int = -1):
        super().__init__(name, base, size, registers, host, irq)
        self._input = b""  # what is still to come

    def feed(self, data: bytes) -> None:
        """``data`` comes on the line once the receiver is on."""
        self._input += data

    def dma_request(self, request: str) -> bool:
        """TX: it is enabled for that, and has room for a character; RX: and has one."""
        if request == "RX":
            return bool(self[self._status] & RXNE and self["CR3"] & DMAR)
        room = request == "TX" and self._free_at - self.host.cycles <= self._frame()
        return room and bool(self["CR3"] & DMAT) and self._transmits()

    def _transmits(self) -> bool:
        enable = ENABLE if self._status == "ISR" else ENABLE_F4
        return bool(self["CR1"] & enable and self["CR1"] & TE)

    def _receives(self) -> bool:
        enable = ENABLE if self._status == "ISR" else ENABLE_F4
        return bool(self["CR1"] & enable and self["CR1"] & RE and self._frame())

    def _listen(self) -> None:
        """The receiver is on or off; characters that are due by now come."""
        if not self._receives():
            self._comes = -1
        elif self._comes < 0 and self._input:
            self._comes = self.host.cycles + self._frame()
            self.at(self._comes, self._refresh)
        while 0 <= self._comes <= self.host.cycles:
            self._arrive()

    def _arrive(self) -> None:
        """The next character has come whole; behind the last one the line is idle."""
        status = self[self._status]
        if not self._input:
            self[self._status], self._comes = status | IDLE, -1
            return
        if status & RXNE:
            status |= ORE
        else:
            self._character, status = self._input[0], status | RXNE
        self._input, self[self._status] = self._input[1:], status
        self._comes += self._frame()
        self.at(self._comes, self._refresh)

    def _frame(self) -> int:
        return FRAME * (self["BRR"] & 0xFFFF) * self.host.dividers(self.bus)[0]

    @property
    def _status(self) -> str:
        return "ISR" if "ISR" in self._at else "SR"

    def _refresh(self) -> None:
        self._listen()
        left = self._free_at - self.host.cycles
        flags = (TXE if left <= self._frame() else 0) | (TC if left <= 0 and not self._tc_cleared else 0)
        self[self._status] = self[self._status] & ~(TXE | TC) | flags
        self.request(self._interrupts())
        wants = (self["CR3"] & DMAT and flags & TXE) or self.dma_request("RX")
        if self.served_by is not None and wants:
            self.served_by()

    def line_enabled(self, irq: int) -> bool:
        return bool(self["CR1"] & (PEIE | TXEIE | TCIE | RXNEIE | IDLEIE) or self["CR3"] & (EIE | CTSIE))

    def has_sent(self, register: str, value: int) -> bool:
        return register == self._status and bool(value & TC)

    def _interrupts(self) -> bool:
        """TXEIE to IDLEIE have the bits of their flags; RXNEIE, and with a DMA EIE, are for ORE too."""
        status, enabled = self[self._status], self["CR1"] & (TXEIE | TCIE | RXNEIE | IDLEIE)
        lost = status & ORE and (enabled & RXNEIE or (self["CR3"] & EIE and self["CR3"] & DMAR))
        return bool(status & enabled or lost)

    @property
    def waiting(self) -> bool:
        return super().waiting or self._free_at > self.host.cycles or self._comes > self.host.cycles

    def on_read(self, register: str, word: int) -> int:
        if register in ("DR", "RDR"):
            self._listen()
            character = self._character
            self[self._status] &= ~(RXNE | (self._seen if register == "DR" else 0))
            self._refresh()
            return character
        self._refresh()
        if register == "SR":
            self._seen, self._loaded = self["SR"] & (ORE | IDLE), self["SR"]
        return self[register]

    def on_write(self, register: str, value: int, old: int) -> None:
        if register in ("DR", "TDR"):
            if self._transmits():
                self.host.output(bytes([value & 0xFF]))
                self._tc_cleared = False
                self._free_at = max(self._free_at, self.host.cycles) + self._frame()
                for due in (self._free_at - self._frame(), self._free_at):
                    self.at(due, self._refresh)
            self[register] = 0
        if register == "SR":  # TC and RXNE are cleared by a 0
            self["SR"] = old
            self._refresh()
            if value & self._loaded == value != self._loaded:
                self.flags_lost("SR", self["SR"] & (RXNE | TC) & ~self._loaded)
            self._tc_cleared |= not value & TC and self._free_at <= self.host.cycles
            self["SR"] &= ~(RXNE & ~value)
        if register == "ICR":
            self._tc_cleared |= bool(value & TC) and self._free_at <= self.host.cycles
            self["ISR"] &= ~(value & (ORE | IDLE))
        if register == "RQR" and value & RXFRQ:
            self["ISR"] &= ~RXNE
        self._refresh()
