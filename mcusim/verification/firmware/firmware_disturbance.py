"""Seeded disturbances of a firmware's run: what a board's timing may do to it and correct firmware does not notice.

Each transfer starts late and has a slower bus, each interrupt arrives late, and other interrupts hold up the core while
transfers run. How much is drawn as for programs (:mod:`mcusim.engine.disturbance`), by the seed, the kind, and how many
transfers, or interrupts of that line, there were before: a seed replays exactly, on any machine and in any process.

Not modelled: the timing of SysTick, a transfer that is held up in its middle.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from weakref import proxy

from mcusim.emulator.emulator import Emulator
from mcusim.engine.disturbance import BEAT_CYCLES, MICROSECONDS, STRENGTHS, UNIT
from mcusim.memory import state_layout as L


class FirmwareDisturbance:
    """The disturbances of ``seed`` on ``emulator``, from now on."""

    def __init__(self, seed: int, emulator: Emulator) -> None:
        self._seed, self._emulator = seed, proxy(emulator)
        self._counts: Counter[str] = Counter()
        own = proxy(self)
        emulator.interrupts.late = lambda irq: own.cycles("completion", f"irq {irq}")

    def transfer(self) -> tuple[int, int]:
        """Of the next transfer: cycles that it starts later, and ticks that each of its reads takes longer. Another
        interrupt comes after a while."""
        emulator, number = self._emulator, self._counts["transfer"]
        hold = self.cycles("stall", "stall")
        if hold:
            after = self._number("after", number) * 2 * hold // UNIT
            emulator.at(emulator.cycles + after, lambda: self._hold(hold))
        later = self.cycles("start", "transfer")
        return later, self._share("beat", number) * BEAT_CYCLES * L.TICK // UNIT

    def _hold(self, cycles: int) -> None:
        """The core is elsewhere for so long."""
        self._emulator.memory.state.now += cycles * L.TICK

    def cycles(self, kind: str, what: str) -> int:
        """The next draw of a kind, for one of ``what``."""
        number = self._counts[what]
        self._counts[what] += 1
        clock: int = self._emulator.machine.core.clock
        return self._share(f"{kind} {what}", number, kind) * MICROSECONDS[kind] * clock // (1_000_000 * UNIT)

    def _share(self, name: str, number: int, kind: str = "beat") -> int:
        """Of ``UNIT``: squared, so that small ones are frequent, by the strength the seed has for the kind."""
        x = self._number(name, number)
        return x * x // UNIT * STRENGTHS[self._number(kind, -1) % len(STRENGTHS)] // max(STRENGTHS)

    def _number(self, name: str, number: int) -> int:
        """A whole number below ``UNIT``."""
        return int.from_bytes(blake2b(f"{self._seed} {number} {name}".encode(), digest_size=4).digest())
