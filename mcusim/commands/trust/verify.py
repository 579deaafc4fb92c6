"""``mcusim verify``: its options, and the program that it checks."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.grouped import grouped
from mcusim.commands.shared.groups import Planning, Written
from mcusim.commands.shared.output import Output, fail
from mcusim.commands.shared.progress import bar_with_rate, spinner_with_bar
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.kernels.kernel_set import KernelSet
    from mcusim.machine.description import Machine
    from mcusim.model.graph import Graph
    from mcusim.program.program import Program
    from mcusim.verification.emulation import Emulation
    from mcusim.verification.verifier import Verifier

__all__ = ["ModelPlanning", "Running", "VerifyCase", "check", "is_program", "planned", "read"]

_MACHINE, _POLICY, _SEED = "stm32f746g-disco", "tinyops", 1


_MOST_SEEDS = 100_000

What = Annotated[
    str,
    typer.Argument(metavar="PROGRAM|MODEL", help="A program (.jsonl), or a model to plan and verify."),
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
    typer.Option("--policy", "-p", metavar="NAME", help="For a model: {policies} (default: tinyops)."),
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
        "--model",
        metavar="MODEL",
        help="The program's model. Default: the one it names, in its folder or in `mcusim models`.",
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


@dataclass(frozen=True, kw_only=True)
class ModelPlanning:
    """How a model is planned."""

    policy: Policy = None
    planning: Planning

    @property
    def given(self) -> str | None:
        """The first option that a program has no use for."""
        how = self.planning
        named: dict[str, object] = {"--policy": self.policy, "--sram-budget": how.sram_budget}
        named |= {"--weights": how.weights, "--allow-unknown": how.allow_unknown or None, "--cost": how.cost}
        named |= {"--overlay": how.overlay, "--buffering": how.buffering, "--order": how.order}
        return _first({**named, "--allocator": how.allocator, "--in-place": how.in_place or None})


@dataclass(frozen=True)
class Running:
    """How a program is run, and whether."""

    kernels: Kernels = None
    model: OfModel = None
    input: options.Input = None
    static: Static = False
    sanitize: Sanitize = None
    fuzz: Fuzz = 0
    seed: Seed = None

    @property
    def seeds(self) -> range:
        """Those of the fuzzing."""
        first = _SEED if self.seed is None else self.seed
        return range(first, first + self.fuzz)

    def given(self, kernels: bool) -> str | None:
        """The first option that is of the run alone; ``kernels``: whether that is one of them."""
        named = {"--sanitize": self.sanitize, "--fuzz": self.fuzz or None, "--seed": self.seed, "--input": self.input}
        return _first({**named, "--kernels": self.kernels if kernels else None, "--model": self.model})


def _first(given: Mapping[str, object]) -> str | None:
    return next((name for name, value in given.items() if value is not None), None)


def is_program(what: str) -> bool:
    """A program's file, or else a model."""
    path = Path(what)
    return path.suffix == ".jsonl" or (path.suffix != ".tflite" and path.is_file())


def check(what: str, plan: ModelPlanning, asked: Running) -> None:
    """Raise UsageError for options that contradict each other or have no effect."""
    program = is_program(what)
    if asked.static and (name := asked.given(kernels=program)):
        raise UsageError(f"--static runs nothing; {name} is for the run")
    if program and plan.given:
        raise UsageError(f"{plan.given} is for a model, which is planned first; a program is verified as it is")
    if not program and asked.model is not None:
        raise UsageError("--model is for a program; a model is itself what is verified")
    if asked.seed is not None and not asked.fuzz:
        raise UsageError("--seed has no effect without --fuzz")
    if asked.sanitize is not None:
        from mcusim.verification.sanitizer.monitor import MODES

        if asked.sanitize not in MODES:
            raise UsageError(f"--sanitize {asked.sanitize[:80]!r}: must be one of {', '.join(MODES)}")


@dataclass(frozen=True)
class VerifyCase:
    """A program on a machine, and what running it takes: the model, None to prove alone, and how to load the kernels.

    ``notes`` say why it is not run.
    """

    program: Program
    machine: Machine
    graph: Graph | None
    kernels: Callable[[], KernelSet]
    notes: Sequence[str] = ()

    def verifier(self, asked: Running) -> Verifier:
        """Raises UsageError for inputs that are not the model's."""
        from mcusim.request.tensors import model_inputs
        from mcusim.verification.emulation import Emulation
        from mcusim.verification.verifier import Verifier

        graph = self.graph
        if graph is None:
            return Verifier(self.program, self.machine, None, self.notes)
        inputs, sanitize = model_inputs(graph, asked.input or None), asked.sanitize or "report"

        def prepare() -> Emulation:
            return Emulation(self.program, self.machine, graph, self.kernels(), inputs, sanitize=sanitize)

        return Verifier(self.program, self.machine, prepare, self.notes)


