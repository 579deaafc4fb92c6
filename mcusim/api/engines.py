"""Which inference engine on which board: one run for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, hypot, log
from pathlib import Path

from mcusim.api.simulate import changed, simulate_loaded
from mcusim.errors import InputError, UnsupportedError, UsageError
from mcusim.kernels import load_profile
from mcusim.machine import load_shipped, machine_names
from mcusim.machine.description import Machine
from mcusim.measurements.interval.intervals import kept, ratio_interval
from mcusim.measurements.interval.situation import on_machine
from mcusim.measurements.vendors import st_engine
from mcusim.model import load_model
from mcusim.model.custom_costs import is_priced
from mcusim.model.graph import Graph
from mcusim.program.unknown_operators import opaque_types
from mcusim.results import Result
from mcusim.results.engine_choice import BoardEngines, EngineChoice, EngineRow
from mcusim.results.measurement.interval import AS_PUBLISHED, LEVEL, RatioInterval, RunFeatures
from mcusim.results.result import sram_bytes
from mcusim.run_config.kernel_choice import FIDELITIES, default_kernels, kernels_title
from mcusim.run_config.settings import MachineArg, NameArg, as_list, require_overrides, require_type, settings
from mcusim.runtime.runtime import InferenceEngine, Runtime, find_runtime, inference_engines

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
    :mod:`mcusim.results.engine_choice` says.
    """
    require_overrides(overrides)
    require_type("fidelity", fidelity, NameArg)
    if fidelity not in FIDELITIES:
        raise UsageError(f"fidelity {fidelity[:80]!r} is not known; choose from: {', '.join(FIDELITIES)}")
    names = machine_names() if machines == "all" else as_list("machines", machines, MachineArg)
    boards = [changed(machine, overrides) for machine in names]
    if not boards:
        raise UsageError("machines: no machine is named; --machine all is all of those that ship")
    graph = model if isinstance(model, Graph) else load_model(model, allow_unknown=True)
    unknown = [name for name in opaque_types(op.type for op in graph.operators) if not is_priced(name)]
    if unknown:
        raise UnsupportedError(
            f"{graph.name}: operators mcusim does not know: {', '.join(unknown)}: no engine can be timed with them;"
            " `mcusim run --allow-unknown` runs the others"
        )
    return EngineChoice(graph.name, tuple(_board(graph, board, policy, fidelity, progress) for board in boards))


def _board(graph: Graph, machine: Machine, policy: str, fidelity: str, progress: Progress | None) -> BoardEngines:
    rows = []
    for runtime, engine in inference_engines():
        rows.append(_row(graph, machine, policy, fidelity, (runtime, engine)))
        if progress is not None:
            progress(rows[-1])
    board = BoardEngines(machine.name, (*rows, *_st_rows(graph, machine, policy, rows)))
    if not board.running:
        return board
    return replace(board, rows=tuple(_compared(row, board.running[0]) for row in board.rows))


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
    return _measured(replace(row, result=result, reason=str(result.negative or "")), result)


def _measured(row: EngineRow, result: Result) -> EngineRow:
    """With the figures of its run, if there is one."""
    if result.run is None or result.energy is None or result.flash is None:
        return row
    interval = None if result.interval is None else result.interval.latency_ms
    ram, flash = sram_bytes(result) or 0, result.flash.total
    return replace(row, latency_ms=result.energy.latency_ms, interval_ms=interval, ram=(ram, ram), flash=(flash, flash))


