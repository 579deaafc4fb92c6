"""What a user's limits come to, and the ways out of a negative answer that were tried, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mcusim.display import Displayed

RULE = "on the same board first, then by latency"


@dataclass(frozen=True)
class LimitCheck:
    """``value`` of ``name`` (``latency`` in ms, ``energy`` in mJ, ``sram`` and ``flash`` in B) against its ``limit``.

    ``value`` is None when it is not known: there is no run, or no energy.
    """

    name: str
    unit: str
    limit: float
    value: float | None

    @property
    def met(self) -> bool:
        """Whether the value is known and within the limit."""
        return self.value is not None and self.value <= self.limit

    @property
    def over(self) -> float | None:
        """How much too much; None when it is met or not known."""
        return None if self.value is None or self.met else self.value - self.limit


@dataclass(frozen=True)
class WayOut:
    """One way that was tried and meets every limit: ``what`` is changed, and the ``command`` that gives its figures.

    ``other_board``: it is on another machine. ``interval_ms``: low and high of its latency.
    """

    what: str
    command: str
    machine: str
    policy: str
    latency_ms: float
    energy_mj: float | None
    peak_sram_bytes: int
    flash_bytes: int
    other_board: bool = False
    interval_ms: tuple[float, float] | None = None


@dataclass(frozen=True)
class Attempt:
    """What was tried in vain: ``what`` was changed, the ``command`` that does it, ``why`` it is no way out, and what it
    ``lacks``, in a few words."""

    what: str
    command: str
    why: str
    lacks: str


@dataclass(frozen=True)
class NextStep:
    """A ``command`` that is worth running next, and ``what`` it answers."""

    what: str
    command: str


@dataclass(frozen=True)
class Advice(Displayed):
    """``limits`` as checked; ``ways_out``, best first (:data:`RULE`), of ``tried`` others.

    ``note`` says how they were tried, or why none was; ``closest`` which came nearest when none is a way out, the first
    of ``attempts`` in vain. ``next_steps`` are of a run that needs no way out.
    """

    limits: tuple[LimitCheck, ...] = ()
    ways_out: tuple[WayOut, ...] = ()
    tried: int = 0
    closest: str | None = None
    note: str | None = None
    attempts: tuple[Attempt, ...] = ()
    next_steps: tuple[NextStep, ...] = ()

    @property
    def met(self) -> bool:
        """Whether every limit is."""
        return all(limit.met for limit in self.limits)

    @property
    def exceeded(self) -> Sequence[LimitCheck]:
        """The limits that are not met."""
        return [limit for limit in self.limits if not limit.met]

    def _line(self) -> str:
        met = sum(limit.met for limit in self.limits)
        return f"{met} of {len(self.limits)} limits met, {len(self.ways_out)} ways out of {self.tried} tried"

    def to_json(self) -> dict[str, Any]:
        """``limits`` (``name unit limit value met``), ``ways_out``, ``tried``, ``closest`` and ``note`` and
        ``ways_failed``, not the steps to take next."""
        return {
            "limits": [asdict(limit) | {"met": limit.met} for limit in self.limits],
            "ways_out": [
                asdict(way) | {"interval_ms": way.interval_ms and list(way.interval_ms)} for way in self.ways_out
            ],
            "ways_tried": self.tried,
            "closest_way": self.closest,
            "ways_note": self.note,
            "ways_failed": [asdict(attempt) for attempt in self.attempts],
        }
