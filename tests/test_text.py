"""Numbers as tables print them: three significant digits, in a unit that suits."""

from __future__ import annotations

import pytest

from mcusim.report.compare.table import compare_table
from mcusim.report.run.interval_text import ends_text
from mcusim.report.run.page import summary
from mcusim.report.run.table import run_table
from mcusim.report.sweep.table import sweep_table
from mcusim.results.difference import explain, sentence
from mcusim.sweeps.saved import SavedSweep
from mcusim.text import UnitScale, pick_unit, quantity
from tests.support.pages.made_results import make_result

SHORT = 3_286  # cycles: 32.86 µs at 100 MHz


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (7_099 / 216e3, "ms", "32.9 µs"),
        (0.021, "mJ", "21 µJ"),
        (35.5817, "ms", "35.6 ms"),
        (1_009.4, "ms", "1,009 ms"),
        (99.96, "ms", "100 ms"),
        (0.99949, "ms", "999 µs"),
        (0.9996, "ms", "1 ms"),
        (12_345.0, "ms", "12.3 s"),
        (4e-6, "mJ", "4 nJ"),
        (-0.5, "mA", "-500 µA"),
        (0.0, "ms", "0 ms"),
        (None, "ms", "-"),
    ],
)
def test_a_quantity_has_three_digits_and_a_unit_that_suits(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_a_column_has_one_unit() -> None:
    assert pick_unit("ms", [0.5, None, 20.0]) == UnitScale("ms", 1.0) and pick_unit("ms", [0.5, 0.02]).unit == "µs"
    assert pick_unit("mJ", [None]) == UnitScale("mJ", 1.0)
    assert ends_text((3816.2, 6052.0), pick_unit("ms", [4796.0])) == "3,816 to 6,052"
    assert [pick_unit("ms", [0.5, 20]).shown(value) for value in (0.5, 20.0, None)] == ["0.5", "20", "-"]


def test_a_short_run_is_in_microseconds_everywhere() -> None:
    short = make_result(cycles=SHORT)
    assert "latency         32.9 µs" in run_table(short) and " µJ" in run_table(short) and "mJ" not in run_table(short)
    assert "<b>32.9 µs</b>" in summary(short)
    table = compare_table([short, make_result("external", 2 * SHORT)])
    assert "latency, µs" in table and "energy, µJ" in table and " 32.9 " in table and " 65.7 " in table
    longer = make_result("external", 2 * SHORT)
    assert sentence(explain(short, longer), "a", "b").startswith("b takes 32.9 µs longer than a: 32.9 computing")
    study = SavedSweep("s", "", "", ("model",), {}, None)
    rows = [{"model": "net", "status": "ok", "latency_ms": 0.0329, "energy_mj": 0.0164, "peak_sram_bytes": 2048}]
    assert sweep_table(study, rows).splitlines()[3].split() == ["µs", "µJ", "SRAM", "KiB"]
    assert sweep_table(study, rows).splitlines()[4].split() == ["fastest", "32.9", "16.4", "2"]


def test_sizes_are_in_kib_where_nothing_was_published() -> None:
    result = make_result()
    assert "TFLM-style arena 1.5 KiB" in run_table(result) and "KB" not in run_table(result)
    assert "arena, KiB" in compare_table([result]) and "KB" not in compare_table([result])
