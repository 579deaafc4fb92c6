"""I2C: a master whose transfers nothing answers.

ST RM0090 27 (SR1, SR2); those with ISR alike, by bits of ST's CMSIS headers (assumed): a start condition takes a bit,
an address eight and one for the acknowledge, which stays away: AF, or NACKF and the stop condition that the newer ones
send by themselves. A bit takes what CCR or TIMINGR asks of the bus's clock. The line of errors is the one behind that
of events, or a block's ``error_irq``.

Not modelled: devices on the bus, transfers as a slave, DMA, time-outs, other clocks than the bus's.
"""

from __future__ import annotations

from collections.abc import Callable

from mcusim.soc.register_block import RegisterBlock

PE = 1 << 0  # in CR1
START, STOP, RESET = 1 << 8, 1 << 9, 1 << 15  # in CR1 of those with SR1
SB, AF = 1 << 0, 1 << 10  # in SR1
MASTER, BUS_BUSY = 1 << 0, 1 << 1  # in SR2
EVENTS, ERRORS = 1 << 9, 1 << 8  # in CR2 of those with SR1
START_NOW, TEN_BITS = 1 << 13, 1 << 11  # in CR2 of those with ISR
NACKF, STOPF, BUSY = 1 << 4, 1 << 5, 1 << 15  # in ISR; CR1 enables the interrupts of the first two in the same bits
CLEARABLE = 0x3F38  # flags of ISR that ICR clears
ADDRESS_BITS = 9


class I2c(RegisterBlock):
    """Both generations, by the registers they have."""

    wiring_keys = ("error_irq",)  # where it is not the line behind ``irq``
    _under_way = 0

    @property
    def lines(self) -> tuple[int, ...]:
        return (self.irq, self._errors) if self.irq >= 0 else ()

    @property
    def _errors(self) -> int:
        return self.wiring.get("error_irq", self.irq + 1)

    @property
    def waiting(self) -> bool:
        return self._under_way > 0 or super().waiting

    def on_write(self, register: str, value: int, old: int) -> None:
        if "ISR" in self._at:
            self._stored_newer(register, value)
        else:
            self._stored_older(register, value)
        self._ask()

    def _stored_older(self, register: str, value: int) -> None:
        if register == "DR" and self["SR1"] & SB:
            self["SR1"] &= ~SB
            self._later(ADDRESS_BITS, lambda: self._unanswered(value >> 1 & 0x7F))
        if register != "CR1":
            return
        if value & RESET:
            self["SR1"] = self["SR2"] = 0
        if value & STOP:
            self["SR2"] &= ~(MASTER | BUS_BUSY)
        if value & START and self["CR1"] & PE:
            self._later(1, self._started)

    def _stored_newer(self, register: str, value: int) -> None:
        if register == "ICR":
            self["ISR"] &= ~(value & CLEARABLE)
        if register == "CR1" and not value & PE:
            self["ISR"] &= ~(NACKF | STOPF | BUSY)
        if register == "CR2" and value & START_NOW and self["CR1"] & PE and not self["ISR"] & BUSY:
            self["ISR"] |= BUSY
            address = value & 0x3FF if value & TEN_BITS else value >> 1 & 0x7F
            self._later(1 + ADDRESS_BITS + 1, lambda: self._unanswered(address))

    def _started(self) -> None:
        self["CR1"] &= ~START
        self["SR1"] |= SB
        self["SR2"] |= MASTER | BUS_BUSY

    def _unanswered(self, address: int) -> None:
        self.host.warn(f"{self.name}: nothing answers at address {address:#04x}")
        if "ISR" in self._at:
            self["CR2"] &= ~START_NOW
            self["ISR"] = self["ISR"] & ~BUSY | NACKF | STOPF
        else:
            self["SR1"] |= AF

    def _later(self, bits: int, happens: Callable[[], None]) -> None:
        def now() -> None:
            self._under_way -= 1
            happens()
            self._ask()

        self._under_way += 1
        self.at(self.host.cycles + bits * self._bit(), now)

    def _bit(self) -> int:
        """Core cycles that a bit takes; at least one."""
        clock = self.host.dividers(self.bus)[0]
        if "ISR" in self._at:
            timing = self["TIMINGR"]
            return clock * ((timing >> 28) + 1) * ((timing & 0xFF) + (timing >> 8 & 0xFF) + 2)
        fast, duty = self["CCR"] >> 15 & 1, self["CCR"] >> 14 & 1
        return clock * max(1, self["CCR"] & 0xFFF) * ((25 if duty else 3) if fast else 2)

    def line_enabled(self, irq: int) -> bool:
        if "ISR" in self._at:
            return bool(self["CR1"] & 0xFE)  # TXIE to ERRIE
        return bool(self["CR2"] & (EVENTS if irq == self.irq else ERRORS))

    def _ask(self) -> None:
        if "ISR" in self._at:
            self.request(bool(self["ISR"] & self["CR1"] & (NACKF | STOPF)))
            return
        self.request(bool(self["SR1"] & SB and self["CR2"] & EVENTS))
        if self.irq >= 0:
            self.request(bool(self["SR1"] & AF and self["CR2"] & ERRORS), self._errors)
