"""The best use of boards for a model: what was tried, what is best, and what each decision is worth.

Not modelled: plans that were not tried; ``bound`` says how much better one could be, where it is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcusim.display import Displayed
from mcusim.results.result import Result

Decisions = Mapping[str, str | bool | None]
"""Options of ``mcusim run`` by their flags; None is the default."""
OBJECTIVES = ("latency", "energy", "sram")
NEVER = float("inf")


@dataclass(frozen=True)
class TriedPlan:
    """A plan on ``machine``: its ``decisions`` are options of ``mcusim run`` by their flags.

    Figures are None where there was no run; ``reason`` says why, or which limits are exceeded, and ``short`` how far it
    is from what is asked, 0 for a plan that meets all of it. Figures are those of ``fidelity``, ``replayed_cycles`` and
    ``replayed_ms`` always of the replay; ``verified``: by whose word the outputs are right, byte for byte.
    """

    machine: str
    decisions: Decisions
    cycles: int | None = None
    latency_ms: float | None = None
    energy_mj: float | None = None
    interval_ms: tuple[float, float] | None = None
    sram_bytes: int | None = None
    flash_bytes: int | None = None
    replayed_cycles: int | None = None
    replayed_ms: float | None = None
    fidelity: str = "replay"
    verified: str = ""
    reason: str = ""
    short: float = 0.0
    command: str = ""
    result: Result | None = field(default=None, repr=False, compare=False)

    @property
    def meets(self) -> bool:
        """Whether it fits and is within every limit."""
        return self.short == 0 and self.cycles is not None

    def figure(self, objective: str) -> float:
        """What is to be small; without a run endless."""
        value = {"latency": self.latency_ms, "energy": self.energy_mj, "sram": self.sram_bytes}[objective]
        return NEVER if value is None else float(value)

    def to_json(self) -> dict[str, Any]:
        """Its fields, but for the result."""
        named = ("machine", "fidelity", "cycles", "latency_ms", "energy_mj", "sram_bytes", "flash_bytes")
        entries: dict[str, Any] = {name: getattr(self, name) for name in (*named, "replayed_cycles", "replayed_ms")}
        entries |= {"interval_ms": self.interval_ms and list(self.interval_ms), "decisions": dict(self.decisions)}
        return entries | {
            "verified": self.verified,
            "meets": self.meets,
            "reason": self.reason,
            "command": self.command,
        }


@dataclass(frozen=True)
class DecisionWorth:
    """What an ``option`` of the best plan is worth: the figures ``without`` it over those with it; None where the plan
    is impossible without it."""

    option: str
    value: str
    latency: float | None
    sram: float | None
    reason: str = ""


@dataclass(frozen=True)
class PlanAdvice(Displayed):
    """``tried``, the best first, of ``model`` on one board or several, for the least ``objective``.

    ``best`` is None where nothing meets what is asked; ``tried[0]`` is the closest then. ``front``: those that are
    better than any other in latency or in on-chip RAM. ``worth`` of each of the best plan's decisions.
    """

    model: str
    objective: str
    kernels: str
    tried: tuple[TriedPlan, ...]
    best: TriedPlan | None = None
    front: tuple[TriedPlan, ...] = ()
    worth: tuple[DecisionWorth, ...] = ()
    notes: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def fits(self) -> bool:
        return self.best is not None

    def to_json(self) -> dict[str, Any]:
        """``model objective kernels fits best front[] tried[] worth[] notes[] bound``; ``bound`` is null: not known."""
        return {
            "model": self.model,
            "objective": self.objective,
            "kernels": self.kernels,
            "fits": self.fits,
            "best": None if self.best is None else self.best.to_json(),
            "front": [plan.to_json() for plan in self.front],
            "tried": [plan.to_json() for plan in self.tried],
            "worth": [vars(item) for item in self.worth],
            "notes": list(self.notes),
            "bound": None,
        }

    def _line(self) -> str:
        return f"{self.model[:60]}: {'fits' if self.fits else 'nothing meets it'}, {len(self.tried)} plans tried"


def pareto_front(tried: tuple[TriedPlan, ...]) -> tuple[TriedPlan, ...]:
    """Plans that meet what is asked and that no other beats in replayed latency and on-chip RAM, the fastest first."""
    front: list[TriedPlan] = []
    able = [plan for plan in tried if plan.meets]
    for plan in sorted(able, key=lambda plan: (plan.replayed_ms or 0.0, plan.figure("sram"))):
        if not front or plan.figure("sram") < front[-1].figure("sram"):
            front.append(plan)
    return tuple(front)
