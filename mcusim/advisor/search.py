"""The search: plans that are one decision away from the best so far, by replay, until none is better.

Not modelled: decisions that help together alone; the space is not enumerated, so that a better plan may exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import log
from time import monotonic

from mcusim.advisor.moves import moves, seeds, with_fixed_buffers
from mcusim.advisor.tensor_moves import TensorWaits, tensor_moves
from mcusim.api.advice.candidates import changed_settings
from mcusim.api.advice.limit_checks import check_limits, flash_bytes
from mcusim.api.simulate import simulate_loaded
from mcusim.errors import InputError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import RUNTIME
from mcusim.report.run.advice_text import exceeded_text
from mcusim.results import Result
from mcusim.results.plan_advice import Decisions, TriedPlan
from mcusim.results.result import sram_bytes
from mcusim.run_config.run_limits import RunLimits
from mcusim.run_config.settings import Settings

BEAM = 3  # plans whose neighbours are tried
NEVER = float("inf")
Key = tuple[tuple[str, object], ...]


@dataclass
class PlanSearch:
    """Plans of ``graph`` on ``machine``; ``base`` has what stays. ``objective``: ``latency``, ``energy`` or ``sram``.

    At most ``trials`` replays, none begun after ``seconds``. ``progress`` is called with each plan that was tried;
    ``runtimes``: those to try, None for all.
    """

    graph: Graph
    machine: Machine
    base: Settings
    limits: RunLimits
    objective: str
    trials: int
    seconds: float
    progress: Callable[[TriedPlan], object] | None = None
    runtimes: Sequence[str] | None = None
    tried: dict[Key, TriedPlan] = field(default_factory=dict)
    idle: set[tuple[object, ...]] = field(default_factory=set)  # values of options that change nothing
    waits: dict[tuple[object, ...], TensorWaits] = field(default_factory=dict)  # by policy and runtime

    def run(self) -> list[TriedPlan]:
        """All that was tried, the best first."""
        ends = monotonic() + self.seconds
        for plan, source in self._untried(ends):
            self._try(plan, source)
        return self.ranked

    @property
    def runs(self) -> int:
        """Plans that were replayed."""
        return sum(item.cycles is not None for item in self.tried.values())

    @property
    def ranked(self) -> list[TriedPlan]:
        """By limits that are met, then the objective, then latency and RAM, then how few decisions there are."""
        return sorted(self.tried.values(), key=self.rank)

    def _untried(self, ends: float) -> Iterator[tuple[Decisions, TriedPlan | None]]:
        """What to try next: seeds, then neighbours of the best, those of a new best first; each with whose it is."""
        for plan in list(seeds(self.runtimes))[: self.trials]:
            yield plan, None
        while True:
            best = self._beam()
            todo = [pair for pair in self._neighbours(best) if _key(pair[0]) not in self.tried]
            if not todo:
                return
            for plan, source in todo:
                if self.runs >= self.trials or monotonic() > ends:
                    return
                yield plan, source
                if self.ranked[:1] != best[:1]:
                    break

    def _beam(self) -> list[TriedPlan]:
        """The best of different figures, and of those that cannot be planned none."""
        best: dict[object, TriedPlan] = {}
        for item in self.ranked:
            if item.short < NEVER:
                best.setdefault((item.cycles, item.sram_bytes, item.short), item)
        return list(best.values())[:BEAM]

    def _neighbours(self, best: list[TriedPlan]) -> Iterator[tuple[Decisions, TriedPlan]]:
        known: set[Key] = set()
        for item in best:
            for plan in self._moves(item):
                if _key(plan) not in known and _move(item.decisions, plan) not in self.idle:
                    known.add(_key(plan))
                    yield plan, item

    def _moves(self, item: TriedPlan) -> Iterator[Decisions]:
        item = with_fixed_buffers(item)
        waits = self.waits.get(_executed(item.decisions), TensorWaits())
        yield from tensor_moves(self.graph, item, waits, self.limits.sram)
        yield from moves(self.machine, item.decisions, self.limits.sram)

    def _try(self, plan: Decisions, source: TriedPlan | None) -> None:
        item = self.evaluate(plan)
        self.tried[_key(plan)] = item
        if item.result is not None and item.result.run is not None:
            self.waits.setdefault(_executed(plan), TensorWaits()).learn(self.graph, item.result)
        if source is not None and (item.cycles, item.sram_bytes) == (source.cycles, source.sram_bytes):
            self.idle.add(_move(source.decisions, plan))
        if self.progress is not None:
            self.progress(item)

    def evaluate(self, plan: Decisions) -> TriedPlan:
        """``plan`` by replay; one that cannot be made has a reason."""
        if (known := self.tried.get(_key(plan))) is not None:
            return known
        named = TriedPlan(self.machine.name, dict(plan))
        try:
            result = simulate_loaded(self.graph, self.machine, changed_settings(self.base, plan))
        except InputError as error:
            return replace(named, reason=" ".join(str(error).split())[:300], short=NEVER)
        return self.judged(named, result)

    def judged(self, plan: TriedPlan, result: Result) -> TriedPlan:
        """``plan`` with the figures of its ``result``, and how far it is from what is asked."""
        if result.run is None:
            lack = result.does_not_fit
            short = NEVER if lack is None else (lack.needed - lack.available) / max(1, lack.available)
            return replace(plan, reason=str(result.negative), short=1 + short)
        over = [check for check in check_limits(result, self.limits) if not check.met]
        return replace(
            plan,
            cycles=result.run.cycles,
            replayed_cycles=result.run.cycles,
            replayed_ms=result.value("latency_ms"),
            latency_ms=result.value("latency_ms"),
            energy_mj=result.value("energy_mj"),
            interval_ms=None if result.interval is None else result.interval.latency_ms,
            sram_bytes=sram_bytes(result),
            flash_bytes=flash_bytes(result),
            reason=", ".join(exceeded_text(check) for check in over),
            short=max(((check.over or 0) / max(check.limit, 1e-9) for check in over), default=0.0),
            result=result,
        )

    def rank(self, item: TriedPlan) -> tuple[float, ...]:
        """What plans are sorted by: differences below a thousandth, or 256 B, are worth no decision."""
        exact = item.figure(self.objective)
        of_objective = _coarse(self.objective, exact)
        others = [_coarse(name, item.figure(name)) for name in ("latency", "sram")]
        return (item.short, of_objective, *others, len(item.decisions), exact)


def _coarse(objective: str, figure: float) -> float:
    if figure in (0.0, NEVER):
        return figure
    return figure // 256 if objective == "sram" else round(log(figure) * 1000)


def _executed(plan: Decisions) -> tuple[object, ...]:
    """What waits are known for."""
    return plan["policy"], plan.get(RUNTIME.flag)


def _move(source: Decisions, plan: Decisions) -> tuple[object, ...]:
    """What of ``plan`` is otherwise than in ``source``, under its policy and runtime."""
    changed = [(flag, plan.get(flag)) for flag in {*source, *plan} if source.get(flag) != plan.get(flag)]
    return (plan.get("policy"), plan.get(RUNTIME.flag), *sorted(changed, key=str))


def _key(plan: Decisions) -> Key:
    return tuple(sorted((name, value) for name, value in plan.items() if value is not None))
