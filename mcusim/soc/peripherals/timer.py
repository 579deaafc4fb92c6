"""TIM: counting up or down, update and compare events with their interrupts, one-pulse mode.

ST RM0090 chapters 17 to 20. The counter is worked out from the cycles since its last update when it is read; an event
of the emulated core is entered only where one requests an interrupt, or an update a DMA transfer. A change of PSC, and
of ARR with CR1.ARPE, counts from the next update on. A channel's flag is set when the counter reaches its CCR; those
timers that have it request a line of their own, ``compare_irq``, for these.

Not modelled: outputs, capture, preloaded CCR, counting up and down in turn, slave modes, DMA requests of anything but
updates, dead time; a change of the APB divider while the timer counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mcusim.soc.register_block import RegisterBlock

CEN, UDIS, URS, OPM, DIR, ARPE = 1, 2, 4, 8, 16, 128  # in CR1
ASKS = 1 << 8  # UDE in DIER
UPDATE = 1  # UIE in DIER, UIF in SR, UG in EGR
FLAGS = 0x1F  # those of SR whose interrupts DIER has at the same bits
COMPARE = 0x1E  # CC1IE to CC4IE in DIER, CC1IF to CC4IF in SR, CC1G to CC4G in EGR


class Timer(RegisterBlock):
    """``_since`` is the cycle of the last update, less what had been counted when the timer was started."""

    wiring_keys = ("compare_irq", "channels")  # the line of compare events, if it is its own; 4 channels
    _since, _entered = 0, 0
    _matched = 0  # cycle up to which the flags of the channels are right
    _scheduled: Mapping[int, int] = MappingProxyType({})  # by channel: the match that it will be called for
    _asked = False  # a DMA controller, since the last update
    _loaded = 0  # SR as the program has loaded it last
    _prescaler, _reload = 1, 0x1_0000  # in use: PSC + 1, ARR + 1

    @property
    def _channels(self) -> range:
        return range(1, self.wiring.get("channels", 4) + 1)

    @property
    def _compare_irq(self) -> int:
        return self.wiring.get("compare_irq", self.irq)

    @property
    def _step(self) -> int:
        """Core cycles of one count."""
        return self._prescaler * self.host.dividers(self.bus)[1]

    @property
    def _period(self) -> int:
        """Core cycles from one update to the next."""
        return self._step * self._reload * ((self["RCR"] & 0xFF) + 1)

    @property
    def waiting(self) -> bool:
        return bool(self["CR1"] & CEN)

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(sorted({*super().lines, self._compare_irq} - {-1}))

    def _take_over(self) -> None:
        self._prescaler, self._reload = (self["PSC"] & 0xFFFF) + 1, self["ARR"] + 1

    def _match(self, channel: int, after: int) -> int | None:
        """The first cycle behind ``after`` at which the counter is at CCR of ``channel``; None: it never is."""
        value, turn = self[f"CCR{channel}"], self._step * self._reload
        if not self["CR1"] & CEN or value >= self._reload:
            return None
        first = self._since + self._step * (self._reload - 1 - value if self["CR1"] & DIR else value)
        return first + max(0, (after - first) // turn + 1) * turn

    def _compare(self) -> None:
        """Set the flags of the channels that the counter has reached by now."""
        now = self.host.cycles
        for channel in self._channels:
            due = self._match(channel, self._matched)
            if due is not None and due <= now:
                self["SR"] |= 1 << channel
        self._matched = now

    def _catch_up(self) -> None:
        """Make the events that are due by now."""
        self._compare()
        self._update()
        self._interrupt()

    def _update(self) -> None:
        if not self["CR1"] & CEN or self.host.cycles < self._since + self._period:
            return
        self._since += self._period
        self._take_over()
        if self["CR1"] & OPM:
            self["CR1"] &= ~CEN
            self["CNT"] = self._passed(0)
        else:
            self._since += (self.host.cycles - self._since) // self._period * self._period
        if not self["CR1"] & UDIS:
            self["SR"] |= UPDATE
            self._ask()

    def _ask(self) -> None:
        self._asked = bool(self["DIER"] & ASKS)
        if self._asked and self.served_by is not None:
            self.served_by()

    def dma_request(self, request: str) -> bool:
        """UP: there was an update with UDE since a unit was moved for one."""
        return request == "UP" and self._asked and bool(self["DIER"] & ASKS)

    def dma_ack(self, request: str) -> None:
        self._asked = False

    def line_enabled(self, irq: int) -> bool:
        own = (UPDATE if irq == self.irq else 0) | (COMPARE if irq == self._compare_irq else 0)
        return bool(self["DIER"] & own)

    def _interrupt(self) -> None:
        active = self["SR"] & self["DIER"]
        if self._compare_irq == self.irq:
            self.request(bool(active & (UPDATE | COMPARE)))
        else:
            self.request(bool(active & UPDATE))
            self.request(bool(active & COMPARE), self._compare_irq)
        for channel in self._channels:
            next_match = self._match(channel, self.host.cycles) if self["DIER"] >> channel & 1 else None
            if next_match is not None and next_match != self._scheduled.get(channel):
                self._scheduled = {**self._scheduled, channel: next_match}
                self.at(next_match, self._catch_up)
        due = self._since + self._period
        if self["CR1"] & CEN and self["DIER"] & (UPDATE | ASKS) and due != self._entered:
            self._entered = due
            self.at(max(due, self.host.cycles), self._catch_up)

    def _passed(self, count: int) -> int:
        """Counts from an update to ``count``; and the other way round, the counter so many counts after an update."""
        return self._reload - 1 - count if self["CR1"] & DIR else count

    def _count(self) -> int:
        if not self["CR1"] & CEN:
            return self["CNT"]
        return self._passed((self.host.cycles - self._since) // self._step % self._reload)

    def on_read(self, register: str, word: int) -> int:
        self._catch_up()
        if register == "SR":
            self._loaded = self["SR"]
        return self._count() if register == "CNT" else self[register]

    def on_write(self, register: str, value: int, old: int) -> None:
        now, written = self.host.cycles, self[register]
        self[register] = old
        self._catch_up()  # as it was set up so far
        count = self._count()
        if register == "SR":
            if value & self._loaded == value != self._loaded:
                self.flags_lost("SR", self["SR"] & self["DIER"] & ~self._loaded & FLAGS)
            self["SR"] &= written  # a 0 clears
        else:
            self[register] = written
        if register == "CR1" and not written & CEN:
            self["CNT"] = count
        elif register == "CR1" and (~old & CEN or (old ^ written) & DIR):
            self._since = now - self._passed(count) * self._step
        elif register == "CNT":
            self._since = now - self._passed(written) * self._step
        elif register == "ARR" and not (self["CR1"] & ARPE and self["CR1"] & CEN):
            self._reload = written + 1
        elif register == "EGR":
            self["SR"] |= value & COMPARE
        if register == "EGR" and value & UPDATE:
            self._take_over()
            self._since, self["CNT"] = now, self._passed(0)
            if not self["CR1"] & (URS | UDIS):
                self["SR"] |= UPDATE
                self._ask()
        self._interrupt()
