"""A run's page in a browser: what it draws, says and asks for, with hostile names and with many operators."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim import load_model, simulate
from mcusim.engine.run import Event
from mcusim.model.graph import Graph
from mcusim.model.zoo import architectures
from mcusim.report.html.style import CAUSE_COLOURS
from mcusim.report.run.figures.lanes import SLOTS, lanes, traces
from mcusim.report.run.figures.traffic_bars import areas
from mcusim.report.run.page import run_page
from mcusim.results import Result
from tests.support.cases import few, only_with_all_cases, sample_size
from tests.support.pages.browser import opened
from tests.support.pages.hostile_names import HOSTILE
from tests.support.pages.made_results import make_result
from tests.support.pages.pages import Page, asks_for_nothing

F746 = "stm32f746g-disco"


@pytest.fixture(scope="module")
def tiled() -> Result:
    return simulate("ds-cnn", F746, "tinyops")


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
        warnings=tuple(HOSTILE),
    )  # fmt: skip


def test_hostile_names_stay_text(browser: Any, tmp_path: Path) -> None:
    whole = run_page(hostile())
    own = Page(whole)
    own.own = own.own.replace("https://example.org", "")
    assert asks_for_nothing(own) and not set("\x00\x07\u2028\u202e\ud800") & set(own.own)
    with opened(browser, whole.encode().decode(), tmp_path) as found:
        assert not found.printed and len(found.asked) == 1
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


@few(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_draws_it(tiled: Result, browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    with opened(browser, run_page(tiled), tmp_path, width, scheme) as found:
        seen = found.page.evaluate(SEEN)
        assert all(count > 10 for count in seen["paths"][:2]) and seen["lanes"] > 50 and seen["bus"] == 3
        assert seen["overflow"] <= 0 and seen["ink"] == seen["wanted"]
        assert not found.printed and found.asked == [(tmp_path / "page.html").as_uri()]


@only_with_all_cases
def test_the_pointer_and_the_zoom(tiled: Result, browser: Any, tmp_path: Path) -> None:
    run = tiled.run
    assert run is not None
    with opened(browser, run_page(tiled), tmp_path) as found:
        assert "2 CONV_2D" in found.hover(0.27, 0.12) and "compute" in found.hover(0.27, 0.37)
        assert "MB/s" in found.hover(0.27, 1.95)
        assert "tensor" in (console := found.hover(0.3, 5.0)) and "offset" in console and "ms" in console
        assert "of 0 CONV_2D, 2 tiles" in (console := found.hover(0.05, 0.9, plot=1)) and "ms" in console
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
        assert found.layout("xaxis.range") == whole and not found.printed


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


@only_with_all_cases
@pytest.mark.parametrize("seed", range(sample_size(3, 1)))
def test_the_script_merges_as_the_library_does(seed: int, browser: Any, tmp_path: Path) -> None:
    result = random_run(seed)
    run = result.run
    assert run is not None
    scale = 1e3 / run.clock
    (ours,) = traces(lanes(run), run.cycles, scale)
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
    console = [[text.split("<br>") for text in one["hovertemplate"]] for one in (theirs, ours)]
    for one, other in zip(*console, strict=True):  # the last digit of a time is rounded another way
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


@only_with_all_cases
def test_a_network_of_170_operators(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = simulate(deep(monkeypatch), F746, "tinyops", sram_budget="45 KiB")
    assert result.run is not None and len(result.run.operators) >= 170 and len(result.run.events) > 2000
    whole = run_page(result)
    assert len(whole.encode()) < 8_000_000
    with opened(browser, whole, tmp_path) as found:
        assert found.hover(0.1, 0.12) and not found.printed
        found.drag(0.4, 0.5)
        assert found.layout("xaxis.range")[0] > 0
