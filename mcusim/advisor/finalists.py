"""Which plans are advised: the order of what was tried, and the best on the emulated core, their outputs compared.

Not modelled: inputs other than the seeded ones of ``mcusim run``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcusim.advisor.search import PlanSearch
from mcusim.api.advice.candidates import changed_settings
from mcusim.api.simulate import simulate_loaded
from mcusim.errors import InputError
from mcusim.model.graph import Graph
from mcusim.results import Result
from mcusim.results.plan_advice import TriedPlan
from mcusim.run_config.command_line import run_command, settings_options
from mcusim.run_config.input_tensors import random_inputs
from mcusim.run_config.kernel_choice import resolve
from mcusim.run_config.settings import Settings
from mcusim.text import counted
from mcusim.verification.equivalence import litert_outputs, tolerance_of

ALIKE = 1.01  # plans within 1 % of the best are as good: the one that needs least RAM is advised
TRIES = 3  # finalists that are emulated for each that is right: one may have no room for its stack
REFERENCE = "reference"  # the kernel set that stands for LiteRT where that is not installed
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class SearchedPlan:
    """A plan, and the search that tried it."""

    search: PlanSearch
    item: TriedPlan

    def having(self, **changes: Any) -> SearchedPlan:
        """With other figures."""
        return replace(self, item=replace(self.item, **changes))

    def settings(self, kernel_set: str, inputs: Sequence[Array] | None = None) -> Settings:
        """The plan with the code of its kernels."""
        replayed = changed_settings(self.search.base, self.item.decisions)
        runtime = replayed.options.runtime
        own = kernel_set if runtime.takes(kernel_set) else None
        kernels = resolve(own, "emulate", runtime)
        return replace(replayed, fidelity="emulate", kernels=kernels, inputs=None if inputs is None else list(inputs))

    def command(self, model: str, kernel_set: str) -> str:
        """What runs it."""
        machine = self.search.machine
        return run_command(model, settings_options(machine.name, machine.changes, self.settings(kernel_set)))


@dataclass(frozen=True)
class Expected:
    """Outputs that are right by ``whose`` word; none where nobody says."""

    values: tuple[Array, ...] = ()
    whose: str = ""
    near: float = 0.0  # of a tensor's largest value: what exp and log of two libraries may differ by


def _wrong(ours: Array, right: Array, near: float) -> int:
    """How many values differ."""
    if ours.dtype.kind != "f":
        return int(np.count_nonzero(ours != right))
    most = near * float(np.abs(right).max(initial=0.0))
    return int(np.count_nonzero(~np.isclose(ours, right, rtol=0.0, atol=most, equal_nan=True)))


def chosen_order(plans: Sequence[SearchedPlan]) -> list[SearchedPlan]:
    """What was emulated first, then by limits and the objective; of those that are alike the one of least RAM."""
    able = [plan for plan in plans if plan.item.meets]
    objective = plans[0].search.objective
    first = [plan for plan in able if plan.item.fidelity == "emulate"] or able
    least = min((plan.item.figure(objective) for plan in first), default=0.0)

    def rank(plan: SearchedPlan) -> tuple[float, ...]:
        short, *rest = plan.search.rank(plan.item)
        figure = plan.item.figure(objective)
        alike = max(ALIKE, figure / least) if least else figure
        emulated = plan.item.fidelity == "emulate"
        return (short, not emulated, alike, plan.item.figure("sram") // 256, *rest)

    return sorted(plans, key=rank)


def emulated(
    graph: Graph, kernel_set: str, plans: Sequence[SearchedPlan], finalists: int, notes: list[str]
) -> list[SearchedPlan]:
    """``plans`` with the first of different figures emulated, until ``finalists`` are right; ``notes`` grows by what
    could not be."""
    chosen: dict[tuple[object, ...], SearchedPlan] = {}
    for plan in plans:
        if plan.item.meets:
            chosen.setdefault((plan.item.machine, plan.item.cycles, plan.item.sram_bytes), plan)
    todo = list(chosen.values())[: finalists * TRIES]
    if not todo:
        return list(plans)
    inputs = random_inputs(graph)
    expected = _expected(graph, inputs, todo[0], notes)
    done: dict[int, SearchedPlan] = {}
    for plan in todo:
        try:
            settings = plan.settings(kernel_set, inputs)
            done[id(plan)] = _judged(plan, simulate_loaded(graph, plan.search.machine, settings), expected)
        except InputError as error:
            notes.append(f"not emulated: {' '.join(str(error).split())[:200]}")
        except KeyboardInterrupt:
            notes.append(f"interrupted after {counted(len(done), 'finalist')}")
            break
        if plan.search.progress is not None:
            plan.search.progress(plan.item)
        if sum(judged.item.meets for judged in done.values()) == finalists:
            break
    return [done.get(id(plan), plan) for plan in plans]


def _judged(plan: SearchedPlan, result: Result, expected: Expected) -> SearchedPlan:
    """``plan`` with the figures of its emulation, or why it is none to advise."""
    if result.run is None:
        return plan.having(reason=f"emulated: {result.negative}", short=1.0)
    item = replace(
        plan.search.judged(plan.item, result), fidelity="emulate", replayed_cycles=plan.item.replayed_cycles,
        replayed_ms=plan.item.replayed_ms,
    )  # fmt: skip
    pairs = zip(result.outputs, expected.values, strict=False)
    wrong = sum(_wrong(output.values, right, expected.near) for output, right in pairs)
    if wrong:
        item = replace(item, reason=f"{wrong:,} output values are not {expected.whose}'s", short=1.0)
    return replace(plan, item=replace(item, verified="" if wrong else expected.whose))


def _expected(graph: Graph, inputs: Sequence[Array], plan: SearchedPlan, notes: list[str]) -> Expected:
    """LiteRT's outputs, or the reference kernels' on the board of ``plan`` where that is not installed."""
    try:
        outputs = litert_outputs(graph, inputs)
    except ImportError:
        return _by_reference(graph, inputs, plan, notes)
    except (InputError, RuntimeError, ValueError) as reason:
        notes.append(f"outputs are not compared with LiteRT's: {' '.join(str(reason).split())[:160]}")
        return Expected()
    values = {
        t: value for op in graph.operators for t, value in zip(op.outputs, outputs.get(op.index, ()), strict=False)
    }
    return Expected(tuple(values[t] for t in graph.outputs), "LiteRT", tolerance_of(graph))


def _by_reference(graph: Graph, inputs: Sequence[Array], plan: SearchedPlan, notes: list[str]) -> Expected:
    """By the interpreter, under the policy of ``plan`` without its other decisions."""
    plain = plan.having(decisions={"policy": plan.item.decisions["policy"]})
    try:
        result = simulate_loaded(graph, plan.search.machine, plain.settings(REFERENCE, inputs))
    except InputError:
        result = None
    if result is None or result.run is None:
        notes.append("outputs are not compared: LiteRT is not installed (pip install ai-edge-litert)")
        return Expected()
    notes.append(f"LiteRT is not installed: outputs are compared with those of kernel set {REFERENCE}")
    return Expected(tuple(output.values for output in result.outputs), f"kernel set {REFERENCE}")
