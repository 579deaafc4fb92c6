"""The rows of a sweep as a table: one Parquet file that pandas opens, the same bytes for the same rows."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError
from mcusim.provenance import Made
from mcusim.sweeps.axis_values import REGIONS, in_base_unit
from mcusim.sweeps.expressions import Value
from mcusim.sweeps.points import Point
from mcusim.sweeps.saved import FLOATS, OF_CLOCKS, TEXTS
from mcusim.sweeps.study import OUTPUTS, PERIOD, TAIL, Study
from mcusim.units import column_unit

if TYPE_CHECKING:
    import pyarrow

_TEXTS = (*TEXTS, "version", "key", *REGIONS)
Row = Mapping[str, Any]


def table(
    study: Study, points: Sequence[Point], keys: Sequence[str], rows: Sequence[Row], by: Made | None = None
) -> pyarrow.Table:
    """The table of ``rows``: inputs, outputs (``peak_<region>`` of all regions in use), derived columns, ``left_out``
    where a row leaves operators out, then ``version key``. Missing values are null. Quantities are numbers, those of
    inputs in their base unit; a column's metadata has the ``unit``. ``study``'s text is in the table's metadata,
    and what it was made ``by``.

    Raises StudyError when a derived column cannot be computed.
    """
    import pyarrow as pa

    from mcusim._version import __version__

    columns: dict[str, list[Value]] = {name: [p[n] for p in points] for n, name in enumerate(study.inputs)}
    peaks = sorted({name for row in rows for name in row if name.startswith("peak_")} - set(OUTPUTS))
    at = OUTPUTS.index("peak_sram_bytes") + 1
    for name in (*OUTPUTS[:at], *peaks, *OUTPUTS[at:]):
        columns[name] = [row.get(name) for row in rows]
    clocks = dict.fromkeys(name for row in rows for name in row if name.startswith(OF_CLOCKS))
    asked = PERIOD if "period" in study.inputs else ()
    columns |= {name: [row.get(name) for row in rows] for name in (*clocks, *asked)}
    columns |= _derived(study, columns, len(rows))
    if any("left_out" in row for row in rows):
        columns["left_out"] = [row.get("left_out") for row in rows]
    columns |= {"version": [__version__] * len(rows), "key": list(keys)}
    assert tuple(columns)[-len(TAIL) :] == TAIL
    units = {name: unit for name in columns if name not in study.derived and (unit := column_unit(name))}
    for axis in study.axes:  # after the derived columns, which read them as the study has them
        (columns[axis.key], units[axis.key]) = in_base_unit(axis.key, columns[axis.key])
    arrays = {name: _array(name, values, name in study.derived) for name, values in columns.items()}
    schema = pa.schema([pa.field(name, array.type, metadata=_unit(units.get(name))) for name, array in arrays.items()])
    about: dict[str, Any] = {"study": study.name, "title": study.title, "question": study.question}
    about |= {"version": __version__, **({"made": by.to_json()} if by else {})}
    return pa.table(arrays, schema.with_metadata({"mcusim": json.dumps(about, sort_keys=True)}))


def _unit(unit: str | None) -> dict[str, str] | None:
    return {"unit": unit} if unit else None


def _derived(study: Study, columns: Mapping[str, list[Value]], count: int) -> dict[str, list[Value]]:
    from mcusim.errors import StudyError

    derived: dict[str, list[Value]] = {}
    for name, expression in study.derived.items():
        read = {column: derived.get(column) or columns.get(column) or [None] * count for column in expression.names}
        try:
            derived[name] = [expression({column: read[column][n] for column in read}) for n in range(count)]
        except UsageError as error:
            raise StudyError(f"{expression.place or study.name}: {error}") from None
    return derived


def check_derived(study: Study, points: Sequence[Point]) -> None:
    """Compute the derived columns with numbers in place of outputs, for a point with each value of each axis: what they
    cannot be computed of shows before the work. Raises StudyError."""
    if not study.derived:
        return
    firsts = {(n, repr(value)): point for point in reversed(points) for n, value in enumerate(point)}
    some = list(dict.fromkeys(firsts.values()))
    columns: dict[str, list[Value]] = {name: [p[n] for p in some] for n, name in enumerate(study.inputs)}
    read = {name for expression in study.derived.values() for name in expression.names}
    for name in read - {*columns, *study.derived}:
        columns[name] = [{"status": "ok", "error": None}.get(name, 1.0)] * len(some)
    _derived(study, columns, len(some))


def _array(name: str, values: list[Value], derived: bool) -> Any:
    """One column of one type: whole numbers, numbers, true and false, else texts."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if name in _TEXTS:
        return pa.array([_text(value) for value in values], pa.string())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {int, float, bool} and (derived or name in FLOATS or float in kinds):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds <= {int}:
        return pa.array(values, pa.int64())
    return pa.array([_text(value) for value in values], pa.string())


def _text(value: Value) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()  # the name of a file need not be text
    return str(value).lower() if isinstance(value, bool) else str(value)


def _settle(folder: Path) -> None:
    """Wait until the disk knows the names in ``folder``: the journal goes only when the table is there to stay."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_table(table: pyarrow.Table, path: Path) -> None:
    """Write ``path`` through a temporary file in the same folder: a reader sees the old file or the whole new one.

    Raises UsageError when the disk does not take it.
    """
    import pyarrow as pa
    import pyarrow.parquet

    data = pa.BufferOutputStream()
    pa.parquet.write_table(table, data)
    name = None
    try:
        handle, name = tempfile.mkstemp(prefix=".mcusim.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data.getvalue())
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
        _settle(path.parent)
    except BaseException as error:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            rule = "make room, and the same command resumes from its journal"
            raise UsageError(f"cannot write {path}: {error.strerror or error}; {rule}") from None
        raise
