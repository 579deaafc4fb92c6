"""One point of a study to one row: what every process of a sweep does.

Points of one process share what they can: the model, the plan of machines that differ in timing alone, and the run of
machines that differ in nothing that it depends on (:mod:`mcusim.sweeps.run_cache`); energy is computed from the run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Any

from mcusim.api.best_plan import BestPlan, best_plan
from mcusim.api.run_program import run_or_reason
from mcusim.engine.execute import code_address
from mcusim.engine.kept_runs import KEPT_RUNS
from mcusim.engine.run import Run
from mcusim.errors import DoesNotFit, InputError, KernelFault, McusimError, UsageError
from mcusim.machine import replace_all
from mcusim.machine.clock_rules import clock_columns
from mcusim.machine.description import Machine
from mcusim.measurements.annotation import expected, features_of
from mcusim.measurements.interval.situation import on_machine
from mcusim.measurements.published.deviation import differs_from_published
from mcusim.plan import plan, takers
from mcusim.plan.options import PATCH_MACS, PATCHES, RUNTIME, without_effect
from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plug_ins import PlugIn, remember
from mcusim.program.program import Program
from mcusim.program.unknown_operators import Costs, left_out
from mcusim.results.duty import duty
from mcusim.results.energy import Usage, delivered, usage
from mcusim.results.result import peak_on_chip
from mcusim.run_config.period import Period
from mcusim.run_config.run_options import CODE, DOMAIN, REPEATED, SLEEP
from mcusim.run_config.settings import RunRequest, Settings, settings, split
from mcusim.runtime.patches import AUTO
from mcusim.runtime.runtime import find_runtime
from mcusim.sweeps.axis_values import CLOCKS, MACHINE_OPTIONS, OPTIONS
from mcusim.sweeps.input_hashes import graph_of, kernels_of, machine_of, mcusim_sha256
from mcusim.sweeps.points import Point
from mcusim.sweeps.run_cache import PlanView, Played, RunCache, all_keys, keys_run_read
from mcusim.sweeps.study import BASE, CAUSES, INTERVAL, PERIOD

Row = dict[str, Any]
Batch = tuple[tuple[str, Point], ...]  # points, each with its key
Done = tuple[str, Row]
Content = tuple[str, str]  # a path, and a hash of what is there
Read = tuple[str, str, bool]  # the same of a model, and whether it may have unknown operators

_LAYOUT = re.compile(r"^core\.isa$|^cache\.|\.(size|base|aliases|attribute|device|data_lines|data_ways|unified)$")
"""Machine keys that may change which accesses get past the caches, or where anything lies."""
_ASLEEP = {option.name for option in REPEATED}  # no cycle depends on them
_run_cache = RunCache()
_one_at_a_time = Lock()  # a Dask worker may have several threads


@dataclass(frozen=True, slots=True)
class SharedWork:
    """What all points of a sweep share: the columns of inputs; of models, machines and kernels by name the path and a
    hash of what is there; the hash of mcusim itself. Another computer may have others. ``allow_unknown`` and ``costs``
    are about operators that mcusim does not know. ``repeats``: many points differ in timing alone. ``named``: the study
    names the kernels. ``plug_ins`` are policies from outside the package."""

    inputs: tuple[str, ...]
    models: Mapping[str, Content]
    machines: Mapping[str, Content]
    kernels: Mapping[str, Content]
    code: str
    allow_unknown: bool = False
    costs: Costs = ()
    repeats: bool = False
    named: bool = True
    plug_ins: tuple[PlugIn, ...] = ()


def perform(work: SharedWork, batch: Batch) -> list[Done]:
    """The rows of ``batch``: outputs alone, each with its ``status`` and ``error``. Never raises for a point.

    Raises UsageError when this process has another mcusim than the one that asks, or has not the same files.
    """
    if work.code != mcusim_sha256():
        raise UsageError("a worker has another mcusim than this one: install the same version there, and restart it")
    remember(work.plug_ins)
    with _one_at_a_time, KEPT_RUNS.recording_first(work.repeats):
        return [(key, _row(work, dict(zip(work.inputs, point, strict=True)))) for key, point in batch]


def failed(error: str) -> Row:
    """The row of a point that could not be computed."""
    return {"status": "error", "error": error[:1000]}


def forget() -> None:
    """Make this process compute again what it did before."""
    _run_cache.forget()
    _planned.cache_clear()


def shares(work: SharedWork, point: Point) -> tuple[Any, ...]:
    """Points for which this is equal have one run, which the process that has one of them keeps."""
    inputs: dict[str, Any] = dict(zip(work.inputs, point, strict=True))
    keys = [(key, repr(value)) for key, value in _machine_keys(inputs).items() if not key.startswith("power.")]
    taken = [key for key in inputs if key in OPTIONS and key not in _ASLEEP and _has_effect(key, inputs)]
    options = [repr(inputs[key]) for key in taken]
    return (*(inputs[name] for name in BASE), *options, *keys)


def shares_accesses(work: SharedWork, point: Point) -> tuple[Any, ...]:
    """Points for which this is equal differ in timing, if at all: a process that has one of them keeps its plan, and
    after two of them what gets past the caches."""
    inputs: dict[str, Any] = dict(zip(work.inputs, point, strict=True))
    keys = [(key, repr(value)) for key, value in _machine_keys(inputs).items() if _LAYOUT.search(key)]
    options = [repr(inputs[key]) for key in inputs if key in OPTIONS and key not in _ASLEEP]
    return (*(inputs[name] for name in BASE), *options, *keys)


def _row(work: SharedWork, inputs: Mapping[str, Any]) -> Row:
    _require_files(work, inputs)
    try:
        return _outputs(work, inputs)
    except McusimError as error:
        text = str(error)
        for what, files in (("machine", work.machines), ("model", work.models)):  # the same wherever the study lies
            text = text.replace(files[inputs[what]][0], inputs[what])
        return failed(text)
    except Exception as error:  # a defect of mcusim costs one row, not the sweep
        return failed(f"mcusim failed: {type(error).__name__}: {error}")


def _require_files(work: SharedWork, inputs: Mapping[str, Any]) -> None:
    """They were read where the sweep was started: that they cannot be here is not the point's fault."""
    try:
        graph_of(*work.models[inputs["model"]], work.allow_unknown)
        machine_of(*work.machines[inputs["machine"]])
        kernels_of(*work.kernels[inputs["kernels"]], inputs["fidelity"])
    except InputError as error:
        raise UsageError(f"a process of the sweep does not have its files: {error}") from None


