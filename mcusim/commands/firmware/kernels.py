"""``mcusim kernels`` and ``mcusim kernels build``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import Output, note
from mcusim.commands.shared.progress import bar_of_steps

Name = Annotated[str | None, argument("SET", "A set's name, or its folder or manifest.")]


@grouped
def kernels(name: Name = None, *, written: Written) -> int:
    """List the sets of compiled kernels, or show one operator by operator.

    A set is a folder with a manifest and the ELF files built from its C sources.

    \b
    Examples:
      mcusim kernels
      mcusim kernels cmsis
      mcusim kernels build --out my-kernels --cflags=-O2
    """
    output = written.to()
    from mcusim.kernels.kernel_set import load_set, set_names
    from mcusim.report.kernels_table import set_json, set_table, sets_json, sets_table

    if name is not None:
        chosen = load_set(name)
        output.emit(lambda: set_table(chosen), lambda: set_json(chosen))
        return 0
    known = [load_set(known_name) for known_name in set_names()]
    output.emit(lambda: sets_table(known), lambda: sets_json(known))
    return 0


def build(
    out: Annotated[Path, option("DIR", "Each set goes into a folder of its name there.", names="-o --out")],
    name: Name = None,
    cc: Annotated[str, option("COMMAND", "A GCC for arm-none-eabi.")] = "arm-none-eabi-gcc",
    cflags: Annotated[str, option("FLAGS", "Further flags, after those of the manifest.")] = "",
    json: options.Json = None,
    force: Annotated[bool, flag("--force", "Overwrite the files of a set, and an existing output file.")] = False,
) -> int:
    """Build kernel sets from their C sources: a set by its manifest, or all that ship.

    What is built works as a set by its path. In the package, kernels/sets/include/kernels.h
    has the structures that kernels are called with; kernels/sets/reference/manifest.toml
    says what a manifest contains.

    \b
    Examples:
      mcusim kernels build --out my-kernels
      mcusim kernels build cmsis --out small --cflags=-Os
      mcusim kernels build my-set/manifest.toml --out built
    """
    output = Output(json, force)
    from mcusim.kernels import building
    from mcusim.kernels.kernel_set import load_set, set_names
    from mcusim.machine.cores import CORES
    from mcusim.report.kernels_table import sets_json, sets_table

    sets = [load_set(wanted) for wanted in ([name] if name is not None else set_names())]
    messages: list[str] = []
    try:
        with bar_of_steps("building", "programs", len(sets) * len(CORES)) as step:
            compiler = building.Compiler(cc, cflags, step, messages.append)
            built = building.build_sets(sets, out, compiler, force)
    finally:  # after the bar, also when it failed
        for text in messages:
            note(text)
    places = "\n".join(f"{kernels.name} -> {kernels.manifest.parent}" for kernels in built)
    output.emit(lambda: f"{places}\n\n{sets_table(built)}", lambda: sets_json(built))
    return 0
