"""The page of one run: its figures are the run's, and it asks nobody for anything."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import mcusim
from mcusim import simulate
from mcusim.report.html.style import TRANSFER_COLOURS
from mcusim.report.run.figures.lanes import SLOTS, lanes, slots
from mcusim.report.run.figures.occupancy import address_map, blocks, mapped
from mcusim.report.run.figures.operator_bars import breakdown_figure
from mcusim.report.run.figures.time_series import time_figure
from mcusim.report.run.figures.traffic_bars import rates, traffic_figure
from mcusim.report.run.interval_text import interval_sentences
from mcusim.report.run.page import numbers, run_page
from mcusim.results import Result
from mcusim.results.difference import WORDS
from mcusim.results.energy import operator_energy
from mcusim.results.over_time import occupancy
from mcusim.text import pick_unit, quantity
from tests.support.pages.made_results import make_result
from tests.support.pages.pages import Page, asks_for_nothing

F746 = "stm32f746g-disco"
CASES = [("ds-cnn", "tinyops"), ("ds-cnn", "internal"), ("figure-1", "external"), ("proxyless-w0.25-r160", "tinyops")]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def result(request: pytest.FixtureRequest) -> Result:
    model, policy = request.param
    return simulate(model, F746, policy)


@pytest.fixture(scope="module")
def tiled() -> Result:
    return simulate("ds-cnn", F746, "tinyops")


def test_the_core_lane_is_the_run(result: Result) -> None:
    run = result.run
    assert run is not None
    operators, core, *streams = lanes(run)
    for lane in (operators, core):
        assert lane.entries[0].start == 0 and lane.entries[-1].end == run.cycles
        assert all(a.end == b.start for a, b in pairwise(lane.entries))
    during = {int(entry.text.split()[0]): entry for entry in operators.entries}
    assert {index: e.end - e.start for index, e in during.items()} == {
        o.index: o.cycles for o in run.operators if o.cycles
    }
    for event in (event for event in run.events if event.lane == "core"):
        assert during[event.operator].start <= event.start <= event.end <= during[event.operator].end
    spent: Counter[str] = Counter()
    for entry in core.entries:
        assert sum(n for _, n in entry.parts) == entry.end - entry.start
        spent.update(dict(entry.parts))
    assert spent == {cause: n for cause, n in run.by_cause.items() if n}
    assert [lane.name for lane in streams] == sorted(set(run.busy) - {"core"})
    for lane in streams:
        assert {name for entry in lane.entries for name, _ in entry.parts} <= set(TRANSFER_COLOURS)
        assert sum(entry.end - entry.start for entry in lane.entries) == run.busy[lane.name]


@pytest.mark.parametrize("share", [1e-6, 1 / SLOTS, 0.02, 1.0])
def test_merging_keeps_every_task_and_every_cycle(result: Result, share: float) -> None:
    run = result.run
    assert run is not None
    slot = share * run.cycles
    for lane in lanes(run):
        found = slots(lane.entries, slot)
        assert sum(piece.count for piece in found) == len(lane.entries) and len(found) <= 2 / share + 2
        assert sum(piece.busy for piece in found) == sum(e.end - e.start for e in lane.entries)
        assert all(a.end <= b.start for a, b in pairwise(found))
        assert all(piece.count == 1 or piece.end - piece.start <= slot for piece in found)
        for piece in found:
            assert sum(piece.parts.values()) == piece.busy


def test_what_crosses_the_pins_is_the_traffic(result: Result) -> None:
    run = result.run
    assert run is not None
    for bins in (7, 300):
        found = rates(lanes(run), 0, run.cycles, bins)
        moved = {region: sum(values) * run.cycles / bins for region, values in found.items()}
        assert moved == pytest.approx({region: t.total for region, t in run.traffic.items()}, rel=1e-6)


def test_bytes_in_use_are_those_of_the_plan(result: Result) -> None:
    run = result.run
    assert run is not None
    found = occupancy(run, result.machine)
    for region, peak in run.header.peak_bytes.items():
        used = max(n for _, n in found[region])
        assert 0.85 * peak <= used <= peak  # without padding


def test_the_curves_are_the_bytes_in_use_until_the_end(result: Result) -> None:
    run = result.run
    assert run is not None
    for curve in (trace for trace in time_figure(run, result.machine).data if trace.get("mode") == "lines"):
        steps = [step for step in occupancy(run, result.machine)[curve["name"]] if step[0] < run.cycles]
        ms = [at * 1e3 / run.clock for at, _ in steps] + [run.cycles * 1e3 / run.clock]
        assert curve["x"] == pytest.approx(ms) and [round(1024 * y) for y in curve["y"][:-1]] == [n for _, n in steps]
        assert curve["y"][-1] == curve["y"][-2]


def test_the_tables_and_bars_are_the_run_s_numbers(result: Result) -> None:
    run = result.run
    assert run is not None
    slowest = max(run.operators, key=lambda o: (o.cycles, -o.index))
    whole = pick_unit("ms", [1e3 * run.cycles / run.clock])
    cells = whole.text(1e3 * slowest.cycles / run.clock), f"{slowest.cycles / run.cycles:.1%}"
    assert "".join(f'<td class="number">{cell}</td>' for cell in cells) in numbers(result, run)
    waits: Counter[tuple[str, str, str]] = Counter()
    for wait in run.waits:
        waits["DMA" if wait.cause == "dma_wait" else "", wait.region, WORDS.get(wait.role, wait.role)] += wait.cycles
    for cycles in sorted(waits.values(), reverse=True)[:3]:
        cells = whole.text(1e3 * cycles / run.clock), f"{cycles / run.cycles:.1%}"
        assert "".join(f'<td class="number">{cell}</td>' for cell in cells) in numbers(result, run)
    for name, moved in run.traffic.items():  # also of a region that the plan puts nothing into
        assert re.search(rf"<td>{name}</td>.*?>{moved.total:,}( B)?</td></tr>", numbers(result, run))
    for bar in traffic_figure(run).data:
        field = {
            "core reads": "core_read",
            "core writes": "core_write",
            "DMA reads": "dma_read",
            "DMA writes": "dma_write",
        }
        for region, kib in zip(bar["y"], bar["x"], strict=True):
            assert kib * 1024 == getattr(run.traffic[region], field[bar["name"]])


def test_the_map_s_rectangles_are_the_bytes_in_use(result: Result) -> None:
    run = result.run
    assert run is not None
    found = blocks(run, result.machine)
    for region in mapped(found):
        base = result.machine.memory[region].base
        traces, end, above = address_map(found, region, base, 1.0, "y4")
        for at, used in occupancy(run, result.machine)[region]:
            inside = []
            for trace in traces:
                for x, width, low, size in zip(*(trace[key] for key in ("x", "width", "base", "y")), strict=True):
                    if x - width / 2 <= at + 0.25 < x + width / 2:
                        inside.append((round(low * 1024), round((low + size) * 1024)))
            covered, reached = 0, 0
            for low, high in sorted(inside):
                covered += max(0, high - max(low, reached))
                reached = max(reached, high)
            assert 0 <= covered - used <= 64 * sum(b.count - 1 for b in found)  # padding between joined buffers
        weights = sum(b.bytes for b in found if b.kind == "weights" and b.region == region)
        assert above in (0, weights) and 0 < 1024 * end <= result.machine.memory[region].size


def test_bars_are_the_operators_cycles_and_energies(result: Result) -> None:
    run, energy = result.run, result.energy
    assert run is not None and energy is not None
    by_part = operator_energy(run, result.machine)
    assert sum(sum(parts.values()) for parts in by_part.values()) == pytest.approx(energy.energy_mj, rel=1e-9)
    tops: dict[str, Counter[int]] = {"y": Counter(), "y2": Counter()}
    for trace in breakdown_figure(run, result.machine).data:
        for x, y in zip(trace["x"], trace["y"], strict=True):
            tops[trace["yaxis"]][x] += y
    for i, operator in enumerate(run.operators):
        assert tops["y"][i] == pytest.approx(operator.cycles / run.clock * 1e3, abs=1e-5)
        assert tops["y2"][i] == pytest.approx(sum(by_part[operator.index].values()), abs=1e-5)


def test_the_page_says_what_the_table_says_and_loads_nothing(result: Result) -> None:
    whole = run_page(result)
    page = Page(whole)
    assert asks_for_nothing(page) and whole == run_page(result) and len(page.figures) == 3
    assert (
        quantity(result.value("latency_ms"), "ms") in page.text
        and quantity(result.value("energy_mj"), "mJ") in page.text
    )
    assert all(text in page.text for text in interval_sentences(result.interval))
    assert all(text in page.text for text in result.assumptions)


def test_times_of_a_run_of_microseconds_are_in_them() -> None:
    result = simulate("figure-1", F746, "internal")
    assert result.run is not None
    short = replace(result.run, cycles=200_000)
    most = max(operator.cycles for operator in short.operators)
    assert f"{1e6 * most / short.clock:,.0f} µs<" in numbers(result, short)
    assert f"{1e3 * most / short.clock:.3g} ms<" in numbers(result, replace(short, cycles=216_000))


def test_without_a_run_the_page_says_why() -> None:
    page = Page(run_page(simulate("mobilenet-v1-w1.0-r224", F746, "internal")))
    assert "There is no run: " in page.text and "does not fit" in page.text and not page.figures


@pytest.mark.parametrize("changes", [{"cycles": 0, "by_cause": {}, "operators": ()}, {}])
def test_runs_of_hardly_anything(changes: dict[str, Any]) -> None:
    result = make_result()
    assert result.run is not None
    changed = replace(result, run=replace(result.run, **changes))
    assert "unit" in Page(run_page(changed)).text and "unit" in changed._repr_html_()
    assert mcusim.figure(changed).layout.xaxis2.anchor == "y3"


def test_the_figure_and_the_summary_for_notebooks(tiled: Result) -> None:
    run = tiled.run
    assert run is not None
    figure = mcusim.figure(tiled)
    kinds = Counter(trace.type for trace in figure.data)
    assert kinds["bar"] >= 4 and kinds["scatter"] == 3 and json.loads(figure.to_json())["layout"]["xaxis2"]
    summary = tiled._repr_html_()
    assert quantity(tiled.value("latency_ms"), "ms") in summary and "<script" not in summary and len(summary) < 20_000
    assert f"\n\nds-cnn on {F746}\n" in mcusim.table(tiled)
    failed = simulate("mobilenet-v1-w1.0-r224", F746, "internal")
    assert "There is no run" in failed._repr_html_() and not mcusim.figure(failed).data


def test_the_dma_s_energy_is_that_of_its_busy_time(tiled: Result) -> None:
    assert tiled.run is not None
    power = replace(tiled.machine.power, dma_active=0.01)
    parts = operator_energy(tiled.run, replace(tiled.machine, power=power))
    busy = tiled.run.dma_busy / tiled.run.clock
    assert sum(own["DMA"] for own in parts.values()) == pytest.approx(1e3 * power.supply * 0.01 * busy)
    assert sum(own["DMA"] > 0 for own in parts.values()) > 5
