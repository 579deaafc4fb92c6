"""``mcusim generate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.progress import spinner

InPlace = Annotated[bool | None, flag("--in-place/--no-in-place", "Depthwise convolutions write over their inputs.")]


@grouped
def generate(
    model: options.Model,
    out: Annotated[Path, option("DIR", "The folder that the C files go into.", names="-o --output")],
    *,
    runtime: Annotated[str | None, option("NAME", "What the code is for. Default: tinyengine.")] = None,
    machine: Annotated[
        str, option("NAME|FILE", "Whose core and memory map.", names="--machine -m")
    ] = "stm32f746g-disco",
    in_place: InPlace = None,
    patches: options.PatchGrid = None,
    patch_split: options.PatchSplit = None,
    patch_macs: options.PatchMacs = None,
    written: Written,
) -> int:
    """Write a model as C that a compiler makes a library or a program of.

    One static array, constants in the order in which the kernels read them, straight calls; three functions to use it:
    mcusim_input, mcusim_invoke, mcusim_output. The kernels' sources that it needs are copied. A Makefile builds it for
    Cortex-M, for an emulator and for the computer at hand. The exit status is 1 where the board has no room for it.

    \b
    Examples:
      mcusim generate ds-cnn --runtime tinyengine -o ds-cnn-c
      mcusim generate model.tflite -m nucleo-l4r5zi -o out --json -
      mcusim generate mcunet-vww1 --patches auto -o vww-c
    """
    output = written.to(model)
    with spinner(f"generating {model}"):
        from mcusim.api.generate import generate as write

        cut: dict[str, Any] = {"patches": patches, "patch_split": patch_split, "patch_macs": patch_macs}
        generated = write(model, out, machine, runtime=runtime, in_place=in_place, force=written.force, **cut)
    from mcusim.report.generated_code import generate_json, generate_table

    output.emit(lambda: generate_table(generated, str(out)), lambda: generate_json(generated, str(out)))
    return 1 if generated.over else 0
