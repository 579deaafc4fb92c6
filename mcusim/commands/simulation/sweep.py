"""``mcusim sweep``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import Output, check_folder, check_outputs, check_writable, fail, note, write_bytes
from mcusim.commands.shared.progress import bar, spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    import pyarrow

    from mcusim.report.sweep.figures.plots import PlotRequest
    from mcusim.report.sweep.figures.point_table import StudyLike
    from mcusim.sweeps import Study
    from mcusim.sweeps.conclusions import Conclusion

Rows = Sequence[Mapping[str, Any]]
StudyFile = Annotated[str, argument("STUDY", "A TOML file, the name of a study that ships; or a table to show.")]


@dataclass(frozen=True)
class TableFiles:
    """What the table is written to."""

    output_file: Annotated[
        Path | None, option("FILE", "The table, as Parquet; pandas opens it.", names="--output -o")
    ] = None
    html: Annotated[Path | None, option("FILE", "Plots of the study in one file.")] = None
    csv: Annotated[Path | None, option("FILE", "The table, as CSV.")] = None
    latex: Annotated[Path | None, option("FILE", "Inputs that vary, latency, energy and SRAM, for LaTeX.")] = None
    figures: Annotated[Path | None, option("DIR", "The plots, each as SVG and PDF, into a folder.")] = None
    plot: Annotated[
        list[str] | None,
        option(
            "X,Y",
            "With --html or --figures: x=sram_budget,y=latency_ms,by=policy draws lines over an axis,"
            " x=clock,y=sram_budget,z=energy_mj a heat map. Repeatable.",
        ),
    ] = None

    @property
    def plots(self) -> list[PlotRequest]:
        """What to draw besides. Raises UsageError."""
        if self.plot and self.html is None and self.figures is None:
            raise UsageError("--plot has no effect without --html or --figures")
        if self.figures is not None:
            from mcusim.report.figure_files import require_matplotlib

            require_matplotlib()
        if not self.plot:
            return []
        from mcusim.report.sweep.figures.plots import read_plot

        return [read_plot(text) for text in self.plot]

    @property
    def made(self) -> list[Path]:
        """Those that are made of the table."""
        return [path for path in (self.html, self.csv, self.latex) if path is not None]


@dataclass(frozen=True)
class Workers:
    """What computes the points."""

    dask: Annotated[str | None, option("ADDRESS", "A Dask cluster's scheduler: tcp://host:8786.")] = None
    jobs: Annotated[int | None, option("N", "Processes. Default: one a core.", names="--jobs -j", min=1, max=32)] = None
    dry_run: Annotated[bool, flag("--dry-run", "Count the points; time some to estimate how long all take.")] = False


@grouped
def sweep(
    study: StudyFile,
    files: TableFiles,
    workers: Workers,
    *,
    allow_unknown: options.AllowUnknown = False,
    cost: options.Cost = None,
    written: Written,
) -> int:
    """Run every point of a study: models x machines x policies x axes, one row each.

    While it runs, a journal next to FILE keeps what is done; the same command resumes where a killed one ended,
    computes what a study that grew has more, and nothing when all is done. A table (.parquet) is shown again. Exit
    status 1: no point ran.

    \b
    Examples:
      mcusim sweep study.toml
      mcusim sweep study.toml -o study.parquet
      mcusim sweep study.toml -o study.parquet --html study.html --jobs 4
      mcusim sweep study.toml --dry-run
      mcusim sweep study.toml -o study.parquet --dask tcp://host:8786
      mcusim sweep study.parquet --html study.html --csv study.csv --latex study.tex
      mcusim sweep study.parquet --figures figures --plot x=sram_budget,y=latency_ms,by=policy
    """
    output, costs = written.to(study), options.costs(cost)
    if study.endswith(".parquet"):
        idle: dict[str, object] = {"--output": files.output_file, "--dask": workers.dask, "--jobs": workers.jobs}
        idle |= {"--dry-run": workers.dry_run or None, "--allow-unknown": allow_unknown or None, "--cost": cost}
        return _saved(study, idle, files, written, output)
    from mcusim.sweeps import read_study

    if not workers.dry_run:
        _check_files(study, files, written)
    loaded = _with_costs(read_study(study), allow_unknown, costs)
    if workers.dry_run:
        return _estimate(loaded, output, workers.dask, workers.jobs)
    _check_plots(files.plots, loaded.inputs, loaded.numbers)
    table = _table(loaded, files.output_file, workers, written.force)
    return _show(loaded, table, _conclusions(loaded, table), files, written, output)


def _saved(path: str, idle: Mapping[str, object], files: TableFiles, written: Written, output: Output) -> int:
    """Show the table of a finished sweep again."""
    from mcusim.sweeps import numeric_columns, read_table

    text = next((option for option, value in idle.items() if value is not None), None)
    if text is not None:
        raise UsageError(f"{text} has no effect on {path}, the table of a sweep, which is only shown")
    check_outputs(files.made, written.json, [path], written.force)
    check_folder(files.figures, written.force)
    saved = read_table(path)
    _check_plots(files.plots, saved.inputs, numeric_columns(saved.table))
    return _show(saved, saved.table, (), files, written, output, saved=True)


def _finished(loaded: Study, path: Path | None, force: bool) -> pyarrow.Table | None:
    """The table that is there, when it has all points of the study with the same inputs; says how many it has."""
    if path is None or force or not path.is_file():
        return None
    from mcusim.sweeps import finished, kept_points

    with spinner("reading the table"):
        table = finished(loaded, path)
        kept, count = (0, 0) if table is not None else kept_points(loaded, path)
    if table is not None:
        note(f"{path} has all {table.num_rows:,} points of the same inputs: nothing to do; --force does it again")
    else:
        note(
            f"{path} has {kept:,} of {count:,} points: {f'{count - kept:,} are run' if count > kept else 'none is run'}"
        )
    return table


def _show(
    study: StudyLike, table: pyarrow.Table, conclusions: Sequence[Conclusion], files: TableFiles, written: Written,
    output: Output, saved: bool = False,
) -> int:  # fmt: skip
    rows = table.to_pylist()
    _draw(study, table, conclusions, files, written.force)
    if files.csv is not None:
        from mcusim.report.sweep.exports import csv_table

        write_bytes(files.csv, csv_table(table), written.force)
    if files.latex is not None:
        from mcusim.report.sweep.exports import latex_table

        write_bytes(files.latex, latex_table(study, rows).encode(), written.force)
    listed = not (saved or files.made or files.output_file or written.json)  # there is no other place to read them
    output.emit(lambda: _text(study, rows, conclusions, listed), lambda: _json(study, table, rows, conclusions))
    return _status(rows)


def _with_costs(study: Study, allow_unknown: bool, costs: Mapping[str, str]) -> Study:
    """``study`` with what the command line says of unknown operators on top."""
    from mcusim.program.unknown_operators import parse_costs

    both = parse_costs({**dict(study.costs), **costs})
    return replace(study, allow_unknown=study.allow_unknown or allow_unknown, costs=both)


def _check_files(study: str, files: TableFiles, written: Written) -> None:
    """Before the work: a table that is there may be gone on with; a study is not overwritten, whatever is forced."""
    check_outputs(files.made, written.json, [study], written.force, log=files.output_file)
    check_folder(files.figures, written.force)
    if files.output_file is not None:
        check_writable(files.output_file, force=True)
        if str(files.output_file) == "-":
            raise UsageError("-: name a file for the table; standard output is for text, or for --json -")


def _estimate(study: Study, output: Output, dask: str | None, jobs: int | None) -> int:
    if dask is not None:
        raise UsageError("--dry-run times points here; it cannot tell how long a cluster takes: leave out --dask")
    from mcusim.report.sweep.table import estimate_text
    from mcusim.sweeps import estimate

    with spinner("timing some points"):
        fields = estimate(study, jobs)
    output.emit(lambda: estimate_text(study.name, fields), lambda: {"study": study.name, **fields})
    return 0


def _draw(
    study: StudyLike, table: pyarrow.Table, conclusions: Sequence[Conclusion], files: TableFiles, force: bool
) -> None:
    if files.html is None and files.figures is None:
        return
    from mcusim.report.figure_files import figure_files
    from mcusim.report.sweep.figures.point_table import Sweep
    from mcusim.report.sweep.page import sweep_figures, sweep_page

    frame, pages, plots = table.to_pandas(), list[tuple[Path, bytes]](), files.plots
    with spinner("drawing the study"):
        if files.html is not None:
            holding = [conclusion.text for conclusion in conclusions if conclusion.holds]
            pages.append((files.html, sweep_page(frame, study, holding, plots).encode()))
        if files.figures is not None:
            drawn = sweep_figures(Sweep(frame.to_dict("records"), study), plots).values()
            made = figure_files([figure for section in drawn for figure in section])
            pages += [(files.figures / name, data) for name, data in made]
    if files.figures is not None:
        files.figures.mkdir(exist_ok=True)
    for path, data in pages:
        write_bytes(path, data, force)


def _check_plots(plots: Sequence[PlotRequest], inputs: Sequence[str], numbers: Sequence[str]) -> None:
    if plots:
        from mcusim.report.sweep.figures.plots import check_plot

        for request in plots:
            check_plot(request, inputs, numbers)


def _table(study: Study, path: Path | None, workers: Workers, force: bool) -> pyarrow.Table:
    """The table that is there, or that comes of running what it has not."""
    table = _finished(study, path, force)
    if table is not None:
        return table
    from mcusim.sweeps import sweep_table

    with bar("sweeping", "points") as step:
        return sweep_table(study, path, jobs=workers.jobs, dask=workers.dask, progress=step, force=force)


def _conclusions(study: Study, table: pyarrow.Table) -> Sequence[Conclusion]:
    """What a study that ships shows."""
    from mcusim.sweeps.conclusions import conclude, concluded

    return conclude(study.name, table.to_pandas()) if study.folder is None and study.name in concluded() else ()


def _text(study: StudyLike, rows: Rows, conclusions: Sequence[Conclusion], listed: bool) -> str:
    from mcusim.report.sweep.table import sweep_table
    from mcusim.text import hanging_indent

    lines = [sweep_table(study, rows, listed), *[""][: len(conclusions)]]
    for conclusion in conclusions:
        lines += hanging_indent(conclusion.text, "  - " if conclusion.holds else "  DOES NOT HOLD: ", "    ")
    return "\n".join(lines)


def _json(study: StudyLike, table: pyarrow.Table, rows: Rows, conclusions: Sequence[Conclusion]) -> dict[str, Any]:
    from mcusim.sweeps import column_units, made_by

    return {
        "study": study.name,
        "conclusions": [{"text": conclusion.text, "holds": conclusion.holds} for conclusion in conclusions],
        **({} if (made := made_by(table)) is None else {"made": made}),
        "units": column_units(table),
        "rows": rows,
    }


def _status(rows: Rows) -> int:
    """0 when a point ran, 1 when none did but one has a verdict, 2 when none could be planned."""
    statuses = {row["status"] for row in rows}
    if "ok" in statuses:
        return 0
    fail(f"none of {len(rows)} points ran; the first: {rows[0]['error']}")
    return 1 if {"does-not-fit", "fault"} & statuses else 2
