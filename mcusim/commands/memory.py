"""``mcusim memory``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mcusim.commands import options
from mcusim.commands.output import Output, check_apart, check_writable, write_bytes
from mcusim.commands.progress import spinner
from mcusim.errors import UsageError

Order = Annotated[
    str, typer.Option("--order", metavar="NAME", help="default: as stored; optimal: that of the least peak.")
]
Allocator = Annotated[
    str,
    typer.Option("--allocator", metavar="NAME", help="greedy (TFLM's), linear, dynamic (moves tensors) or optimal."),
]
Machine = Annotated[
    str | None, typer.Option("--machine", "-m", metavar="NAME|FILE", help="Does it fit there, and what do moves cost?")
]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="The .tflite with order and offsets, which TFLM then uses."),
]
Align = Annotated[int, typer.Option("--align", metavar="BYTES", min=1, help="Offsets are multiples of this.")]


def memory(
    model: options.Model,
    order: Order = "default",
    in_place: options.InPlace = False,
    weights: options.WeightsIn = "flash",
    allocator: Allocator = "greedy",
    machine: Machine = None,
    set_: options.Set = None,
    align: Align = 16,
    seconds: options.Seconds = 60.0,
    out: Out = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Show which tensors are alive when, and where allocators put them.

    All allocators place the same lifetimes: greedy and linear are TensorFlow Lite Micro's planners, dynamic is that of
    Liberis and Lane (2019), which moves tensors together after every operator, optimal needs the fewest bytes without
    moving any, or prints a proven bound. With -o the offsets go into the model as TFLM's offline memory plan. Exit
    status 1: the arena does not fit into the machine's on-chip RAM.

    \b
    Examples:
      mcusim memory swiftnet.tflite --order optimal --allocator optimal -o planned.tflite
      mcusim memory person_detect.tflite --allocator dynamic --machine nucleo-f767zi
    """
    output = Output(json, force, [model, machine])
    _check(out, json, model, force)
    with spinner(f"planning the memory of {model}"):
        from mcusim.study.memory import memory as find

        plan = find(
            model,
            order=order,
            in_place=in_place,
            weights=weights,
            allocator=allocator,
            machine=machine,
            overrides=options.overrides(set_),
            align=align,
            seconds=seconds,
        )
    if out is not None:
        from mcusim.study.planned_file import planned_file

        write_bytes(out, planned_file(model, plan), force)
    from mcusim.report.memory_json import memory_json
    from mcusim.report.memory_table import memory_table

    output.emit(lambda: memory_table(plan, out), lambda: memory_json(plan))
    return 0 if plan.fits else 1


def _check(out: Path | None, json: Path | None, model: str, force: bool) -> None:
    """Refuse before the work what could not be written behind it."""
    if out is None:
        return
    if not force:
        check_apart(out, [model])
    check_writable(out, force)
    if json is not None and json.absolute() == out.absolute():
        raise UsageError(f"{out} is named for two outputs")
