"""``mcusim run``, ``mcusim replay`` and ``mcusim plan``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.exports import Views
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.limits import Most, given_options
from mcusim.commands.shared.option_groups import MachineKeys, Planning, Values, Written
from mcusim.commands.shared.options import check_output, check_outputs, write_outputs
from mcusim.commands.shared.output import Output, check_apart, check_writable, fail, note, write_file
from mcusim.commands.shared.policy_help import ExecutionFlags, GivenPeriod
from mcusim.commands.shared.progress import bar, spinner
from mcusim.errors import UsageError
from mcusim.provenance import run_by

if TYPE_CHECKING:
    from mcusim.api.fidelity_comparison import FidelityComparison
    from mcusim.model.graph import Graph
    from mcusim.results import Result
    from mcusim.run_config.film_window import FilmWindow
    from mcusim.run_config.run_limits import RunLimits
    from mcusim.run_config.settings import Settings

_DEFAULT_MACHINE = "stm32f746g-disco"
Step = Callable[[int, int], object] | None

Fidelity = Annotated[
    str,
    option(
        "NAME",
        "replay: the kernels' cost model; emulate: their code on an emulated core; both, side by side.",
        names="--fidelity",
    ),
]


@dataclass(frozen=True, kw_only=True)
class PlannedModel:
    """The machine, and how a model is planned for it."""

    machine: options.Machine = _DEFAULT_MACHINE
    policy: Annotated[str, option("NAME|FILE", "{policies}. Or a .py file with one.", names="--policy -p")] = "internal"
    planning: Planning
    kernels: options.Kernels = None

    def settings(
        self, fidelity: str, run: Mapping[str, object], values: Values, step: Step, film: FilmWindow | None
    ) -> Settings:
        """Of a run; ``both`` are those of the emulation. Raises UnitError or UsageError."""
        from mcusim.plan.options import runtime_of
        from mcusim.run_config.kernel_choice import resolve

        named = "emulate" if fidelity == "both" else fidelity
        runtime = runtime_of(self.planning.given)
        kernels = self.kernels if named == fidelity else resolve(self.kernels, fidelity, runtime)
        return self.planning.settings(
            self.policy, kernels, run, fidelity=named, inputs=values.inputs,
            most_instructions=values.max_instructions, progress=step, film=film,
        )  # fmt: skip

    def graph(self, model: str, chosen: Settings) -> Graph:
        """The model; raises UsageError for a cost of what it does not have, and what :func:`load_model` raises."""
        from mcusim.model import load_model
        from mcusim.program.unknown_operators import opaque_types, require_known

        graph = load_model(model, self.planning.allow_unknown)
        require_known(opaque_types(op.type for op in graph.operators), chosen.options.costs)
        return graph


@dataclass(frozen=True)
class Target:
    """The machine and the kernels of a saved program, by default its own."""

    machine: Annotated[
        str | None, option("NAME|FILE", "Default: the machine the program was written for.", names="--machine -m")
    ] = None
    keys: MachineKeys = field(default_factory=MachineKeys)
    kernels: Annotated[str | None, option("NAME|PATH", "Kernel profile or set. Default: what the program names.")] = (
        None
    )


@dataclass(frozen=True)
class Shown:
    """What is printed below the first screen of a run."""

    show: Annotated[
        str | None,
        option(
            "LIST", "Sections below the first screen: timing, memory, flash, operators, assumptions.", names="--show"
        ),
    ] = None
    everything: Annotated[bool, flag("--all", "All sections, assumptions counted.")] = False
    operators: Annotated[int | None, option("N", "List the N slowest operators. Default: 10.", min=0)] = None
    assumptions: Annotated[bool, flag("--assumptions", "List every assumption behind the result.")] = False

    @property
    def sections(self) -> list[str]:
        """Those to print, in the order of :data:`~mcusim.report.run.table.SECTIONS`. Raises UsageError."""
        from mcusim.report.run.table import SECTIONS

        named = set(options.comma_list(self.show, "--show") or ())
        if unknown := sorted(named - {*SECTIONS}):
            raise UsageError(
                f"--show {unknown[0]!r}: no such section; choose from: {', '.join(SECTIONS)}; --all has all"
            )
        named |= {"operators"} if self.operators is not None else set()
        named |= {"assumptions"} if self.assumptions else set()
        return [name for name in SECTIONS if name in named]

    def check(self, fidelity: str) -> None:
        """Raise UsageError for a section that is none, and for what two fidelities side by side do not have."""
        named = {"--show": self.sections and self.show, "--all": self.everything, "--assumptions": self.assumptions}
        first = next((name for name, value in named.items() if value), None)
        if fidelity == "both" and first:
            raise UsageError(f"{first} is for a single fidelity; --fidelity both has a table of its own")

    def text(self, result: Result) -> str:
        """What is printed of ``result``. Raises UsageError."""
        from mcusim.report.run.table import run_table, screen_table

        if self.everything:
            return run_table(result, self.slowest, self.assumptions)
        return screen_table(result, self.sections, self.slowest)

    @property
    def slowest(self) -> int:
        """How many operators are listed."""
        return 10 if self.operators is None else self.operators


@grouped
def run(
    context: typer.Context,
    model: Annotated[str | None, argument("[MODEL]", "Path to a .tflite, or a name of `mcusim models`.")] = None,
    *,
    again: Annotated[
        Path | None,
        option("FILE", "Do the run again that FILE, written by --json, is of, and compare; MODEL where it lies now."),
    ] = None,
    planned: PlannedModel,
    fidelity: Fidelity = "replay",
    how: ExecutionFlags,
    repeated: GivenPeriod,
    values: Values,
    most: Most,
    shown: Shown,
    views: Views,
    written: Written,
) -> int:
    """Simulate one model on one machine: cycles, latency, energy, memory. Exit status 1: it does not fit, exceeds a
    limit (--max-..., --period) or faults; ways out that were tried are listed with their commands.

    \b
    Examples:
      mcusim run ds-cnn --clock "108 MHz" --json result.json
      mcusim run vww.tflite --fidelity emulate --input image.npy -o out.npy
      mcusim run ds-cnn --policy tinyops --html run.html --perfetto run.json
      mcusim run my.tflite --max-latency "100 ms" --max-sram "128 KiB"
      mcusim run ds-cnn --policy tinyops --variant 2023 --sram-budget "64 KiB"
      mcusim run ds-cnn --period "1 s" --battery CR2032
      mcusim run --again result.json
    """
    if again is not None:
        return _again(context, again, model, written)
    model, limits = _model(context, model, planned), most.limits
    shown.check(fidelity)
    files = _files([model, planned.machine, planned.kernels], fidelity, values, views, written)
    with (bar if fidelity != "replay" else _quiet)(f"simulating {model}") as step:
        chosen = planned.settings(fidelity, {**how, **repeated}, values, step, views.window)
        result = _simulate(model, planned, fidelity, files, chosen)
    return files.report(_advised(result, limits, model, _given(context, planned)), shown)


_OUTPUTS = {
    *("json", "force", "html", "page", "perfetto", "vcd", "film", "film-window", "output"),
    *("operators", "assumptions", "show", "all"),
}


def _model(context: typer.Context, model: str | None, planned: PlannedModel) -> str:
    """The model, which has to be named; what is written says from here on which command gives it again, with what a
    mcusim.toml sets, without its outputs."""
    from mcusim.run_config.command_line import run_command

    if model is None:
        context.fail("Missing argument 'MODEL'.")
    run_by(run_command(model, _given(context, planned, repeatable=True)))
    return model


def _again(context: typer.Context, path: Path, model: str | None, written: Written) -> int:
    from mcusim.commands.simulation.again import run_again

    others = given_options(context, {"again", "json", "force"})
    if others:
        raise UsageError(f"--{next(iter(others))} has no effect with --again, which takes all options from {path}")
    return run_again(path, model, written.to(path, model))


def _given(
    context: typer.Context, planned: PlannedModel, repeatable: bool = False
) -> dict[str, str | list[str] | bool | None]:
    """What a way out keeps: all options but those of outputs and of an emulation; ``repeatable``: of an emulation too,
    and what a mcusim.toml sets."""
    of_emulation = set() if repeatable else {"fidelity", "input", "max-instructions"}
    arguments = given_options(context, {*_OUTPUTS, *of_emulation}, configured=repeatable)
    return {"machine": planned.machine, "policy": planned.policy, **arguments}


def _advised(
    outcome: Result | FidelityComparison, limits: RunLimits, model: str, given: dict[str, str | list[str] | bool | None]
) -> Result | FidelityComparison:
    """``outcome`` with the limits checked and, where the answer is negative, ways out."""
    from mcusim.api.advice.suggestions import advised
    from mcusim.results import Result

    with _quiet(f"trying ways out for {model}"):
        if isinstance(outcome, Result):
            return replace(outcome, advice=advised(outcome, limits, model, given))
        advice = advised(outcome.emulate, limits, model, given)
    return replace(outcome, emulate=replace(outcome.emulate, advice=advice))


def _simulate(
    model: str, planned: PlannedModel, fidelity: str, files: _Files, chosen: Settings
) -> Result | FidelityComparison:
    from mcusim.api.other_code import with_other_code
    from mcusim.api.simulate import changed, simulate_loaded

    overrides = planned.planning.overrides
    graph, target = planned.graph(model, chosen), changed(planned.machine, overrides)
    check_outputs(files.values.output, len(graph.outputs))
    if fidelity == "both":
        from mcusim.api.fidelity_comparison import simulate_both

        return simulate_both(graph, target, chosen)
    return with_other_code(simulate_loaded(graph, target, chosen))


@dataclass(frozen=True)
class _Files:
    """What a run reads and writes besides the model."""

    out: Output
    values: Values
    views: Views

    def report(self, value: Result | FidelityComparison, shown: Shown) -> int:
        """Write the outputs, print the table; returns the exit status."""
        from mcusim.report.run.advice_text import advice_lines, exceeded_text
        from mcusim.results import Result
        from mcusim.results.provenance import run_json

        result = value if isinstance(value, Result) else value.emulate
        write_outputs(self.values.output, result.outputs, self.out.force)
        self.views.write(value, self.out.force)
        if isinstance(value, Result):
            self.out.emit(lambda: shown.text(value), lambda: run_json(value))
        else:
            both = value
            self.out.emit(lambda: "\n".join([both.table(shown.slowest), *advice_lines(result.advice)]), both.to_json)
        where = f"{result.model} on {result.machine.name}"
        if result.negative is not None:
            fail(f"{where}: {result.negative}{self.views.unwritten()}")
        elif not result.advice.met:
            fail(f"{where}: {', '.join(exceeded_text(limit) for limit in result.advice.exceeded)}")
        return 0 if result.fits and result.advice.met else 1


def _files(read: Sequence[str | Path | None], fidelity: str, values: Values, views: Views, written: Written) -> _Files:
    """The files of a run, when what is written can be, and is none of the files that are ``read``."""
    read = [*read, *(values.input or ())]
    check_output(values.output, fidelity, [*read, written.json, *views.files], written.force)
    views.check(written.json, read, written.force, fidelity)
    return _Files(written.to(*read), values, views)


@contextmanager
def _quiet(what: str) -> Iterator[None]:
    with spinner(what):
        yield None


@grouped
def replay(
    trace: Annotated[Path, typer.Argument(metavar="PROGRAM", help="A program written by `mcusim plan`.")],
    *,
    target: Target,
    fidelity: options.Fidelity = "replay",
    how: ExecutionFlags,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="The program's model; needed to emulate.")
    ] = None,
    values: Values,
    shown: Shown,
    views: Views,
    written: Written,
) -> int:
    """Simulate a saved program, written by `mcusim plan`, on a machine; only emulation needs the model.

    Without --machine it is the machine the program was written for, with the keys that `mcusim plan --set` changed;
    --set changes further ones, or these again. With --machine it is that machine with --set alone.

    \b
    Examples:
      mcusim replay traces/ds-cnn-internal.jsonl
      mcusim replay traces/ds-cnn-internal.jsonl --set core.clock="200 MHz"
      mcusim replay program.jsonl --fidelity emulate --model vww_96_int8.tflite
    """
    shown.check(fidelity)
    files = _files([trace, model, target.machine, target.kernels], fidelity, values, views, written)
    with (bar if fidelity != "replay" else _quiet)(f"playing {trace}") as step:
        result = _play(trace, target, fidelity, model, files, how, step)
    return files.report(result, shown)


def _play(
    trace: Path, target: Target, fidelity: str, model: str | None, files: _Files, how: ExecutionFlags, step: Step
) -> Result:
    from mcusim.api.simulate import program_machine
    from mcusim.api.simulate import replay as simulate_file
    from mcusim.model import load_model
    from mcusim.program import read_program
    from mcusim.program.unknown_operators import refuse_opaque, refuse_recorded

    overrides, program = target.keys.overrides, read_program(trace)
    machine = program_machine(program, target.machine, overrides)
    if fidelity == "emulate":
        refuse_recorded(program.header, "fidelity emulate")
        refuse_opaque((op.type for op in program.header.operators), program.header.model)
    graph = None if model is None else load_model(model)
    check_outputs(files.values.output, 0 if graph is None else len(graph.outputs))
    return simulate_file(
        program, machine, fidelity, target.kernels, model=graph, input=files.values.inputs,
        max_instructions=files.values.max_instructions, progress=step, film=files.views.window, **how,
    )  # fmt: skip


@grouped
def plan(
    model: options.Model,
    *,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="JSON Lines; - is standard output.")],
    planned: PlannedModel,
    force: options.Force = False,
) -> int:
    """Write the program that a policy makes of a model, one task a line.

    \b
    Example:
      mcusim plan ds-cnn --policy tinyops -o ds-cnn.jsonl
    """
    to_stdout = str(out) == "-"
    if not to_stdout:
        check_apart(out, [model, planned.machine, planned.kernels])
        check_writable(out, force)
    from mcusim.api.functions import plan_program
    from mcusim.program import write_program
    from mcusim.provenance import made

    how = planned.planning
    program = plan_program(
        model, planned.machine, planned.policy, planned.kernels, overrides=how.overrides, costs=how.costs,
        allow_unknown=how.allow_unknown, **how.given,
    )  # fmt: skip
    about = made(model_sha256=program.header.model_sha256)
    if to_stdout:
        write_program(program, sys.stdout, about)
        return 0
    write_file(out, lambda file: write_program(program, file, about), force)
    note(f"{out}: {len(program.tasks)} tasks, {len(program.header.operators)} operators")
    return 0
