"""The page of one run: its figures are the run's, a browser draws it, hovers, zooms and asks nobody."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser import browser, opened
from pages import Page, asks_for_nothing
from test_memory_html import HOSTILE
from test_report import make_result

from mcusim import load_model, simulate
from mcusim.engine.run import Event
from mcusim.model.graph import Graph
from mcusim.model.zoo import architectures
from mcusim.report import Result
from mcusim.report.breakdown import breakdown_figure
from mcusim.report.bus import areas, rates
from mcusim.report.difference import WORDS
from mcusim.report.energy import dma_busy_cycles
from mcusim.report.lanes import SLOTS, drawn, lanes, slots
from mcusim.report.occupancy import address_map, blocks, mapped
from mcusim.report.operator_energy import operator_energy
from mcusim.report.over_time import occupancy
from mcusim.report.run_page import numbers, run_page
from mcusim.report.style import CAUSE_COLOURS, TRANSFER_COLOURS
from mcusim.report.time_figure import time_figure
from mcusim.report.traffic_figure import traffic_figure

__all__ = ["browser"]
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
    cells = f"{1e3 * slowest.cycles / run.clock:,.3f} ms", f"{slowest.cycles / run.cycles:.1%}"
    assert "".join(f'<td class="number">{cell}</td>' for cell in cells) in numbers(result, run)
    waits: Counter[tuple[str, str, str]] = Counter()
    for wait in run.waits:
        waits["DMA" if wait.cause == "dma_wait" else "", wait.region, WORDS.get(wait.role, wait.role)] += wait.cycles
    for cycles in sorted(waits.values(), reverse=True)[:3]:
        cells = f"{1e3 * cycles / run.clock:,.3f} ms", f"{cycles / run.cycles:.1%}"
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
    assert f"{result.value('latency_ms'):,.2f} ms" in page.text and f"{result.value('energy_mj'):,.2f} mJ" in page.text
    assert result.confidence is not None and result.confidence in page.text
    assert all(text in page.text for text in result.assumptions)


def test_without_a_run_the_page_says_why() -> None:
    page = Page(run_page(simulate("mobilenet-v1-w1.0-r224", F746, "internal")))
    assert "There is no run: " in page.text and "does not fit" in page.text and not page.figures


@pytest.mark.parametrize("changes", [{"cycles": 0, "by_cause": {}, "operators": ()}, {}])
def test_runs_of_hardly_anything(changes: dict[str, Any]) -> None:
    result = make_result()
    assert result.run is not None
    changed = replace(result, run=replace(result.run, **changes))
    assert "unit" in Page(run_page(changed)).text and "unit" in changed._repr_html_()
    assert changed.figure().layout.xaxis2.anchor == "y3"


def hostile() -> Result:
    result = simulate("figure-1", F746, "tinyops")
    run = result.run
    assert run is not None
    names = [*HOSTILE, *HOSTILE]
    operators = tuple(replace(o, type=names[i]) for i, o in enumerate(run.operators))
    events = tuple(replace(e, label=f"{e.operator} {names[i % 8]}") for i, e in enumerate(run.events))
    buffers = tuple(replace(b, name=names[i % 8]) for i, b in enumerate(run.header.buffers))
    header = replace(run.header, buffers=buffers)
    return replace(
        result, run=replace(run, operators=operators, events=events, header=header), model=HOSTILE[0],
        warnings=tuple(HOSTILE), confidence=HOSTILE[1],
    )  # fmt: skip


def test_hostile_names_stay_text(browser: Any, tmp_path: Path) -> None:
    whole = run_page(hostile())
    own = Page(whole)
    own.own = own.own.replace("https://example.org", "")
    assert asks_for_nothing(own) and not set("\x00\x07\u2028\u202e\ud800") & set(own.own)
    with opened(browser, whole.encode().decode(), tmp_path) as found:
        assert not found.said and len(found.asked) == 1
        assert found.page.evaluate("document.querySelectorAll('img, a[href]').length") == 0
        assert "%{meta[0]}%{x}<extra>" in found.page.evaluate("document.body.textContent")


SEEN = """
() => {
  const plots = [...document.querySelectorAll(".plot")];
  return {
    paths: plots.map((p) => p.querySelectorAll(".bars .point path").length),
    lanes: plots[0].data[0].y.length, bus: plots[0].data.filter((t) => t.stackgroup).length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    ink: getComputedStyle(document.querySelector(".plot .xtick text")).fill,
    wanted: getComputedStyle(document.body).color,
  };
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_draws_it(tiled: Result, browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    with opened(browser, run_page(tiled), tmp_path, width, scheme) as found:
        seen = found.page.evaluate(SEEN)
        assert all(count > 10 for count in seen["paths"][:2]) and seen["lanes"] > 50 and seen["bus"] == 3
        assert seen["overflow"] <= 0 and seen["ink"] == seen["wanted"]
        assert not found.said and found.asked == [(tmp_path / "page.html").as_uri()]


def test_the_pointer_and_the_zoom(tiled: Result, browser: Any, tmp_path: Path) -> None:
    run = tiled.run
    assert run is not None
    with opened(browser, run_page(tiled), tmp_path) as found:
        assert "2 CONV_2D" in found.hover(0.27, 0.12) and "compute" in found.hover(0.27, 0.37)
        assert "MB/s" in found.hover(0.27, 1.95)
        assert "tensor" in (said := found.hover(0.3, 5.0)) and "offset" in said and "ms" in said
        assert "of 0 CONV_2D, 2 tiles" in (said := found.hover(0.05, 0.9, plot=1)) and "ms" in said
        assert "core reads" in found.hover(0.1, 0.2, plot=2)
        whole = found.layout("xaxis.range")
        assert whole == pytest.approx([0, 1e3 * run.cycles / run.clock])
        found.drag(0.2, 0.3)
        low, high = found.layout("xaxis.range")
        assert low == pytest.approx(0.2 * whole[1], rel=0.05) and high == pytest.approx(0.3 * whole[1], rel=0.05)
        texts = found.page.evaluate("document.querySelectorAll('.plot')[0].data[0].hovertemplate")
        inside = [e for lane in lanes(run) for e in lane.entries if e.end * 1e3 >= low * run.clock]
        assert 0 < len(texts) < len(inside) and not any("too narrow" in text for text in texts[:20])
        box = found.area()
        found.page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
        found.page.wait_for_timeout(400)
        assert found.layout("xaxis.range") == whole and not found.said


def random_run(seed: int) -> Result:
    """Tasks of 0 to a million cycles on three lanes, in no order that makes sense."""
    rng, result = random.Random(seed), make_result()
    assert result.run is not None
    events, ends = [], {"core": 0, "dma2.s0": 0, "dma2.s1": 0}
    for task in range(600):
        lane = rng.choice(list(ends))
        start = ends[lane] + rng.choice([0, 0, rng.randrange(5000)])
        spent = {cause: int(10 ** rng.uniform(0, 6)) for cause in rng.sample(list(CAUSE_COLOURS), rng.randrange(4))}
        length = sum(spent.values()) if lane == "core" else int(10 ** rng.uniform(0, 6))
        ends[lane] = start + length
        kind, label = (
            ("compute", "3 ADD") if lane == "core" else ("transfer", f"3 {rng.choice(['input', 'bias', 'x'])}")
        )
        moved = {region: rng.randrange(9999) for region in rng.sample(["sram1", "sdram"], rng.randrange(3))}
        by_cause = spent if lane == "core" else {}
        events.append(Event(task, lane, kind, label, task % 2, start, start + length, by_cause, moved))
    return replace(result, run=replace(result.run, events=tuple(events), cycles=max(ends.values()) + 7))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_script_merges_as_the_library_does(seed: int, browser: Any, tmp_path: Path) -> None:
    result = random_run(seed)
    run = result.run
    assert run is not None
    scale = 1e3 / run.clock
    (ours,) = drawn(lanes(run), run.cycles, scale)
    flows = areas(lanes(run), run.cycles, run.clock, {}, "y2")
    with opened(browser, run_page(result), tmp_path) as found:
        theirs, *bus = found.page.evaluate(
            "([high, slots]) => mcusimLanes(JSON.parse(document.getElementById('figure-0').textContent).layout.meta)"
            "([0, high], slots)",
            [run.cycles * scale, SLOTS],
        )
    assert len(ours["y"]) > 100 and theirs["y"] == ours["y"] and theirs["marker"]["color"] == ours["marker"]["color"]
    for key in ("base", "x"):
        assert theirs[key] == pytest.approx(ours[key], abs=1e-9)
    said = [[text.split("<br>") for text in one["hovertemplate"]] for one in (theirs, ours)]
    for one, other in zip(*said, strict=True):  # the last digit of a time is rounded another way
        assert one[:1] + one[2:] == other[:1] + other[2:]
    assert [one["name"] for one in bus] == [flow["name"] for flow in flows] == ["sdram", "sram1"]
    for one, flow in zip(bus, flows, strict=True):
        assert one["y"][:-1] == pytest.approx(flow["y"], abs=1e-3)


def deep(monkeypatch: pytest.MonkeyPatch) -> Graph:
    """174 operators, as many as the deepest networks for microcontrollers have."""
    layers = (("conv", 3, 2, 32), ("block", "3", 3, 24, 2, 21), ("block", "3", 3, 40, 2, 22))
    network = architectures.Architecture("deep", (*layers, ("global_pool",), ("classes", 1000), ("flatten",)))
    monkeypatch.setitem(architectures.ARCHITECTURES, "deep", network)
    return load_model("deep-w0.50-r128")


@pytest.mark.slow
def test_a_network_of_170_operators(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = simulate(deep(monkeypatch), F746, "tinyops", sram_budget="45 KiB")
    assert result.run is not None and len(result.run.operators) >= 170 and len(result.run.events) > 2000
    whole = run_page(result)
    assert len(whole.encode()) < 8_000_000
    with opened(browser, whole, tmp_path) as found:
        assert found.seconds() < 3 and found.hover(0.1, 0.12) and not found.said
        found.drag(0.4, 0.5)
        assert found.layout("xaxis.range")[0] > 0 and found.seconds() < 4


def test_the_figure_and_the_summary_for_notebooks(tiled: Result) -> None:
    run = tiled.run
    assert run is not None
    figure = tiled.figure()
    kinds = Counter(trace.type for trace in figure.data)
    assert kinds["bar"] >= 4 and kinds["scatter"] == 3 and json.loads(figure.to_json())["layout"]["xaxis2"]
    summary = tiled._repr_html_()
    assert f"{tiled.value('latency_ms'):,.2f} ms" in summary and "<script" not in summary and len(summary) < 20_000
    assert tiled.table().startswith(f"ds-cnn on {F746}")
    failed = simulate("mobilenet-v1-w1.0-r224", F746, "internal")
    assert "There is no run" in failed._repr_html_() and not failed.figure().data


def test_the_dma_s_energy_is_that_of_its_busy_time(tiled: Result) -> None:
    assert tiled.run is not None
    power = replace(tiled.machine.power, dma_active=0.01)
    parts = operator_energy(tiled.run, replace(tiled.machine, power=power))
    busy = dma_busy_cycles(tiled.run.events) / tiled.run.clock
    assert sum(own["DMA"] for own in parts.values()) == pytest.approx(1e3 * power.supply * 0.01 * busy)
    assert sum(own["DMA"] > 0 for own in parts.values()) > 5
