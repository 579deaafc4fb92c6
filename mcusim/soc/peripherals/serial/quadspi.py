"""QUADSPI: indirect writes and reads, status polling and memory-mapped mode, before a serial NOR flash.

ST RM0385 chapter 14, RM0386: a command begins with the store that completes it (CCR, AR or DR), takes the clocks of its
phases at (CR.PRESCALER + 1) core cycles each, and sets SR.TCF at its end; the FIFO has 32 bytes; polling repeats a read
every PIR clocks until the masked status matches (SMF). CR.ABORT ends all. With CR.DMAEN it asks the DMA (FIFO) while a
read has filled the FIFO to its threshold or has ended, and while a write has room for that many bytes.

Not modelled: double data rate, two flashes, the core's wait at an empty or a full FIFO (it gets and gives its bytes at
once), an AHB divider of RCC; the memory-mapped region answers in every mode.
"""

from __future__ import annotations

from mcusim.soc.peripherals.serial.nor_flash import NorFlash
from mcusim.soc.register_block import BlockHost, RegisterBlock, Registers

EN, ABORT, DMAEN, TCEN, APMS, PMM = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 22, 1 << 23  # in CR
TEF, TCF, FTF, SMF, TOF, BUSY = (1 << n for n in range(6))  # in SR; the enable bits are 16 higher in CR
WRITE, READ, POLL, MAPPED = range(4)  # CCR.FMODE
ROOM = 32  # bytes of the FIFO
LINES = (0, 1, 2, 4)


