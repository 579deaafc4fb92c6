"""``mcusim machines``, ``mcusim models`` and ``mcusim inspect``."""

from __future__ import annotations

from typing import Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.grouped import grouped
from mcusim.commands.shared.groups import Written

Board = Annotated[
    str | None,
    typer.Option("--machine", "-m", metavar="NAME|FILE", help="The board whose flash counts. Default: all that ship."),
]
KernelSetName = Annotated[
    str,
    typer.Option("--kernels", metavar="NAME|PATH", help="Whose code counts: a kernel set, or a cost profile."),
]


@grouped
def machines(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A machine's name, or a TOML file.")] = None,
    *,
    set_: options.Set = None,
    written: Written,
) -> int:
    """List the machines, or show one with every figure, its basis and its source.

    \b
    Examples:
      mcusim machines
      mcusim machines stm32f746g-disco
    """
    output = written.to(name)
    from mcusim.errors import UsageError
    from mcusim.machine import load_machine, machine_names
    from mcusim.report.text.inspect import machine_json, machine_table, machines_table

    overrides = options.overrides(set_)
    if name is not None:
        machine = load_machine(name, overrides)
        output.emit(lambda: machine_table(machine), lambda: machine_json(machine))
        return 0
    if overrides:
        raise UsageError("--set needs the NAME of one machine")
    known = [load_machine(known_name) for known_name in machine_names()]
    output.emit(lambda: machines_table(known), lambda: {"machines": [machine_json(m) for m in known]})
    return 0


@grouped
def models(written: Written) -> int:
    """List the networks that are built in memory; a path to a .tflite works wherever their names do.

    \b
    Example:
      mcusim models
    """
    output = written.to()
    from mcusim.report.text.inspect import zoo_json, zoo_table

    output.emit(zoo_table, zoo_json)
    return 0


@grouped
def inspect(
    model: options.Model,
    *,
    machine: Board = None,
    kernels: KernelSetName = "cmsis",
    written: Written,
) -> int:
    """Show a model's operators, MACs, peak of live activations, and the flash that it needs on boards.

    \b
    Examples:
      mcusim inspect vww_96_int8.tflite --json -
      mcusim inspect ds-cnn --machine stm32f469i-disco --kernels cmsis-nano
    """
    output = written.to(model, machine)
    from mcusim.api.functions import inspect as found_in
    from mcusim.report.text.flash import inspection_json, inspection_table

    found = found_in(model, machine=machine, kernels=kernels)
    output.emit(lambda: inspection_table(found), lambda: inspection_json(found))
    return 0
