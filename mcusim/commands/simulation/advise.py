"""``mcusim advise``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.limits import Most
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import check_outputs, fail
from mcusim.commands.shared.progress import bar_of_steps

if TYPE_CHECKING:
    from mcusim.results.plan_advice import PlanAdvice

Machines = Annotated[
    str, option("LIST", "Machines, separated by commas, or all of those that ship.", names="--machine -m")
]


Folder = Annotated[
    Path | None, option("DIR", "Write the advised plan: program.jsonl and machine.toml.", names="--output -o")
]


@dataclass(frozen=True)
class Searched:
    """What is searched for, and for how long."""

    objective: Annotated[str, option("NAME", "What is to be small: latency, energy or sram.")] = "latency"
    reserve: Annotated[
        list[str] | None, option("REGION=SIZE", 'Keep that much of a region free: dtcm="16 KiB". Repeatable.')
    ] = None
    kernels: Annotated[str | None, option("NAME", "A kernel set that can be emulated. Default: cmsis.")] = None
    trials: Annotated[int, option("N", "Plans to try on a board, by replay.", min=1, max=10_000)] = 60
    seconds: Annotated[float, option("N", "Begin no plan after so many seconds, shared by the boards.", min=0.1)] = 60.0
    finalists: Annotated[int, option("N", "Plans to emulate, their outputs compared; 0: none.", min=0, max=100)] = 3


@grouped
def advise(
    model: options.Model,
    *,
    machine: Machines = "stm32f746g-disco",
    most: Most,
    searched: Searched,
    keys: MachineKeys,
    out: Folder = None,
    every: Annotated[bool, flag("--all", "List every plan that was tried.")] = False,
    written: Written,
) -> int:
    """The best use of a board for a model: policy, runtime, regions, order and buffers that are searched for you.

    Plans are ranked by replay with the profile of a kernel set; the best are emulated, and their outputs compared with
    LiteRT's. The command that is printed runs the advised plan. Exit status 1: nothing that was tried meets the limits.

    \b
    Examples:
      mcusim advise mcunet-vww1
      mcusim advise my.tflite -m stm32f469i-disco --max-latency "500 ms" --objective sram
      mcusim advise ds-cnn -m all --reserve dtcm="16 KiB" --json advice.json
      mcusim advise person_detect -m stm32f469i-disco -o advised
    """
    from mcusim.advisor.files import advised_files
    from mcusim.codegen.folder import check_folder, write_folder
    from mcusim.report.advise.table import advise_table

    named = options.machine_list(machine) or []
    output = written.to(model, *named)
    check_outputs([], written.json, [model, *named], written.force)
    if out is not None:
        check_folder(out, written.force)
    advice = _searched(model, named, most, searched, keys)
    if out is not None and advice.best is not None:
        write_folder(out, advised_files(advice.best), written.force)
    output.emit(lambda: advise_table(advice, every), advice.to_json)
    if not advice.fits:
        fail(f"no plan of {advice.model} that was tried meets what is asked")
    return 0 if advice.fits else 1


def _searched(model: str, named: list[str], most: Most, searched: Searched, keys: MachineKeys) -> PlanAdvice:
    from mcusim.advisor.advise import advise as search

    with bar_of_steps("searching", "plans", searched.trials * max(1, len(named)) + searched.finalists) as step:
        return search(
            model, named, objective=searched.objective, kernels=searched.kernels, overrides=keys.overrides,
            reserve=options.reserved(searched.reserve), trials=searched.trials, seconds=searched.seconds,
            finalists=searched.finalists, progress=step, max_latency=most.max_latency, max_energy=most.max_energy,
            max_sram=most.max_sram, max_flash=most.max_flash,
        )  # fmt: skip
