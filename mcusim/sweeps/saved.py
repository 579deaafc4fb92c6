"""Rows that come from a file: what a row may be, and the table of a finished sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError
from mcusim.files import read_guarded
from mcusim.sweeps.points import MOST_POINTS
from mcusim.sweeps.study import BASE, CAUSES, INTERVAL, OUTPUTS, PERIOD, TAIL
from mcusim.units import base_units

if TYPE_CHECKING:
    import pyarrow

TEXTS = ("status", "error", "left_out", "regulator")
OF_CLOCKS = ("regulator", "clock_", "wait_states_")  # what columns that follow a clock begin with
FIGURES = ("latency_ms", "energy_mj", "supply_current_ma")
FLOATS = (*FIGURES, *INTERVAL, *PERIOD)
_WHOLE = ("cycles", "macs", "peak_sram_bytes", *(f"cycles_{cause}" for cause in CAUSES))
_NEEDED = ("cycles", *FIGURES, "peak_sram_bytes")  # of a run
_STATUSES = ("ok", "does-not-fit", "fault", "error")
_LARGEST_FILE, _MOST_BYTES, _MOST_COLUMNS = 1 << 28, 1 << 30, 1000


def column_units(table: pyarrow.Table) -> dict[str, str]:
    """The unit of each column that has one."""
    units = {field.name: (field.metadata or {}).get(b"unit", b"") for field in table.schema}
    return {name: unit.decode("ascii", "replace") for name, unit in units.items() if unit}


def made_by(table: pyarrow.Table) -> dict[str, Any] | None:
    """What made the table, as it says; None for one of an older version."""
    about = json.loads((table.schema.metadata or {}).get(b"mcusim", b"{}"))
    made = about.get("made") if isinstance(about, dict) else None
    return made if isinstance(made, dict) else None


def numeric_columns(table: pyarrow.Table) -> tuple[str, ...]:
    """Names of the columns of numbers."""
    import pyarrow as pa

    return tuple(f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type))


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether ``row`` is one that a point gives: known columns, numbers that are numbers, and of a run all of them."""
    if row.get("status") not in _STATUSES:
        return False
    if not all(name in (*TEXTS, *FLOATS, *_WHOLE) or name.startswith(("peak_", *OF_CLOCKS)) for name in row):
        return False
    ran = all(row.get(name) is not None for name in _NEEDED)
    return (ran or row["status"] != "ok") and all(_is_value(name, value) for name, value in row.items())


def _is_value(name: str, value: object) -> bool:
    if name in TEXTS or value is None:
        return isinstance(value, str | None)
    if isinstance(value, float):
        return name in FLOATS and 0 <= value < float("inf")
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


@dataclass(frozen=True, slots=True)
class SavedSweep:
    """The table of a finished sweep, and what it says of its study; ``inputs`` are the columns that were varied, and
    ``units`` what those of them that are quantities are in."""

    name: str
    title: str
    question: str
    inputs: tuple[str, ...]
    units: Mapping[str, str]
    table: pyarrow.Table


def read_table(path: str | Path) -> SavedSweep:
    """The table that ``mcusim sweep -o`` has written. Raises UsageError for a file that is not one."""
    shown = str(path)[:200]
    data = read_guarded(Path(path), _LARGEST_FILE, UsageError, too_large="; no table of a sweep is that large")

    def problem(reason: str) -> UsageError:
        return UsageError(f"{shown}: is not the table of a sweep: {reason}")

    parsed = _parsed(data, problem)
    about = (parsed.schema.metadata or {}).get(b"mcusim")
    try:
        study = json.loads(about or b"")
    except (ValueError, RecursionError):
        raise problem("it does not say which study it is of") from None
    texts = [study.get(key) for key in ("name", "study", "title", "question")] if isinstance(study, dict) else []
    named = [text for text in texts if isinstance(text, str)]
    if not isinstance(study, dict) or not isinstance(study.get("study"), str) or len(named) < 3:
        raise problem("it does not say which study it is of")
    names = parsed.column_names
    if (
        "status" not in names
        or OUTPUTS[-1] not in names
        or names[: len(BASE)] != list(BASE)
        or names[-len(TAIL) :] != list(TAIL)
    ):
        raise problem("its columns are others")
    inputs = tuple(names[: names.index("status")])
    _check_rows(parsed, inputs, problem)
    units = {name: unit for name, unit in column_units(parsed).items() if name in inputs and unit in base_units()}
    return SavedSweep(study["study"], str(study.get("title")), str(study.get("question")), inputs, units, parsed)


def kept_rows(saved: SavedSweep) -> dict[str, dict[str, Any]]:
    """Of each point by its key what it had come to: outputs alone, without what is derived of them."""
    names = saved.table.column_names
    last = names.index(OUTPUTS[-1])
    outputs = [*names[len(saved.inputs) : last + 1]]
    outputs += [name for name in names[last + 1 :] if name in (*PERIOD, "left_out") or name.startswith(OF_CLOCKS)]
    rows = saved.table.select(outputs).to_pylist()
    return dict(zip(saved.table.column("key").to_pylist(), rows, strict=True))


def _parsed(data: bytes, problem: Any) -> pyarrow.Table:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        about = file.metadata
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        if about.num_rows > MOST_POINTS or about.num_columns > _MOST_COLUMNS or not 0 <= size <= _MOST_BYTES:
            raise problem("it is larger than any")
        parsed = file.read(use_threads=False)
        parsed.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise problem(f"not Parquet ({str(error).splitlines()[0][:120] if str(error) else 'damaged'})") from None
    plain = (pa.types.is_string, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    for column in parsed.schema:
        if not any(kind(column.type) for kind in plain):
            raise problem(f"column {column.name[:80]!r} is of type {str(column.type)[:80]}")
    if len(set(parsed.column_names)) < parsed.num_columns or not parsed.num_rows:
        raise problem("it has no rows, or a column twice")
    return parsed


def _check_rows(table: pyarrow.Table, inputs: tuple[str, ...], problem: Any) -> None:
    known = [n for n in table.column_names if n in (*TEXTS, *FLOATS, *_WHOLE) or n.startswith(("peak_", *OF_CLOCKS))]
    for number, row in enumerate(table.select(known).to_pylist()):
        if not is_row(row):
            raise problem(f"row {number} is none that a point gives")
    if any(value is None for name in BASE for value in table.column(name).to_pylist()):
        raise problem("a point without a model, machine, policy, kernels or fidelity")
