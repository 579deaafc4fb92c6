"""``mcusim verify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands import options
from mcusim.commands.output import Output, fail
from mcusim.commands.progress import spinner

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.plan.program import Program

_MACHINE, _POLICY = "stm32f746g-disco", "tinyops"

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


def verify(
    what: What,
    machine: SomeMachine = None,
    policy: Policy = None,
    set_: options.Set = None,
    sram_budget: options.SramBudget = None,
    weights: options.Weights = None,
    overlay: options.Overlay = None,
    kernels: options.Kernels = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Prove a program right for every timing, or name what is wrong: waits, data, cache maintenance, DMA limits.

    It is a static proof over the program: nothing is run. Each finding names its rule, the tasks, the bytes and what
    would fix it. Exit status 0: no findings, 1: findings, 2: bad input.

    \b
    Examples:
      mcusim verify ds-cnn --machine stm32f746g-disco --policy tinyops
      mcusim verify traces/broken-03.jsonl --json findings.json
    """
    out = Output(json, force)
    with spinner(f"verifying {what}"):
        if _is_program(what):
            _no_planning(policy, sram_budget, weights, overlay, kernels)
            program, target = _read(what, machine, set_)
        else:
            overlays = options.comma_list(overlay, "--overlay")
            program, target = _plan(what, machine, policy, set_, kernels, sram_budget, weights, overlays)
        from mcusim.plan.proof import prove

        findings = prove(program, target)
    from mcusim.report.findings_table import findings_json, findings_table

    out.emit(lambda: findings_table(program, target, findings), lambda: findings_json(program, target, findings))
    if findings:
        fail(f"{what}: {len(findings)} finding{'s' if len(findings) > 1 else ''}")
    return 1 if findings else 0


def _is_program(what: str) -> bool:
    path = Path(what)
    return path.suffix == ".jsonl" or (path.suffix != ".tflite" and path.is_file())


def _no_planning(*chosen: str | None) -> None:
    """A program is planned already."""
    from mcusim.errors import UsageError

    names = ("--policy", "--sram-budget", "--weights", "--overlay", "--kernels")
    given = [name for name, value in zip(names, chosen, strict=True) if value is not None]
    if given:
        raise UsageError(f"{given[0]} is for a model, which is planned first; a program is verified as it is")


def _read(what: str, machine: str | None, set_: list[str] | None) -> tuple[Program, Machine]:
    from mcusim.plan import read_program
    from mcusim.study.simulate import program_machine

    program = read_program(Path(what))
    return program, program_machine(program, machine, options.overrides(set_))


def _plan(
    what: str,
    machine: str | None,
    policy: str | None,
    set_: list[str] | None,
    kernels: str | None,
    sram_budget: str | None,
    weights: str | None,
    overlays: list[str] | None,
) -> tuple[Program, Machine]:
    from mcusim.machine import load_machine
    from mcusim.model import load_model
    from mcusim.study.settings import settings
    from mcusim.study.simulate import plan_program

    chosen = settings(policy or _POLICY, kernels, sram_budget, weights, overlays, "replay")
    target = load_machine(machine or _MACHINE, options.overrides(set_))
    return plan_program(load_model(what), target, chosen), target
