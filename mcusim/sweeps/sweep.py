"""Sweeps: every point of a study to a row of one table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError
from mcusim.evidence.validate.cache import package_versions
from mcusim.kernels.identity import kernels_sha256
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.machine.identity import machine_plug_ins, machine_sha256
from mcusim.machine.schema import REPLACEMENTS
from mcusim.plug_ins import PlugIn, find_known, identified
from mcusim.processes import processes
from mcusim.program.unknown_operators import opaque_types, require_known
from mcusim.provenance import Made, made
from mcusim.run_config.settings import require_type
from mcusim.sweeps.axis_values import in_base_unit
from mcusim.sweeps.executors import Runner, local
from mcusim.sweeps.expressions import Value
from mcusim.sweeps.input_hashes import described_sha256, machine_of, mcusim_sha256, model_graph
from mcusim.sweeps.journal import Journal, journal_path
from mcusim.sweeps.parquet import check_derived, table, write_table
from mcusim.sweeps.point import Batch, Content, Row, SharedWork, shares, shares_accesses
from mcusim.sweeps.points import Point, points
from mcusim.sweeps.saved import column_units, kept_rows, read_table
from mcusim.sweeps.study import Study
from mcusim.sweeps.study_file import read_study, study_of

if TYPE_CHECKING:
    import pandas
    import pyarrow

BATCH = 4  # points that a process gets at once, or more that share a run
MOST_SHARED = 200  # of those
MANY = 4  # points of the same accesses, as a mean: the first is recorded
Contents = dict[str, Content]
Progress = Callable[[int, int], object]


def sweep(
    study: str | Path | Study | Mapping[str, Any],
    output: str | Path | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> pandas.DataFrame:
    """Run every point of ``study`` and return the table, one row a point, in the order of the points.

    ``study`` is a file (see :mod:`mcusim.sweeps.study_file`), the name of a shipped study, a :class:`Study`, or a
    mapping with what the file would have. ``output`` is a Parquet file with the same table; while the sweep runs, a
    journal next to it keeps what is done, so that the same call resumes where a killed one ended. Of a table that is
    there, with points of this study alone, the rows are kept: only what the study has more is run. ``jobs`` processes
    share the points (default: one a core; they are started afresh, so a script that calls this has to be importable),
    or the workers of the Dask cluster at address ``dask``. ``progress`` is called with the points done and all.

    Columns: the inputs (``model machine policy kernels fidelity``, then the axes, quantities in their base unit: see
    ``attrs["units"]`` of the table), ``status`` (``ok``,
    ``does-not-fit``, ``fault``, ``error``), ``error``, ``cycles latency_ms energy_mj supply_current_ma macs
    peak_sram_bytes``, ``peak_<region>`` in bytes, ``cycles_<cause>``, with an axis ``clock`` what followed it
    (``regulator``, ``clock_bus`` and ``clock_<region>`` in Hz, ``wait_states_<region>``), with an axis ``period`` what
    each takes (``period_energy_mj mean_power_mw sleep_current_ma``; null where it is not met), the derived columns,
    ``left_out`` (operators that the figures of a row are without, where there are such rows), ``version`` (of mcusim)
    and ``key`` (of all that the row depends on). A point that fails is a row with its error.

    Raises StudyError for a study that cannot be used, UsageError for other arguments, an ``output`` that has something
    else (unless ``force``) or cannot be written.
    """
    table = sweep_table(_study(study), output, jobs=jobs, dask=dask, progress=progress, force=force)
    frame = table.to_pandas()
    frame.attrs["units"] = column_units(table)
    return frame


def sweep_table(
    study: Study,
    output: str | Path | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> pyarrow.Table:
    """:func:`sweep` as a pyarrow table, whole numbers with nulls included."""
    runner, path = _runner(jobs, dask), _output(output)
    chosen = points(study)
    check_derived(study, chosen)
    work = prepared(study)
    keys = _keys(study, work, chosen)
    _kept(path, keys, force)
    with nullcontext() if path is None else Journal(journal_path(path), set(keys)) as journal:
        kept = _kept(path, keys, force)  # another sweep may have ended since
        rows = _rows(runner, work, dict(zip(keys, chosen, strict=True)), kept, journal, progress)
        result = table(study, chosen, keys, [rows[key] for key in keys], _made(study, work))
        if path is not None and journal is not None:
            journal.sync()
            write_table(result, path)
            journal.remove()
    return result


def finished(study: Study, path: str | Path) -> pyarrow.Table | None:
    """The table in ``path`` when that is the one that :func:`sweep_table` would write: all points, of the same inputs;
    None for anything else. Nothing is simulated. Raises as :func:`sweep_table` does for a study that cannot be run."""
    try:
        saved = read_table(path).table
    except UsageError:
        return None
    chosen = points(study)
    keys = _keys(study, prepared(study), chosen)
    if saved.column("key").to_pylist() != keys:
        return None
    return saved if table(study, chosen, keys, saved.to_pylist()).equals(saved) else None


def kept_points(study: Study, path: str | Path) -> tuple[int, int]:
    """How many points of ``study`` the table in ``path`` has, and how many there are. Raises UsageError where it has
    others, or is none."""
    keys = _keys(study, prepared(study), points(study))
    kept = _kept(Path(path), keys, False)
    return sum(key in kept for key in keys), len(keys)


def _kept(path: Path | None, keys: Sequence[str], force: bool) -> dict[str, Row]:
    """The rows of the table in ``path``, all of which have to be of points with these ``keys``."""
    if path is None or force or not path.exists():
        return {}
    try:
        rows = kept_rows(read_table(path))
    except UsageError:
        raise UsageError(f"{path} exists; --force overwrites it") from None
    others = len(rows.keys() - set(keys))
    if others:
        raise UsageError(
            f"{path} exists, and {others:,} of its {len(rows):,} points are not of this study and these inputs (models,"
            " machines, kernels, version of mcusim): name another file; --force computes all anew and overwrites it"
        )
    return rows


def _made(study: Study, work: SharedWork) -> Made:
    """Of models and machines by name."""
    machines = {name: machine_sha256(machine_of(*content)) for name, content in work.machines.items()}
    plug_ins = [{"kind": "kernels", "name": name, "sha256": sha} for name, (_, sha) in work.kernels.items() if sha]
    plug_ins += [plug_in.to_json() for plug_in in work.plug_ins]
    models = {name: sha256 for name, (_, sha256) in work.models.items()}
    seeds = {"sampling": study.sampling.seed} if study.sampling.method == "latin-hypercube" else {}
    return made(seeds, models, machines, plug_ins)


def _study(study: str | Path | Study | Mapping[str, Any]) -> Study:
    if isinstance(study, Study):
        return study
    if isinstance(study, Mapping):
        return study_of((study, {}), "the study", Path(), "study")
    require_type("study", study, ((str, Path), "a file, a name, a Study or a mapping"))
    return read_study(study)


def _runner(jobs: int | None, dask: str | None) -> Runner:
    if dask is not None:
        require_type("dask", dask, ((str,), "the address of a Dask scheduler or None"))
        if jobs is not None:
            raise UsageError("--jobs has no effect with --dask; the cluster has its own workers")
        from mcusim.sweeps.executors import cluster

        return cluster(dask)
    return local(processes(jobs))


def _output(output: str | Path | None) -> Path | None:
    if output is None:
        return None
    require_type("output", output, ((str, Path), "a path or None"))
    path = Path(output)
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: it is a directory, or its folder is not there")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} exists, and is not a file")
    return path


def prepared(study: Study) -> SharedWork:
    """What the processes are given. Raises InputError for a model, machine or kernels that cannot be read."""

    def contents(names: Sequence[str], path: Callable[[str], str], sha256: Callable[[str], str]) -> Contents:
        return {name: (path(name), sha256(path(name))) for name in names}

    if study.folder is not None:  # a process elsewhere has another current folder
        study = replace(study, folder=study.folder.absolute())
    graphs = {name: model_graph(study.model_path(name), study.allow_unknown) for name in study.models}
    models = {name: (study.model_path(name), graph.sha256) for name, graph in graphs.items()}
    require_known(opaque_types(op.type for graph in graphs.values() for op in graph.operators), study.costs)
    machines = contents(study.machines, study.machine_path, described_sha256)
    kernels = contents(study.all_kernels, study.kernels_path, kernels_sha256)
    shared = SharedWork(study.inputs, models, machines, kernels, mcusim_sha256(), study.allow_unknown, study.costs)
    own = _plug_ins(study, [load_machine(path) for path, _ in machines.values()])
    return replace(shared, named=bool(study.kernels), plug_ins=own)


def _plug_ins(study: Study, machines: Sequence[Machine]) -> tuple[PlugIn, ...]:
    """Policies and runtimes that were loaded when the study was read, and replacement policies, which are not."""
    values = [(axis.key, str(value)) for axis in study.axes for value in axis.values]
    named = [("policy", name) for name in study.policies] + [pair for pair in values if pair[0] == "runtime"]
    own = [plug_in for kind, name in named if (plug_in := find_known(kind, name)) is not None]
    caches = {name: None for key, name in values if key.endswith(".replacement") and name not in REPLACEMENTS}
    own += [identified("replacement", name) for name in caches]
    own += [plug_in for machine in machines for plug_in in machine_plug_ins(machine)]
    return tuple(dict.fromkeys(own))


def _keys(study: Study, work: SharedWork, chosen: Sequence[Point]) -> list[str]:
    """Of each point a hash of all that its row depends on: inputs, model, machine, kernels, mcusim and its packages."""
    code = [plug_in.to_json() for plug_in in work.plug_ins]
    shared = hashlib.sha256(json.dumps([work.code, package_versions(), work.named, *work.costs, *code]).encode())
    files = (("model", work.models), ("machine", work.machines), ("kernels", work.kernels))
    keys = []
    for point in chosen:
        digest, inputs = shared.copy(), dict(zip(study.inputs, point, strict=True))
        hashes = [known[str(inputs[name])][1] for name, known in files]
        digest.update(json.dumps([_meant(study, work, inputs), hashes]).encode())
        keys.append(digest.hexdigest()[:32])
    return keys


def _meant(study: Study, work: SharedWork, inputs: Mapping[str, Value]) -> dict[str, object]:
    """Inputs however they are written: quantities in their base unit, a model by its file's name without folders."""
    meant: dict[str, object] = {**inputs, "model": Path(work.models[str(inputs["model"])][0]).stem}
    for axis in study.axes:
        value = inputs[axis.key]
        if isinstance(value, str) and value.endswith(".py"):  # its content is among the plug-ins
            value = Path(value).name
        (number,), unit = in_base_unit(axis.key, [value])
        meant[axis.key] = [number, unit] if unit else number
    return meant


