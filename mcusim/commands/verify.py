"""``mcusim verify``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands import options
from mcusim.commands.output import Output, fail
from mcusim.commands.progress import rated, working

if TYPE_CHECKING:
    from mcusim.kernels.registry import KernelSet
    from mcusim.machine.description import Machine
    from mcusim.model.graph import Graph
    from mcusim.plan.program import Program
    from mcusim.study.emulation import Emulation
    from mcusim.study.verify import Verifier

_MACHINE, _POLICY = "stm32f746g-disco", "tinyops"
_SEED, _MOST_SEEDS = 1, 100_000

What = Annotated[
    str,
    typer.Argument(metavar="TRACE|MODEL", help="A program (.jsonl), or a model whose program is planned and verified."),
]
SomeMachine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE",
        help="Default: for a program the machine it was written for, for a model stm32f746g-disco.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", "-p", metavar="NAME", help="For a model: internal, external or tinyops (default)."),
]
Kernels = Annotated[
    str | None,
    typer.Option(
        "--kernels", metavar="NAME|PATH", help="Kernel set that runs. Default: what the program names; cmsis."
    ),
]
OfModel = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="MODEL", help="Of a program. Default: the model it names, beside it or in `mcusim models`."
    ),
]
Static = Annotated[bool, typer.Option("--static", help="The static proof alone: nothing is run.")]
Sanitize = Annotated[
    str | None,
    typer.Option(
        "--sanitize",
        metavar="halt|report|off",
        help="Watch who wrote each byte that is read: stop at the first wrong one, or report (default) all.",
    ),
]
Fuzz = Annotated[
    int,
    typer.Option("--fuzz", metavar="N", min=0, max=_MOST_SEEDS, help="Runs with the timing disturbed, a seed each."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="S", min=0, max=2**62, help="First seed of --fuzz. Default: 1.")
]


def verify(
    what: What,
    machine: SomeMachine = None,
    policy: Policy = None,
    set_: options.Set = None,
    sram_budget: options.SramBudget = None,
    weights: options.Weights = None,
    overlay: options.Overlay = None,
    kernels: Kernels = None,
    model: OfModel = None,
    input: options.Input = None,
    static: Static = False,
    sanitize: Sanitize = None,
    fuzz: Fuzz = 0,
    seed: Seed = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Prove a program right for every timing, run it under watch, and compare its outputs; or name what is wrong.

    The static proof asks after waits, data, cache maintenance and DMA limits. Then the program runs on the emulated
    core, in the state a second inference finds, with a sanitizer that sees every stale or torn byte; its outputs are
    compared with those of an untiled run and of LiteRT. A program without its model at hand gets the proof alone.
    Exit status 0: clean, 1: findings or differences, 2: bad input.

    \b
    Examples:
      mcusim verify ds-cnn --machine stm32f746g-disco --policy tinyops
      mcusim verify traces/broken-03.jsonl --json findings.json
      mcusim verify program.jsonl --model vww_96_int8.tflite --sanitize halt
      mcusim verify ds-cnn --fuzz 200 --seed 1
      mcusim verify traces/broken-03.jsonl --static
    """
    out = Output(json, force)
    asked = {"--sanitize": sanitize, "--fuzz": fuzz or None, "--input": input, "--kernels": kernels}
    planning = {"--policy": policy, "--sram-budget": sram_budget, "--weights": weights, "--overlay": overlay}
    _check(_is_program(what), planning, model, {**asked, "--seed": seed}, static)
    with working(f"verifying {what}") as step:
        if _is_program(what):
            case = _read(what, machine, set_, model, kernels, static, _first(asked))
        else:
            overlays = options.comma_list(overlay, "--overlay")
            case = _plan(what, machine, policy, set_, kernels, sram_budget, weights, overlays, static)
        verifier = case.verifier(input, sanitize or "report")
        result = verifier.verify(step)
    if fuzz:
        first = _SEED if seed is None else seed
        with rated(f"fuzzing {what}", fuzz, "seeds") as tick:
            result = verifier.fuzz(result, range(first, first + fuzz), progress=tick)
    from mcusim.report.verification_table import verification_table

    out.emit(lambda: verification_table(result), result.to_json)
    if result.wrong:
        fail(f"{what}: {', '.join(result.wrong)}")
    return 1 if result.wrong else 0


def _is_program(what: str) -> bool:
    path = Path(what)
    return path.suffix == ".jsonl" or (path.suffix != ".tflite" and path.is_file())


