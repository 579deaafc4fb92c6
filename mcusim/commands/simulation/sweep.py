"""``mcusim sweep``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.grouped import grouped
from mcusim.commands.shared.groups import Written
from mcusim.commands.shared.output import Output, check_apart, check_outputs, fail, write_bytes
from mcusim.commands.shared.progress import bar_with_eta, spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    import pyarrow

    from mcusim.sweeps import Study
    from mcusim.sweeps.conclusions import Conclusion

Rows = Sequence[Mapping[str, Any]]
StudyFile = Annotated[str, typer.Argument(metavar="STUDY", help="A TOML file, or the name of a study that ships.")]
File = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The table, as Parquet; pandas opens it.")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Plots of the study in one file.")]
Dask = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask cluster's scheduler: tcp://host:8786.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", min=1, max=32, help="Processes. Default: one a core.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count the points; time some to estimate how long all take.")]


@grouped
def sweep(
    study: StudyFile,
    output_file: File = None,
    html: Html = None,
    dask: Dask = None,
    jobs: Jobs = None,
    dry_run: DryRun = False,
    *,
    allow_unknown: options.AllowUnknown = False,
    cost: options.Cost = None,
    written: Written,
) -> int:
    """Run every point of a study: models x machines x policies x axes, one row each.

    While it runs, a journal next to FILE keeps what is done; the same command resumes where a killed one ended. Exit
    status 1: no point ran.

    \b
    Examples:
      mcusim sweep study.toml -o study.parquet
      mcusim sweep study.toml -o study.parquet --html study.html --jobs 4
      mcusim sweep study.toml --dry-run
      mcusim sweep study.toml -o study.parquet --dask tcp://host:8786
    """
    output, force = written.to(study), written.force
    from mcusim.sweeps import read_study

    costs = options.costs(cost)
    if not dry_run:
        _check_files(study, output_file, html, written.json, force)
    found = _with_costs(read_study(study), allow_unknown, costs)
    if dry_run:
        return _estimate(found, output, dask, jobs)
    table = _run(found, output_file, jobs, dask, force)
    rows, conclusions = table.to_pylist(), _conclusions(found, table)
    if html is not None:
        _draw(found, table, conclusions, html, force)
    output.emit(lambda: _text(found, rows, conclusions), lambda: _json(found, rows, conclusions))
    return _status(rows)


def _with_costs(study: Study, allow_unknown: bool, costs: Mapping[str, str]) -> Study:
    """``study`` with what the command line says of unknown operators on top."""
    from mcusim.program.opaque import parse_costs

    both = parse_costs({**dict(study.costs), **costs})
    return replace(study, allow_unknown=study.allow_unknown or allow_unknown, costs=both)


def _check_files(study: str, table: Path | None, html: Path | None, json: Path | None, force: bool) -> None:
    """Before the work."""
    files = [path for path in (table, html) if path is not None]
    if not files and json is None:
        raise UsageError("name a file for the table with -o, or --html or --json; --dry-run counts the points")
    check_outputs(files, json, [study], force)
    for path in files:
        check_apart(path, [study])  # a study is not overwritten, whatever is forced


def _estimate(study: Study, output: Output, dask: str | None, jobs: int | None) -> int:
    if dask is not None:
        raise UsageError("--dry-run times points here; it cannot tell how long a cluster takes: leave out --dask")
    from mcusim.report.text.sweep import estimate_text
    from mcusim.sweeps import estimate

    with spinner("timing some points"):
        found = estimate(study, jobs)
    output.emit(lambda: estimate_text(study.name, found), lambda: {"study": study.name, **found})
    return 0


def _draw(study: Study, table: pyarrow.Table, conclusions: Sequence[Conclusion], path: Path, force: bool) -> None:
    from mcusim.report.html.sweep_page import sweep_page

    with spinner("drawing the study"):
        page = sweep_page(table.to_pandas(), study, [one.text for one in conclusions if one.holds])
    write_bytes(path, page.encode(), force)


def _run(study: Study, path: Path | None, jobs: int | None, dask: str | None, force: bool) -> pyarrow.Table:
    from mcusim.sweeps import sweep_table

    with bar_with_eta("sweeping", "points") as step:
        return sweep_table(study, path, jobs=jobs, dask=dask, progress=step, force=force)


def _conclusions(study: Study, table: pyarrow.Table) -> Sequence[Conclusion]:
    """What a study that ships shows."""
    from mcusim.sweeps.conclusions import conclude, concluded

    return conclude(study.name, table.to_pandas()) if study.folder is None and study.name in concluded() else ()


def _text(study: Study, rows: Rows, conclusions: Sequence[Conclusion]) -> str:
    from mcusim.report.text.sweep import sweep_table
    from mcusim.text import hanging

    lines = [sweep_table(study.title or study.name, study.inputs, rows), *[""][: len(conclusions)]]
    for one in conclusions:
        lines += hanging(one.text, "  - " if one.holds else "  DOES NOT HOLD: ", "    ")
    return "\n".join(lines)


def _json(study: Study, rows: Rows, conclusions: Sequence[Conclusion]) -> dict[str, Any]:
    return {
        "study": study.name,
        "conclusions": [{"text": one.text, "holds": one.holds} for one in conclusions],
        "rows": rows,
    }


def _status(rows: Rows) -> int:
    """0 when a point ran, 1 when none did but one has a verdict, 2 when none could be planned."""
    statuses = {row["status"] for row in rows}
    if "ok" in statuses:
        return 0
    fail(f"none of {len(rows)} points ran; the first: {rows[0]['error']}")
    return 1 if {"does-not-fit", "fault"} & statuses else 2
