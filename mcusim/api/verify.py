"""Verify a program, or a model's program: what `mcusim verify` does, with its options as keyword arguments."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from mcusim.api.simulate import changed, plan_program, program_machine
from mcusim.engine.program_checks import check_model
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.plan.options import runtime_of
from mcusim.plan.policy_keywords import PolicyOptions
from mcusim.plan.pools import largest_region
from mcusim.program import Program, program_graph, read_program
from mcusim.program.samples import sample_file
from mcusim.program.unknown_operators import opaque_types, refuse_recorded, require_known
from mcusim.run_config.input_tensors import Input, model_inputs
from mcusim.run_config.kernel_choice import DEFAULT_SET, resolve, shipped_kernels, shipped_names
from mcusim.run_config.run_options import documented
from mcusim.run_config.settings import MachineArg, require_overrides, require_type, settings
from mcusim.verification.model_lookup import model_of
from mcusim.verification.sanitizer.monitor import MODES
from mcusim.verification.verified_emulation import Emulation
from mcusim.verification.verifier import Verifier

if TYPE_CHECKING:
    from mcusim.kernels.kernel_set import KernelSet
    from mcusim.verification.verification import Verification

MOST_SEEDS = 100_000
_MACHINE, _POLICY, _WITHOUT_SDRAM, _SEED = "stm32f746g-disco", "tinyops", "internal", 1


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """The arguments of :func:`verify`: ``what`` is verified, and how."""

    what: str | Path | Graph | Program
    machine: str | Path | Machine | None = None
    policy: str | None = None
    overrides: Mapping[str, str] | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    allow_unknown: bool = False
    costs: Mapping[str, str] | None = None
    kernels: str | None = None
    model: str | Path | Graph | None = None
    input: Input | Sequence[Input] | None = None
    static: bool = False
    sanitize: str | None = None
    fuzz: int = 0
    seed: int | None = None

    @property
    def is_program(self) -> bool:
        """A program or its file, or else a model."""
        if not isinstance(self.what, str | Path):
            return isinstance(self.what, Program)
        path = Path(self.what)
        return path.suffix == ".jsonl" or (path.suffix != ".tflite" and path.is_file())

    @property
    def seeds(self) -> range:
        """Those of the fuzzing."""
        first = _SEED if self.seed is None else self.seed
        return range(first, first + self.fuzz)

    @property
    def of_planning(self) -> str | None:
        """The first option given that a program has no use for."""
        named = {"policy": self.policy, **self.options}
        return self._first({**named, "allow_unknown": self.allow_unknown or None, "cost": self.costs or None})

    def of_running(self, kernels: bool) -> str | None:
        """The first option given that is of the run alone; ``kernels``: whether that is one of them."""
        named: dict[str, Any] = {"sanitize": self.sanitize, "fuzz": self.fuzz or None, "seed": self.seed}
        named |= {"input": self.input, "kernels": self.kernels if kernels else None, "model": self.model}
        return self._first(named)

    @staticmethod
    def _first(given: Mapping[str, Any]) -> str | None:
        option = next((name for name, value in given.items() if value is not None), None)
        return None if option is None else "--" + option.replace("_", "-")


def check_request(asked: VerifyRequest) -> None:
    """Raise UsageError for options that contradict each other, have no effect or are of another type."""
    wanted = "a path, a name of `mcusim models`, a Graph or a Program"
    require_type("what", asked.what, ((str, Path, Graph, Program), wanted))
    require_overrides(asked.overrides)
    if asked.machine is not None:
        require_type("machine", asked.machine, MachineArg)
    program = asked.is_program
    if asked.static and (name := asked.of_running(kernels=program)):
        raise UsageError(f"--static runs nothing; {name} is for the run")
    if program and asked.of_planning:
        raise UsageError(f"{asked.of_planning} is for a model, which is planned first; a program is verified as it is")
    if not program and asked.model is not None:
        raise UsageError("--model is for a program; a model is itself what is verified")
    if asked.seed is not None and not asked.fuzz:
        raise UsageError("--seed has no effect without --fuzz")
    if asked.sanitize is not None and asked.sanitize not in MODES:
        raise UsageError(f"--sanitize {str(asked.sanitize)[:80]!r}: must be one of {', '.join(MODES)}")
    for name, value, most in (("fuzz", asked.fuzz, MOST_SEEDS), ("seed", asked.seed or 0, 2**62)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise UsageError(f"{name} = {str(value)[:40]}: must be a whole number from 0 to {most:,}")


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

    def verifier(self, asked: VerifyRequest) -> Verifier:
        """Raises UsageError for inputs that are not the model's."""
        graph = self.graph
        if graph is None:
            return Verifier(self.program, self.machine, None, self.notes)
        given = None if isinstance(asked.input, list | tuple) and not asked.input else asked.input
        inputs, sanitize = model_inputs(graph, given), asked.sanitize or "report"

        def prepare() -> Emulation:
            return Emulation(self.program, self.machine, graph, self.kernels(), inputs, sanitize=sanitize)

        return Verifier(self.program, self.machine, prepare, self.notes)


def verify_case(asked: VerifyRequest) -> VerifyCase:
    """The program that is verified: given, or planned. Raises UsageError, and what reading or planning raises."""
    return _read(asked) if asked.is_program else _planned(asked)