def read(what: str, machine: str | None, plan: ModelPlanning, asked: Running) -> VerifyCase:
    """A program from a file. Raises UsageError when its model is not here and an option is of no use without."""
    from mcusim.api.simulate import program_machine
    from mcusim.program import read_program
    from mcusim.request.kernels import resolve, shipped_kernels, shipped_names
    from mcusim.verification.model_lookup import model_of

    program = read_program(Path(what))
    target = program_machine(program, machine, plan.planning.overrides)
    name, planned_for = program.header.model[:80], program.header.kernels

    def kernels() -> KernelSet:
        return resolve(asked.kernels or shipped_kernels(planned_for), "emulate").compiled()

    if asked.static:
        return VerifyCase(program, target, None, kernels)
    missing = _without_code(op.type for op in program.header.operators)
    graph = None if missing else model_of(program, Path(what), asked.model)
    if graph is None:
        missing = missing or f"the program's model {name!r} is not here; --model names it"
    elif asked.kernels is None and planned_for in shipped_names() and resolve(planned_for, "plan").set is None:
        missing = f"kernels {planned_for[:80]!r} are a cost profile without code; {_with_code(program, asked.model)}"
    return VerifyCase(program, target, None if missing else graph, kernels, _not_run(missing, asked))


def _without_code(kinds: Iterable[str]) -> str:
    """Why operators of these types cannot be run; empty when they can."""
    from mcusim.program.opaque import opaque_types

    names = ", ".join(name[:80] for name in opaque_types(kinds))
    return f"mcusim does not know {names[:400]} and has no kernel for it" if names else ""


def _not_run(missing: str, asked: Running) -> list[str]:
    """The note about what is missing to run. Raises UsageError for an option of the run."""
    if missing and (option := asked.given(kernels=True)):
        raise UsageError(f"{option} is for the run, and {missing}")
    return [f"not run: {missing}"] if missing else []


def _with_code(program: Program, model: str | None) -> str:
    """The command that plans a program's model for kernels that can run, and runs it."""
    from mcusim.request.kernels import DEFAULT_SET

    header = program.header
    budget = header.options.get("sram_budget")
    words = ["mcusim", "verify", model or header.model[:80], "--machine", header.machine[:80]]
    words += ["--policy", header.policy[:80], *(["--sram-budget", f"{budget} B"] if isinstance(budget, int) else [])]
    return f"`{shlex.join(words)}` plans the model for kernels {DEFAULT_SET} and runs it"


def planned(what: str, machine: str | None, plan: ModelPlanning, asked: Running) -> VerifyCase:
    """A model's program, planned for the kernels that run, or where none do for any, as ``mcusim plan`` does."""
    from mcusim.api.simulate import plan_program
    from mcusim.machine import load_machine
    from mcusim.model import load_model
    from mcusim.program import program_graph
    from mcusim.program.opaque import opaque_types, require_known
    from mcusim.request.kernels import DEFAULT_SET, resolve

    # before the plan: a cost profile without code is planned for, and not run
    kernels = resolve(DEFAULT_SET if asked.kernels is None else asked.kernels, "plan" if asked.static else "emulate")
    chosen = plan.planning.settings(plan.policy or _POLICY, kernels, "emulate")
    target = load_machine(machine or _MACHINE, plan.planning.overrides)
    graph = load_model(what, plan.planning.allow_unknown)
    types = [op.type for op in graph.operators]
    require_known(opaque_types(types), chosen.options.costs)
    program, notes = plan_program(graph, target, chosen), _not_run(_without_code(types), asked)
    runs = None if asked.static or notes else program_graph(program, graph)
    return VerifyCase(program, target, runs, kernels.compiled, notes)


@grouped
def verify(what: What, *, machine: SomeMachine = None, plan: ModelPlanning, asked: Running, written: Written) -> int:
    """Prove a program correct for every timing, run it under a sanitizer, compare its outputs; or say what is wrong.

    It runs on the emulated core in the state that a second inference finds; a sanitizer sees every stale or torn byte.
    Its outputs are compared with those of an untiled run and of LiteRT. A program whose model is not available gets the
    static proof alone. Exit status 0: clean, 1: findings or differences, 2: bad input.

    \b
    Examples:
      mcusim verify ds-cnn --machine stm32f746g-disco --policy tinyops
      mcusim verify traces/broken-03-early-buffer-reuse.jsonl --json findings.json
      mcusim verify program.jsonl --model vww_96_int8.tflite --sanitize halt
      mcusim verify ds-cnn --fuzz 200 --seed 1
      mcusim verify traces/broken-03-early-buffer-reuse.jsonl --static
    """
    return _verified(what, machine, plan, asked, written.to(what, machine, asked.model, *(asked.input or ())))


def _verified(what: str, machine: str | None, plan: ModelPlanning, asked: Running, out: Output) -> int:
    """Verify and write the outcome; returns the exit status."""
    check(what, plan, asked)
    with spinner_with_bar(f"verifying {what}") as step:
        case = read(what, machine, plan, asked) if is_program(what) else planned(what, machine, plan, asked)
        verifier = case.verifier(asked)
        result = verifier.verify(step)
    if asked.seeds:
        with bar_with_rate(f"fuzzing {what}", len(asked.seeds), "seeds") as tick:
            result = verifier.fuzz(result, asked.seeds, progress=tick)
    from mcusim.verification.table import verification_table

    out.emit(lambda: verification_table(result), result.to_json)
    if result.wrong:
        fail(f"{what}: {', '.join(result.wrong)}")
    return 1 if result.wrong else 0
