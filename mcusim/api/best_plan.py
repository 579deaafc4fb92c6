"""The fastest plan within a budget of on-chip RAM, for a policy whose buffers are as large as a budget lets them be.

Larger buffers are not always faster: fewer tiles stand against a data cache that serves small ones, and memories that
differ. Tried are the plans for the least budget that works, for 8, 12, 16, 24, 32, 48 ... KiB up to the budget, and for
all that there is, by replay. A larger budget tries what a smaller one does, so that latency never rises with it. Not
modelled: budgets in between, and kernels without a cost profile, whose buffers are as large as may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcusim.engine.execute import Replay, replay
from mcusim.engine.run import Run
from mcusim.errors import DoesNotFit, KernelFault, UsageError
from mcusim.kernels.cost.profile import Profile
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.kept_plans import kept_plan
from mcusim.plan.options import SRAM_BUDGET
from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plan.pools import sram_pool
from mcusim.plan.registry import takers
from mcusim.program.program import Program
from mcusim.run_config.kernel_choice import Kernels, resolve
from mcusim.run_config.run_options import CODE, OPERATOR_OVERHEAD
from mcusim.run_config.settings import Settings

STEPS = tuple(sorted(size << shift for size in (8, 12) for shift in range(10, 30)))  # bytes
NEVER = 1 << 62  # cycles of a plan on which a kernel would fault


@dataclass(frozen=True, slots=True)
class BestPlan:
    """A ``program``, and its ``run`` by replay where plans were compared."""

    program: Program
    run: Run | None = None


def best_plan(graph: Graph, machine: Machine, chosen: Settings, kernels: Profile | KernelSet) -> BestPlan:
    """The plan of ``chosen`` for ``kernels`` with the least replayed latency, then the least on-chip RAM.

    A header's options say of a plan for a smaller budget than the one asked for which (``planned_budget``, bytes) and
    how many different ones there were (``plans_tried``). Raises what :func:`mcusim.plan.plan` raises for the budget.
    """
    largest = _planned(graph, machine, chosen, kernels, chosen.options[SRAM_BUDGET])
    profile = _profile(chosen.kernels) if _chooses(chosen) else None
    if profile is None:
        return BestPlan(largest)
    plans: dict[tuple[object, ...], tuple[Program, int]] = {}
    for budget in _budgets(graph, machine, chosen, kernels):
        try:
            program = _planned(graph, machine, chosen, kernels, budget)
        except (DoesNotFit, UsageError):  # too small for what is kept on chip, or for a tile
            continue
        plans.setdefault(_buffers(program), (program, budget))
    if _buffers(largest) in plans or not plans:
        plans[_buffers(largest)] = largest, 0
    if len(plans) == 1 and not next(iter(plans.values()))[1]:
        return BestPlan(largest)
    replays = {key: _replayed(program, machine, profile, chosen) for key, (program, _) in plans.items()}
    cycles = {key: NEVER if replayed is None else replayed.cycles for key, replayed in replays.items()}
    costs = {key: (cycles[key], _on_chip(program, machine)) for key, (program, _) in plans.items()}
    best = min(costs, key=costs.__getitem__)
    program, budget = plans[best]
    if program is not largest:
        options = {**program.header.options, "sram_budget": chosen.options[SRAM_BUDGET]}
        options |= {"planned_budget": budget, "plans_tried": len(plans)}
        program = replace(program, header=replace(program.header, options=options))
    replayed = replays[best]
    return BestPlan(program, replace(replayed.run, header=program.header) if replayed else None)


def _chooses(chosen: Settings) -> bool:
    return chosen.policy in takers(BUFFER_SIZES.name) and chosen.options[BUFFER_SIZES] == "best"


def _profile(kernels: Kernels) -> Profile | None:
    """What plans are replayed with; None where there is none."""
    try:
        return kernels.profile or resolve(kernels.name, "replay").profile
    except UsageError:
        return None


def _planned(
    graph: Graph, machine: Machine, chosen: Settings, kernels: Profile | KernelSet, budget: int | None
) -> Program:
    options = chosen.options.having(SRAM_BUDGET, budget)
    return kept_plan(graph, machine, chosen.policy, kernels, options)


def _budgets(graph: Graph, machine: Machine, chosen: Settings, kernels: Profile | KernelSet) -> Iterator[int]:
    """Those to try, the least first."""
    room, every, least = sram_pool(machine, chosen.options[SRAM_BUDGET]).size, sram_pool(machine).size, 0
    try:
        _planned(graph, machine, chosen, kernels, 1)
    except DoesNotFit as reason:
        least = reason.needed if reason.region == sram_pool(machine).name else 0
    except UsageError:
        pass  # what is kept on chip has no room
    yield from ([least] if 0 < least <= room else [])
    yield from (step for step in STEPS if least < step <= room)
    yield from ([every] if room == every else [])


def _buffers(program: Program) -> tuple[object, ...]:
    """What plans with the same buffers have in common."""
    spans = [(b.name, b.kind, b.span) for b in program.header.buffers if b.kind in ("overlay", "scratch", "activation")]
    return (len(program.tasks), *spans)


def _replayed(program: Program, machine: Machine, profile: Profile, chosen: Settings) -> Replay | None:
    """None where a kernel would fault."""
    try:
        return replay(program, machine, profile, chosen.run[CODE], chosen.run[OPERATOR_OVERHEAD])
    except KernelFault:
        return None


def _on_chip(program: Program, machine: Machine) -> int:
    peaks = program.header.peak_bytes.items()
    return sum(size for name, size in peaks if machine.memory[name].kind in ("sram", "tcm"))
