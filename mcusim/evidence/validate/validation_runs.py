"""One run that reproduces published rows, and its outcome; picklable, so that any process can do it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from mcusim.api.firmware.emulate import emulate
from mcusim.api.plan_memory import memory, priced
from mcusim.api.simulate import replay, simulate_loaded
from mcusim.errors import McusimError
from mcusim.kernels.test_programs import FOLDER
from mcusim.machine import load_machine
from mcusim.measurements.interval.situation import SHARE, mix_of
from mcusim.measurements.published.runs import PublishedRun
from mcusim.measurements.published.stored import StoredOutcome
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.model.reordered import reordered
from mcusim.plan.ordering import optimal_order
from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plan.registry import takers
from mcusim.results import Result
from mcusim.run_config.settings import settings

PROGRAMS = Path(str(files("mcusim.measurements.published"))) / "programs"
SHARE_DIGITS, LEAST_SHARE = 4, 0.0005
DIGITS = 9  # of a figure that is kept: more would tell one machine's arithmetic from another's


def perform(run: PublishedRun, model: str) -> StoredOutcome:
    """Do ``run``, whose model is the file or zoo network ``model``; what cannot be run is an outcome.

    Figures are ``latency_ms energy_mj supply_current_ma arena_bytes macs file_bytes``, ``peak_bytes`` of a plan,
    ``share of TYPE`` of the cycles,
    ``cycles_per_access`` (of the core) or ``copy_ms`` of a memory micro-benchmark.
    ``arena_bytes`` is that of the network with explicit PADs (:mod:`mcusim.plan.pytorch_arena`), as in ``mcusim
    compare``. Not modelled: what an allocator does besides moving tensors.
    """
    try:
        if run.function:
            return StoredOutcome(_kept(_called(run)))
        if run.tasks:
            return StoredOutcome(_kept(_replayed(run)))
        if run.fidelity == "plan":
            plan = memory(model, order=run.order, allocator=run.allocator)
            return StoredOutcome({"peak_bytes": float(plan.placed.bytes)})
        graph = load_model(model)
        result = _simulated(run, graph)
        if result.negative is not None:
            return StoredOutcome(reason=str(result.negative))
        return StoredOutcome(_kept(_figures(run, model, graph, result)))
    except McusimError as error:
        return StoredOutcome(reason=str(error))


def _kept(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.{DIGITS}g}") for name, value in figures.items()}


def _called(run: PublishedRun) -> dict[str, float]:
    emulation_result = emulate(
        FOLDER / run.model, run.machine, call=run.function, arguments=run.arguments, overrides=dict(run.changes)
    )
    cycles = emulation_result.profile.cycles
    if run.accesses:
        return {"cycles_per_access": cycles / run.accesses}
    return {"copy_ms": 1e3 * cycles / emulation_result.machine.core.clock}


def _replayed(run: PublishedRun) -> dict[str, float]:
    """Of a file of tasks: set-up and interrupts of its transfers count."""
    result = replay(PROGRAMS / run.model, run.machine, overrides=dict(run.changes))
    assert result.run is not None
    return {"cycles_per_access": result.run.cycles / run.accesses}


def _simulated(run: PublishedRun, graph: Graph) -> Result:
    if run.order == "optimal":
        graph = reordered(graph, optimal_order(graph).order)
    options: dict[str, object] = dict(run.options)
    if run.policy in takers(BUFFER_SIZES.name):
        options[BUFFER_SIZES.name] = "largest"  # as the publications' planner has them
    kernels = run.kernels if run.own_kernels is None else str(run.own_kernels)
    chosen = settings(run.policy, kernels, options, fidelity=run.fidelity)
    return simulate_loaded(graph, load_machine(run.machine), chosen)


def _figures(run: PublishedRun, model: str, graph: Graph, result: Result) -> dict[str, float]:
    assert result.energy is not None
    latency, energy = result.energy.latency_ms, result.energy.energy_mj
    if run.allocator == "dynamic":
        plan = priced(memory(model, order=run.order, allocator=run.allocator, machine=run.machine))
        (moves,) = (defragmentation for defragmentation in plan.defragmentation if defragmentation.copy == "bytes")
        latency, energy = latency + 1e3 * moves.seconds, energy + moves.energy_mj
    return {
        "latency_ms": latency,
        "energy_mj": energy,
        "supply_current_ma": 1e3 * energy / (result.machine.power.supply * latency),
        "arena_bytes": float(result.arena(exported=True) or 0),
        "macs": float(result.macs or 0),
        "file_bytes": float(graph.file_bytes),
        **_shares(result),
    }


def _shares(result: Result) -> dict[str, float]:
    """Of the cycles, by type of operator: what tells how near another run is to this one."""
    assert result.run is not None and result.request is not None
    mix = mix_of(result.run, result.request.program)
    return {f"{SHARE}{name}": float(f"{share:.{SHARE_DIGITS}f}") for name, share in mix.items() if share >= LEAST_SHARE}
