"""``mcusim sweep``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import Output, check_apart, check_outputs, fail, note, write_bytes
from mcusim.commands.shared.progress import bar, spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    import pyarrow

    from mcusim.report.sweep.figures.point_table import StudyLike
    from mcusim.sweeps import Study
    from mcusim.sweeps.conclusions import Conclusion

Rows = Sequence[Mapping[str, Any]]
StudyFile = Annotated[str, argument("STUDY", "A TOML file, the name of a study that ships; or a table to show.")]
TableFile = Annotated[Path | None, option("FILE", "The table, as Parquet; pandas opens it.", names="--output -o")]
Jobs = Annotated[int | None, option("N", "Processes. Default: one a core.", names="--jobs -j", min=1, max=32)]


@grouped
def sweep(
    study: StudyFile,
    output_file: TableFile = None,
    html: Annotated[Path | None, option("FILE", "Plots of the study in one file.")] = None,
    dask: Annotated[str | None, option("ADDRESS", "A Dask cluster's scheduler: tcp://host:8786.")] = None,
    jobs: Jobs = None,
    dry_run: Annotated[bool, flag("--dry-run", "Count the points; time some to estimate how long all take.")] = False,
    *,
    allow_unknown: options.AllowUnknown = False,
    cost: options.Cost = None,
    written: Written,
) -> int:
    """Run every point of a study: models x machines x policies x axes, one row each.

    While it runs, a journal next to FILE keeps what is done; the same command resumes where a killed one ended,
    and computes nothing when all is done. A table (.parquet) is shown again. Exit status 1: no point ran.

    \b
    Examples:
      mcusim sweep study.toml -o study.parquet
      mcusim sweep study.toml -o study.parquet --html study.html --jobs 4
      mcusim sweep study.toml --dry-run
      mcusim sweep study.toml -o study.parquet --dask tcp://host:8786
      mcusim sweep study.parquet --html study.html
    """
    output, costs = written.to(study), options.costs(cost)
    if study.endswith(".parquet"):
        idle = {"--output": output_file, "--dask": dask, "--jobs": jobs, "--dry-run": dry_run or None}
        return _saved(study, {**idle, "--allow-unknown": allow_unknown or None, "--cost": cost}, html, written, output)
    from mcusim.sweeps import read_study

    if not (dry_run or _may_be_finished(output_file, written.force)):
        _check_files(study, output_file, html, written)
    loaded = _with_costs(read_study(study), allow_unknown, costs)
    if dry_run:
        return _estimate(loaded, output, dask, jobs)
    table = _finished(study, loaded, output_file, html, written)
    if table is None:
        table = _run(loaded, output_file, jobs, dask, written.force)
    return _show(loaded, table, _conclusions(loaded, table), html, written, output)


def _saved(path: str, idle: Mapping[str, object], html: Path | None, written: Written, output: Output) -> int:
    """Show the table of a finished sweep again."""
    from mcusim.sweeps import read_table

    text = next((option for option, value in idle.items() if value is not None), None)
    if text is not None:
        raise UsageError(f"{text} has no effect on {path}, the table of a sweep, which is only shown")
    files = [html] if html is not None else []
    check_outputs(files, written.json, [path], written.force)
    for file in files:
        check_apart(file, [path])
    saved = read_table(path)
    return _show(saved, saved.table, (), html, written, output)


def _finished(
    study: str, loaded: Study, path: Path | None, html: Path | None, written: Written
) -> pyarrow.Table | None:
    """The table that is there, when it has all points of the study with the same inputs."""
    if path is None or not _may_be_finished(path, written.force):
        return None
    from mcusim.sweeps import finished

    with spinner("reading the table"):
        table = finished(loaded, path)
    _check_files(study, path if table is None else None, html, written, table is not None)
    if table is not None:
        note(f"{path} has all {table.num_rows:,} points of the same inputs: nothing to do; --force does it again")
    return table


def _may_be_finished(path: Path | None, force: bool) -> bool:
    return path is not None and path.is_file() and not force


def _show(
    study: StudyLike, table: pyarrow.Table, conclusions: Sequence[Conclusion], html: Path | None, written: Written,
    output: Output,
) -> int:  # fmt: skip
    rows = table.to_pylist()
    if html is not None:
        _draw(study, table, conclusions, html, written.force)
    output.emit(lambda: _text(study, rows, conclusions), lambda: _json(study, rows, conclusions))
    return _status(rows)


def _with_costs(study: Study, allow_unknown: bool, costs: Mapping[str, str]) -> Study:
    """``study`` with what the command line says of unknown operators on top."""
    from mcusim.program.unknown_operators import parse_costs

    both = parse_costs({**dict(study.costs), **costs})
    return replace(study, allow_unknown=study.allow_unknown or allow_unknown, costs=both)


def _check_files(study: str, table: Path | None, html: Path | None, written: Written, there: bool = False) -> None:
    """Before the work; ``there``: the table is."""
    files = [path for path in (table, html) if path is not None]
    if not files and written.json is None and not there:
        raise UsageError("name a file for the table with -o, or --html or --json; --dry-run counts the points")
    check_outputs(files, written.json, [study], written.force)
    for path in files:
        check_apart(path, [study])  # a study is not overwritten, whatever is forced


def _estimate(study: Study, output: Output, dask: str | None, jobs: int | None) -> int:
    if dask is not None:
        raise UsageError("--dry-run times points here; it cannot tell how long a cluster takes: leave out --dask")
    from mcusim.report.sweep.table import estimate_text
    from mcusim.sweeps import estimate

    with spinner("timing some points"):
        fields = estimate(study, jobs)
    output.emit(lambda: estimate_text(study.name, fields), lambda: {"study": study.name, **fields})
    return 0


def _draw(study: StudyLike, table: pyarrow.Table, conclusions: Sequence[Conclusion], path: Path, force: bool) -> None:
    from mcusim.report.sweep.page import sweep_page

    with spinner("drawing the study"):
        page = sweep_page(table.to_pandas(), study, [conclusion.text for conclusion in conclusions if conclusion.holds])
    write_bytes(path, page.encode(), force)


def _run(study: Study, path: Path | None, jobs: int | None, dask: str | None, force: bool) -> pyarrow.Table:
    from mcusim.sweeps import sweep_table

    with bar("sweeping", "points") as step:
        return sweep_table(study, path, jobs=jobs, dask=dask, progress=step, force=force)


def _conclusions(study: Study, table: pyarrow.Table) -> Sequence[Conclusion]:
    """What a study that ships shows."""
    from mcusim.sweeps.conclusions import conclude, concluded

    return conclude(study.name, table.to_pandas()) if study.folder is None and study.name in concluded() else ()


def _text(study: StudyLike, rows: Rows, conclusions: Sequence[Conclusion]) -> str:
    from mcusim.report.sweep.table import sweep_table
    from mcusim.text import hanging_indent

    lines = [sweep_table(study.title or study.name, study.inputs, rows), *[""][: len(conclusions)]]
    for conclusion in conclusions:
        lines += hanging_indent(conclusion.text, "  - " if conclusion.holds else "  DOES NOT HOLD: ", "    ")
    return "\n".join(lines)


def _json(study: StudyLike, rows: Rows, conclusions: Sequence[Conclusion]) -> dict[str, Any]:
    return {
        "study": study.name,
        "conclusions": [{"text": conclusion.text, "holds": conclusion.holds} for conclusion in conclusions],
        "rows": rows,
    }


def _status(rows: Rows) -> int:
    """0 when a point ran, 1 when none did but one has a verdict, 2 when none could be planned."""
    statuses = {row["status"] for row in rows}
    if "ok" in statuses:
        return 0
    fail(f"none of {len(rows)} points ran; the first: {rows[0]['error']}")
    return 1 if {"does-not-fit", "fault"} & statuses else 2
