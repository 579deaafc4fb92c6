"""Which changes of a run might be a way out, the most promising first.

Not modelled: changes of the machine's keys, of kernels but for those of a runtime, and of the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.model.geometry import geometry
from mcusim.model.graph import Graph
from mcusim.plan import SRAM_BUDGET, declared_options, takers
from mcusim.plan.allocators.greedy import ArenaBlock
from mcusim.plan.allocators.optimal import optimal
from mcusim.plan.arena import ALIGN
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.lifetimes import lifetimes
from mcusim.plan.options import ALLOCATOR, IN_PLACE, ORDER, PATCHES, WEIGHTS
from mcusim.plan.ordering import optimal_order
from mcusim.plan.policies.tinyops import BUFFERING
from mcusim.plan.pools import largest_region, sram_pool
from mcusim.plan.registry import all_policies, policy_options
from mcusim.results import Result
from mcusim.results.advice import LimitCheck
from mcusim.run_config.kernel_choice import resolve
from mcusim.run_config.settings import Settings
from mcusim.runtime.patches import AUTO
from mcusim.runtime.planning_costs import costs_of
from mcusim.runtime.runtime import find_runtime, runtime_names

SEARCH = 0.5  # seconds: what is not settled by then would take the command long, and could come out differently
KIB = 1024
Options = dict[str, str | bool | None]
_AS_SHIPPED: Options = {"set": None, "clock": None, "force-clock": None}


@dataclass(frozen=True)
class Change:
    """Options of the command line to change; ``kind`` groups those of which only the first few are worth showing.

    ``last``: pointless when one of its kind is a way out.
    """

    what: str
    kind: str
    options: Mapping[str, str | bool | None]
    last: bool = False


@dataclass(frozen=True)
class Shortage:
    """What is too much: ``sram``, ``flash``, or ``speed`` (latency or energy)."""

    sram: bool
    flash: bool
    speed: bool

    @classmethod
    def of(cls, result: Result, exceeded: Sequence[LimitCheck]) -> Shortage:
        """Of a result that does not fit, or whose limits are ``exceeded``."""
        names = {check.name for check in exceeded if check.value is not None}
        reason = result.does_not_fit
        full = result.flash is not None and result.flash.over is not None
        region = None if reason is None else result.machine.memory.get(reason.region)
        kept = region is not None and region.kind in ("flash", "qspi")
        return cls(
            sram="sram" in names or (reason is not None and not kept),
            flash="flash" in names or full or kept,
            speed=bool(names & {"latency", "energy"}),
        )


def changed_settings(base: Settings, change: Mapping[str, str | bool | None]) -> Settings:
    """``base`` with the options of ``change``; None is the option's default."""
    declared, options = {option.flag: option for option in declared_options().values()}, base.options
    for flag, value in change.items():
        if flag in declared:  # not machine, set and policy
            options = options.having(declared[flag], declared[flag].parse_or_default(value))
    kernels, runtime = base.kernels, options.runtime
    if not runtime.takes(kernels.stands_for):
        kernels = resolve(None, base.fidelity, runtime)
    policy = change.get("policy") or base.policy
    return replace(base, policy=str(policy), options=options, kernels=kernels)