def _st_rows(graph: Graph, machine: Machine, policy: str, rows: Sequence[EngineRow]) -> list[EngineRow]:
    """ST's engine by version: an estimate from the replay of compiled code, whose row is among ``rows``."""
    compiled, own = next((runtime, row) for runtime, row in _executed_by(rows) if runtime.own_kernels)
    named = [
        EngineRow(f"ST {version}", "ST", compiled.name, "", f"ST's engine, version {version}", "estimate")
        for version in st_engine.versions()
    ]
    if not st_engine.has_rows(machine):
        return [replace(row, reason=f"no published rows on a {machine.core.isa}") for row in named]
    if policy != st_engine.POLICY:
        return [replace(row, reason=f"published rows are of --policy {st_engine.POLICY} alone") for row in named]
    result = own.result
    if own.basis != "replayed" and own.runs:
        chosen = settings(policy, compiled.kernels[0], {"runtime": compiled.name})
        result = simulate_loaded(graph, machine, chosen)
    if result is None or result.run is None:
        return [replace(row, reason=f"rests on compiled code, which does not run: {own.reason}") for row in named]
    assert result.request is not None and result.request.program is not None
    reason = st_engine.unknown(result.run.cycles, st_engine.types_of(result.run, result.request.program))
    if reason:
        return [replace(row, reason=reason) for row in named]
    return [_estimated(row, version, result) for row, version in zip(named, st_engine.versions(), strict=True)]


def _executed_by(rows: Sequence[EngineRow]) -> list[tuple[Runtime, EngineRow]]:
    return [(find_runtime(row.runtime), row) for row in rows]


def _estimated(row: EngineRow, version: str, replay: Result) -> EngineRow:
    result = st_engine.estimate(version, _replayed(replay))
    low, high = result.interval_ms
    return replace(
        row,
        latency_ms=result.latency_ms,
        interval_ms=(kept(low), kept(high)),
        ram=result.ram,
        flash=result.flash,
        among_versions=result.among_versions,
    )


def _replayed(replay: Result) -> st_engine.Replayed:
    assert replay.run is not None and replay.energy is not None and replay.request is not None
    assert replay.request.program is not None and replay.interval is not None
    machine = replay.machine
    features = on_machine(replay.interval.situation, machine)
    shipped = machine.name in machine_names() and machine.path == load_shipped(machine.name).path
    measured_on = shipped and machine.name == st_engine.MEASURED_ON
    other_clock = machine.core.clock != st_engine.CLOCK if measured_on else features.clock != 1.0
    return st_engine.Replayed(
        replay.energy.latency_ms,
        replay.run.cycles,
        sram_bytes(replay) or 0,
        0 if replay.flash is None else sum(part.bytes for part in replay.flash.parts if part.name == "weights"),
        st_engine.shares(replay.run, replay.request.program),
        measured_on=measured_on,
        changed=other_clock or features.setting != AS_PUBLISHED,
    )


def _compared(row: EngineRow, fastest: EngineRow) -> EngineRow:
    """With its latency over that of the fastest engine."""
    if row.latency_ms is None or fastest.latency_ms is None or row.interval_ms is None or fastest.interval_ms is None:
        return row
    ratio, first, second = row.latency_ms / fastest.latency_ms, _situation(row), _situation(fastest)
    if row is fastest:
        return replace(row, over_fastest=RatioInterval(LEVEL, 1.0, 1.0, 1.0))
    if row.among_versions is not None and fastest.among_versions is not None:
        half = row.among_versions
        return replace(row, over_fastest=_within(ratio, log(ratio) - half, log(ratio) + half))
    if first is None or second is None:
        return replace(row, over_fastest=_independent(row.interval_ms, fastest.interval_ms, ratio))
    return replace(row, over_fastest=ratio_interval(first, second, ratio, "latency"))


def _situation(row: EngineRow) -> RunFeatures | None:
    return None if row.result is None or row.result.interval is None else row.result.interval.situation


def _independent(first: tuple[float, float], second: tuple[float, float], ratio: float) -> RatioInterval:
    """Of two intervals that have nothing in common."""
    (low, high), (least, most) = ([log(end) for end in ends] for ends in (first, second))
    middle, half = (low + high - least - most) / 2, hypot(high - low, most - least) / 2
    return _within(ratio, middle - half, middle + half)


def _within(ratio: float, low: float, high: float) -> RatioInterval:
    """``low`` and ``high``: in the logarithm."""
    return RatioInterval(LEVEL, kept(ratio), kept(exp(low)), kept(exp(high)))
