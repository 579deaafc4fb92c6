"""``mcusim machines``, ``mcusim models`` and ``mcusim inspect``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written

New = Annotated[Path | None, option("FILE", "Write a commented machine file to change; needs --from.", names="--new")]
Board = Annotated[
    str | None, option("NAME|FILE", "The board whose flash counts. Default: all that ship.", names="--machine -m")
]
KernelSetName = Annotated[
    str, option("NAME|PATH", "Whose code counts: a kernel set, or a cost profile.", names="--kernels")
]


@grouped
def machines(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A machine's name, or a TOML file.")] = None,
    new: New = None,
    base: Annotated[str | None, option("NAME", "The machine that --new copies.", names="--from")] = None,
    *,
    keys: MachineKeys,
    written: Written,
) -> int:
    """List the machines, or show one with every figure, its basis and its source.

    \b
    Examples:
      mcusim machines
      mcusim machines stm32f746g-disco
      mcusim machines --new my.toml --from stm32f746g-disco
    """
    if new is not None or base is not None:
        return _new(new, base or name, keys.overrides, written)
    output = written.to(name)
    from mcusim.errors import UsageError
    from mcusim.machine import load_machine, machine_names
    from mcusim.report.inspection_tables import machine_json, machine_table, machines_table

    overrides = keys.overrides
    if name is not None:
        machine = load_machine(name, overrides)
        output.emit(lambda: machine_table(machine), lambda: machine_json(machine))
        return 0
    if overrides:
        raise UsageError("--set needs the NAME of one machine")
    known = [load_machine(known_name) for known_name in machine_names()]
    output.emit(lambda: machines_table(known), lambda: {"machines": [machine_json(m) for m in known]})
    return 0


def _new(path: Path | None, base: str | None, overrides: Mapping[str, str], written: Written) -> int:
    """Write a machine file to change."""
    from mcusim.commands.shared.output import check_apart, check_writable, note, write_file
    from mcusim.errors import UsageError
    from mcusim.machine import load_machine, machine_toml

    if path is None or base is None:
        raise UsageError("--new FILE writes a machine file, --from NAME says which machine it is a copy of: name both")
    if written.json is not None:
        raise UsageError("--json has no effect with --new, which writes a machine file")
    if path.suffix != ".toml":
        raise UsageError(f"--new {path}: a machine file's name ends in .toml")
    check_apart(path, [base])
    check_writable(path, written.force)
    machine = load_machine(base, overrides)
    text = machine_toml(machine, path.name)
    write_file(path, lambda file: file.write(text), written.force)
    note(f"{path}: a copy of {machine.name} with {len(machine.figures)} figures; `mcusim machines {path}` shows it")
    return 0


@grouped
def models(written: Written) -> int:
    """List the networks that are built in memory; a path to a .tflite works wherever their names do.

    \b
    Example:
      mcusim models
    """
    output = written.to()
    from mcusim.report.inspection_tables import zoo_json, zoo_table

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
    from mcusim.report.flash_text import inspection_json, inspection_table

    inspection = found_in(model, machine=machine, kernels=kernels)
    output.emit(lambda: inspection_table(inspection), lambda: inspection_json(inspection))
    return 0
