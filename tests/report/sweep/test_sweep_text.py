"""The text of a sweep: every point, the best ones, and those of least energy in each period."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcusim.report.sweep.exports import latex_table
from mcusim.report.sweep.table import sweep_table


@dataclass(frozen=True)
class Made:
    """What a table needs of a study."""

    inputs: tuple[str, ...]
    name: str = "study"
    title: str = ""
    question: str = ""
    units: dict[str, str] = field(default_factory=lambda: {"clock": "Hz", "period": "s"})


def point(clock: int, period: float | None, each: float | None, **changed: object) -> dict[str, object]:
    figures = {"latency_ms": 10.0, "energy_mj": 1.0, "peak_sram_bytes": 1024, "period_energy_mj": each}
    return {"model": "net", "clock": clock, "period": period, "status": "ok", "error": None, **figures, **changed}


def test_each_period_has_its_point_of_least_energy() -> None:
    rows = [point(54_000_000, None, None), point(54_000_000, 0.005, None)]
    rows += [point(10**6 * clock, 1, each) for clock, each in ((54, 30.0), (108, 20.0), (216, 40.0))]
    lines = sweep_table(Made(("model", "clock", "period")), rows).splitlines()
    assert lines[-2:] == ["    every 5 ms: no point meets that", "    every 1 s: least energy 20 mJ at clock 108 MHz"]
    assert "every" not in sweep_table(Made(("model", "clock")), [point(54_000_000, None, None)])


def test_few_points_are_listed_and_many_are_not() -> None:
    missing = {"latency_ms": None, "energy_mj": None, "peak_sram_bytes": None}
    rows = [point(54_000_000, None, None), point(10**7, None, None, status="does-not-fit", error="no room", **missing)]
    lines = sweep_table(Made(("model", "clock")), rows, listed=True).splitlines()
    assert [line.split() for line in lines[2:5]] == [
        ["clock", "ms", "mJ", "SRAM", "KiB"],
        ["54", "MHz", "10", "1", "1"],
        ["10", "MHz", "-", "-", "-", "does-not-fit"],
    ]
    many = [point(10**6 * clock, None, None) for clock in range(1, 26)]
    text = sweep_table(Made(("model", "clock")), many, listed=True)
    assert text.splitlines()[1] == "  more than 24 points: -o, --csv or --json has them"
    assert "25 MHz" in sweep_table(Made(("model", "clock")), many[1:], listed=True)


def test_buffers_that_run_would_make_otherwise_are_named() -> None:
    rows = [point(54_000_000, None, None, policy="tinyops")]
    assert "tinyops: buffers as large as the budget" in sweep_table(Made(("model", "policy")), rows)
    named = [{**rows[0], "buffer_sizes": "best"}]
    assert "buffers as" not in sweep_table(Made(("model", "policy", "buffer_sizes")), named)
    assert "buffers as" not in sweep_table(Made(("model", "policy")), [{**rows[0], "policy": "internal"}])


def test_a_table_for_latex() -> None:
    rows = [
        point(54_000_000, None, None),
        point(10**7, None, None, model="a_b & 50 %", latency_low_ms=9.0, latency_high_ms=12),
    ]
    text = latex_table(Made(("model", "clock"), title="A\nB"), rows)
    assert text.splitlines() == [
        r"% A B; \usepackage{booktabs}",
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        r"model & clock & latency, ms & energy, mJ & peak SRAM, KiB \\",
        r"\midrule",
        r"net & 54 MHz & 10 & 1 & 1 \\",
        r"a\_b \& 50 \% & 10 MHz & 10 (9 to 12) & 1 & 1 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert r"\begin{longtable}" in latex_table(Made(("model", "clock")), rows * 21)