def _rows(
    runner: Runner, work: SharedWork, asked: Mapping[str, Point], kept: Mapping[str, Row], journal: Journal | None,
    progress: Progress | None,
) -> dict[str, Row]:  # fmt: skip
    """The row of every key; those that are ``kept``, and those of the journal, are not computed again."""
    rows: dict[str, Row] = {**kept, **({} if journal is None else journal.rows)}
    missing = [(key, point) for key, point in asked.items() if key not in rows]
    count = len(asked)
    if progress is not None:
        progress(count - len(missing), count)
    kinds = len({shares_accesses(work, point) for _, point in missing})
    work = replace(work, repeats=len(missing) >= MANY * kinds)
    with closing(runner(work, batches(work, missing))) as done:
        for batch_rows in done:
            if journal is not None:
                journal.add(batch_rows)
            rows |= batch_rows
            if progress is not None:
                progress(len(rows), count)
    return rows


def batches(work: SharedWork, missing: Sequence[tuple[str, Point]]) -> list[Batch]:
    """What a process gets at once: points that share a run stay together, then those that share accesses, else in their
    order."""
    alike: dict[object, list[tuple[str, Point]]] = {}
    for pair in missing:
        alike.setdefault(shares_accesses(work, pair[1]), []).append(pair)
    groups: dict[object, list[tuple[str, Point]]] = {}
    for pair in (pair for pairs in alike.values() for pair in pairs):
        groups.setdefault(shares(work, pair[1]), []).append(pair)
    grouped: list[list[tuple[str, Point]]] = [[]]
    for group in groups.values():
        for at in range(0, len(group), MOST_SHARED):
            grouped[-1] += group[at : at + MOST_SHARED]
            if len(grouped[-1]) >= BATCH or len(group) >= MOST_SHARED:
                grouped.append([])
    return [tuple(batch) for batch in grouped if batch]
