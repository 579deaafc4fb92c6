"""Which inference engine on which board: one run for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from mcusim.api.simulate import changed, simulate_loaded
from mcusim.errors import InputError, UsageError
from mcusim.kernels import load_profile
from mcusim.machine import machine_names
from mcusim.machine.description import Machine
from mcusim.measurements.interval.intervals import ratio_interval
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.results import Result
from mcusim.results.engine_choice import BoardEngines, EngineChoice, EngineRow
from mcusim.run_config.kernel_choice import FIDELITIES, default_kernels, kernels_title
from mcusim.run_config.settings import MachineArg, as_list, require_overrides, settings
from mcusim.runtime.runtime import InferenceEngine, Runtime, inference_engines

BOARD = "stm32f746g-disco"
Progress = Callable[[object], object]


def engines(
    model: str | Path | Graph,
    machines: str | Path | Machine | Iterable[str | Path | Machine] = BOARD,
    policy: str = "internal",
    *,
    fidelity: str = "replay",
    overrides: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> EngineChoice:
    """``model`` with every inference engine on ``machines`` (``"all"``: those that ship) under ``policy``.

    ``fidelity`` ``emulate`` runs compiled kernels where there are any; the others are replayed all the same.
    ``overrides`` sets machine keys; ``progress`` is called with each finished row. An engine that does not run the
    model, or does not fit, is a row with its reason.

    Raises :class:`~mcusim.errors.InputError` for what cannot be used. Not modelled: what
    :mod:`mcusim.results.engine_choice` says, and vendors' engines.
    """
    require_overrides(overrides)
    if fidelity not in FIDELITIES:
        raise UsageError(f"fidelity {fidelity[:80]!r} is not known; choose from: {', '.join(FIDELITIES)}")
    names = machine_names() if machines == "all" else as_list("machines", machines, MachineArg)
    boards = [changed(machine, overrides) for machine in names]
    graph = model if isinstance(model, Graph) else load_model(model)
    return EngineChoice(graph.name, tuple(_board(graph, board, policy, fidelity, progress) for board in boards))


def _board(graph: Graph, machine: Machine, policy: str, fidelity: str, progress: Progress | None) -> BoardEngines:
    rows = []
    for runtime, engine in inference_engines():
        rows.append(_row(graph, machine, policy, fidelity, (runtime, engine)))
        if progress is not None:
            progress(rows[-1])
    board = BoardEngines(machine.name, tuple(rows))
    if not board.running:
        return board
    fastest = board.running[0].result
    assert fastest is not None
    return replace(board, rows=tuple(_compared(row, fastest) for row in board.rows))


def _row(
    graph: Graph, machine: Machine, policy: str, fidelity: str, executed: tuple[Runtime, InferenceEngine]
) -> EngineRow:
    runtime, engine = executed
    own = engine.kernels or default_kernels("replay", runtime)
    compiled = load_profile(own).set if engine.kernels else default_kernels("emulate", runtime)
    emulated = fidelity == "emulate" and compiled is not None
    named = (compiled if emulated else own) if engine.kernels else None
    chosen = settings(policy, named, {"runtime": runtime.name}, fidelity="emulate" if emulated else "replay")
    basis = "emulated" if emulated else "fitted" if load_profile(own).accesses else "replayed"
    shown = str(compiled) if emulated else own
    row = EngineRow(engine.name, engine.whose, runtime.name, shown, kernels_title(shown), basis)
    try:
        result = simulate_loaded(graph, machine, chosen)
    except InputError as reason:  # an operator that it lacks, a policy that cannot plan on the board
        return replace(row, reason=str(reason))
    return replace(row, result=result, reason=str(result.negative or ""))


def _compared(row: EngineRow, fastest: Result) -> EngineRow:
    """With its latency over that of the fastest engine."""
    if not row.runs or row.result is None or row.result.interval is None or fastest.interval is None:
        return row
    assert fastest.energy is not None
    sides = row.result.interval.situation, fastest.interval.situation
    ratio = row.latency_ms / fastest.energy.latency_ms
    return replace(row, over_fastest=ratio_interval(*sides, ratio, "latency"))
