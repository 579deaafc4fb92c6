"""Any file is rows or one error: random text, and good files with a few characters changed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcusim.errors import UsageError
from mcusim.study.measurements import COLUMNS, QUANTITIES, TEMPLATE, read_measurements

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


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=headers, table=tables)
def test_random_tables(tmp_path: Path, header: str, table: str) -> None:
    read(tmp_path, f"{header}\n{table}".encode("utf-8", "surrogatepass"))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
