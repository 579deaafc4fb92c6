"""``mcusim run``, ``mcusim replay`` and ``mcusim plan``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands import options
from mcusim.commands.output import Output, check_writable, fail, write_file
from mcusim.commands.progress import spinner

if TYPE_CHECKING:
    from mcusim.report import Result

_DEFAULT_MACHINE = "stm32f746g-disco"
_DEFAULT_KERNELS = "cmsis-2021-gcc9"

Policy = Annotated[str, typer.Option("--policy", "-p", metavar="NAME", help="internal, external or tinyops.")]
Other = Annotated[
    str | None,
    typer.Option("--machine", "-m", metavar="NAME|FILE", help="Default: the machine the program was written for."),
]
OtherKernels = Annotated[
    str | None,
    typer.Option("--kernels", metavar="NAME|FILE", help="Kernel cost profile. Default: the one the program names."),
]
Assumptions = Annotated[bool, typer.Option("--assumptions", help="List every assumption the result rests on.")]
Slowest = Annotated[int, typer.Option("--operators", metavar="N", min=0, help="How many operators to list.")]


def run(
    model: options.Model,
    machine: options.Machine = _DEFAULT_MACHINE,
    policy: Policy = "internal",
    set_: options.Set = None,
    sram_budget: options.SramBudget = None,
    weights: options.Weights = None,
    overlay: options.Overlay = None,
    kernels: options.Kernels = _DEFAULT_KERNELS,
    fidelity: options.Fidelity = "replay",
    allow_unknown: options.AllowUnknown = False,
    operators: Slowest = 10,
    assumptions: Assumptions = False,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Simulate one model on one machine: cycles, latency, energy, peak memory.

    \b
    Examples:
      mcusim run vww_96_int8.tflite --machine stm32f746g-disco --policy internal
      mcusim run ds-cnn --set core.clock="200 MHz" --json result.json
    """
    output = Output(json, force)
    from mcusim.study import simulate

    with spinner(f"simulating {model}"):
        result = simulate(
            model,
            machine,
            policy,
            kernels,
            overrides=options.overrides(set_),
            sram_budget=sram_budget,
            weights=weights,
            overlay=options.comma_list(overlay, "--overlay"),
            allow_unknown=allow_unknown,
            fidelity=fidelity,
        )
    return _report(result, output, operators, assumptions)


def _report(result: Result, output: Output, operators: int, assumptions: bool) -> int:
    from mcusim.report import to_json
    from mcusim.report.run_table import run_table

    output.emit(lambda: run_table(result, operators, assumptions), lambda: to_json(result))
    if result.does_not_fit is not None:
        fail(f"{result.model} on {result.machine.name}: {result.does_not_fit}")
    return 0 if result.fits else 1


def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A program written by `mcusim plan`.")],
    machine: Other = None,
    set_: options.Set = None,
    kernels: OtherKernels = None,
    fidelity: options.Fidelity = "replay",
    operators: Slowest = 10,
    assumptions: Assumptions = False,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Play a saved program on a machine; the model is not needed.

    Without --machine it is the machine the program was written for, with the keys that `mcusim plan --set` changed;
    --set changes further ones, or these again. With --machine it is that machine with --set alone.

    \b
    Examples:
      mcusim replay traces/ds-cnn-internal.jsonl
      mcusim replay traces/ds-cnn-internal.jsonl --set core.clock="200 MHz"
    """
    output = Output(json, force)
    from mcusim.plan import read_program
    from mcusim.study import replay as play
    from mcusim.study.simulate import program_machine

    with spinner(f"playing {trace}"):
        program = read_program(trace)
        target = program_machine(program, machine, options.overrides(set_))
        result = play(program, target, fidelity, kernels)
    return _report(result, output, operators, assumptions)


def plan(
    model: options.Model,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="JSON Lines; - is standard output.")],
    machine: options.Machine = _DEFAULT_MACHINE,
    policy: Policy = "internal",
    set_: options.Set = None,
    sram_budget: options.SramBudget = None,
    weights: options.Weights = None,
    overlay: options.Overlay = None,
    kernels: options.Kernels = _DEFAULT_KERNELS,
    allow_unknown: options.AllowUnknown = False,
    force: options.Force = False,
) -> int:
    """Write the program that a policy makes of a model, one task a line.

    \b
    Example:
      mcusim plan ds-cnn --policy tinyops -o ds-cnn.jsonl
    """
    to_stdout = str(out) == "-"
    if not to_stdout:
        check_writable(out, force)
    from mcusim.machine import load_machine
    from mcusim.model import load_model
    from mcusim.plan import write_program
    from mcusim.study.settings import settings
    from mcusim.study.simulate import plan_program

    overlays = options.comma_list(overlay, "--overlay")
    chosen = settings(policy, kernels, sram_budget, weights, overlays, "replay")
    overrides = options.overrides(set_)
    target = load_machine(machine, overrides)
    program = plan_program(load_model(model, allow_unknown), target, chosen, overrides)
    if to_stdout:
        write_program(program, sys.stdout)
        return 0
    write_file(out, lambda file: write_program(program, file), force)
    print(f"{out}: {len(program.tasks)} tasks, {len(program.header.operators)} operators", file=sys.stderr)
    return 0