def _outputs(work: SharedWork, inputs: Mapping[str, Any]) -> Row:
    machine, chosen = _machine(work, inputs), _settings(work, inputs)
    model, kernels = (*work.models[inputs["model"]], work.allow_unknown), work.kernels[inputs["kernels"]]
    kind = (model, kernels, chosen, PlanView(machine), work.plug_ins)
    played = _run_cache.find(kind, machine)
    if played is None:
        names, played = _played(model, kernels, machine, chosen, work.plug_ins)
        _run_cache.keep(kind, machine, names, played)
    clocks = clock_columns(machine) if set(CLOCKS) & inputs.keys() else {}
    if played.usage is None:
        return {**played.row, **clocks}
    energy = delivered(machine, played.usage)
    of_run = {name: getattr(energy, name) for name in ("latency_ms", "energy_mj", "supply_current_ma")}
    assert played.situation is not None
    interval = expected(on_machine(played.situation, machine, played.deviation), machine, energy)
    within = dict(zip(INTERVAL, (*interval.latency_ms, *interval.energy_mj), strict=True))
    return {**played.row, **clocks, **of_run, **within, **_period(machine, played.usage, inputs)}


def _period(machine: Machine, used: Usage, inputs: Mapping[str, Any]) -> Row:
    """What each period takes, where one is asked for; nothing of a period that is not met."""
    if inputs.get("period") is None:
        return dict.fromkeys(PERIOD) if "period" in inputs else {}
    chosen = (option.parse_or_default(inputs.get(option.name)) for option in (SLEEP, DOMAIN))
    asked = Period.of(inputs["period"], None, *chosen)
    assert asked is not None  # there is one
    result = duty(machine, used, asked)
    return dict(zip(PERIOD, (result.energy_mj, result.mean_power_mw, result.sleep_current_ma), strict=True))


