"""``mcusim calibrate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import check_apart, check_writable, write_file
from mcusim.commands.shared.progress import bar_of_steps
from mcusim.errors import UsageError

Fit = Annotated[
    str | None,
    option("LIST", "Keys to fit, separated by commas. Default: those that the rows determine.", names="--fit"),
]


@grouped
def calibrate(
    machine: Annotated[str | None, argument("MACHINE", "A name of `mcusim machines`, or a TOML file.")] = None,
    measurements: Annotated[Path | None, option("CSV", "What was measured, one number a line.")] = None,
    output: Annotated[Path | None, option("FILE", "The TOML file of the fitted machine.", names="-o --output")] = None,
    fit: Fit = None,
    template: Annotated[bool, flag("--template", "Print a CSV to start from, and exit.")] = False,
    *,
    written: Written,
) -> int:
    """Fit figures of a machine to your own measurements: least squares, within bounds.

    Writes a machine that extends the given one; each fitted figure says so. Keys that the measurements do not
    determine are refused by name, with the measurements that would determine them.

    \b
    Examples:
      mcusim calibrate --template > my_board.csv
      mcusim calibrate stm32f746g-disco --measurements my_board.csv -o my_board.toml
      mcusim calibrate my.toml --measurements log.csv -o new.toml --fit memory.sdram.read_overhead,power.run
    """
    if template:
        return _template()
    if machine is None or measurements is None or output is None:
        missing = "MACHINE" if machine is None else "--measurements" if measurements is None else "-o"
        raise UsageError(f"{missing} is missing: mcusim calibrate MACHINE --measurements CSV -o FILE")
    inputs: list[str | Path] = [machine, measurements]
    out = written.to(*inputs)
    _check_output(output, written, inputs)
    keys = options.comma_list(fit, "--fit")
    with bar_of_steps("fitting", "simulations") as step:
        from mcusim.evidence.calibrate.calibrate import calibrate as fitted

        calibration = fitted(machine, measurements, keys, output=output, progress=step)
    write_file(output, lambda file: file.write(calibration.machine_text), written.force)
    from mcusim.evidence.calibrate.calibration import calibration_json, calibration_table

    out.emit(lambda: f"{calibration_table(calibration)}\n  written: {output}", lambda: calibration_json(calibration))
    return 0


def _template() -> int:
    from mcusim.evidence.calibrate.measurements import TEMPLATE

    sys.stdout.write(TEMPLATE)
    return 0


def _check_output(output: Path, written: Written, inputs: list[str | Path]) -> None:
    if output.suffix != ".toml":
        raise UsageError(f"cannot write {output}: a machine file's name ends in .toml")
    check_apart(output, inputs)
    check_writable(output, written.force)
    if written.json is not None and written.json.absolute() == output.absolute():
        raise UsageError(f"{output} is named for two outputs")
