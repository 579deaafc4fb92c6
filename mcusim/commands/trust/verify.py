"""``mcusim verify``: its options, and the program that it checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.grouped import grouped
from mcusim.commands.shared.groups import Planning, Written
from mcusim.commands.shared.output import Output, fail
from mcusim.commands.shared.progress import bar_with_rate, spinner_with_bar

if TYPE_CHECKING:
    from mcusim.api.verify import VerifyRequest

__all__ = ["ModelPlanning", "Running", "request", "verify"]

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


def request(what: str, machine: str | None, plan: ModelPlanning, asked: Running) -> VerifyRequest:
    """The options as :func:`~mcusim.api.verify.verify` takes them."""
    from mcusim.api.verify import VerifyRequest

    how = plan.planning
    given = {name: value for name, value in vars(how).items() if name not in ("keys", "overlay", "cost")}
    return VerifyRequest(
        what=what, machine=machine, policy=plan.policy, overrides=how.overrides, overlay=how.overlays, costs=how.costs,
        **given, **vars(asked),
    )  # fmt: skip


@grouped
def verify(what: What, *, machine: SomeMachine = None, plan: ModelPlanning, asked: Running, written: Written) -> int:
    """Prove a program correct for every timing, run it under a sanitizer, compare its outputs; or say what is wrong.

    It runs on the emulated core in the state that a second inference finds; a sanitizer sees every stale or torn byte.
    Its outputs are compared with those of an untiled run and of LiteRT. A program whose model is not available gets the
    static proof alone. Exit status 0: clean, 1: findings or differences, 2: bad input.

    \b
    Examples:
      mcusim verify ds-cnn --machine stm32f746g-disco --variant 2023
      mcusim verify traces/broken-03-early-buffer-reuse.jsonl --json findings.json
      mcusim verify program.jsonl --model vww_96_int8.tflite --sanitize halt
      mcusim verify ds-cnn --fuzz 200 --seed 1
      mcusim verify traces/broken-03-early-buffer-reuse.jsonl --static
    """
    return _verified(what, machine, plan, asked, written.to(what, machine, asked.model, *(asked.input or ())))


def _verified(what: str, machine: str | None, plan: ModelPlanning, asked: Running, out: Output) -> int:
    """Verify and write the outcome; returns the exit status."""
    from mcusim.api.verify import check_request, verify_case
    from mcusim.verification.table import verification_table

    given = request(what, machine, plan, asked)
    check_request(given)
    with spinner_with_bar(f"verifying {what}") as step:
        verifier = verify_case(given).verifier(given)
        result = verifier.verify(step)
    if given.seeds:
        with bar_with_rate(f"fuzzing {what}", len(given.seeds), "seeds") as tick:
            result = verifier.fuzz(result, given.seeds, progress=tick)
    out.emit(lambda: verification_table(result), result.to_json)
    if result.wrong:
        fail(f"{what}: {', '.join(result.wrong)}")
    return 1 if result.wrong else 0