def _read(asked: VerifyRequest) -> VerifyCase:
    """A program. Raises UsageError when its model is not here and an option is of no use without."""
    program = asked.what if isinstance(asked.what, Program) else read_program(Path(str(asked.what)))
    refuse_recorded(program.header, "verification")
    target = program_machine(program, asked.machine, asked.overrides or {})
    name, planned_for = program.header.model[:80], program.header.kernels

    def kernels() -> KernelSet:
        return resolve(asked.kernels or shipped_kernels(planned_for), "emulate").compiled()

    if asked.static:
        return VerifyCase(program, target, None, kernels)
    missing = _without_code(op.type for op in program.header.operators)
    graph = None if missing else _model(program, asked)
    if graph is None:
        missing = missing or f"the program's model {name!r} is not here; --model names it"
    elif asked.kernels is None and planned_for in shipped_names() and resolve(planned_for, "plan").set is None:
        missing = f"kernels {planned_for[:80]!r} are a cost profile without code; {_with_code(program, asked.model)}"
    return VerifyCase(program, target, None if missing else graph, kernels, _not_run(missing, asked))


def _without_code(kinds: Iterable[str]) -> str:
    """Why operators of these types cannot be run; empty when they can."""
    names = ", ".join(name[:80] for name in opaque_types(kinds))
    return f"mcusim does not know {names[:400]} and has no kernel for it" if names else ""


def _not_run(missing: str, asked: VerifyRequest) -> list[str]:
    """The note about what is missing to run. Raises UsageError for an option of the run."""
    if missing and (option := asked.of_running(kernels=True)):
        raise UsageError(f"{option} is for the run, and {missing}")
    return [f"not run: {missing}"] if missing else []


def _model(program: Program, asked: VerifyRequest) -> Graph | None:
    """The program's model: the one given, or where it can be found next to the program's file."""
    if isinstance(asked.model, Graph):
        graph = program_graph(program, asked.model)
        check_model(program, graph)
        return graph
    file = Path() if isinstance(asked.what, Program) else sample_file(str(asked.what))
    return model_of(program, file, None if asked.model is None else str(asked.model))


def _with_code(program: Program, model: str | Path | Graph | None) -> str:
    """The command that plans a program's model for kernels that can run, and runs it."""
    header = program.header
    budget, variant = header.options.get("sram_budget"), header.options.get("variant")
    named = header.model[:80] if model is None or isinstance(model, Graph) else str(model)
    words = ["mcusim", "verify", named, "--machine", header.machine[:80]]
    words += ["--policy", header.policy[:80], *(["--sram-budget", f"{budget} B"] if isinstance(budget, int) else [])]
    words += ["--variant", str(variant)[:80]] if variant is not None else []
    return f"`{shlex.join(words)}` plans the model for kernels {DEFAULT_SET} and runs it"


def _planned(asked: VerifyRequest) -> VerifyCase:
    """A model's program, planned for the kernels that run, or where none do for any, as ``mcusim plan`` does."""
    # before the plan: a cost profile without code is planned for, and not run
    default = runtime_of(asked.options).kernels[1]
    kernels = resolve(default if asked.kernels is None else asked.kernels, "plan" if asked.static else "emulate")
    target = changed(asked.machine or _MACHINE, asked.overrides)
    default_policy = _POLICY if largest_region(target, "sdram") else _WITHOUT_SDRAM
    chosen = settings(asked.policy or default_policy, kernels, asked.options, fidelity="emulate", costs=asked.costs)
    assert not isinstance(asked.what, Program)
    graph = asked.what if isinstance(asked.what, Graph) else load_model(asked.what, asked.allow_unknown)
    types = [op.type for op in graph.operators]
    require_known(opaque_types(types), chosen.options.costs)
    program, notes = plan_program(graph, target, chosen), _not_run(_without_code(types), asked)
    runs = None if asked.static or notes else program_graph(program, graph)
    return VerifyCase(program, target, runs, kernels.compiled, notes)


@documented()
def verify(
    what: str | Path | Graph | Program,
    *,
    machine: str | Path | Machine | None = None,
    policy: str | None = None,
    overrides: Mapping[str, str] | None = None,
    allow_unknown: bool = False,
    costs: Mapping[str, str] | None = None,
    kernels: str | None = None,
    model: str | Path | Graph | None = None,
    input: Input | Sequence[Input] | None = None,
    static: bool = False,
    sanitize: str | None = None,
    fuzz: int = 0,
    seed: int | None = None,
    **options: Unpack[PolicyOptions],
) -> Verification:
    """Prove a program correct for every timing, run it under a sanitizer, compare its outputs; or say what is wrong.

    ``what`` is a program or its path (``.jsonl``), or a model (path, name or graph), which is planned first, by default
    with policy ``tinyops`` (``internal`` without SDRAM) on ``machine`` (stm32f746g-disco); ``policy`` to ``costs`` and
    ``options`` are those of :func:`mcusim.simulate` and for a model alone. A program goes with ``model``, by default
    what it names; if that is not here only the proof is done. ``kernels`` is the set that runs, ``input`` what it runs
    on, ``static`` the proof alone, ``sanitize`` ``halt``, ``report`` or ``off``; ``fuzz`` disturbs the timing by so
    many seeds from ``seed`` on.
    Raises UsageError for options that contradict each other, DoesNotFit, :class:`~mcusim.errors.InputError` for what
    cannot be read. Not modelled: what :mod:`mcusim.verification.verifier` does not.
    """
    asked = VerifyRequest(**locals())  # the arguments, whose names are its fields
    check_request(asked)
    verifier = verify_case(asked).verifier(asked)
    verification = verifier.verify()
    return verifier.fuzz(verification, asked.seeds) if asked.seeds else verification
