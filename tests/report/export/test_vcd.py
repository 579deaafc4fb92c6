"""The value change dump, read by an independent reader: what it says is what the run counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from mcusim import simulate
from mcusim.engine.run import Run
from mcusim.report.export.vcd import picoseconds, vcd_text
from mcusim.results import Result
from mcusim.results.over_time import occupancy
from tests.support.pages.exported_runs import rows, traced
from tests.support.pages.synthetic_runs import result_of, runs
from tests.support.pages.vcd_file import Changes, at, cycles, high, read_vcd

Row = tuple[str, str, str, str]


def signals_of(result: Result, folder: Path) -> dict[str, Changes]:
    path, text = folder / "run.vcd", vcd_text(result)
    path.write_text(text, encoding="utf-8")
    assert result.run is not None
    times = [line for line in text.splitlines() if line.startswith("#")]
    assert times[-1] == f"#{picoseconds(result.run.cycles, result.run.clock)}"
    return read_vcd(path)


def busy(signals: dict[str, Changes], name: str, run: Run) -> list[tuple[int, int]]:
    """When a signal of one bit is 1, in cycles."""
    end = picoseconds(run.cycles, run.clock)
    return [(cycles(a, run.clock), cycles(b, run.clock)) for a, b in high(signals[name], end)]


def check(signals: dict[str, Changes], run: Run) -> None:
    """Cycles of every lane and cause, bytes of every region, and who works on what when."""
    for lane, spent in run.busy.items():
        name = f"{run.fidelity}.{lane}"
        assert sum(b - a for a, b in busy(signals, f"{name}.busy", run)) == spent
        for event in run.events:
            if event.lane == lane and event.end > event.start:
                middle = (picoseconds(event.start, run.clock) + picoseconds(event.end, run.clock)) // 2
                assert at(signals[f"{name}.task"], middle) == event.task
                assert at(signals[f"{name}.operator"], middle) == event.operator
    for cause, spent in run.by_cause.items():
        counted = signals.get(f"{run.fidelity}.core.cycles.{cause}", [(0, 0)])
        assert counted[-1][1] == spent and [*counted] == sorted(counted)
    assert sum(b - a for a, b in busy(signals, f"{run.fidelity}.core.waiting", run)) == run.by_cause["dma_wait"]
    for region, traffic in run.traffic.items():
        moved = {"core": traffic.core_read + traffic.core_write, "dma": traffic.dma_read + traffic.dma_write}
        for who, bytes in moved.items():
            counted = signals[f"{run.fidelity}.memory.{region}.{who}_bytes"]
            assert counted[-1][1] == bytes and counted[0] == (0, counted[0][1])


@rows
def test_it_agrees_with_the_run(row: Row, tmp_path: Path) -> None:
    result, run = traced(row)
    signals = signals_of(result, tmp_path)
    check(signals, run)
    for region, peak in run.header.peak_bytes.items():
        used = signals[f"{run.fidelity}.memory.{region}.in_use"]
        assert signals[f"{run.fidelity}.memory.{region}.peak"] == [(0, peak)]
        steps = occupancy(run, result.machine)[region]
        assert [(cycles(time, run.clock), bytes) for time, bytes in used] == steps
    labels = {text for _, text in signals[f"{run.fidelity}.core.label"]} - {""}
    assert labels == {event.label for event in run.events if event.lane == "core" and event.end > event.start}


def test_an_idle_stream_has_no_task(tmp_path: Path) -> None:
    result, run = traced(("ds-cnn", "stm32f746g-disco", "tinyops", "replay"))
    signals = signals_of(result, tmp_path)
    for time, value in signals["replay.dma2.s1.busy"]:
        assert (at(signals["replay.dma2.s1.task"], time) is None) is (value == 0)
    assert run.busy["dma2.s1"] < run.cycles


def test_equal_results_give_equal_text_and_none_gives_none() -> None:
    results = [simulate("ds-cnn", "stm32f746g-disco", "tinyops") for _ in range(2)]
    assert vcd_text(results[0]) == vcd_text(results[1])
    assert "$date" not in vcd_text(results[0])
    small = simulate("ds-cnn", "stm32f746g-disco", "internal", sram_budget="1 KiB")
    with pytest.raises(ValueError, match="no run"):
        vcd_text(small)


def test_two_results_have_scopes_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "two.vcd"
    results = [simulate("ds-cnn", "stm32f746g-disco", policy) for policy in ("internal", "external")]
    path.write_text(vcd_text(*results), encoding="utf-8")
    assert {name.partition(".")[0] for name in read_vcd(path)} == {"replay0", "replay1"}


@given(run=runs())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_run_reads_back(run: Run, tmp_path: Path) -> None:
    """Names that hold ``$end``, tasks of no cycles, clocks of 1 kHz to 480 MHz."""
    check(signals_of(result_of(run), tmp_path), run)
