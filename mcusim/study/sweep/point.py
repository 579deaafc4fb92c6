"""One point of a study to one row: what every process of a sweep does.

Points of one process share what they can: the model, the plan of machines that differ in timing alone, and the run of
machines that differ in ``power`` alone, since energy is computed from the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Any

from mcusim.errors import DoesNotFit, InputError, KernelFault, McusimError, UsageError
from mcusim.machine import load_machine, replace_all
from mcusim.machine.description import Machine, Tcm
from mcusim.model.graph import Graph
from mcusim.plan import TAKEN_BY, plan
from mcusim.plan.program import Program
from mcusim.report.energy import Usage, delivered, usage
from mcusim.report.result import sram_bytes
from mcusim.study.confidence import confidence
from mcusim.study.kernel_choice import profile_for, set_for, shipped_name
from mcusim.study.play import play
from mcusim.study.settings import Execution, Settings, settings
from mcusim.study.sweep.points import Point
from mcusim.study.sweep.study import BASE, CAUSES
from mcusim.study.sweep.values import OPTIONS
from mcusim.study.validation_cache import code_sha256

__all__ = ["Batch", "Done", "Row", "Work", "failed", "forget", "perform", "shares"]

Row = dict[str, Any]
Batch = tuple[tuple[str, Point], ...]  # points, each with its key
Done = tuple[str, Row]

_one_at_a_time = Lock()  # a Dask worker may have several threads


@dataclass(frozen=True, slots=True)
class Work:
    """What all points of a sweep share: the columns of inputs; the files of models, machines and kernels by name; the
    sha256 of each model and of mcusim's code, which another computer's may not have."""

    inputs: tuple[str, ...]
    paths: tuple[tuple[str, str], ...]
    models: tuple[tuple[str, str], ...]
    code: str

    def path(self, name: str) -> str:
        """The file of a model, machine or kernels."""
        return dict(self.paths)[name]


@dataclass(frozen=True, slots=True)
class _Played:
    """What a row needs of a run, whatever the power table: a verdict's ``row``, or outputs and their ``usage``."""

    row: Row
    kernels: str = ""
    usage: Usage | None = None


def perform(work: Work, batch: Batch) -> list[Done]:
    """The rows of ``batch``: outputs alone, each with its ``status`` and ``error``. Never raises for a point.

    Raises UsageError when this process has another mcusim than the one that asks.
    """
    if work.code != code_sha256():
        raise UsageError("a worker has another mcusim than this one: install the same version there, and start it anew")
    with _one_at_a_time:
        return [(key, _row(work, dict(zip(work.inputs, point, strict=True)))) for key, point in batch]


def failed(error: str) -> Row:
    """The row of a point that could not be computed."""
    return {"status": "error", "error": error[:1000]}


def forget() -> None:
    """Make this process compute again what it did before."""
    _played.cache_clear()


def shares(work: Work, point: Point) -> tuple[Any, ...]:
    """Points for which this is equal have one run, which the process that has one of them keeps."""
    inputs: dict[str, Any] = dict(zip(work.inputs, point, strict=True))
    keys = [(key, repr(value)) for key, value in _machine_keys(inputs).items() if not key.startswith("power.")]
    options = [repr(value) for key, value in inputs.items() if key in OPTIONS and _has_effect(key, inputs["policy"])]
    return (*(inputs[name] for name in BASE), *options, *keys)


def _row(work: Work, inputs: Mapping[str, Any]) -> Row:
    try:
        return _outputs(work, inputs)
    except McusimError as error:
        return failed(str(error))
    except Exception as error:  # a defect of mcusim costs one row, not the sweep
        return failed(f"mcusim failed: {type(error).__name__}: {error}")


def _outputs(work: Work, inputs: Mapping[str, Any]) -> Row:
    machine = _machine(work, inputs)
    played = _played(work, shares(work, tuple(inputs.values())), _Asked(inputs, machine))
    if played.usage is None:
        return dict(played.row)
    energy = delivered(machine, played.usage)
    of_run = {name: getattr(energy, name) for name in ("latency_ms", "energy_mj", "supply_current_ma")}
    believed = confidence(machine, played.kernels, inputs["policy"])
    return {**played.row, **of_run, "confidence": believed}