def _first(given: Mapping[str, object]) -> str | None:
    """The first option that was given."""
    return next((name for name, value in given.items() if value is not None), None)


def _check(
    program: bool, planning: Mapping[str, object], model: str | None, running: Mapping[str, object], static: bool
) -> None:
    """Raise UsageError for options that contradict each other."""
    from mcusim.engine.watch import MODES
    from mcusim.errors import UsageError

    sanitize, run = running["--sanitize"], {**running, "--model": model}
    if not program:
        run["--kernels"] = None  # what the plan is made for
    if static and (name := _first(run)):
        raise UsageError(f"--static runs nothing; {name} is for the run")
    if program and (name := _first(planning)):
        raise UsageError(f"{name} is for a model, which is planned first; a program is verified as it is")
    if not program and model is not None:
        raise UsageError("--model is for a program; a model is itself what is verified")
    if running["--seed"] is not None and running["--fuzz"] is None:
        raise UsageError("--seed has no effect without --fuzz")
    if sanitize is not None and sanitize not in MODES:
        raise UsageError(f"--sanitize {str(sanitize)[:80]!r}: must be one of {', '.join(MODES)}")


@dataclass
class _Case:
    """A program on a machine, and what running it takes: the model and a function that loads the kernels."""

    program: Program
    machine: Machine
    graph: Graph | None
    kernels: Callable[[], KernelSet]
    notes: tuple[str, ...] = ()

    def verifier(self, given: Sequence[str] | None, sanitize: str) -> Verifier:
        """Raises UsageError for inputs that are not the model's."""
        from mcusim.study.emulation import Emulation
        from mcusim.study.tensors import model_inputs
        from mcusim.study.verify import Verifier

        graph = self.graph
        if graph is None:
            return Verifier(self.program, self.machine, None, self.notes)
        inputs = model_inputs(graph, list(given) if given else None)

        def prepare() -> Emulation:
            return Emulation(self.program, self.machine, graph, self.kernels(), inputs, sanitize=sanitize)

        return Verifier(self.program, self.machine, prepare, self.notes)


def _read(
    what: str,
    machine: str | None,
    set_: list[str] | None,
    model: str | None,
    kernels: str | None,
    static: bool,
    asked: str | None,
) -> _Case:
    """A program from a file; ``asked`` is an option that needs its model."""
    from mcusim.errors import UsageError
    from mcusim.plan import read_program
    from mcusim.study.kernel_choice import costs_alone, set_for
    from mcusim.study.model_of import model_of
    from mcusim.study.simulate import program_machine, shipped_kernels

    program = read_program(Path(what))
    target = program_machine(program, machine, options.overrides(set_))
    graph = None if static else model_of(program, Path(what), model)
    name, planned_for = program.header.model[:80], program.header.kernels
    missing = ""
    if graph is None:
        missing = f"the program's model {name!r} is not here; --model names it"
    elif kernels is None and costs_alone(planned_for):
        missing = f"there is no code of kernels {planned_for[:80]!r}; plan it for a kernel set (--kernels cmsis)"
    asked = asked or (model and "--model")
    if missing and asked:
        raise UsageError(f"{asked} is for the run, and {missing}")
    notes = (f"not run: {missing}",) if missing and not static else ()
    return _Case(
        program, target, None if missing else graph, lambda: set_for(kernels or shipped_kernels(planned_for)), notes
    )


def _plan(
    what: str,
    machine: str | None,
    policy: str | None,
    set_: list[str] | None,
    kernels: str | None,
    sram_budget: str | None,
    weights: str | None,
    overlays: list[str] | None,
    static: bool,
) -> _Case:
    """A model's program, planned for the kernels that run, or with ``static`` for any, as ``mcusim plan`` does."""
    from mcusim.machine import load_machine
    from mcusim.model import load_model
    from mcusim.study.kernel_choice import set_for
    from mcusim.study.settings import settings
    from mcusim.study.simulate import plan_program

    chosen = settings(policy or _POLICY, kernels, sram_budget, weights, overlays, "emulate")
    target = load_machine(machine or _MACHINE, options.overrides(set_))
    graph = load_model(what)
    if not static:
        set_for(chosen.kernels)  # before the plan: a cost profile without code is planned for, and not run
    program = plan_program(graph, target, chosen)
    return _Case(program, target, None if static else graph, lambda: set_for(chosen.kernels))
