"""SPI of the F4, F7 and L4: a master with nothing connected, which receives ones.

Assumed, from memory of ST RM0090 and RM0385. A frame takes its bits (8 or 16; CR2.DS where it has that) at the bus's
clock over 2 to 256 (CR1.BR). What has arrived is counted: one frame, or four bytes of FIFO where CR2 has DS.

Not modelled: a connected device, overruns, transfers as a slave, CRC, I2S, half duplex.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

ENABLE = 1 << 6  # SPE in CR1
LONG = 1 << 11  # DFF in CR1
RXNE, TXE, BUSY = 1 << 0, 1 << 1, 1 << 7  # in SR
RXDMAEN, TXDMAEN, ERRIE, RXNEIE, TXEIE = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 7  # in CR2
FIFO = 4  # bytes


class Spi(RegisterBlock):
    """``_received``: bytes that wait in DR."""

    by_events = True
    _free_at = 0  # cycle at which the last frame has left
    _received = 0

    @property
    def waiting(self) -> bool:
        return self._free_at > self.host.cycles or super().waiting

    def dma_request(self, request: str) -> bool:
        """TX: DR is empty; RX: a frame is there. Each where CR2 enables it and the block is on."""
        wanted, flag = (TXDMAEN, TXE) if request == "TX" else (RXDMAEN, RXNE)
        return bool(self["CR1"] & ENABLE and self["CR2"] & wanted and self["SR"] & flag)

    @property
    def _has_fifo(self) -> bool:
        return bool(self["CR2"] & 0xF00)

    @property
    def _bits(self) -> int:
        if self._has_fifo:
            return (self["CR2"] >> 8 & 15) + 1
        return 16 if self["CR1"] & LONG else 8

    def _frame(self) -> int:
        return self._bits * (2 << (self["CR1"] >> 3 & 7)) * self.host.dividers(self.bus)[0]

    def read(self, offset: int, size: int) -> int:
        word = super().read(offset, size)
        if self._registers.get(offset & ~3) is None or self._registers[offset & ~3].name != "DR":
            return word
        self._received = max(0, self._received - (size if self._has_fifo else self._bits // 8))
        self._refresh()
        return (1 << 8 * min(size, 2)) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        register = self._registers.get(offset & ~3)
        if register is not None and register.name == "DR" and self["CR1"] & ENABLE:
            frames = 2 if self._has_fifo and self._bits <= 8 and size >= 2 else 1
            for _ in range(frames):
                self._free_at = max(self._free_at, self.host.cycles) + self._frame()
                self.at(self._free_at, self._arrived)
            self.at(self._free_at - self._frame(), self._refresh)
        self._refresh()

    def on_read(self, register: str, word: int) -> int:
        self._refresh()
        return self[register]

    def _arrived(self) -> None:
        frame = -(-self._bits // 8)
        self._received = min(self._received + frame, FIFO if self._has_fifo else frame)
        self._refresh()

    def line_enabled(self, irq: int) -> bool:
        return bool(self["CR2"] & (RXNEIE | TXEIE | ERRIE))

    def has_sent(self, register: str, value: int) -> bool:
        return register == "SR" and not value & BUSY

    def _refresh(self) -> None:
        left = self._free_at - self.host.cycles
        flags = (RXNE if self._received else 0) | (TXE if left <= self._frame() else 0) | (BUSY if left > 0 else 0)
        self["SR"] = self["SR"] & ~(RXNE | TXE | BUSY) | flags
        asked = (RXNE if self["CR2"] & RXNEIE else 0) | (TXE if self["CR2"] & TXEIE else 0)
        self.request(bool(flags & asked))
        if self.served_by is not None and (self.dma_request("TX") or self.dma_request("RX")):
            self.served_by()
