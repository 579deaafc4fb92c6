"""One model on one machine under one policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcusim.errors import DoesNotFit, ProgramError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import OVERLAYS, PlanOptions, plan, require_effect
from mcusim.report import Result, assumptions, energy
from mcusim.study.published import measured
from mcusim.units import parse_size

if TYPE_CHECKING:
    from mcusim.plan.program import Program

__all__ = [
    "DEFAULT_KERNELS",
    "Settings",
    "base_settings",
    "plan_program",
    "program_machine",
    "replay",
    "settings",
    "simulate",
    "simulate_row",
]

DEFAULT_KERNELS = "cmsis-2021-gcc9"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a row is computed with, besides model and machine."""

    policy: str = "internal"
    kernels: str = DEFAULT_KERNELS
    options: PlanOptions = field(default_factory=PlanOptions)
    fidelity: str = "replay"


def simulate(
    model: str | Path | Graph,
    machine: str | Path | Machine,
    policy: str = "internal",
    kernels: str = DEFAULT_KERNELS,
    *,
    overrides: Mapping[str, str] | None = None,
    sram_budget: int | str | None = None,
    weights: str | None = None,
    overlay: Iterable[str] | None = None,
    allow_unknown: bool = False,
    fidelity: str = "replay",
) -> Result:
    """Plan ``model`` on ``machine`` and play the program.

    ``model`` is a path to a ``.tflite``, a zoo name or a graph; ``machine`` a name, a path to a TOML file or a machine;
    ``overrides`` sets machine keys (``{"core.clock": "200 MHz"}``) with the checks of the file. ``sram_budget`` is in
    bytes or text with a unit (``"256 KiB"``); ``weights`` names the region the weights are read from; ``overlay`` is
    what ``tinyops`` copies by DMA, some of ``input``, ``filter``, ``bias``, ``quant``.

    A model that does not fit is a result (``fits`` is false). Raises :class:`~mcusim.errors.InputError` for a model,
    machine, key or option that cannot be used.

    Leaves out what its parts leave out; ``Result.assumptions`` lists the figures it rests on.
    """
    chosen = settings(policy, kernels, sram_budget, weights, overlay, fidelity)
    return simulate_row(_graph(model, allow_unknown), _machine(machine, overrides or {}), chosen)


def settings(
    policy: str,
    kernels: str,
    sram_budget: int | str | None,
    weights: str | None,
    overlay: Iterable[str] | None,
    fidelity: str,
) -> Settings:
    """The options of :func:`simulate`, parsed; raises UnitError or UsageError, also for an option without effect."""
    overlays = None if overlay is None else list(overlay)
    found = base_settings(kernels, sram_budget, weights, overlays, fidelity, policy)
    require_effect([policy], sram_budget, overlays)
    return found


def base_settings(
    kernels: str,
    sram_budget: int | str | None,
    weights: str | None,
    overlay: Iterable[str] | None,
    fidelity: str,
    policy: str = "internal",
) -> Settings:
    """:func:`settings` for several policies, which may each take other options."""
    budget = parse_size(sram_budget) if isinstance(sram_budget, str) else sram_budget
    copied = frozenset(OVERLAYS if overlay is None else overlay)
    return Settings(policy, kernels, PlanOptions(budget, weights, copied), fidelity)


def simulate_row(graph: Graph, machine: Machine, chosen: Settings) -> Result:
    """:func:`simulate` for a loaded graph and machine, with the published figures of that combination."""
    from mcusim.model import graph_macs

    try:
        program = plan_program(graph, machine, chosen)
    except DoesNotFit as reason:
        return Result(
            model=graph.name,
            machine=machine,
            policy=chosen.policy,
            kernels=chosen.kernels,
            fidelity=chosen.fidelity,
            macs=graph_macs(graph),
            does_not_fit=reason,
            sram_budget=chosen.options.sram_budget,
            warnings=graph.warnings,
            measured=measured(graph.name, machine.name, chosen.policy),
        )
    result = replay(program, machine, chosen.fidelity, chosen.kernels)
    return replace(result, sram_budget=chosen.options.sram_budget)


def plan_program(
    graph: Graph, machine: Machine, chosen: Settings, overrides: Mapping[str, str] | None = None
) -> Program:
    """The program that the policy writes; raises DoesNotFit.

    ``overrides`` are the keys that were changed in ``machine``; the header keeps them for a replay.
    """
    from mcusim.kernels import load_profile

    program = plan(graph, machine, chosen.policy, kernels=load_profile(chosen.kernels), options=chosen.options)
    if not overrides:
        return program
    options = {**program.header.options, "set": dict(sorted(overrides.items()))}
    return replace(program, header=replace(program.header, options=options))


def program_machine(program: Program, machine: str | Path | None, overrides: Mapping[str, str]) -> Machine:
    """The machine to play ``program`` on.

    ``machine``, when given, with ``overrides`` alone; else the shipped machine that the program was written for, with
    the keys that were changed for it and ``overrides`` on top. Raises MachineError, and ProgramError when the program
    was written for a machine that is not shipped: a program does not make anybody open a file.
    """
    if machine is not None:
        return load_machine(machine, overrides)
    name = program.header.machine
    if name not in machine_names():
        raise ProgramError(
            f"the program was written for machine {name[:80]!r}, which is none of {', '.join(machine_names())}; "
            "name it, or its TOML file, with --machine"
        )
    return load_machine(name, {**program.header.options.get("set", {}), **overrides})


def replay(program: Program, machine: Machine, fidelity: str = "replay", kernels: str | None = None) -> Result:
    """Play a program on a machine; the model is not needed.

    ``kernels`` is a shipped kernel cost profile's name or a path; None is the profile that the program names, which
    must be a shipped one: a program does not make anybody open a file. Raises ProgramError for a program that the
    machine cannot play or that names another profile, UsageError for ``kernels`` that cannot be used.
    """
    from mcusim.engine import execute
    from mcusim.kernels import load_profile

    header = program.header
    profile = load_profile(_shipped_kernels(header.kernels) if kernels is None else kernels)
    run = execute(program, machine, profile, fidelity)
    return Result(
        model=header.model,
        machine=machine,
        policy=header.policy,
        kernels=profile.name,
        fidelity=fidelity,
        macs=sum(operator.macs for operator in header.operators),
        run=run,
        energy=energy(run, machine),
        assumptions=assumptions(run, machine),
        warnings=header.warnings,
        sram_budget=header.options.get("sram_budget"),
        measured=measured(header.model, machine.name, header.policy),
    )


def _shipped_kernels(name: str) -> str:
    from mcusim.kernels import profile_names

    known = profile_names()
    if name not in known:
        raise ProgramError(
            f"the program was written for kernel profile {name[:80]!r}, which is none of {', '.join(known)}; "
            "name its file with --kernels"
        )
    return name


def _graph(model: str | Path | Graph, allow_unknown: bool) -> Graph:
    if isinstance(model, Graph):
        return model
    from mcusim.model import load_model

    return load_model(model, allow_unknown)


def _machine(machine: str | Path | Machine, overrides: Mapping[str, str]) -> Machine:
    if not isinstance(machine, Machine):
        return load_machine(machine, overrides)
    for key, value in overrides.items():
        machine = machine.replace(key, value)
    return machine
