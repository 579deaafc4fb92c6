"""Any file is rows or one error: random text, and good files with a few characters changed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcusim.errors import UsageError
from mcusim.evidence.calibrate.measurements import COLUMNS, QUANTITIES, TEMPLATE, read_measurements
from tests.support.cases import sample_size

cells = st.one_of(
    st.sampled_from(
        ["", "ds-cnn", "internal", "latency_ms", "cycles", "12.5", "-1", "nan", "1e999", "memory", "a;b=c;"]
    ),
    st.text(max_size=8),
)
tables = st.lists(st.lists(cells, min_size=1, max_size=6).map(",".join), max_size=5).map("\n".join)
headers = st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=6).map(",".join)


def read(folder: Path, data: bytes) -> None:
    path = folder / "x.csv"
    path.write_bytes(data)
    try:
        rows = read_measurements(path)
    except UsageError as error:
        assert "x.csv" in str(error) and len(str(error)) < 600
        return
    assert rows
    for row in rows:
        assert math.isfinite(row.value) and row.value > 0 and row.quantity in QUANTITIES
        assert bool(row.experiment.model) is not bool(row.experiment.program)


@settings(max_examples=sample_size(300, 25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=headers, table=tables)
def test_random_tables(tmp_path: Path, header: str, table: str) -> None:
    read(tmp_path, f"{header}\n{table}".encode("utf-8", "surrogatepass"))


@settings(max_examples=sample_size(300, 25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_good_file_with_bytes_changed(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(TEMPLATE.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    read(tmp_path, bytes(content))


@pytest.mark.parametrize(
    "text", ["\n\n\n", "#\n#\n", ",,,\n", '"', "a" * 10_000, "quantity,value,model,policy\n" + "," * 9]
)
def test_almost_nothing(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"x\.csv"):
        (tmp_path / "x.csv").write_text(text, encoding="utf-8")
        read_measurements(tmp_path / "x.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_cr_and_lf_end_a_line(tmp_path: Path, inside: str, end: str) -> None:
    """In a cell, quoted or not, and in a remark; the line is the one that an editor shows."""
    lines = [f"# a{inside}b", "model,policy,quantity,value,note", f'ds-cnn,internal,cycles,1,"a{inside}b"']
    lines += [f"ds-cnn,internal,cycles,2,a{inside}b", "", "ds-cnn,internal,cycles,3,", ""]
    path = tmp_path / "x.csv"
    path.write_bytes(end.join(lines).encode())
    assert [(row.where, row.value) for row in read_measurements(path)] == [
        ("x.csv:3", 1),
        ("x.csv:4", 2),
        ("x.csv:6", 3),
    ]
    path.write_bytes(end.join([*lines[:-1], "ds-cnn,internal,cycles,-3,", ""]).encode())
    with pytest.raises(UsageError, match=r"x\.csv:7: value"):
        read_measurements(path)


def test_a_quoted_cell_continues_in_a_line_that_begins_like_a_comment(tmp_path: Path) -> None:
    lines = ["program,function,quantity,value,arguments", 'memory,f,cycles,1,"a', "#b", "", ' # c d"', "# no row", ""]
    path = tmp_path / "x.csv"
    path.write_text("\n".join([*lines, 'memory,f,cycles,2,6" # no remark', "#", "memory,f,cycles,no,"]))
    with pytest.raises(UsageError, match=r"x\.csv:10: value"):
        read_measurements(path)
    path.write_text("\n".join([*lines, 'memory,f,cycles,2,6" # no remark', "# one"]))
    first, second = read_measurements(path)
    assert (first.where, first.experiment.arguments) == ("x.csv:5", ("a", "#b", "#", "c", "d"))
    assert (second.where, second.experiment.arguments) == ("x.csv:8", ('6"', "#", "no", "remark"))
