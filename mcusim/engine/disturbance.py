"""Seeded disturbances of a run: what a board's timing may do to it and a correct program does not notice.

Each transfer starts late, is moved over a slower bus, and its completion is noticed late; another interrupt holds up
each task of the core; transfers of equal priority go in any order. Each seed has some of these weak or not at all and
others strong. A draw depends on the seed, the task and the kind alone, never on the order of calls, so a seed replays
exactly, on any machine and in any process.

Not modelled: a transfer that is held up in its middle, an interrupt in the middle of a kernel other than a transfer's
completion, a slower bus under fidelity ``replay``; the figures are bounds chosen to exceed what a firmware with other
interrupts of up to 60 us shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b

from mcusim.memory.state_layout import TICK
from mcusim.program.program import Task, Transfer

MICROSECONDS = {"start": 60, "completion": 40, "stall": 60}  # the most that each kind takes
BEAT_CYCLES = 256  # the most a beat takes longer: the others on the bus leave it the rest
ORDERS = 1 << 16  # of transfers with equal priority
UNIT = 1 << 32
STRENGTHS = (0, 1, 4, 16)  # of 16: one for each seed and kind


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The disturbances of ``seed``, any whole number. Times in core cycles of a core at ``clock`` Hz."""

    seed: int

    def start(self, task: Transfer, clock: int) -> int:
        """Cycles between the set-up of a transfer and its first beat."""
        return self._cycles("start", task, clock)

    def completion(self, task: Transfer, clock: int) -> int:
        """Cycles between a transfer's last beat and its interrupt's handler."""
        return self._cycles("completion", task, clock)

    def stall(self, task: Task, clock: int) -> int:
        """Cycles that another interrupt has the core before it starts a task."""
        return self._cycles("stall", task, clock)

    def beat(self, task: Transfer) -> int:
        """Ticks that each beat (or burst) of a transfer has its controller longer."""
        return self._share("beat", task) * BEAT_CYCLES * TICK // UNIT

    def arbitrated(self, task: Transfer) -> Transfer:
        """``task`` with a priority that also orders it against equal ones, and against all others as before."""
        return replace(task, priority=task.priority * ORDERS + self._number("order", task.id) % ORDERS)

    def _cycles(self, kind: str, task: Task, clock: int) -> int:
        return self._share(kind, task) * MICROSECONDS[kind] * clock // (1_000_000 * UNIT)

    def _share(self, kind: str, task: Task) -> int:
        """Of ``UNIT``: squared, so that small ones are frequent, by the strength the seed has for the kind."""
        x = self._number(kind, task.id)
        return x * x // UNIT * STRENGTHS[self._number(kind, -1) % len(STRENGTHS)] // max(STRENGTHS)

    def _number(self, kind: str, task: int) -> int:
        """A whole number below ``UNIT``."""
        return int.from_bytes(blake2b(f"{self.seed} {task} {kind}".encode(), digest_size=4).digest())
