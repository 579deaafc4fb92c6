"""``mcusim diff``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared.declare import option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import check_apart, check_outputs, fail, write_bytes

if TYPE_CHECKING:
    from mcusim.results.saved.run_difference import RunDifference

FailIf = Annotated[
    list[str] | None,
    option(
        "LIMIT",
        "Exit status 1 when SECOND is beyond it:"
        ' "latency +5 %", "energy +2 mJ", "cycles +0", "sram +1 KiB". Repeatable.',
        names="--fail-if",
    ),
]


@grouped
def diff(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="JSON of a run: `mcusim run --json FILE`.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="JSON of the run to compare with it.")],
    *,
    fail_if: FailIf = None,
    operators: Annotated[int, typer.Option("--operators", metavar="N", min=0, help="How many operators to list.")] = 10,
    html: Annotated[Path | None, option("FILE", "Plots: what takes longer, operator by operator.")] = None,
    written: Written,
) -> int:
    """Two saved runs operator by operator: what the second takes more or less, and why.

    A LIMIT is FIGURE, sign, NUMBER and UNIT. FIGURE is latency, cycles, energy, sram or flash. + fails when SECOND has
    more than FIRST by more than NUMBER, - when it has less. UNIT is % of FIRST's figure; for latency us, ms or s, for
    energy uJ, mJ or J, for sram and flash B, KiB or MiB, for cycles nothing.

    Exit status 1: a limit is exceeded, or one of the two did not run.

    \b
    Examples:
      mcusim diff before.json after.json
      mcusim diff before.json after.json --fail-if "latency +5 %" --fail-if "sram +0 B"
      mcusim diff before.json after.json --html diff.html --json diff.json
    """
    inputs = [first, second]
    if html is not None:
        check_apart(html, inputs)
    output = written.to(*inputs)
    check_outputs([html] if html else [], written.json, inputs, written.force)
    from mcusim.api.diff import diff as difference
    from mcusim.report.diff.table import diff_table

    run_difference = difference(first, second, fail_if=fail_if)
    _write(html, run_difference, written.force)
    output.emit(lambda: diff_table(run_difference, operators), run_difference.to_json)
    if run_difference.negative is not None or run_difference.exceeded:
        fail(run_difference.negative or "; ".join(run_difference.exceeded))
        return 1
    return 0


def _write(html: Path | None, difference: RunDifference, force: bool) -> None:
    if html is not None:
        from mcusim.report.diff.page import diff_page

        write_bytes(html, diff_page(difference).encode(), force)
