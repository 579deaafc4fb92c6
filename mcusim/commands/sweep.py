"""``mcusim sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands import options
from mcusim.commands.output import Output, check_outputs, fail, write_bytes
from mcusim.commands.progress import working
from mcusim.errors import UsageError

if TYPE_CHECKING:
    import pyarrow

    from mcusim.study.sweep import Study

StudyFile = Annotated[str, typer.Argument(metavar="STUDY", help="A TOML file, or the name of a study that ships.")]
File = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The table, as Parquet; pandas opens it.")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Pictures of the study in one file.")]
Dask = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask cluster's scheduler: tcp://host:8786.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", min=1, max=32, help="Processes. Default: one a core.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count the points and estimate the time; run nothing else.")]


def sweep(
    study: StudyFile,
    output_file: File = None,
    html: Html = None,
    dask: Dask = None,
    jobs: Jobs = None,
    dry_run: DryRun = False,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Run every point of a study: models x machines x policies x axes, one row each.

    While it runs, a journal beside FILE keeps what is done; the same command goes on where a killed one ended. Exit
    status 1: no point ran.

    \b
    Examples:
      mcusim sweep study.toml -o study.parquet
      mcusim sweep study.toml -o study.parquet --html study.html --jobs 4
      mcusim sweep study.toml --dry-run
      mcusim sweep study.toml -o study.parquet --dask tcp://host:8786
    """
    output = Output(json, force, [study])
    files = [path for path in (output_file, html) if path is not None]
    check_outputs(files, json, [study], force)
    if not dry_run and not files and json is None:
        raise UsageError("name the table's file with -o, or --html or --json; --dry-run counts the points")
    from mcusim.study.sweep import read_study, sweep_table

    found = read_study(study)
    with working("sweeping") as step:
        table = sweep_table(found, output_file, jobs=jobs, dask=dask, progress=step, force=force)
    if html is not None:
        from mcusim.report.sweep_page import sweep_page

        write_bytes(html, sweep_page(table.to_pandas(), found).encode(), force)
    output.emit(lambda: _text(found, table), lambda: {"study": found.name, "rows": table.to_pylist()})
    return _status(table)


def _text(study: Study, table: pyarrow.Table) -> str:
    return f"{study.name}: {table.num_rows} points"


def _status(table: pyarrow.Table) -> int:
    """0 when a point ran, 1 when none did but one has a verdict, 2 when none could be planned."""
    statuses = table.column("status").to_pylist()
    if "ok" in statuses:
        return 0
    fail(f"none of {len(statuses)} points ran; the first: {table.column('error')[0]}")
    return 1 if {"does-not-fit", "fault"} & set(statuses) else 2
