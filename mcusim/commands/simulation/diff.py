"""``mcusim diff``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared.declare import option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import Output, check_apart, check_outputs, fail, write_bytes
from mcusim.errors import UsageError

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


@dataclass(frozen=True)
class DiffFiles:
    """What the difference is written to."""

    html: Annotated[Path | None, option("FILE", "Plots: what takes longer, operator by operator.")] = None
    markdown: Annotated[
        Path | None, option("FILE", "A comment for a pull request, ten lines; - is standard output, then nothing else.")
    ] = None

    @property
    def alone(self) -> bool:
        """Whether standard output gets the comment."""
        return str(self.markdown) == "-"

    def output(self, inputs: Sequence[Path], written: Written) -> Output:
        """Where the rest goes. Raises UsageError for files that cannot be written."""
        files = [path for path in (self.html, None if self.alone else self.markdown) if path is not None]
        for path in files:
            check_apart(path, inputs)
        output = written.to(*inputs)
        check_outputs(files, written.json, inputs, written.force)
        if self.alone and str(written.json) == "-":
            raise UsageError("--markdown - and --json -: standard output is for one of them")
        return output

    def write(self, difference: RunDifference, force: bool) -> None:
        """The files."""
        if self.markdown is not None and not self.alone:
            from mcusim.report.diff.markdown import diff_markdown

            write_bytes(self.markdown, diff_markdown(difference).encode(), force)
        if self.html is not None:
            from mcusim.report.diff.page import diff_page

            write_bytes(self.html, diff_page(difference).encode(), force)


@grouped
def diff(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="JSON of a run: `mcusim run --json FILE`.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="JSON of the run to compare with it.")],
    *,
    fail_if: FailIf = None,
    operators: Annotated[int, typer.Option("--operators", metavar="N", min=0, help="How many operators to list.")] = 10,
    files: DiffFiles,
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
      mcusim diff base.json this.json --fail-if "latency +5 %" --markdown comment.md
    """
    output = files.output([first, second], written)
    from mcusim.api.diff import diff as difference
    from mcusim.report.diff.markdown import diff_markdown
    from mcusim.report.diff.table import diff_table

    run_difference = difference(first, second, fail_if=fail_if)
    files.write(run_difference, written.force)
    text = diff_markdown(run_difference).rstrip("\n") if files.alone else diff_table(run_difference, operators)
    output.emit(lambda: text, run_difference.to_json)
    if run_difference.negative is not None or run_difference.exceeded:
        fail(run_difference.negative or "; ".join(run_difference.exceeded))
        return 1
    return 0
