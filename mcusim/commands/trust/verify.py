"""``mcusim verify``."""

from __future__ import annotations

from typing import Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.output import Output, fail
from mcusim.commands.shared.progress import rated, working
from mcusim.commands.trust.verify_case import Planning, Running, check, is_program, planned, read

_MOST_SEEDS = 100_000

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
    buffering: options.Buffering = None,
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
    """Prove a program right for every timing, run it under watch and compare its outputs, or name what is wrong.

    It runs on the emulated core in the state that a second inference finds; a sanitizer sees every stale or torn byte.
    Its outputs are compared with those of an untiled run and of LiteRT. A program whose model is not at hand gets the
    static proof alone. Exit status 0: clean, 1: findings or differences, 2: bad input.

    \b
    Examples:
      mcusim verify ds-cnn --machine stm32f746g-disco --policy tinyops
      mcusim verify traces/broken-03.jsonl --json findings.json
      mcusim verify program.jsonl --model vww_96_int8.tflite --sanitize halt
      mcusim verify ds-cnn --fuzz 200 --seed 1
      mcusim verify traces/broken-03.jsonl --static
    """
    plan = Planning(policy, set_, sram_budget, weights, overlay, buffering)
    asked = Running(model, kernels, input, static, sanitize, fuzz, seed)
    return _verified(what, machine, plan, asked, Output(json, force, [what, machine, model, *(input or ())]))


def _verified(what: str, machine: str | None, plan: Planning, asked: Running, out: Output) -> int:
    """Do it, and write what came of it; returns the exit status."""
    check(what, plan, asked)
    with working(f"verifying {what}") as step:
        case = read(what, machine, plan, asked) if is_program(what) else planned(what, machine, plan, asked)
        verifier = case.verifier(asked)
        result = verifier.verify(step)
    if asked.seeds:
        with rated(f"fuzzing {what}", len(asked.seeds), "seeds") as tick:
            result = verifier.fuzz(result, asked.seeds, progress=tick)
    from mcusim.verification.table import verification_table

    out.emit(lambda: verification_table(result), result.to_json)
    if result.wrong:
        fail(f"{what}: {', '.join(result.wrong)}")
    return 1 if result.wrong else 0