class Quadspi(RegisterBlock):
    """``_left``: bytes that a command still has to move, the next of them at ``_next``; ``_data``: the FIFO's."""

    _mode = -1  # CCR.FMODE of the command under way
    _left, _begins, _next, _ends, _match = 0, 0, 0, 0, -1  # `_begins`: of the first byte
    _data, _finished = b"", False

    def __init__(self, name: str, base: int, size: int, registers: Registers, host: BlockHost, irq: int = -1):
        super().__init__(name, base, size, registers, host, irq)
        self.flash = NorFlash(host)

    # the command in CCR

    def _field(self, shift: int, width: int = 2) -> int:
        return self["CCR"] >> shift & (1 << width) - 1

    @property
    def _clock(self) -> int:
        return (self["CR"] >> 24) + 1

    def _phase(self, shift: int, bits: int) -> int:
        lines = LINES[self._field(shift)]
        return -(-bits // lines) if lines else 0

    @property
    def _head(self) -> int:
        """Core cycles up to the first byte of data."""
        address, alternate = 8 * (self._field(12) + 1), 8 * (self._field(16) + 1)
        clocks = self._phase(8, 8) + self._phase(10, address) + self._phase(14, alternate) + self._field(18, 5)
        return clocks * self._clock

    @property
    def _byte(self) -> int:
        return self._phase(24, 8) * self._clock

    @property
    def _threshold(self) -> int:
        """Bytes in the FIFO, of a write room for so many, at which the flag is set and the DMA asked."""
        return (self["CR"] >> 8 & 31) + 1

    @property
    def _length(self) -> int:
        size = 1 << (self["DCR"] >> 16 & 31) + 1
        return min(self["DLR"] + 1, size) if self._field(24) else 0

    # what happens by itself

    @property
    def waiting(self) -> bool:
        now = self.host.cycles
        if self._mode == POLL:
            return self._match > now
        return self._mode in (WRITE, READ) and (self._ends > now or bool(self._left and self._next > now))

    def _catch_up(self) -> None:
        now = self.host.cycles
        if self._mode == READ:
            while self._left and self._next <= now and len(self._data) < ROOM:
                self._receive()
        if self._mode in (WRITE, READ) and not self._left and self._ends <= now and not self._finished:
            self._finish()
        if self._mode == POLL and 0 <= self._match <= now:
            self["SR"] |= SMF
            if self["CR"] & APMS:
                self._mode = -1
            self._match = -1
        if self._mode == MAPPED and self["CR"] & TCEN and self._next <= now:
            self["SR"] |= TOF
        self._show()

    def _receive(self) -> None:
        first = self._length - self._left
        self._data += self.flash.read(self._field(0, 8), self["AR"], first, 1, self._next)
        self._left -= 1
        self._ends = self._next
        self._next += self._byte

    def _finish(self) -> None:
        if self._mode == WRITE:
            self.flash.write(self._field(0, 8), self["AR"], self._data)
            self._data = b""
        self["SR"] |= TCF
        self._finished = True
        if not self._data:
            self._mode = -1

    def line_enabled(self, irq: int) -> bool:
        return bool(self["CR"] >> 16 & (TEF | TCF | FTF | SMF | TOF))

    def has_sent(self, register: str, value: int) -> bool:
        return register == "SR" and bool(value & TCF or not value & BUSY)

    def _show(self) -> None:
        """FTF, FLEVEL and BUSY as they are now, and the interrupt."""
        level = len(self._data) if self._mode == READ else 0
        full = level >= self._threshold or (level > 0 and not self._left)
        sends = self._field(26) == WRITE and self._field(24) and self["CR"] & EN
        ready = full or bool(sends and (self._mode < 0 or self._left))
        status = self["SR"] & (TEF | TCF | SMF | TOF)
        self["SR"] = status | FTF * ready | BUSY * (self._mode >= 0) | level << 8
        self.request(bool(self["SR"] & self["CR"] >> 16 & (TEF | TCF | FTF | SMF | TOF)))
        if self.served_by is not None and self.dma_request("FIFO"):
            self.served_by()

    # the DMA

    def dma_request(self, request: str) -> bool:
        """FIFO: it is enabled for that, and has bytes of a read, or room for bytes of a write."""
        if request != "FIFO" or not self["CR"] & DMAEN or not self["SR"] & FTF:
            return False
        return self._mode == READ or self._room_at <= self.host.cycles

    @property
    def _room_at(self) -> int:
        """When a write's FIFO has room for as many bytes as the threshold."""
        room = self._ends - (ROOM - self._threshold) * self._byte
        return room if self._mode == WRITE and room > self._begins else self.host.cycles

    # what starts it

    def _start(self) -> None:
        if not self["CR"] & EN or self._mode >= 0:
            return
        self._mode, self._data, self._finished = self._field(26), b"", False
        if self._field(10) and self["AR"] >> (self["DCR"] >> 16 & 31) + 1 and self._mode != MAPPED:
            self._mode = -1
            self["SR"] |= TEF
            return
        begins = self.host.cycles + self._head
        if self._mode == MAPPED:
            self._next = self.host.cycles + (self["LPTR"] & 0xFFFF) * self._clock
        elif self._mode == POLL:
            self._match = self._match_from(begins + self._byte * self._length)
            if self._match >= 0:
                self.at(self._match, self._catch_up)
        else:
            self._left, self._next = self._length, begins + self._byte
            self._begins = self._ends = begins
            self.at(begins, self._catch_up)
            self._wake()

    def _wake(self) -> None:
        """Look again when an interrupt of a read may come: at the FIFO's threshold, and at the end."""
        if self._mode == READ and self._left:
            wanted = self._threshold - 1 - len(self._data)
            for more in {max(0, min(wanted, self._left - 1)), self._left - 1}:
                self.at(self._next + more * self._byte, self._catch_up)

    def _match_from(self, first: int) -> int:
        """When polling finds the status that PSMKR and PSMAR want, first looked at at ``first``; -1: never."""
        step = max(1, self._head + self._byte * self._length + (self["PIR"] & 0xFFFF) * self._clock)
        later = first + max(0, -(-(self.flash.ready_at - first) // step)) * step
        return next((cycle for cycle in (first, later) if self._matches(cycle)), -1)

    def _matches(self, cycle: int) -> bool:
        status = int.from_bytes(self.flash.read(self._field(0, 8), self["AR"], 0, self._length, cycle)[:4], "little")
        mask = self["PSMKR"]
        same = ~(status ^ self["PSMAR"]) & mask
        return bool(same) if self["CR"] & PMM else same == mask

    # registers

    def read(self, offset: int, size: int) -> int:
        if offset & ~3 != self._at["DR"]:
            return super().read(offset, size)
        self._catch_up()
        while self._mode == READ and self._left and len(self._data) < size:
            self._receive()
        taken, self._data = self._data[:size], self._data[size:]
        if self._left and self._next <= self.host.cycles:  # it waited for room
            self._next = self.host.cycles + self._byte
        if self._left and self["CR"] & (DMAEN | (TCF | FTF) << 16):
            self._wake()
        elif not self._left and not self._data and self._finished and self._mode == READ:
            self._mode = -1
        self._catch_up()
        return int.from_bytes(taken, "little")

    def write(self, offset: int, size: int, value: int) -> None:
        if offset & ~3 != self._at["DR"]:
            super().write(offset, size, value)
            return
        if self._field(26) == WRITE and self._mode < 0:
            self._start()
        if self._mode == WRITE and self._left:
            data = value.to_bytes(4, "little")[: min(size, self._left)]
            self._data += data
            self._left -= len(data)
            self._ends = max(self._ends, self.host.cycles) + self._byte * len(data)
            if not self._left:
                self.at(self._ends, self._catch_up)
            elif self["CR"] & DMAEN and self._room_at > self.host.cycles:
                self.at(self._room_at, self._catch_up)
        self._catch_up()

    def on_read(self, register: str, word: int) -> int:
        self._catch_up()
        return self[register]

    def on_write(self, register: str, value: int, old: int) -> None:
        sends = self._field(26) == WRITE and self._field(24)
        if register == "CR" and value & ABORT:
            self._mode, self._left, self._data = -1, 0, b""
            self["CR"] &= ~ABORT
            self["SR"] |= TCF
        elif register == "FCR":
            self["SR"] &= ~(value & (TEF | TCF | SMF | TOF))
        elif (register == "CCR" and (not self._field(10) or self._field(26) == MAPPED) and not sends) or (
            register == "AR" and self._field(10) and not sends
        ):
            self._start()
        self._catch_up()
