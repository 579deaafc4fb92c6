"""A run over time: whole numbers that sum to what the run counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given

from mcusim import simulate
from mcusim.engine.run import Run
from mcusim.engine.stall_accounting import transferred
from mcusim.machine import load_machine
from mcusim.program.program import Buffer, Span, Transfer
from mcusim.report.run.figures import lanes as page_lanes
from mcusim.report.run.figures.time_series import time_figure
from mcusim.results import Result
from mcusim.results.over_time import core_segments, lanes, occupancy, rates
from tests.support.cases import only_with_all_cases
from tests.support.pages.synthetic_runs import MACHINE, STREAMS, runs


def run_of(result: Result) -> Run:
    assert result.run is not None
    return result.run


@given(runs())
def test_the_cores_time_has_no_gap(run: Run) -> None:
    segments = core_segments(run)
    assert [s.start for s in segments] == [0, *(s.end for s in segments[:-1])][: len(segments)]
    assert sum(s.end - s.start for s in segments) == run.cycles
    by_operator: Counter[int] = Counter()
    for segment in segments:
        by_operator[segment.operator] += segment.end - segment.start
    assert {o.index: o.cycles for o in run.operators} == dict(by_operator) or run.cycles == 0
    assert sum(s.end - s.start for s in segments if s.event is None) == run.by_cause["dma_wait"]


@given(runs())
def test_the_page_s_operators_are_where_the_core_is_at_work_on_them(run: Run) -> None:
    """Also where an operator goes on after another one has begun."""
    row = page_lanes.lanes(run)[0]
    assert [e.start for e in row.entries] == [0, *(e.end for e in row.entries[:-1])][: len(row.entries)]
    spent: Counter[int] = Counter()
    for entry in row.entries:
        own = [s for s in core_segments(run) if entry.start <= s.start < s.end <= entry.end]
        assert {s.operator for s in own} <= {int(entry.text.split()[0])}
        spent[int(entry.text.split()[0])] += entry.end - entry.start
    assert {o.index: o.cycles for o in run.operators} == dict(spent) or run.cycles == 0


@given(runs())
def test_the_page_s_core_spends_what_the_run_counted(run: Run) -> None:
    """Also its last wait, for transfers that end behind the last task."""
    spent: Counter[str] = Counter()
    for entry in page_lanes.lanes(run)[1].entries:
        spent.update(dict(entry.parts))
    assert {cause: n for cause, n in spent.items() if n} == {cause: n for cause, n in run.by_cause.items() if n}


@only_with_all_cases
def test_the_page_of_20000_buffers_is_made() -> None:
    """Buffers that live long and change at every operator: their lives and bytes are not found by trying all."""
    result = simulate("proxyless-w0.25-r160", MACHINE, "external")
    run, count = run_of(result), 20_000
    last = len(run.header.operators) - 1
    buffers = tuple(
        Buffer(f"b{i}", "activation", Span("sdram", run.header.buffers[0].span.address, 16), i % last, last)
        for i in range(count)
    )
    shifted = tuple(replace(b, span=replace(b.span, address=0xC0000000 + 16 * i)) for i, b in enumerate(buffers))
    many = replace(run, header=replace(run.header, buffers=shifted))
    figure = time_figure(many, result.machine)
    (curve,) = [trace for trace in figure.data if trace.get("mode") == "lines"]
    assert max(curve["y"]) * 1024 == 16 * count == max(n for _, n in occupancy(many, result.machine)["sdram"])


@given(runs())
def test_lanes_hold_every_event_once(run: Run) -> None:
    found = lanes(run)
    assert next(iter(found)) == "core" and [*found][1:] == sorted({e.lane for e in run.events} - {"core"})
    assert sorted(e.task for events in found.values() for e in events) == sorted(e.task for e in run.events)
    for events in found.values():
        assert all(a.end <= b.start for a, b in pairwise(events))


@given(runs())
def test_occupancy_is_the_bytes_of_live_buffers_at_any_moment(run: Run) -> None:
    """Against a set of bytes at every moment where it could change."""
    machine = load_machine(MACHINE)
    found = occupancy(run, machine)
    segments = core_segments(run)
    for region in machine.memory.values():
        steps = found.get(region.name, [])
        assert all(a[0] < b[0] and a[1] != b[1] for a, b in pairwise(steps))
        for moment in {0, *(s.start for s in segments), *(s.end for s in segments)}:
            alive: set[int] = set()
            for b in run.header.buffers:
                own = [s for s in segments if b.first <= s.operator <= b.last]
                if own and min(s.start for s in own) <= moment < max(s.end for s in own):
                    alive.update(range(b.span.address, b.span.end))
            expected = sum(region.base <= address < region.end for address in alive)
            assert next((n for at, n in reversed(steps) if at <= moment), 0) == expected


@given(runs())
def test_rates_integrate_to_what_was_moved(run: Run) -> None:
    found = rates(run)
    for region, steps in found.items():
        assert steps[0].start == 0 and (steps[-1].core, steps[-1].dma) == (0, 0)
        ends = [step.start for step in steps[1:]] + [run.cycles]
        for of, who in (("core", {"core"}), ("dma", {*STREAMS})):
            bytes = sum(getattr(step, of) * (end - step.start) for step, end in zip(steps, ends, strict=True))
            events = [e for e in run.events if e.lane in who and e.end > e.start]
            assert bytes == pytest.approx(sum(e.moved.get(region, 0) for e in events))
    lasting = {region for e in run.events if e.end > e.start for region in e.moved}
    assert set(found) == lasting


def test_a_buffer_lives_from_its_operators_wait_to_its_last_operators_end() -> None:
    """ds-cnn in internal memory: what the plan says of the arena, operator by operator."""
    run = run_of(simulate("ds-cnn", MACHINE, "internal"))
    (steps,) = [s for name, s in occupancy(run, load_machine(MACHINE)).items() if name == "dtcm"]
    now = 0
    for operator in run.operators:
        alive = [b for b in run.header.buffers if b.first <= operator.index <= b.last and b.span.region == "dtcm"]
        assert next(n for at, n in reversed(steps) if at <= now) == sum(b.span.bytes for b in alive)
        now += operator.cycles
    assert now == run.cycles and steps[-1] == (run.cycles, 0)


def test_shared_bytes_count_once_and_a_buffer_may_end_in_the_next_region() -> None:
    run = run_of(simulate("figure-1", MACHINE, "internal"))
    machine = load_machine(MACHINE)
    end = machine.memory["dtcm"].end
    twice = [Buffer(f"b{i}", "activation", Span("dtcm", end - 40, 100), 0, 1) for i in range(2)]
    held = replace(run, header=replace(run.header, buffers=tuple(twice)))
    until = sum(o.cycles for o in run.operators[:2])
    assert occupancy(held, machine) == {"dtcm": [(0, 40), (until, 0)], "sram1": [(0, 60), (until, 0)]}


def test_buffers_of_a_program_without_operators_are_never_in_use() -> None:
    run = run_of(simulate("figure-1", MACHINE, "internal"))
    kept = Buffer("kept", "weights", Span("dtcm", 0x2000_0000, 64), 0, 0)
    empty = replace(run, header=replace(run.header, operators=(), buffers=(kept,)), operators=(), events=(), cycles=0)
    assert occupancy(empty, load_machine(MACHINE)) == {}


def test_a_transfer_out_of_two_regions_moves_bytes_in_both() -> None:
    machine = load_machine(MACHINE)
    border, home = machine.memory["sram1"].base, machine.memory["sdram"].base
    ends = Span("dtcm", border - 40, 100), Span("sdram", home, 100)
    task = Transfer(0, "dma2.s0", 0, 0, "input", *ends, 0, 0, 1, 0)
    assert transferred(task, machine) == {"dtcm": 40, "sram1": 60, "sdram": 100}


@only_with_all_cases
def test_a_transfer_into_two_regions_moves_bytes_in_both() -> None:
    """An overlay buffer of cifar10-arm begins in DTCM and ends in SRAM1."""
    machine = load_machine(MACHINE)
    for fidelity in ("replay", "emulate"):
        run = run_of(simulate("cifar10-arm", machine, "tinyops", fidelity=fidelity))
        border = machine.memory["sram1"].base
        assert any(b.span.address < border < b.span.end for b in run.header.buffers)
        moved: Counter[str] = Counter()
        for event in run.events:
            moved.update(event.moved)
        assert moved == {region: traffic.total for region, traffic in run.traffic.items()}
