"""What a result was made of: the block ``made`` of its JSON and its page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.kernels.identity import kernels_sha256
from mcusim.machine.description import Machine
from mcusim.machine.identity import figures_json, machine_plug_ins, machine_sha256
from mcusim.plug_ins import find_known
from mcusim.provenance import Made, made
from mcusim.results.memory_plan import MemoryPlan
from mcusim.results.result import Result, model_sha256, to_json
from mcusim.run_config.command_line import run_command, settings_options
from mcusim.run_config.input_tensors import SEED
from mcusim.run_config.settings import Settings


def result_made(result: Result) -> Made:
    """Of one result. A network with random weights has its name as their seed; the command of a result that was made in
    Python is the one that gives it by the command line, None where there is none: of inputs from arrays, of a program
    that was given.
    """
    request = result.request
    chosen = None if request is None else request.settings
    return made(
        _seeds(result, chosen),
        model_sha256(result),
        machine_sha256(result.machine),
        () if chosen is None else _plug_ins(chosen, result.machine),
        None if chosen is None or request is None or request.given else _command(result, chosen),
    )


def rows_made(results: Sequence[Result]) -> Made:
    """Of several results: hashes by the names of models and machines, of models that are known."""
    models = {result.model: sha256 for result in results if (sha256 := model_sha256(result))}
    machines = {result.machine.name: machine_sha256(result.machine) for result in results}
    chosen = [(result.request.settings, result.machine) for result in results if result.request is not None]
    unlike = {(each.kernels.name, each.policy, each.options.runtime.name, on.name): (each, on) for each, on in chosen}
    plug_ins = {
        tuple(plug_in.values()): plug_in for settings, on in unlike.values() for plug_in in _plug_ins(settings, on)
    }
    drawn = [result.model for result in results if result.run is not None and result.run.header.random_weights]
    seeds = {"weights": ", ".join(dict.fromkeys(drawn))} if drawn else {}
    return made(seeds, models, machines, tuple(plug_ins.values()))


def plan_made(plan: MemoryPlan) -> Made:
    """Of a memory plan, without the command in Python."""
    machine = None if plan.machine is None else machine_sha256(plan.machine)
    return made(model_sha256=plan.graph.sha256, machine_sha256=machine)


def run_json(result: Result) -> dict[str, Any]:
    """The JSON of ``mcusim run``: :func:`to_json`, the figures of the machine, and what made it."""
    figures = figures_json(result.machine)
    return {**to_json(result), "machine_figures": figures, "made": result_made(result).to_json()}


def _seeds(result: Result, chosen: Settings | None) -> dict[str, int | str]:
    seeds: dict[str, int | str] = {}
    if result.run is not None and result.run.header.random_weights:
        seeds["weights"] = result.model
    if chosen is not None and chosen.fidelity == "emulate" and chosen.inputs is None:
        seeds["inputs"] = SEED
    return seeds


def _plug_ins(chosen: Settings, machine: Machine) -> list[dict[str, str]]:
    name = chosen.kernels.name
    kernels = [] if chosen.kernels.shipped else [{"kind": "kernels", "name": name, "sha256": kernels_sha256(name)}]
    outside = (find_known("policy", chosen.policy), find_known("runtime", chosen.options.runtime.name))
    loaded = [*filter(None, outside), *machine_plug_ins(machine)]
    return [*kernels, *(plug_in.to_json() for plug_in in loaded)]


def _command(result: Result, chosen: Settings) -> str | None:
    if chosen.inputs is not None:
        return None
    machine = result.machine
    named = machine.path or machine.name
    return run_command(result.model, settings_options(named, machine.changes, chosen))
