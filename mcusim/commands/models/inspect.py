"""``mcusim machines``, ``mcusim models`` and ``mcusim inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.grouped import grouped
from mcusim.commands.shared.groups import Written

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.model.graph import Graph
    from mcusim.results.flash import FlashUse

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
    from mcusim.model import load_model
    from mcusim.report.text.flash import boards_json, boards_lines
    from mcusim.report.text.inspect import model_json, model_table

    graph = load_model(model, allow_unknown=True)
    boards = _flash(graph, machine, kernels)
    output.emit(
        lambda: "\n".join([model_table(graph), "", *boards_lines(kernels, boards)]),
        lambda: {**model_json(graph), "flash": boards_json(kernels, boards)},
    )
    return 0


def _flash(graph: Graph, machine: str | None, kernels: str) -> list[tuple[Machine, FlashUse]]:
    """What flash keeps on ``machine``, or on every board that ships."""
    from mcusim.machine import load_machine, machine_names
    from mcusim.request.kernels import resolve
    from mcusim.results.flash import flash_use

    chosen = resolve(kernels, "plan").planned()
    boards = [load_machine(name) for name in ([machine] if machine is not None else machine_names())]
    return [(board, flash_use(graph, board, chosen)) for board in boards]