@dataclass
class Ways:
    """The changes to try for ``graph`` on ``machine``, which was planned with ``base`` and has ``problem``.

    ``most_sram`` is the limit on on-chip RAM in bytes.
    """

    graph: Graph
    machine: Machine
    base: Settings
    problem: Shortage
    most_sram: int | None = None

    def changes(self) -> Iterator[Change]:
        """All of them, those first that change least."""
        if self.problem.sram and not self.problem.speed:  # which no arena changes
            yield from self._arenas()
        yield from self._as_usual()
        if self.problem.flash or self.problem.speed:
            yield from self._weights()
        yield from self._runtimes()
        yield from self._policies()
        yield from self._boards()
        yield from self._budgets()
        if self.problem.flash:
            yield from self._policies_elsewhere()
        yield from self._boards_elsewhere()

    def _arenas(self) -> Iterator[Change]:
        """Results in place, an optimal order, an optimal allocator; then all three."""
        if self.base.policy in takers("overlay"):  # its on-chip RAM is not an arena
            return
        asked = self.base.options
        if asked.runtime.array is not None:  # which places its data itself
            if asked.runtime.cut is not None and asked[PATCHES] is None:
                yield Change("the first operators on patches", "arena", {"patches": AUTO})
            return
        single: list[tuple[str, Options]] = []
        if not asked[IN_PLACE] and asked[ALLOCATOR] != "offline":
            single.append(("results in place", {"in-place": True}))
        if asked[ORDER] == "default":
            single.append(("operators in the order of least peak", {"order": "optimal"}))
        if asked[ALLOCATOR] in (None, "greedy", "linear"):
            single.append(("tensors placed by the optimal allocator", {"allocator": "optimal"}))
        if asked[ALLOCATOR] is None and self.graph.offline_plan is not None:
            single.append(("tensors placed as TFLM does without the file's plan", {"allocator": "greedy"}))
        together: Options = {name: value for _, options in single[:3] for name, value in options.items()}
        for what, options in single:
            if self._settled(options):
                yield Change(what, "arena", options)
        if len(single) > 1 and self._settled(together):
            yield Change("order of least peak, optimal allocator, results in place", "arena", together, last=True)

    def _runtimes(self) -> Iterator[Change]:
        """Runtimes that compile the model, with kernels of their own; then on patches."""
        if self.base.options.runtime.array is not None:
            return
        dropped: Options = {"kernels": None, "allocator": None, "in-place": None}
        for name in runtime_names():
            if find_runtime(name).array is not None:
                options: Options = {"runtime": name, **dropped}
                yield Change(f"compiled code ({name})", "runtime", options)
                if self.problem.sram and not self.problem.speed and find_runtime(name).cut is not None:
                    patches: Options = {**options, "patches": AUTO}
                    yield Change(
                        f"compiled code ({name}), its first operators on patches", "runtime", patches, last=True
                    )

    def _as_usual(self) -> Iterator[Change]:
        """Without patches, whose halos take time; with one buffer of each kind, which is then larger."""
        asked = self.base.options
        if self.problem.speed and asked[PATCHES] is not None:
            yield Change("without patches", "patches", {"patches": None, "patch-split": None})
        if self.base.policy in takers(BUFFERING.name) and asked[BUFFERING] == BUFFERING.default:
            yield Change("single buffers", "buffers", {"buffering": "single"})

    def _settled(self, options: Options) -> bool:
        """Whether the searches that ``options`` ask for end at once with a proof, so that another run ends alike."""
        asked = changed_settings(self.base, options).options
        graph = self.graph
        if asked[ORDER] == "optimal":
            from mcusim.model.reordered import reordered

            ordering = optimal_order(graph, SEARCH, Accounting(bool(asked[IN_PLACE])))
            if not ordering.optimal:
                return False
            graph = reordered(graph, ordering.order)
        if asked[ALLOCATOR] != "optimal":
            return True
        lives = [
            ArenaBlock(lifetime.bytes, lifetime.first, lifetime.last)
            for lifetime in lifetimes(graph, in_place=bool(asked[IN_PLACE]))
        ]
        costs = costs_of(self.base.kernels.cost_profile())
        needs = [costs.scratch(graph, op, geometry(graph, op)) for op in graph.operators]
        scratch = [ArenaBlock(bytes, step, step) for step, bytes in enumerate(needs) if bytes]
        return not optimal(lives, ALIGN, SEARCH).gap and not optimal([*lives, *scratch], ALIGN, SEARCH).gap

    def _weights(self) -> Iterator[Change]:
        for region in self._other_weights:
            yield Change(f"weights in {region}", "weights", {"weights": region})

    @cached_property
    def _other_weights(self) -> list[str]:
        """Regions that the weights could be read from, but for the one that was named; on-chip flash first."""
        named = self.base.options[WEIGHTS]
        largest = largest_region(self.machine, "flash") if self.base.policy == all_policies()[0].name else None
        default = None if largest is None else largest.name
        return [region for region in _weight_regions(self.machine) if region != (default if named is None else named)]

    def _policies(self) -> Iterator[Change]:
        """The other policies, without the options that they do not take."""
        for name in self._others:
            yield Change(f"policy {name}", name, {"policy": name, **self._dropped(name)})

    def _policies_elsewhere(self) -> Iterator[Change]:
        """The same with weights in other regions."""
        for name in self._others:
            for region in self._other_weights:
                options: Options = {"policy": name, "weights": region, **self._dropped(name)}
                yield Change(f"policy {name}, weights in {region}", name, options)

    @property
    def _others(self) -> list[str]:
        return [policy.name for policy in all_policies() if policy.name != self.base.policy]

    def _dropped(self, policy: str) -> Options:
        return {option.flag: None for name, option in policy_options().items() if policy not in takers(name)}

    def _budgets(self) -> Iterator[Change]:
        """Policies that copy tiles with no more on-chip RAM than may be taken; what is faster with less they find
        themselves (:mod:`mcusim.api.best_plan`)."""
        room = sram_pool(self.machine, self.base.options[SRAM_BUDGET]).size
        if self.most_sram is None or self.most_sram >= room:
            return
        for name in takers("overlay"):
            budget = f"{self.most_sram // KIB} KiB"
            options: Options = {"policy": name, "sram-budget": budget, **self._dropped(name)}
            yield Change(f"policy {name}, SRAM budget {budget}", f"{name} budget", options)

    def _boards(self) -> Iterator[Change]:
        """The other boards that ship, as they are, the fastest clock first: with the same options, else with the first
        policy and its defaults."""
        for board in self._other_boards:
            yield Change(f"board {board.name} as it ships", "board", {"machine": board.name, **_AS_SHIPPED})
            first = all_policies()[0].name
            if self.base.policy != first:
                options = {"machine": board.name, **_AS_SHIPPED, "policy": first, **_without_options()}
                yield Change(f"board {board.name}, policy {first}", "board", options)

    def _boards_elsewhere(self) -> Iterator[Change]:
        """Where no other board has room on chip: the other policies on those with external memory, and weights there
        where flash is what is too small."""
        for board in self._other_boards:
            regions = _weight_regions(board) if self.problem.flash else []
            if not any(region.kind == "sdram" for region in board.memory.values()):
                continue
            options: Options = {"machine": board.name, **_AS_SHIPPED, **_without_options()}
            for region in regions:
                named = {**options, "weights": region}
                yield Change(f"board {board.name}, weights in {region}", "board", named, last=True)
            for name in self._others:
                plain = {**options, "policy": name}
                yield Change(f"board {board.name}, policy {name}", "board", plain, last=True)
                for region in regions:
                    named = {**plain, "weights": region}
                    yield Change(f"board {board.name}, policy {name}, weights in {region}", "board", named, last=True)

    @cached_property
    def _other_boards(self) -> list[Machine]:
        others = [load_machine(name) for name in machine_names() if name != self.machine.name]
        return sorted(others, key=lambda board: -board.core.clock)


def _without_options() -> Options:
    """The options of policies, and the region of the weights, as they are by default."""
    return dict.fromkeys((*(option.flag for option in policy_options().values()), "weights"))


def _weight_regions(machine: Machine) -> list[str]:
    """Regions that weights could be read from, on-chip flash first."""
    kinds = ("flash", "qspi", "sdram")
    regions = [region for region in machine.memory.values() if region.kind in kinds]
    return [region.name for region in sorted(regions, key=lambda region: kinds.index(region.kind))]
