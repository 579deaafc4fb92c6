"""ADC of the L4 and H7: calibration, enabling and regular conversions of open inputs, which give 0.

ST's HAL: a calibration takes 116 of the ADC's clocks on the L4+, on the H7 1,280 of the offset, with ADCALLIN 16,384.
Assumed: a clock of 36 MHz, getting ready one of these, a conversion 247.5 + 12.5, sampling for the longest but one of
the L4+. Bits of CR and ISR: ST's CMSIS headers.

Not modelled: what the inputs have, sampling times and the ADC's clock as they are set, injected conversions but for
their start and end, conversions that a timer triggers, watchdogs, offsets, oversampling, two ADCs together.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from mcusim.soc.register_block import RegisterBlock

ADC_CLOCK = 36_000_000
CALIBRATION, OFFSET, OFFSET_AND_LINEARITY, CONVERSION = 116, 1_280, 16_384, 260  # of its clocks
ADRDY, EOC, EOS, OVR, JEOC, JEOS = 1 << 0, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6  # in ISR, and in IER
LDORDY = 1 << 12  # in ISR, of the H7
ADEN, ADDIS, ADSTART, JADSTART, ADSTP, JADSTP = (1 << n for n in range(6))  # in CR
ADCALLIN, ADVREGEN, ADCAL = 1 << 16, 1 << 28, 1 << 31  # in CR
CONT, TRIGGERED = 1 << 13, 0xC00  # in CFGR
TO_DMA = 1  # in CFGR: DMAEN, or DMNGT with this bit


class Adc(RegisterBlock):
    """``_run`` counts starts and stops: a conversion of an earlier run gives nothing. ``_left``: of the sequence."""

    _run = 0
    _left = 0
    _asking = False
    _until = 0  # cycle at which calibration or a conversion ends

    @property
    def waiting(self) -> bool:
        return self._until > self.host.cycles or super().waiting

    def dma_request(self, request: str) -> bool:
        """DR: a result waits, and CFGR sends it to the DMA."""
        return self._asking

    def dma_ack(self, request: str) -> None:
        self._asking = False

    def on_read(self, register: str, word: int) -> int:
        if register == "DR":
            self["ISR"] &= ~EOC
            self._asking = False
            self._ask()
        return word

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "CR":
            self._control(value, old)
        self._ask()

    def _control(self, value: int, old: int) -> None:
        self["CR"] = (old & (ADEN | ADSTART | JADSTART | ADCAL) | value) & ~(ADDIS | ADSTP | JADSTP)
        if value & ADVREGEN and "PCSEL" in self._at:
            self["ISR"] |= LDORDY
        if value & ADCAL and not old & ADCAL:
            self._after(self._calibration(value), self._calibrated)
        if value & ADEN and not old & ADEN:
            self._after(1, self._ready)
        if value & (ADSTP | ADDIS):
            self["CR"] &= ~(ADSTART | JADSTART)
            self._run += 1
        if value & ADDIS:
            self["CR"] &= ~ADEN
        if value & JADSTART and old & ADEN:
            self._after(CONVERSION, self._injected)
        if value & ADSTART and not old & ADSTART and old & ADEN and not self["CFGR"] & TRIGGERED:
            self._run += 1
            self._begin()

    def _calibration(self, control: int) -> int:
        if "PCSEL" not in self._at:
            return CALIBRATION
        return OFFSET_AND_LINEARITY if control & ADCALLIN else OFFSET

    def _begin(self) -> None:
        self._left = (self["SQR1"] & 15) + 1
        self._convert()

    def _convert(self) -> None:
        run = self._run
        self._after(CONVERSION, lambda: self._converted() if run == self._run else None)

    def _converted(self) -> None:
        overrun = self["ISR"] & EOC and not self["CFGR"] & TO_DMA
        self._left -= 1
        self["ISR"] |= EOC | (OVR if overrun else 0) | (0 if self._left else EOS)
        if self._left:
            self._convert()
        elif self["CFGR"] & CONT:
            self._begin()
        else:
            self["CR"] &= ~ADSTART
        if self["CFGR"] & TO_DMA:
            self._asking = True
            self["ISR"] &= ~EOC  # the DMA's load of DR
            if self.served_by is not None:
                self.served_by()
        self._ask()

    def _injected(self) -> None:
        self["CR"] &= ~JADSTART
        self["ISR"] |= JEOC | JEOS
        self._ask()

    def _calibrated(self) -> None:
        self["CR"] &= ~ADCAL

    def _ready(self) -> None:
        if self["CR"] & ADEN:
            self["ISR"] |= ADRDY
        self._ask()

    def _after(self, clocks: int, done: Callable[[], None]) -> None:
        self._until = self.host.cycles + ceil(clocks * self.host.core_clock / ADC_CLOCK)
        self.at(self._until, done)

    def line_enabled(self, irq: int) -> bool:
        return bool(self["IER"] & 0x7FF)

    def _ask(self) -> None:
        self.request(bool(self["ISR"] & self["IER"] & 0x7FF))
