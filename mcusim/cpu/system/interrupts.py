"""Interrupts from outside the core, and what became of them: the host's side of the NVIC.

Not modelled: the time a signal needs to the core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic
from mcusim.cpu.system.event_queue import EventQueue, QueuedEvent
from mcusim.cpu.system.exception_log import ExceptionLog
from mcusim.errors import UsageError
from mcusim.memory.state_layout import TICK

_NAMES = {2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 11: "SVCall", 14: "PendSV",
          15: "SysTick"}  # fmt: skip
_ALWAYS = (X.NMI, X.HARD_FAULT, X.SVCALL, X.PENDSV, X.SYSTICK)


@dataclass(frozen=True, slots=True)
class ExceptionCount:
    """One exception: entries, cycles in its handler without those of handlers that preempted it, and latencies.

    A latency is the cycles from pending to the handler's first instruction; ``latencies`` counts each. ``handler`` is
    the address that its vector had last.
    """

    number: int
    name: str
    count: int
    cycles: float
    latencies: Mapping[float, int]
    handler: int = 0

    @property
    def latency(self) -> dict[str, float]:
        """Smallest, median (the lower of two) and largest latency in cycles."""
        ordered = sorted(self.latencies)
        seen, half = 0, (sum(self.latencies.values()) + 1) // 2
        median = ordered[-1]
        for cycles in ordered:
            seen += self.latencies[cycles]
            if seen >= half:
                median = cycles
                break
        return {"min": ordered[0], "median": median, "max": ordered[-1]}

    @property
    def jitter(self) -> float:
        """Largest latency less the smallest, in cycles."""
        return max(self.latencies) - min(self.latencies)

    def histogram(self, bins: int = 16) -> list[tuple[float, float, int]]:
        """``(from, to, how often)`` in cycles: each latency by itself, or where there are more than ``bins`` different
        ones equal steps; from inclusive, to exclusive but for the last."""
        ordered = sorted(self.latencies)
        if len(ordered) <= bins:
            return [(cycles, cycles, self.latencies[cycles]) for cycles in ordered]
        low, step = ordered[0], (ordered[-1] - ordered[0]) / bins
        counts = [0] * bins
        for cycles, times in self.latencies.items():
            counts[min(bins - 1, int((cycles - low) / step))] += times
        return [(low + i * step, low + (i + 1) * step, times) for i, times in enumerate(counts)]


class Interrupts:
    """The interrupt lines of a core, numbered from 0; each method raises UsageError for a line that is not there."""

    def __init__(self, core: CoreState, events: EventQueue, lines: int = X.LINES) -> None:
        self.state = X.ExceptionState(np.zeros(X.ExceptionState.WORDS, np.int64))
        self.state.implemented[0] = nvic.SYSTEM
        for line in range(lines):
            self.state.implemented[1 + line // 32] |= 1 << line % 32
        self._core, self._events = core, events
        self.log = ExceptionLog()
        self.reset()
        core.systick_due = X.NEVER
        self.late: Callable[[int], int] | None = None  # cycles that a line's signal takes to the core
        self._coming: dict[int, QueuedEvent] = {}

    def reset(self) -> None:
        """As after a system reset; counts, and whether there is a vector table, stay."""
        x = self.state
        x.zero(X.ExceptionState.pending, X.ExceptionState.pending_since)
        x.zero(X.ExceptionState.current, X.ExceptionState.lazy_frame)
        x.cfsr = x.hfsr = x.event = x.sev_on_pend = 0
        x.priority[X.NMI], x.priority[X.HARD_FAULT] = -2, -1
        x.enabled[0] = sum(1 << number for number in _ALWAYS)
        x.group_shift = 1

    def pend(self, irq: int) -> None:
        """A pulse on a line: its exception becomes pending."""
        nvic.pend(self.state, self._index(irq), self._events.now)
        self._core.horizon = 0

    def raise_line(self, irq: int) -> None:
        """The line goes high: it is pending, again when its handler returns, until :meth:`lower_line`."""
        later = self.late(irq) if self.late is not None and self._index(irq) else 0
        if later:
            self._coming[irq] = self._events.at(self._events.now // TICK + later, partial(self._rise, irq))
        else:
            self._rise(irq)

    def _rise(self, irq: int) -> None:
        self._coming.pop(irq, None)
        index = self._index(irq)
        nvic.add(self.state.line_high, index)
        if not nvic.has(self.state.active, index):
            self.pend(irq)

    def lower_line(self, irq: int) -> None:
        """The line goes low; what is pending stays so."""
        coming = self._coming.pop(irq, None)
        if coming is not None:
            coming.cancel()
        index = self._index(irq)
        nvic.drop(self.state.line_high, index)

    def enabled(self, irq: int) -> bool:
        """Whether the program has enabled the line."""
        return bool(nvic.has(self.state.enabled, self._index(irq)))

    def waited_for(self) -> list[int]:
        """The lines that the program has enabled and that were never taken."""
        enabled = (n for n in range(X.LINES) if self.enabled(n))
        return [n for n in enabled if not self.state.entries[X.FIRST_LINE + n]]

    def with_vectors(self) -> None:
        """The program has a vector table: exceptions are taken."""
        self.state.vector_table = 1

    @property
    def may_come(self) -> bool:
        """Whether an exception is pending and enabled, or SysTick or an event of the host is to come."""
        due = min(self._core.systick_due, self._core.event_due) < X.NEVER
        return bool(self.state.vector_table) and (due or nvic.highest(self.state) != 0)

    def preempts(self, level: int) -> bool:
        """Whether what is pending and enabled comes before ``level``."""
        index = nvic.highest(self.state)
        first = index != 0 and nvic.group(self.state, self.state.priority[index]) < level
        return first and bool(self.state.vector_table)

    def counts(self) -> list[ExceptionCount]:
        """What was entered so far, by exception number."""
        self.collect()
        exception_counts = []
        for index, latencies in sorted(self.log.latencies.items()):
            number = X.number_of(index)
            name = _NAMES.get(number, f"IRQ {number - 16}")
            cycles = self.state.handler_ticks[index] / TICK
            by_cycles = {ticks / TICK: times for ticks, times in latencies.items()}
            count, handler = self.state.entries[index], self.state.handler[index]
            exception_counts.append(ExceptionCount(number, name, count, cycles, by_cycles, handler))
        return exception_counts

    def collect(self, least: int = 1) -> None:
        """Take over what the hooks have written down, if there are ``least`` entries."""
        used = self.state.log_used
        if used >= least:
            self.log.add(self.state.log.table(used))
            self.state.log_used = 0

    def _index(self, irq: int) -> int:
        if not 0 <= irq < X.LINES:
            raise UsageError(f"interrupt line {irq}: a core has lines 0 to {X.LINES - 1}")
        return X.FIRST_LINE + irq
