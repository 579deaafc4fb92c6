"""The best use of a board for a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mcusim.advisor.finalists import SearchedPlan, chosen_order, emulated
from mcusim.advisor.search import PlanSearch
from mcusim.api.simulate import changed
from mcusim.errors import UsageError
from mcusim.machine import machine_names
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.results.plan_advice import OBJECTIVES, DecisionWorth, PlanAdvice, TriedPlan, pareto_front
from mcusim.run_config.kernel_choice import DEFAULT_SET, resolve
from mcusim.run_config.run_limits import RunLimits
from mcusim.run_config.settings import (
    MachineArg,
    ModelArg,
    NameArg,
    as_list,
    base_settings,
    require_overrides,
    require_type,
)
from mcusim.runtime.runtime import find_runtime, runtime_names
from mcusim.text import counted

BOARD = "stm32f746g-disco"
TRIALS, SECONDS, FINALISTS = 60, 60.0, 3
Progress = Callable[[object], object]
Array = np.ndarray[Any, Any]


def advise(
    model: str | Path | Graph,
    machines: str | Path | Machine | Iterable[str | Path | Machine] = BOARD,
    *,
    objective: str = "latency",
    kernels: str | None = None,
    max_latency: str | None = None,
    max_energy: str | None = None,
    max_sram: str | None = None,
    max_flash: str | None = None,
    reserve: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    trials: int = TRIALS,
    seconds: float = SECONDS,
    finalists: int = FINALISTS,
    progress: Progress | None = None,
) -> PlanAdvice:
    """How ``model`` is best run on ``machines`` (``"all"``: those that ship): policy, runtime, regions, order, buffers.

    ``objective`` (``latency``, ``energy``, ``sram``) is to be small within the limits, texts with units. ``kernels`` is
    a kernel set, whose profile ranks the plans; it runs the best ``finalists``, whose outputs are compared with
    LiteRT's, and where it is named only runtimes that take it are tried. ``reserve``: sizes by region that stay free
    (``{"dtcm": "16 KiB"}``). At most ``trials`` plans a board, none begun after ``seconds``; ``progress`` is called
    with each, and with each finalist. Ctrl-C keeps the best so far. Raises :class:`~mcusim.errors.InputError` for what
    cannot be used. Not modelled: what :mod:`mcusim.advisor.search` does not.
    """
    require_type("model", model, ModelArg)
    _check(objective, trials, finalists)
    require_overrides(overrides)
    limits = RunLimits.of(max_latency, max_energy, max_sram, max_flash)
    names = machine_names() if machines == "all" else as_list("machines", machines, MachineArg)
    boards = [_reserved(changed(machine, overrides), reserve or {}) for machine in names]
    if not boards:
        raise UsageError("machines: no machine is named; --machine all is all of those that ship")
    graph, kernel_set = model if isinstance(model, Graph) else load_model(model), kernels or DEFAULT_SET
    base, each = base_settings(_profile(kernel_set)), seconds / len(boards)
    runtimes = [name for name in runtime_names() if kernels is None or find_runtime(name).takes(kernel_set)]
    searches = [PlanSearch(graph, board, base, limits, objective, trials, each, progress, runtimes) for board in boards]
    notes, name = _searched(searches), str(model) if isinstance(model, str | Path) else graph.name
    return _advice(graph, name, kernel_set, searches, 0 if notes else finalists, notes)


def _searched(searches: Sequence[PlanSearch]) -> list[str]:
    """Run them; Ctrl-C keeps what was tried, and says so."""
    try:
        for search in searches:
            search.run()
    except KeyboardInterrupt:
        tried = sum(len(search.tried) for search in searches)
        if not tried:
            raise
        return [f"interrupted after {counted(tried, 'plan')}: nothing was emulated"]
    return []


def _check(objective: str, trials: int, finalists: int) -> None:
    """Raise UsageError for what is out of range."""
    require_type("objective", objective, NameArg)
    if objective not in OBJECTIVES:
        raise UsageError(f"objective {objective[:80]!r} is not known; choose from: {', '.join(OBJECTIVES)}")
    for name, number, least in (("trials", trials, 1), ("finalists", finalists, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= 10_000:
            raise UsageError(f"{name} = {repr(number)[:80]}: must be a whole number from {least} to 10,000")


def _profile(kernel_set: str) -> str:
    """The profile that stands for a kernel set. Raises UsageError for one that cannot be emulated."""
    resolve(kernel_set, "emulate")
    profile = resolve(kernel_set, "replay").profile
    assert profile is not None  # or resolve raises
    return profile.name


def _reserved(machine: Machine, reserve: Mapping[str, str]) -> Machine:
    """``machine`` with that much less of its regions, at their ends. Raises UsageError."""
    from mcusim.units import parse_size

    sizes = {}
    for name, text in reserve.items():
        region = machine.memory.get(name)
        if region is None:
            raise UsageError(f"--reserve {name[:80]}: {machine.name} has {', '.join(machine.memory)}")
        kept = parse_size(text)
        if kept >= region.size:
            raise UsageError(f"--reserve {name}={text}: {machine.name} has {region.size:,} B of it")
        sizes[f"memory.{name}.size"] = f"{region.size - kept} B"
    return changed(machine, sizes) if sizes else machine


def _advice(
    graph: Graph, model: str, kernel_set: str, searches: Sequence[PlanSearch], finalists: int, notes: list[str]
) -> PlanAdvice:
    plans = [SearchedPlan(search, item) for search in searches for item in search.ranked]
    plans = emulated(graph, kernel_set, chosen_order(plans), finalists, notes)
    plans = [plan.having(command=plan.command(model, kernel_set)) for plan in chosen_order(plans)]
    best = next((plan for plan in plans if plan.item.meets), None)
    tried = tuple(plan.item for plan in plans)
    return PlanAdvice(
        graph.name, searches[0].objective, kernel_set, tried, None if best is None else best.item, pareto_front(tried),
        () if best is None else tuple(_worth(best.search, best.item)), tuple(notes),
    )  # fmt: skip


def _worth(search: PlanSearch, best: TriedPlan) -> list[DecisionWorth]:
    """Of each decision that is not the default: what the plan takes without it, by replay."""
    worth = []
    for option, value in best.decisions.items():
        others = {name: old for name, old in best.decisions.items() if name != option}
        if option == "policy" or value is None:
            continue
        item = search.evaluate(others)
        latency = None if item.replayed_ms is None else item.replayed_ms / (best.replayed_ms or 1.0)
        sram = None if item.sram_bytes is None or not best.sram_bytes else item.sram_bytes / best.sram_bytes
        worth.append(DecisionWorth(option, "" if value is True else str(value), latency, sram, item.reason))
    return worth
