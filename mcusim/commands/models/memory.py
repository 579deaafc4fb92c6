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
from mcusim.commands.shared.output import Output, check_outputs, fail, write_bytes
from mcusim.commands.shared.progress import bar, spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.results.memory_plan import MemoryPlan
    from mcusim.run_config.run_limits import RunLimits

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
class MostMemory:
    """What the model may take of the machine."""

    max_sram: Annotated[str | None, option("SIZE", 'Exit status 1 when it needs more on-chip RAM: "128 KiB".')] = None
    max_flash: Annotated[str | None, option("SIZE", 'Most flash for weights, code, runtime: "512 KiB".')] = None

    def limits(self, machine: str | None) -> RunLimits:
        """As read. Raises UsageError, also without ``machine``."""
        from mcusim.run_config.run_limits import RunLimits

        limits = RunLimits.of(sram=self.max_sram, flash=self.max_flash)
        if machine is None and limits.any():
            name = "sram" if limits.sram is not None else "flash"
            raise UsageError(f"--max-{name} is for what is needed on a machine: name it with --machine")
        return limits


@dataclass(frozen=True)
class PlanOutputs:
    """What is made of the plan."""

    out: Out = None
    html: Html = None
    everything: Annotated[bool, flag("--all", "Every step, lifetimes and addresses too.")] = False
    assumptions: Annotated[bool, flag("--assumptions", "List every assumption behind the cost of moves.")] = False


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
    most: MostMemory,
    made: PlanOutputs,
    written: Written,
) -> int:
    """Show which tensors are alive when, and where allocators put them.

    greedy and linear are TensorFlow Lite Micro's planners, dynamic (Liberis and Lane 2019) moves tensors together after
    every operator, optimal needs the fewest bytes without moving any, or prints a proven bound, offline is the file's
    own plan. With -o the offsets go into the model as an offline memory plan, which TFLM and `run` follow. The verdict
    on --machine is that of `run`. A compiled runtime has one static array of all data. Exit status 1: it does not fit.

    \b
    Examples:
      mcusim memory swiftnet.tflite --order optimal --allocator optimal -o planned.tflite --html mem.html
      mcusim memory person_detect.tflite --allocator dynamic --machine nucleo-f767zi
      mcusim memory person_detect.tflite --machine nucleo-h743zi --arena dtcm --persistent sram4
      mcusim memory my.tflite --machine nucleo-h743zi --max-sram "128 KiB" --max-flash "512 KiB"
      mcusim memory mcunet-vww1 --runtime tinyengine --patches auto
    """
    limits = most.limits(machine)
    output, files = written.to(model, machine, kernels), [*filter(None, (made.out, made.html))]
    check_outputs(files, written.json, [model, machine, kernels], written.force, rewritten=made.out)
    asked: dict[str, Any] = {**vars(placing), **vars(accounting), **vars(regions), "seconds": seconds}
    asked |= {"machine": machine, "overrides": keys.overrides, "kernels": kernels}
    with spinner(f"planning the memory of {model}"):
        from mcusim.api.advice.limit_checks import with_memory_limits
        from mcusim.api.plan_memory import memory as find

        plan = with_memory_limits(find(model, **asked), limits)
    return _emit(_write(plan, model, made, written.force), output, files, made)


def _emit(plan: MemoryPlan, output: Output, files: list[Path], made: PlanOutputs) -> int:
    """Print the plan; returns the exit status."""
    from mcusim.report.memory.json import memory_json
    from mcusim.report.memory.table import memory_screen, memory_table
    from mcusim.report.run.advice_text import exceeded_text

    table = memory_table if made.everything else memory_screen
    output.emit(lambda: table(plan, files, made.assumptions, made.out is not None), lambda: memory_json(plan))
    exceeded = [limit for limit in plan.limits if not limit.met]
    if plan.fits and exceeded:
        assert plan.machine is not None  # limits are of a machine
        fail(f"{plan.graph.name} on {plan.machine.name}: {', '.join(exceeded_text(limit) for limit in exceeded)}")
    return 0 if plan.fits and not exceeded else 1


def _write(plan: MemoryPlan, model: str, made: PlanOutputs, force: bool) -> MemoryPlan:
    """The plan with the price of its moves; the files that were asked for are all made before one is written."""
    from mcusim.api.plan_memory import priced

    pairs: list[tuple[Path, bytes]] = []
    if made.out is not None:
        from mcusim.api.reorder import planned_file

        pairs.append((made.out, planned_file(model, plan)))
    with bar(f"moving the tensors of {model}") as step:
        plan = priced(plan, step)
    if made.html is not None:
        from mcusim.report.memory.page import memory_html

        pairs.append((made.html, memory_html(plan).encode()))
    for path, data in pairs:
        write_bytes(path, data, force)
    return plan
