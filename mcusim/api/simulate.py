"""One model on one machine under one policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from mcusim.api.play import simulate_program
from mcusim.errors import DoesNotFit, KernelFault, ProgramError, UsageError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.machine.loader import replace_all
from mcusim.model.graph import Graph
from mcusim.plan import SRAM_BUDGET, plan
from mcusim.plan.policy_keywords import PolicyOptions
from mcusim.program import Program, read_program
from mcusim.program.opaque import opaque_types, refuse_opaque, refuse_recorded, require_known
from mcusim.program.program import Header
from mcusim.request.kernels import shipped_kernels
from mcusim.request.period import Period
from mcusim.request.settings import (
    Execution,
    MachineArg,
    ModelArg,
    RunRequest,
    Settings,
    base_settings,
    require_overrides,
    require_type,
    settings,
)
from mcusim.results import Result
from mcusim.results.flash import FlashUse, flash_use

__all__ = ["changed", "plan_program", "program_machine", "replay", "simulate", "simulate_row"]


def simulate(
    model: str | Path | Graph,
    machine: str | Path | Machine,
    policy: str = "internal",
    kernels: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    allow_unknown: bool = False,
    costs: Mapping[str, str] | None = None,
    fidelity: str = "replay",
    execution: Execution | None = None,
    period: str | None = None,
    battery: str | None = None,
    **options: Unpack[PolicyOptions],
) -> Result:
    """Plan ``model`` on ``machine`` and simulate the program.

    ``model`` is a path to a ``.tflite``, a zoo name or a graph; ``machine`` a name, a path to a TOML file or a machine;
    ``overrides`` sets machine keys (``{"core.clock": "200 MHz"}``). ``options`` are those of a plan, as ``weights`` or
    ``sram_budget`` (:class:`~mcusim.plan.policy_keywords.PolicyOptions`).
    ``allow_unknown`` leaves operators unknown to mcusim out of totals, but for ``costs`` (``{"OP": "12 cycles/B"}``).
    ``kernels`` names a profile or set. ``fidelity`` ``emulate`` runs the set on ``execution``'s inputs (or random).
    ``period`` (``"1 s"``) and ``battery`` (``"CR2032"``) are for ``Result.duty``. A model that does not fit, and a
    kernel that faults, are results. Raises :class:`~mcusim.errors.InputError` for what cannot be used.
    Not modelled: what its parts do not model; ``Result.assumptions`` has what it depends on.
    """
    require_type("model", model, ModelArg)
    require_type("machine", machine, MachineArg)
    require_overrides(overrides)
    chosen = settings(
        policy, kernels, options, fidelity=fidelity, execution=execution, costs=costs,
        period=Period.of(period, battery),
    )  # fmt: skip
    return simulate_row(_graph(model, allow_unknown, chosen), changed(machine, overrides), chosen)


def simulate_row(graph: Graph, machine: Machine, chosen: Settings) -> Result:
    """:func:`simulate` for a loaded graph and machine."""
    from mcusim.model import graph_macs

    program = None
    if chosen.fidelity == "emulate":
        refuse_opaque((op.type for op in graph.operators), graph.name)
    try:
        kernels = chosen.kernels.planned(chosen.fidelity)
        program = plan(graph, machine, chosen.policy, kernels=kernels, options=chosen.options)
        flash = _flash(graph, machine, chosen, program)
        if flash.over is not None:
            raise flash.over
        result = simulate_program(program, machine, chosen, graph)
    except (DoesNotFit, KernelFault) as reason:
        return Result(
            model=graph.name,
            machine=machine,
            policy=chosen.policy,
            kernels=chosen.kernels.name,
            fidelity=chosen.fidelity,
            macs=graph_macs(graph),
            does_not_fit=reason if isinstance(reason, DoesNotFit) else None,
            fault=reason if isinstance(reason, KernelFault) else None,
            sram_budget=chosen.options[SRAM_BUDGET],
            warnings=graph.warnings,
            flash=_flash(graph, machine, chosen, program),
            request=RunRequest(chosen, graph),
        )
    request = RunRequest(chosen, graph, program)
    return replace(result, sram_budget=chosen.options[SRAM_BUDGET], flash=flash, request=request)


def _flash(graph: Graph, machine: Machine, chosen: Settings, program: Program | None) -> FlashUse:
    """What flash keeps; where the weights are is known for sure once there is a program."""
    weights = chosen.options.weights if program is None else program.header.options.get("weights")
    kernels = chosen.kernels.planned(chosen.fidelity)
    return flash_use(graph, machine, kernels, weights, chosen.execution.code, chosen.options.runtime)


def plan_program(
    graph: Graph, machine: Machine, chosen: Settings, overrides: Mapping[str, str] | None = None
) -> Program:
    """The program that the policy writes for the kernels of ``chosen``, a profile or a set; raises DoesNotFit.

    ``overrides`` are the keys that were changed in ``machine``; the header keeps them for a replay.
    """
    program = plan(graph, machine, chosen.policy, kernels=chosen.kernels.planned(), options=chosen.options)
    if not overrides:
        return program
    options = {**program.header.options, "set": dict(sorted(overrides.items()))}
    return replace(program, header=replace(program.header, options=options))


def program_machine(program: Program, machine: str | Path | Machine | None, overrides: Mapping[str, str]) -> Machine:
    """The machine to simulate ``program`` on.

    ``machine``, when given, with ``overrides`` alone; else the shipped machine that the program was written for, with
    the keys that were changed for it and ``overrides`` on top. Raises MachineError, and ProgramError when the program
    was written for a machine that is not shipped: a program must not cause a file to be opened.
    """
    if machine is not None:
        return changed(machine, overrides)
    name = program.header.machine
    if name not in machine_names():
        raise ProgramError(
            f"the program was written for machine {name[:80]!r}, which is none of {', '.join(machine_names())}; "
            "name it, or its TOML file, with --machine"
        )
    return load_machine(name, {**program.header.options.get("set", {}), **overrides})


def replay(
    program: str | Path | Program,
    machine: str | Path | Machine | None = None,
    fidelity: str = "replay",
    kernels: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    model: str | Path | Graph | None = None,
    execution: Execution | None = None,
) -> Result:
    """Simulate a program, or that of a file, on a machine. ``model`` is needed by fidelity ``emulate`` alone, which
    runs it on real data.

    ``machine`` is by default the one that the program was written for, with the keys that were changed for it;
    ``overrides`` changes further ones, or these again.
    ``kernels`` is a shipped kernel cost profile's or set's name or a path; None is what the program names, which must
    be a shipped one: a program must not cause a file to be opened. Raises ProgramError for a program that the machine
    cannot run, that names other kernels or belongs to another model, UsageError for options that cannot be used.
    """
    if not isinstance(program, Program):
        require_type("program", program, ((str, Path, Program), "the path of a program or a Program"))
        program = read_program(Path(program))
    require_overrides(overrides)
    machine = program_machine(program, machine, overrides or {})
    named = _kernels(program.header, fidelity, kernels, execution)
    if fidelity == "emulate":
        refuse_opaque((op.type for op in program.header.operators), program.header.model)
    chosen = base_settings(named, fidelity=fidelity, policy=program.header.policy, execution=execution)
    if (model is None) is (fidelity == "emulate"):
        raise UsageError(
            "--model is for fidelity emulate, which runs the program on the model's data"
            if model is not None
            else "fidelity emulate runs the kernels on the model's data: name the model with --model"
        )
    graph = None if model is None else _graph(model, False, chosen)
    try:
        result = simulate_program(program, machine, chosen, graph)
    except (DoesNotFit, KernelFault) as reason:
        return _negative(program, machine, chosen, reason)
    return replace(result, request=RunRequest(chosen, graph, program, given=True))


def _kernels(header: Header, fidelity: str, kernels: str | None, execution: Execution | None) -> str | None:
    """The kernels to replay with; raises UsageError for what a program without kernels cannot be asked for."""
    if not header.recorded:
        return shipped_kernels(header.kernels) if kernels is None else kernels
    asked = execution or Execution()
    refused = {
        "fidelity emulate": fidelity == "emulate",
        "--kernels": kernels is not None,
        "the interpreter's cycles or code": asked.overhead is not None or asked.code is not None,
        "--invocations": asked.invocations > 1,
    }
    for what in (name for name, given in refused.items() if given):
        refuse_recorded(header, what)
    return None


def _negative(program: Program, machine: Machine, chosen: Settings, reason: DoesNotFit | KernelFault) -> Result:
    header = program.header
    return Result(
        model=header.model,
        machine=machine,
        policy=header.policy,
        kernels=chosen.kernels.name,
        fidelity=chosen.fidelity,
        macs=sum(operator.macs for operator in header.operators),
        does_not_fit=reason if isinstance(reason, DoesNotFit) else None,
        fault=reason if isinstance(reason, KernelFault) else None,
        warnings=header.warnings,
    )


def _graph(model: str | Path | Graph, allow_unknown: bool, chosen: Settings) -> Graph:
    """The model; raises UsageError for a cost of an operator that it does not have."""
    from mcusim.model import load_model

    graph = model if isinstance(model, Graph) else load_model(model, allow_unknown)
    require_known(opaque_types(op.type for op in graph.operators), chosen.options.costs)
    return graph


def changed(machine: str | Path | Machine, overrides: Mapping[str, str] | None) -> Machine:
    """The machine with ``overrides`` applied, all at once. Raises MachineError."""
    if not isinstance(machine, Machine):
        return load_machine(machine, overrides)
    return replace_all(machine, overrides) if overrides else machine
