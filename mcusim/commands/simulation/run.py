"""``mcusim run``, ``mcusim replay`` and ``mcusim plan``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.exports import Html, Perfetto, Vcd, Views
from mcusim.commands.shared.options import asked_execution, check_output, check_outputs, write_outputs
from mcusim.commands.shared.output import Output, check_writable, fail, write_file
from mcusim.commands.shared.progress import spinner, spinner_with_bar

if TYPE_CHECKING:
    from mcusim.api.both import Both
    from mcusim.request.settings import Execution, Settings
    from mcusim.results import Result

_DEFAULT_MACHINE = "stm32f746g-disco"

Policy = Annotated[str, typer.Option("--policy", "-p", metavar="NAME", help="internal, external or tinyops.")]
Fidelity = Annotated[
    str,
    typer.Option(
        "--fidelity",
        metavar="NAME",
        help="replay: the kernels' cost model; emulate: their code on an emulated core; both, side by side.",
    ),
]
Other = Annotated[
    str | None,
    typer.Option("--machine", "-m", metavar="NAME|FILE", help="Default: the machine the program was written for."),
]
OtherKernels = Annotated[
    str | None,
    typer.Option("--kernels", metavar="NAME|PATH", help="Kernel profile or set. Default: what the program names."),
]
Assumptions = Annotated[bool, typer.Option("--assumptions", help="List every assumption behind the result.")]
Slowest = Annotated[int, typer.Option("--operators", metavar="N", min=0, help="How many operators to list.")]


def run(
    model: options.Model,
    machine: options.Machine = _DEFAULT_MACHINE,
    policy: Policy = "internal",
    set_: options.Set = None,
    sram_budget: options.SramBudget = None,
    weights: options.Weights = None,
    overlay: options.Overlay = None,
    buffering: options.Buffering = None,
    kernels: options.Kernels = None,
    fidelity: Fidelity = "replay",
    code: options.Code = None,
    operator_overhead: options.Overhead = None,
    input: options.Input = None,
    output: options.OutputFile = None,
    max_instructions: options.Instructions = None,
    allow_unknown: options.AllowUnknown = False,
    operators: Slowest = 10,
    assumptions: Assumptions = False,
    html: Html = None,
    perfetto: Perfetto = None,
    vcd: Vcd = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Simulate one model on one machine: cycles, latency, energy, memory. Exit status 1: it does not fit, or faults.

    \b
    Examples:
      mcusim run ds-cnn --set core.clock="200 MHz" --json result.json
      mcusim run vww.tflite --fidelity emulate --input image.npy -o out.npy
      mcusim run ds-cnn --policy tinyops --html run.html --perfetto run.json
    """
    files = _files([model, machine], fidelity, json, force, input, output, Views(html, perfetto, vcd, force))
    execution = partial(asked_execution, code, operator_overhead, input, max_instructions)
    planned = partial(_settings, policy, kernels, sram_budget, weights, overlay, buffering, fidelity, execution)
    with (spinner_with_bar if fidelity != "replay" else _quiet)(f"simulating {model}") as step:
        found = _simulate(model, machine, options.overrides(set_), allow_unknown, fidelity, files, planned(step))
    return files.report(found, operators, assumptions)


def _settings(
    policy: str,
    kernels: str | None,
    sram_budget: str | None,
    weights: str | None,
    overlay: str | None,
    buffering: str | None,
    fidelity: str,
    execution: Callable[[Any], Execution],
    step: Any,
) -> Settings:
    """The settings of a run; ``both`` are those of the emulation."""
    from mcusim.request.settings import settings

    named = "emulate" if fidelity == "both" else fidelity
    copied = options.comma_list(overlay, "--overlay")
    return settings(policy, kernels, sram_budget, weights, copied, named, execution(step), buffering)


def _simulate(
    model: str,
    machine: str,
    overrides: Mapping[str, str],
    allow_unknown: bool,
    fidelity: str,
    files: _Files,
    chosen: Settings,
) -> Result | Both:
    from mcusim.api.both import simulate_both
    from mcusim.api.simulate import changed, simulate_row
    from mcusim.model import load_model

    graph, target = load_model(model, allow_unknown), changed(machine, overrides)
    check_outputs(files.output, len(graph.outputs))
    return (simulate_both if fidelity == "both" else simulate_row)(graph, target, chosen)


