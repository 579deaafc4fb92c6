"""``mcusim memory``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import CountedBytes, MachineKeys, Written
from mcusim.commands.shared.output import Output, check_outputs, write_bytes
from mcusim.commands.shared.progress import bar, spinner

if TYPE_CHECKING:
    from mcusim.results.memory_plan import MemoryPlan

Kernels = Annotated[
    str | None,
    option("NAME|PATH", "Whose scratch buffers and data count on --machine. Default: as `run`.", names="--kernels"),
]
Machine = Annotated[
    str | None, option("NAME|FILE", "Check that it fits this machine; cost of moves there.", names="--machine -m")
]
Out = Annotated[
    Path | None, option("FILE", "The .tflite with order and offsets, which TFLM then uses.", names="-o --output")
]
Html = Annotated[
    Path | None, option("FILE", "Plots: bytes in use at each step, and a map of the addresses.", names="--html")
]


def _region(name: str, what: str) -> Any:
    return typer.Option(f"--{name}", metavar="REGION", help=f"The region of {what} on --machine, as in `mcusim run`.")


@dataclass(frozen=True)
class Regions:
    """Where data go on the machine."""

    arena: Annotated[str | None, _region("arena", "the data")] = None
    persistent: Annotated[str | None, _region("persistent", "the interpreter's data and variables")] = None
    scratch: Annotated[str | None, _region("scratch", "one scratch buffer for all kernels")] = None


@dataclass(frozen=True)
class Placing:
    """What places the data, and how."""

    runtime: Annotated[str | None, option("NAME", "What executes the model, as in `mcusim run`.")] = None
    order: Annotated[str, option("NAME", "default: as stored; optimal: least peak memory.")] = "default"
    allocator: Annotated[
        str | None,
        option(
            "NAME",
            "greedy (TFLM's), linear, dynamic (moves tensors), optimal, or offline:"
            " the plan in the file, the default where there is one, else greedy.",
        ),
    ] = None
    im2col: Annotated[
        str | None,
        option(
            "RULE",
            "Columns of inputs that compiled convolutions have in scratch: two, or adaptive:"
            " as many as fit where the largest has one.",
        ),
    ] = None
    patches: options.PatchGrid = None
    patch_split: options.PatchSplit = None
    patch_macs: options.PatchMacs = None
    align: Annotated[
        int | None, option("BYTES", "Offsets are multiples of this. Default: the runtime's, 16.", min=1)
    ] = None


@grouped
def memory(
    model: options.Model,
    *,
    placing: Placing,
    accounting: CountedBytes,
    machine: Machine = None,
    kernels: Kernels = None,
    keys: MachineKeys,
    regions: Regions,
    seconds: options.Seconds = 60.0,
    out: Out = None,
    html: Html = None,
    assumptions: Annotated[bool, flag("--assumptions", "List every assumption behind the cost of moves.")] = False,
    written: Written,
) -> int:
    """Show which tensors are alive when, and where allocators put them.

    greedy and linear are TensorFlow Lite Micro's planners, dynamic (Liberis and Lane 2019) moves tensors together after
    every operator, optimal needs the fewest bytes without moving any, or prints a proven bound, offline is the file's
    own plan. With -o the offsets go into the model as an offline memory plan, which TFLM and `run` follow. The verdict
    on --machine is that of `run`. A compiled runtime has one static array of all data. Exit status 1: it does not fit.

    \b
    Examples:
      mcusim memory swiftnet.tflite --order optimal --allocator optimal -o planned.tflite
      mcusim memory person_detect.tflite --allocator dynamic --machine nucleo-f767zi
      mcusim memory person_detect.tflite --machine nucleo-h743zi --arena dtcm --persistent sram4
      mcusim memory mcunet-vww1 --runtime tinyengine --patches auto
      mcusim memory figure-1 --order optimal --html mem.html
    """
    output, files = written.to(model, machine, kernels), [*filter(None, (out, html))]
    check_outputs(files, written.json, [model, machine, kernels], written.force, rewritten=out)
    asked: dict[str, Any] = {**vars(placing), **vars(accounting), **vars(regions), "seconds": seconds}
    asked |= {"machine": machine, "overrides": keys.overrides, "kernels": kernels}
    with spinner(f"planning the memory of {model}"):
        from mcusim.api.plan_memory import memory as find

        plan = find(model, **asked)
    plan = _write(plan, model, out, html, written.force)
    return _emit(plan, output, files, assumptions, out is not None)


def _emit(plan: MemoryPlan, output: Output, files: list[Path], assumptions: bool, rewritten: bool) -> int:
    """Print the plan; returns the exit status."""
    from mcusim.report.memory.json import memory_json
    from mcusim.report.memory.table import memory_table

    output.emit(lambda: memory_table(plan, files, assumptions, rewritten), lambda: memory_json(plan))
    return 0 if plan.fits else 1


def _write(plan: MemoryPlan, model: str, out: Path | None, html: Path | None, force: bool) -> MemoryPlan:
    """The plan with the price of its moves; the files that were asked for are all made before one is written."""
    from mcusim.api.plan_memory import priced

    pairs: list[tuple[Path, bytes]] = []
    if out is not None:
        from mcusim.api.reorder import planned_file

        pairs.append((out, planned_file(model, plan)))
    with bar(f"moving the tensors of {model}") as step:
        plan = priced(plan, step)
    if html is not None:
        from mcusim.report.memory.page import memory_html

        pairs.append((html, memory_html(plan).encode()))
    for path, data in pairs:
        write_bytes(path, data, force)
    return plan
