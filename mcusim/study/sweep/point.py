"""One point of a study to one row: what every process of a sweep does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcusim.errors import DoesNotFit, InputError, McusimError
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.report import Result
from mcusim.report.result import sram_bytes
from mcusim.study.settings import Execution, Settings, settings
from mcusim.study.simulate import changed, simulate_row
from mcusim.study.sweep.points import Point
from mcusim.study.sweep.study import BASE, CAUSES
from mcusim.study.sweep.values import OPTIONS

__all__ = ["Batch", "Done", "Row", "Work", "perform"]

Row = dict[str, Any]
Batch = tuple[tuple[str, Point], ...]  # points, each with its key
Done = tuple[str, Row]


@dataclass(frozen=True, slots=True)
class Work:
    """What all points of a sweep share: the columns of inputs, the files of models, machines and kernels by name, and
    the sha256 of each model, which another computer's file may not have."""

    inputs: tuple[str, ...]
    paths: tuple[tuple[str, str], ...]
    models: tuple[tuple[str, str], ...]


def perform(work: Work, batch: Batch) -> list[Done]:
    """The rows of ``batch``: outputs alone, each with its ``status`` and ``error``. Never raises for a point."""
    return [(key, _row(work, dict(zip(work.inputs, point, strict=True)))) for key, point in batch]


def _row(work: Work, point: Mapping[str, Any]) -> Row:
    try:
        return _outputs(_result(work, point))
    except (InputError, McusimError) as error:
        return {"status": "error", "error": str(error)}
    except Exception as error:  # a defect of mcusim costs one row, not the sweep
        return {"status": "error", "error": f"mcusim failed: {type(error).__name__}: {error}"[:500]}


def _result(work: Work, point: Mapping[str, Any]) -> Result:
    paths = dict(work.paths)
    shipped = _machine(paths[point["machine"]])
    keys = {key: value for key, value in point.items() if key not in BASE and key not in OPTIONS}
    # a key that is set to what it is leaves the machine the one that was measured
    machine = changed(shipped, {key: value for key, value in keys.items() if not _is(shipped, key, value)})
    graph = _graph(paths[point["model"]])
    wanted = dict(work.models)[point["model"]]
    if graph.sha256 != wanted:
        raise InputError(f"model {point['model']} is another one here than where the sweep was started")
    return simulate_row(graph, machine, _settings(point, paths))


def _is(machine: Machine, key: str, value: object) -> bool:
    return key in machine.figures and machine.figures[key].text == value


def _settings(point: Mapping[str, Any], paths: Mapping[str, str]) -> Settings:
    policy, overlay, budget = point["policy"], point.get("overlay"), point.get("sram_budget")
    copied = None if overlay is None else [] if overlay == "none" else overlay.split(",")
    return settings(
        policy,
        paths[point["kernels"]],
        budget if policy != "external" else None,  # which takes none: its rows are the same for all
        point.get("weights"),
        copied if policy == "tinyops" else None,
        point["fidelity"],
        Execution(point.get("code"), point.get("operator_overhead")),
        point.get("buffering") if policy == "tinyops" else None,
    )


@lru_cache(maxsize=4)
def _graph(path: str) -> Graph:
    from mcusim.model import load_model

    return load_model(path)


@lru_cache(maxsize=32)
def _machine(path: str) -> Machine:
    return load_machine(path)


def _outputs(result: Result) -> Row:
    row: Row = {"status": "ok", "error": None, "macs": result.macs}
    if result.run is None or result.energy is None:
        status = "does-not-fit" if isinstance(result.negative, DoesNotFit) else "fault"
        return row | {"status": status, "error": str(result.negative)}
    run, energy = result.run, result.energy
    row |= {"cycles": run.cycles, "latency_ms": energy.latency_ms, "energy_mj": energy.energy_mj}
    row |= {"supply_current_ma": energy.supply_current_ma, "peak_sram_bytes": sram_bytes(result)}
    row |= {f"peak_{region}": count for region, count in run.header.peak_bytes.items()}
    row |= {f"cycles_{cause}": run.by_cause[cause] for cause in CAUSES}
    return row | {"confidence": result.confidence}
