"""One model on one machine under one policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from mcusim.api.best_plan import best_plan
from mcusim.api.other_code import with_other_code
from mcusim.api.run_program import result_of, simulate_program
from mcusim.errors import DoesNotFit, ProgramError, UsageError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.machine.loader import replace_all
from mcusim.model.graph import Graph
from mcusim.plan.array_choice import resolve_options
from mcusim.plan.options import TENSOR_REGIONS, WEIGHTS, recorded_options
from mcusim.program import Program, read_program
from mcusim.program.program import Header
from mcusim.program.unknown_operators import opaque_types, refuse_opaque, refuse_recorded, require_known
from mcusim.results import Result
from mcusim.results.flash import FlashUse, flash_use
from mcusim.run_config.film_window import FilmWindow
from mcusim.run_config.input_tensors import Input
from mcusim.run_config.kernel_choice import CHANGED, default_kernels, shipped_kernels, shipped_names
from mcusim.run_config.run_options import CODE, EXECUTION, RUN, ExecutionKeywords, RunKeywords, documented
from mcusim.run_config.settings import (
    MachineArg,
    ModelArg,
    RunRequest,
    Settings,
    base_settings,
    require_declared,
    require_overrides,
    require_type,
    settings,
    split,
)
from mcusim.runtime.runtime import recorded_runtime


@documented(*RUN)
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
    input: Input | Sequence[Input] | None = None,
    max_instructions: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    observe: Callable[[int, list[Any]], object] | None = None,
    film: str | FilmWindow | None = None,
    **options: Unpack[RunKeywords],
) -> Result:
    """Plan ``model`` on ``machine`` and simulate the program.

    ``model`` is a path to a ``.tflite``, a zoo name or a graph; ``machine`` a name, a path to a TOML file or a machine;
    ``overrides`` sets machine keys (``{"core.clock": "200 MHz"}``).
    ``allow_unknown`` leaves operators unknown to mcusim out of totals, but for ``costs`` (``{"OP": "12 cycles/B"}``).
    ``kernels`` names a profile or set. ``fidelity`` ``emulate`` runs the set on ``input``, ``.npy`` files or arrays (by
    default random values), ends a kernel call after ``max_instructions``, calls ``progress`` with the MACs done and all
    there are, and ``observe`` with each operator's index and outputs. ``film``: a window (``"2 ms to 3 ms"``) of which
    ``Result.film`` shows caches and rows, access by access. ``options`` are those of a plan and of a run, as
    ``weights`` or ``invocations``: ``help(mcusim.simulate)`` and `mcusim run --help` list them.

    A model that does not fit, and a kernel that faults, are results. Raises :class:`~mcusim.errors.InputError` for what
    cannot be used.
    Not modelled: what its parts do not model; ``Result.assumptions`` has what it depends on.
    """
    require_type("model", model, ModelArg)
    require_type("machine", machine, MachineArg)
    require_overrides(overrides)
    chosen = settings(
        policy, kernels, *split(options), fidelity=fidelity, costs=costs, inputs=input,
        most_instructions=max_instructions, progress=progress, observe=observe, film=film,
    )  # fmt: skip
    return with_other_code(simulate_loaded(_graph(model, allow_unknown, chosen), changed(machine, overrides), chosen))


def simulate_loaded(graph: Graph, machine: Machine, chosen: Settings) -> Result:
    """:func:`simulate` for a loaded graph and machine."""
    if chosen.fidelity == "emulate":
        refuse_opaque((op.type for op in graph.operators), graph.name)
    chosen = replace(chosen, options=resolve_options(chosen.options, graph, chosen.policy))
    request = RunRequest(chosen, graph)
    try:
        kernels = chosen.kernels.for_planning(chosen.fidelity)
        best = best_plan(graph, machine, chosen, kernels)
    except DoesNotFit as reason:
        return result_of(request, machine, reason, _flash(graph, machine, chosen, None))
    flash, request = _flash(graph, machine, chosen, best.program), replace(request, program=best.program)
    if flash.over is not None:
        return result_of(request, machine, flash.over, flash)
    return simulate_program(request, machine, flash, best.run)


def _flash(graph: Graph, machine: Machine, chosen: Settings, program: Program | None) -> FlashUse:
    """What flash keeps; where the weights are is known for sure once there is a program."""
    weights = chosen.options[WEIGHTS] if program is None else program.header.options.get("weights")
    kernels, homes = chosen.kernels.for_planning(chosen.fidelity), chosen.options[TENSOR_REGIONS]
    return flash_use(graph, machine, kernels, weights, chosen.run[CODE], chosen.options.runtime, dict(homes))


def plan_program(
    graph: Graph, machine: Machine, chosen: Settings, overrides: Mapping[str, str] | None = None
) -> Program:
    """The program that the policy writes for the kernels of ``chosen``, a profile or a set; raises DoesNotFit.

    ``overrides`` are the keys that were changed in ``machine``; the header keeps them for a replay.
    """
    program = best_plan(graph, machine, chosen, chosen.kernels.for_planning()).program
    if chosen.kernels.changed and program.header.kernels in shipped_names():  # so that a replay asks for their file
        program = replace(program, header=replace(program.header, kernels=program.header.kernels + CHANGED))
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


@documented(*EXECUTION, plans=False)
def replay(
    program: str | Path | Program,
    machine: str | Path | Machine | None = None,
    fidelity: str = "replay",
    kernels: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    model: str | Path | Graph | None = None,
    input: Input | Sequence[Input] | None = None,
    max_instructions: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    observe: Callable[[int, list[Any]], object] | None = None,
    film: str | FilmWindow | None = None,
    **options: Unpack[ExecutionKeywords],
) -> Result:
    """Simulate a program, or that of a file, on a machine. ``model`` is needed by fidelity ``emulate`` alone, which
    runs it on real data; ``input``, ``observe`` and ``film`` are those of :func:`simulate`.

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
    require_declared(options, [option.name for option in EXECUTION])
    machine = program_machine(program, machine, overrides or {})
    recorded = recorded_options(program.header.options)
    named = _kernels(program.header, fidelity, kernels, options)
    if fidelity == "emulate":
        refuse_opaque((op.type for op in program.header.operators), program.header.model)
    chosen = base_settings(
        named, recorded, options, fidelity=fidelity, policy=program.header.policy, inputs=input,
        most_instructions=max_instructions, progress=progress, observe=observe, film=film,
    )  # fmt: skip
    graph = _graph_of_program(model, fidelity, chosen)
    return simulate_program(RunRequest(chosen, graph, program, given=True), machine)


def _graph_of_program(model: str | Path | Graph | None, fidelity: str, chosen: Settings) -> Graph | None:
    """The model of an emulation; raises UsageError where it is missing or has no effect."""
    if (model is None) is (fidelity == "emulate"):
        raise UsageError(
            "--model is for fidelity emulate, which runs the program on the model's data"
            if model is not None
            else "fidelity emulate runs the kernels on the model's data: name the model with --model"
        )
    return None if model is None else _graph(model, False, chosen)


def _kernels(header: Header, fidelity: str, kernels: str | None, options: Mapping[str, object]) -> str | None:
    """The kernels to replay with, None for the default; raises UsageError for what a program without kernels cannot be
    asked for."""
    if not header.recorded:
        own = shipped_kernels(header.kernels) if kernels is None else kernels
        default = default_kernels(fidelity, recorded_runtime(header.options))
        return None if kernels is None and own == default else own
    refused = {
        "fidelity emulate": fidelity == "emulate",
        "--kernels": kernels is not None,
        **{f"--{option.flag}": options.get(option.name) not in (None, option.default) for option in EXECUTION},
    }
    for what in (name for name, explicit in refused.items() if explicit):
        refuse_recorded(header, what)
    return None


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