class _Asked:
    """The inputs and the machine of a point, beside the key that says what its run depends on."""

    def __init__(self, inputs: Mapping[str, Any], machine: Machine) -> None:
        self.inputs, self.machine = inputs, machine

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _played(work: Work, key: tuple[Any, ...], asked: _Asked) -> _Played:
    """The run of a point; equal ``key`` are equal runs, so ``asked`` does not count."""
    inputs, machine = asked.inputs, asked.machine
    chosen = _settings(work, inputs)
    graph = _graph(work.path(inputs["model"]))
    if graph.sha256 != dict(work.models)[inputs["model"]]:
        raise InputError(f"model {inputs['model']} is another one here than where the sweep was started")
    from mcusim.model import graph_macs

    row: Row = {"status": "ok", "error": None, "macs": graph_macs(graph)}
    try:
        program = _planned(work.path(inputs["model"]), chosen, _Layout(machine))
        result = play(program, machine, chosen, graph)
    except (DoesNotFit, KernelFault) as reason:
        status = "does-not-fit" if isinstance(reason, DoesNotFit) else "fault"
        return _Played(row | {"status": status, "error": str(reason)})
    assert result.run is not None
    row |= {"cycles": result.run.cycles, "peak_sram_bytes": sram_bytes(result)}
    row |= {f"peak_{region}": count for region, count in sorted(result.run.header.peak_bytes.items())}
    row |= {f"cycles_{cause}": result.run.by_cause[cause] for cause in CAUSES}
    return _Played(row, shipped_name(chosen.kernels, result.kernels), usage(result.run, machine))


class _Layout:
    """A machine as a plan sees it: equal when the plans are, whatever takes how long.

    That is all of :mod:`mcusim.plan`: names, the regions without their devices, lines of the data cache, what the DMA
    can move at once.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine, cache = machine, machine.data_cache
        regions = tuple(replace(region, device=Tcm()) for region in machine.memory.values())
        dma = tuple((one.name, one.streams, one.beat, one.max_units) for one in machine.dma.values())
        self._key = (machine.name, regions, None if cache is None else (cache.size, cache.line), dma)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Layout) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=8)
def _planned(model: str, chosen: Settings, layout: _Layout) -> Program:
    kernels = profile_for(chosen.kernels) if chosen.fidelity == "replay" else set_for(chosen.kernels)
    return plan(_graph(model), layout.machine, chosen.policy, kernels=kernels, options=chosen.options)


@lru_cache(maxsize=4)
def _graph(path: str) -> Graph:
    from mcusim.model import load_model

    return load_model(path)


@lru_cache(maxsize=32)
def _as_named(path: str) -> Machine:
    return load_machine(path)


def _machine(work: Work, inputs: Mapping[str, Any]) -> Machine:
    """The machine with its keys set; one that is set to what it is leaves the machine the one that was measured."""
    machine = _as_named(work.path(inputs["machine"]))
    keys = {key: value for key, value in _machine_keys(inputs).items() if not _is(machine, key, value)}
    return replace_all(machine, keys) if keys else machine


def _machine_keys(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in inputs.items() if key not in BASE and key not in OPTIONS}


def _is(machine: Machine, key: str, value: object) -> bool:
    return key in machine.figures and machine.figures[key].text == value


def _has_effect(option: str, policy: str) -> bool:
    """Whether the policy takes the option; rows of one that does not are the same for all its values."""
    takers = TAKEN_BY.get(option)
    return takers is None or policy in takers


def _settings(work: Work, inputs: Mapping[str, Any]) -> Settings:
    given = {key: value for key, value in inputs.items() if key in OPTIONS and _has_effect(key, inputs["policy"])}
    overlay = given.get("overlay")
    return settings(
        inputs["policy"],
        work.path(inputs["kernels"]),
        given.get("sram_budget"),
        given.get("weights"),
        None if overlay is None else [] if overlay == "none" else overlay.split(","),
        inputs["fidelity"],
        Execution(given.get("code"), given.get("operator_overhead")),
        given.get("buffering"),
    )
