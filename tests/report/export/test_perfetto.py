"""The Chrome trace: as its format is documented, and what it says is what the run counted."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim import simulate
from mcusim.engine.run import Run
from mcusim.report.export.perfetto import microseconds, perfetto_json
from tests.support.cases import few
from tests.support.pages.exported_runs import rows, traced
from tests.support.pages.synthetic_runs import result_of, runs
from tests.support.pages.trace_event_format import Process, Slice, nanoseconds, read_trace

Row = tuple[str, str, str, str]


def process_of(row: Row) -> tuple[Process, Run]:
    result, run = traced(row)
    (process,) = read_trace(perfetto_json(result))
    return process, run


def tasks(slices: list[Slice]) -> list[Slice]:
    return [one for one in slices if one.category != "wait"]


def summed(slices: list[Slice], key: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in slices:
        total.update(one.args.get(key, {}))
    return total


@few(3)
@rows
def test_cycles_of_every_lane(row: Row) -> None:
    process, run = process_of(row)
    assert list(process.threads) == ["operators", "core", *sorted(set(run.busy) - {"core"})]
    for lane, busy in run.busy.items():
        slices = tasks(process.threads[lane])
        assert len(slices) == sum(event.lane == lane for event in run.events)
        assert sum(one.args["cycles"] for one in slices) == busy
        for one in slices:
            assert one.end - one.start == pytest.approx(one.args["cycles"] * 1e9 / run.clock, abs=1.01)


@few(3)
@rows
def test_the_core_works_or_waits_and_causes_sum(row: Row) -> None:
    process, run = process_of(row)
    core = process.threads["core"]
    waits = [one for one in core if one.category == "wait"]
    assert core[0].start == 0 and all(a.end == b.start for a, b in pairwise(core))
    assert core[-1].end == round(run.cycles * 1e9 / run.clock)
    found = summed(tasks(core), "by_cause") + Counter(dma_wait=sum(one.args["cycles"] for one in waits))
    assert found == +Counter(run.by_cause)


@few(3)
@rows
def test_operators_are_the_runs(row: Row) -> None:
    process, run = process_of(row)
    found: dict[int, Counter[str]] = {}
    for one in process.threads["operators"]:
        found.setdefault(one.args["operator"], Counter()).update(one.args["by_cause"])
        assert sum(one.args["by_cause"].values()) == one.args["cycles"]
    assert found == {o.index: +Counter(o.by_cause) for o in run.operators}
    assert {one.name for one in process.threads["operators"]} == {f"{o.index} {o.type}" for o in run.operators}


@few(3)
@rows
def test_bytes_of_every_region(row: Row) -> None:
    process, run = process_of(row)
    by_core = summed(process.threads["core"], "bytes")
    by_dma = sum((summed(s, "bytes") for name, s in process.threads.items() if name.startswith("dma")), Counter())
    assert by_core == +Counter({name: t.core_read + t.core_write for name, t in run.traffic.items()})
    assert by_dma == +Counter({name: t.dma_read + t.dma_write for name, t in run.traffic.items()})


@few(4)
@rows
def test_bandwidth_integrates_to_the_bytes(row: Row) -> None:
    process, run = process_of(row)
    end = round(run.cycles * 1e9 / run.clock)
    assert {name for name, _ in process.counters if name.startswith("bandwidth")} == {
        f"bandwidth {region}, MB/s" for region in run.traffic
    }
    for region, traffic in run.traffic.items():
        whole = {"core": traffic.core_read + traffic.core_write, "dma": traffic.dma_read + traffic.dma_write}
        for who, expected in whole.items():
            points = process.counters[f"bandwidth {region}, MB/s", who]
            times = [time for time, _ in points[1:]] + [end]
            found = sum(rate * (until - since) / 1e3 for (since, rate), until in zip(points, times, strict=True))
            assert found == pytest.approx(expected, rel=1e-3)
            assert points[-1][1] == 0


@rows
def test_peak_occupancy_is_the_plans(row: Row) -> None:
    process, run = process_of(row)
    regions = {
        name.removeprefix("memory ").removesuffix(", B") for name, _ in process.counters if name.startswith("memory")
    }
    assert regions == set(run.header.peak_bytes)
    for region, peak in run.header.peak_bytes.items():
        used, spare = (process.counters[f"memory {region}, B", series] for series in ("in use", "spare"))
        assert all(a[0] == b[0] and a[1] + b[1] == peak for a, b in zip(used, spare, strict=True))
        assert used[-1][1] == 0 and max(bytes for _, bytes in used) == most(row, region) > 0.5 * peak


def most(row: Row, name: str) -> int:
    """Bytes of the buffers alive while an operator runs, at most: buffers that live together share none."""
    result, run = traced(row)
    region = result.machine.memory[name]
    found = 0
    for operator in run.operators:
        alive = [b.span for b in run.header.buffers if b.first <= operator.index <= b.last]
        found = max(found, sum(max(0, min(s.end, region.end) - max(s.address, region.base)) for s in alive))
    return found


def test_two_results_are_two_processes_on_one_time_axis() -> None:
    results = [simulate("ds-cnn", "stm32f746g-disco", policy) for policy in ("internal", "external")]
    first, second = read_trace(perfetto_json(*results))
    assert (first.name, second.name) == (
        "ds-cnn on stm32f746g-disco, internal, replay",
        "ds-cnn on stm32f746g-disco, external, replay",
    )
    events = json.loads(perfetto_json(*results))["traceEvents"]
    threads = [(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    assert len({tid for _, tid in threads}) == len(threads) == 4


def test_equal_results_give_equal_text_and_none_gives_none() -> None:
    results = [simulate("ds-cnn", "stm32f746g-disco", "tinyops") for _ in range(2)]
    assert perfetto_json(results[0]) == perfetto_json(results[1])
    small = simulate("ds-cnn", "stm32f746g-disco", "internal", sram_budget="1 KiB")
    assert not small.fits
    with pytest.raises(ValueError, match="no run"):
        perfetto_json(small)
    assert len(read_trace(perfetto_json(small, results[0]))) == 1


@given(st.integers(0, 10**15))
def test_a_reader_that_cuts_off_finds_every_nanosecond(time: int) -> None:
    found = json.loads(json.dumps(microseconds(time)))
    assert nanoseconds(found) == time
    assert found == pytest.approx(time / 1000, rel=1e-15)


@given(runs())
def test_any_run_is_a_valid_trace(run: Run) -> None:
    """Names with quotes, control characters and lone surrogates; tasks of no cycles; clocks of 1 kHz to 480 MHz."""
    text = perfetto_json(result_of(run))
    (process,) = read_trace(text)
    for lane, events in ((lane, [e for e in run.events if e.lane == lane]) for lane in process.threads):
        if lane != "operators":
            slices = tasks(process.threads[lane])
            assert sorted(one.args["task"] for one in slices) == sorted(event.task for event in events)
            assert sum(one.args["cycles"] for one in slices) == run.busy.get(lane, 0)
            times = {event.task: (event.start, event.end) for event in events}
            for one in slices:
                for printed, cycle in zip((one.start, one.end), times[one.args["task"]], strict=True):
                    assert abs(printed - Fraction(cycle * 10**9, run.clock)) <= Fraction(1, 2)
    for (name, series), points in process.counters.items():
        if name.startswith("memory") and series == "in use":
            assert run.cycles == 0 or (points[0][0] == 0 and points[-1][1] == 0)
    assert json.loads(text)["otherData"]["runs"][0]["cycles"] == run.cycles
