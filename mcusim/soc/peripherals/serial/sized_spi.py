"""SPI of the H7: a master with nothing connected, which receives ones; transfers of TSIZE frames, FIFOs, DMA requests.

Assumed, from memory of ST RM0433 chapter 50; bits: ST's CMSIS header of the STM32H743. A frame takes its bits
(CFG1.DSIZE) at the bus's clock over 2 to 256 (CFG1.MBR); none begins while there is nothing to send or no room for what
it receives.

Not modelled: a connected device, transfers as a slave, CRC, I2S, the FIFOs of 8 bytes that SPI4 to SPI6 have, kernel
clocks other than the bus's, overruns and underruns.
"""

from __future__ import annotations

from mcusim.soc.register_block import WORD, RegisterBlock

SPE, CSTART, CSUSP, HDDIR = 1 << 0, 1 << 9, 1 << 10, 1 << 11  # in CR1
RXDMAEN, TXDMAEN = 1 << 14, 1 << 15  # in CFG1
RXP, TXP, DXP, EOT, TXTF, SUSP, TXC, RXWNE = (1 << n for n in (0, 1, 2, 3, 4, 11, 12, 15))  # in SR
LEVELS = RXP | TXP | DXP | TXC | RXWNE | 3 << 13 | 0xFFFF << 16  # what of SR follows the FIFOs
ENABLED = 0x7FF  # interrupts of IER, in the bits of their flags
SEND_ONLY, RECEIVE_ONLY, ONE_LINE = 1, 2, 3  # CFG2.COMM
FIFO = 16  # bytes


class SizedSpi(RegisterBlock):
    """``_queued``, ``_received``: frames in the FIFOs; ``_written``, ``_done``: of the transfer. ``_run``: by SPE."""

    _queued = _received = _written = _done = _run = 0
    _until = 0  # cycle at which the frame in hand ends; 0: there is none

    @property
    def waiting(self) -> bool:
        return self._until > 0 or super().waiting

    def dma_request(self, request: str) -> bool:
        """TX: room for a frame; RX: one is there. Each where CFG1 enables it and the block is on."""
        wanted, flag = (TXDMAEN, TXP) if request == "TX" else (RXDMAEN, RXP)
        return bool(self["CR1"] & SPE and self["CFG1"] & wanted and self["SR"] & flag)

    def read(self, offset: int, size: int) -> int:
        if offset != self._at["RXDR"]:
            return super().read(offset, size)
        self._received = max(0, self._received - self._frames(size))
        self._go_on()
        return (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        if offset == self._at["TXDR"] and self["CR1"] & SPE:
            frames = min(self._frames(size), self._capacity - self._queued)
            self._queued += frames
            self._written += frames
            if self._size and self._written >= self._size:
                self["SR"] |= TXTF
        self._go_on()

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "IFCR":
            self["SR"] &= ~(value & 0xFF8)
        if register == "CR1" and not self["CR1"] & SPE:
            self["CR1"] &= ~CSTART
            self["SR"] &= ~(EOT | TXTF | SUSP)
            self._queued = self._received = self._written = self._done = self._until = 0
            self._run += 1
        elif register == "CR1" and value & CSUSP and old & CSTART:
            self["CR1"] &= ~CSTART
            self["SR"] |= SUSP
        elif register == "CR1":
            self["CR1"] |= old & CSTART

    @property
    def _size(self) -> int:
        return self["CR2"] & 0xFFFF

    @property
    def _bits(self) -> int:
        return (self["CFG1"] & 31) + 1

    @property
    def _bytes(self) -> int:
        return 1 if self._bits <= 8 else 2 if self._bits <= 16 else 4

    @property
    def _capacity(self) -> int:
        return FIFO // self._bytes

    @property
    def _line(self) -> int:
        """CFG2.COMM, the one line by its direction."""
        line = self["CFG2"] >> 17 & 3
        return (SEND_ONLY if self["CR1"] & HDDIR else RECEIVE_ONLY) if line == ONE_LINE else line

    def _frames(self, size: int) -> int:
        return max(1, size // self._bytes)

    def _go_on(self) -> None:
        """The next frame begins, if it may."""
        lacks = self._line != RECEIVE_ONLY and not self._queued
        full = self._line != SEND_ONLY and self._received >= self._capacity
        if self["CR1"] & CSTART and not (self._until or lacks or full or (self._size and self._done >= self._size)):
            clock = (2 << (self["CFG1"] >> 28 & 7)) * self.host.dividers(self.bus)[0]
            self._until, run = self.host.cycles + self._bits * clock, self._run
            self.at(self._until, lambda: self._shifted() if run == self._run else None)
        self._refresh()

    def _shifted(self) -> None:
        self._until = 0
        self._done += 1
        self._queued -= self._line != RECEIVE_ONLY
        self._received += self._line != SEND_ONLY
        if self._size and self._done == self._size:
            self["SR"] |= EOT
            self["CR1"] &= ~CSTART
            self._done = self._written = 0
        self._go_on()

    def line_enabled(self, irq: int) -> bool:
        return bool(self["IER"] & ENABLED)

    def has_sent(self, register: str, value: int) -> bool:
        return register == "SR" and bool(value & (EOT | TXC))

    def _refresh(self) -> None:
        threshold = (self["CFG1"] >> 5 & 15) + 1
        flags = RXP if self._received >= threshold else 0
        sends = self._capacity - self._queued >= threshold and not (self._size and self["SR"] & TXTF)
        flags |= (TXP if sends else 0) | (DXP if sends and flags else 0)
        waits = self._received * self._bytes
        flags |= (RXWNE if waits >= 4 else 0) | waits % 4 // self._bytes << 13 | (0 if self._queued else TXC)
        self["SR"] = (self["SR"] & ~LEVELS | flags | (self._size - self._done) << 16) & WORD
        asked = ENABLED | (SUSP if self["IER"] & EOT else 0)
        self.request(bool(self["SR"] & (self["IER"] | SUSP) & asked))
        if self.served_by is not None and (self.dma_request("TX") or self.dma_request("RX")):
            self.served_by()