@dataclass(frozen=True)
class _Files:
    """What a run reads and writes besides the model."""

    out: Output
    input: list[str] | None
    output: Path | None
    views: Views

    def report(self, found: Result | Both, operators: int, assumptions: bool) -> int:
        """Write the outputs, print the table; returns the exit status."""
        from mcusim.report.text.run import run_table
        from mcusim.results import Result, to_json

        result = found if isinstance(found, Result) else found.emulate
        write_outputs(self.output, result.outputs, self.out.force)
        self.views.write(found)
        if isinstance(found, Result):
            self.out.emit(lambda: run_table(found, operators, assumptions), lambda: to_json(found))
        else:
            self.out.emit(lambda: found.table(operators), found.to_json)
        if result.negative is not None:
            fail(f"{result.model} on {result.machine.name}: {result.negative}{self.views.unwritten()}")
        return 0 if result.fits else 1


def _files(
    read: Sequence[str | Path | None],
    fidelity: str,
    json: Path | None,
    force: bool,
    input: list[str] | None,
    output: Path | None,
    views: Views,
) -> _Files:
    """The files of a run, when what is written can be, and is none of the files that are ``read``."""
    read = [*read, *(input or ())]
    check_output(output, fidelity, [*read, json, *views.files], force)
    views.check(json, read)
    return _Files(Output(json, force, read), input, output, views)


@contextmanager
def _quiet(what: str) -> Iterator[None]:
    with spinner(what):
        yield None


def replay(
    trace: Annotated[Path, typer.Argument(metavar="PROGRAM", help="A program written by `mcusim plan`.")],
    machine: Other = None,
    set_: options.Set = None,
    kernels: OtherKernels = None,
    fidelity: options.Fidelity = "replay",
    code: options.Code = None,
    operator_overhead: options.Overhead = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Its model, to emulate.")] = None,
    input: options.Input = None,
    output: options.OutputFile = None,
    max_instructions: options.Instructions = None,
    operators: Slowest = 10,
    assumptions: Assumptions = False,
    html: Html = None,
    perfetto: Perfetto = None,
    vcd: Vcd = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Simulate a saved program, a schedule trace of `mcusim plan`, on a machine; only emulation needs the model.

    Without --machine it is the machine the program was written for, with the keys that `mcusim plan --set` changed;
    --set changes further ones, or these again. With --machine it is that machine with --set alone.

    \b
    Examples:
      mcusim replay traces/ds-cnn-internal.jsonl
      mcusim replay traces/ds-cnn-internal.jsonl --set core.clock="200 MHz"
      mcusim replay program.jsonl --fidelity emulate --model vww_96_int8.tflite
    """
    read = [trace, model, machine]
    files = _files(read, fidelity, json, force, input, output, Views(html, perfetto, vcd, force))
    execution = partial(asked_execution, code, operator_overhead, input, max_instructions)
    with (spinner_with_bar if fidelity != "replay" else _quiet)(f"playing {trace}") as step:
        found = _play(trace, machine, options.overrides(set_), (fidelity, kernels), model, files, execution(step))
    return files.report(found, operators, assumptions)


def _play(
    trace: Path,
    machine: str | None,
    overrides: Mapping[str, str],
    how: tuple[str, str | None],
    model: str | None,
    files: _Files,
    execution: Execution,
) -> Result:
    from mcusim.api import replay as play
    from mcusim.api.simulate import program_machine
    from mcusim.model import load_model
    from mcusim.program import read_program

    program = read_program(trace)
    target = program_machine(program, machine, overrides)
    graph = None if model is None else load_model(model)
    check_outputs(files.output, 0 if graph is None else len(graph.outputs))
    return play(program, target, *how, model=graph, execution=execution)


def plan(
    model: options.Model,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="JSON Lines; - is standard output.")],
    machine: options.Machine = _DEFAULT_MACHINE,
    policy: Policy = "internal",
    set_: options.Set = None,
    sram_budget: options.SramBudget = None,
    weights: options.Weights = None,
    overlay: options.Overlay = None,
    buffering: options.Buffering = None,
    kernels: options.Kernels = None,
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
    from mcusim.api.simulate import plan_program
    from mcusim.machine import load_machine
    from mcusim.model import load_model
    from mcusim.program import write_program
    from mcusim.request.settings import settings

    overlays = options.comma_list(overlay, "--overlay")
    chosen = settings(policy, kernels, sram_budget, weights, overlays, "replay", None, buffering)
    overrides = options.overrides(set_)
    target = load_machine(machine, overrides)
    program = plan_program(load_model(model, allow_unknown), target, chosen, overrides)
    if to_stdout:
        write_program(program, sys.stdout)
        return 0
    write_file(out, lambda file: write_program(program, file), force)
    print(f"{out}: {len(program.tasks)} tasks, {len(program.header.operators)} operators", file=sys.stderr)
    return 0