def _played(
    model: Read, kernels: Content, machine: Machine, chosen: Settings, plug_ins: tuple[PlugIn, ...]
) -> tuple[Collection[str], Played]:
    """What the run of a point depends on, and the run."""
    graph = graph_of(*model)
    row: Row = {"status": "ok", "error": None, "macs": _macs(model)}
    try:
        if chosen.policy in takers(BUFFER_SIZES.name) and chosen.options[BUFFER_SIZES] == "best":
            best = best_plan(graph, machine, chosen, chosen.kernels.for_planning(chosen.fidelity))
        else:
            best = BestPlan(_planned(model, kernels, chosen, PlanView(machine), plug_ins))
    except DoesNotFit as reason:
        return all_keys(machine), _negative(row, reason)
    run = run_or_reason(RunRequest(chosen, graph, best.program), machine, best.run)
    if not isinstance(run, Run):
        return all_keys(machine), _negative(row, run)
    row |= {"cycles": run.cycles, "peak_sram_bytes": peak_on_chip(run.header, machine)}
    row |= {f"peak_{region}": count for region, count in sorted(run.header.peak_bytes.items())}
    unknown = left_out(run.header)
    row |= {"left_out": ", ".join(unknown)} if unknown else {}
    row |= {f"cycles_{cause}": run.by_cause[cause] for cause in CAUSES}
    deviation = differs_from_published(run.header, machine, chosen.run)
    own = features_of(chosen, best.program, machine, run)
    played = Played(row, own, usage(run, machine), deviation)
    if chosen.fidelity == "emulate":
        return all_keys(machine), played
    return keys_run_read(run, machine, code_address(machine, chosen.run[CODE])), played


def _negative(row: Row, reason: DoesNotFit | KernelFault) -> Played:
    status = "does-not-fit" if isinstance(reason, DoesNotFit) else "fault"
    return Played(row | {"status": status, "error": str(reason)})


@lru_cache(maxsize=64)
def _macs(model: Read) -> int:
    from mcusim.model import graph_macs

    return graph_macs(graph_of(*model))


@lru_cache(maxsize=8)
def _planned(
    model: Read, kernels: Content, chosen: Settings, layout: PlanView, plug_ins: tuple[PlugIn, ...]
) -> Program:
    """``plug_ins`` are those that it may depend on: files may have changed since another plan."""
    planned = chosen.kernels.for_planning(chosen.fidelity)
    return plan(graph_of(*model), layout.machine, chosen.policy, kernels=planned, options=chosen.options)


def _machine(work: SharedWork, inputs: Mapping[str, Any]) -> Machine:
    """The machine with all its keys set, also those that it has so: what the file leaves to a default follows others.

    When nothing else comes of it, it is the one that was measured.
    """
    machine, keys = machine_of(*work.machines[inputs["machine"]]), _machine_keys(inputs)
    if not keys:
        return machine
    changed = replace_all(machine, keys)
    return machine if replace(changed, figures=machine.figures, changes=machine.changes) == machine else changed


def _machine_keys(inputs: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in inputs.items() if key not in BASE and key not in OPTIONS}
    return {MACHINE_OPTIONS.get(key, key): value for key, value in fields.items()}


def _has_effect(option: str, inputs: Mapping[str, Any]) -> bool:
    """Whether policy and runtime take the option, and what it is part of is there; rows of those that do not are the
    same for all its values."""
    whole, runtime = OPTIONS[option].part_of, find_runtime(RUNTIME.parse_or_default(inputs.get(RUNTIME.name)))
    there = whole is None or whole not in inputs or inputs[whole] not in (None, AUTO)
    if option == PATCH_MACS.name:  # a limit of what is looked for
        there = inputs.get(PATCHES.name) == AUTO
    return there and inputs["policy"] in takers(option) and not without_effect(runtime, [option])


def _settings(work: SharedWork, inputs: Mapping[str, Any]) -> Settings:
    arguments = {key: value for key, value in inputs.items() if key in OPTIONS and _has_effect(key, inputs)}
    if inputs["policy"] in takers(BUFFER_SIZES.name):  # a sweep shows what each budget does
        arguments.setdefault(BUFFER_SIZES.name, "largest")
    kernels = kernels_of(*work.kernels[inputs["kernels"]], inputs["fidelity"])
    return settings(
        inputs["policy"],
        replace(kernels, named=work.named),
        *split({name: value for name, value in arguments.items() if name not in _ASLEEP}),
        fidelity=inputs["fidelity"],
        costs=dict(work.costs),
    )
