"""The text of a sweep: the best points, and those of least energy in each period."""

from __future__ import annotations

from mcusim.report.sweep.table import sweep_table


def point(clock: str, period: str | None, each: float | None) -> dict[str, object]:
    figures = {"latency_ms": 10.0, "energy_mj": 1.0, "peak_sram_bytes": 1024, "period_energy_mj": each}
    return {"model": "net", "clock": clock, "period": period, "status": "ok", "error": None, **figures}


def test_each_period_has_its_point_of_least_energy() -> None:
    rows = [point("54 MHz", None, None), point("54 MHz", "5 ms", None)]
    rows += [point(clock, "1 s", each) for clock, each in (("54 MHz", 30.0), ("108 MHz", 20.0), ("216 MHz", 40.0))]
    lines = sweep_table("study", ["model", "clock", "period"], rows).splitlines()
    assert lines[-2:] == ["    every 5 ms: no point meets that", "    every 1 s: least energy 20 mJ at clock 108 MHz"]
    assert "every" not in sweep_table("study", ["model", "clock"], [point("54 MHz", None, None)])
