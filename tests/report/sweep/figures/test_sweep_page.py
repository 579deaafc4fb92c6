"""The pictures of a sweep: they show the table's own figures, ask the network for nothing, take any name and hole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import isclose, sqrt
from pathlib import Path
from random import Random
from typing import Any

import pandas
import pytest

from mcusim.report.sweep.figures.parallel import MOST_LINES
from mcusim.report.sweep.figures.pareto import front
from mcusim.report.sweep.figures.point_table import Sweep
from mcusim.report.sweep.page import sweep_page
from tests.support.cases import only_with_all_cases, sampled
from tests.support.pages.browser import seen
from tests.support.pages.pages import Page, asks_for_nothing

HOSTILE = "</script><b onmouseover=alert(1)>%{x}<extra>\u202e" + "n" * 200


@dataclass(frozen=True)
class Study:
    name: str = "study"
    title: str = "A study"
    question: str = "What is faster?"
    inputs: tuple[str, ...] = ("model", "machine", "policy", "kernels", "fidelity", "a", "b")
    units: dict[str, str] = field(default_factory=dict)


def row(model: str, machine: str, a: object, b: object, latency: float | None, **more: Any) -> dict[str, Any]:
    ran = latency is not None
    values = {
        "model": model, "machine": machine, "policy": "tinyops", "kernels": "k", "fidelity": "replay", "a": a, "b": b,
        "status": "ok" if ran else "does-not-fit", "error": None if ran else "too large", "latency_ms": latency,
        "energy_mj": 2.0 * latency if latency is not None else None,
        "peak_sram_bytes": 1024 * 100 / latency if latency is not None else None
    }  # fmt: skip
    return values | more


def table(models: tuple[str, ...] = ("m",), machines: tuple[str, ...] = ("x", "y")) -> pandas.DataFrame:
    """Latency 10 x (machine) x a x sqrt(b); the last point does not fit."""
    rows = [
        row(model, machine, f"{a} KiB", b, 10.0 * (1 + machines.index(machine)) * a * sqrt(b))
        for model, machine, a, b in product(models, machines, (1, 2, 4), (1, 9))
    ]
    rows[-1] |= row(models[-1], machines[-1], "4 KiB", 9, None)
    return pandas.DataFrame(rows)


def figures(frame: pandas.DataFrame, study: Study | None = None) -> list[dict[str, Any]]:
    return Page(sweep_page(frame, study or Study())).figures


def of(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [f for f in found if any(t["type"] == kind for t in f["data"])]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(1, 9), (2, 5), (3, 6), (4, 1), (4, 1), (5, 1)], [0, 1, 3]),
        ([(1, 1), (1, 2), (2, 1)], [0]),
        ([], []),
        ([(3, 3)], [0]),
    ],
)
def test_a_front_is_what_nothing_beats(points: list[tuple[float, float]], expected: list[int]) -> None:
    assert front(points) == expected


def test_pareto_shows_every_point_that_ran() -> None:
    frame = table()
    pareto = figures(frame)[0]
    marks = [t for t in pareto["data"] if t["mode"] == "markers" and t["yaxis"] == "y"]
    shown = sorted(pair for t in marks for pair in zip(t["x"], t["y"], strict=True))
    ran = frame[frame["status"] == "ok"]
    assert shown == sorted(zip(ran["latency_ms"], ran["energy_mj"], strict=True))
    sram = next(t for t in pareto["data"] if t["mode"] == "lines" and t["yaxis"] == "y2")
    assert sram["x"] == sorted(set(ran["latency_ms"])) and sram["y"] == sorted(sram["y"], reverse=True)


def test_effects_are_those_of_points_that_differ_in_one_input() -> None:
    """Latency is a product of powers, so that each effect is known exactly; the hole takes nothing from it."""
    frame = table()
    sweep = Sweep(frame.to_dict("records"), Study())
    assert sweep.varying == ["machine", "a", "b"] and sweep.ranked == ["a", "b", "machine"]
    low, high = (factor for _, factor in sweep.effects("machine", "latency_ms"))
    assert isclose(high / low, 2, rel_tol=0.05)
    complete = Sweep(frame[frame["b"] == 1].to_dict("records"), Study())
    factors = dict(complete.effects("a", "latency_ms"))
    assert [round(factors[level], 9) for level in ("1 KiB", "2 KiB", "4 KiB")] == [0.5, 1.0, 2.0]


def test_effects_of_a_latin_hypercube() -> None:
    """No two points differ in one input alone; ranges of values represent the values."""
    draw = Random(1)
    first, second = draw.sample(range(600), 600), draw.sample(range(600), 600)
    rows = [
        row("m", "x", a / 7, b, 100 * 2 ** (a / 600) * 1.1 ** (b / 600)) for a, b in zip(first, second, strict=True)
    ]
    sweep = Sweep(rows, Study())
    assert sweep.ranked == ["a", "b"]
    found = [factor for _, factor in sweep.effects("a", "latency_ms")]
    assert len(found) == 6 and found == sorted(found)
    assert found[-1] / found[0] == pytest.approx(2 ** (5 / 6), rel=0.02)


def test_tornado_has_a_bar_each_way_for_every_input() -> None:
    latency, energy = of(figures(table()), "bar")
    assert len(latency["data"]) == len(energy["data"]) == 6
    assert [t["x"][0] < 0 for t in latency["data"]] == [True, False] * 3
    names = [n["text"].split(":")[0] for n in latency["layout"]["annotations"]]
    assert names == ["machine", "b", "a"]  # from the bottom up


def test_heat_maps_have_the_least_latency_of_each_cell_and_a_dash_where_none_ran() -> None:
    maps = of(figures(table()), "heatmap")
    assert len(maps) == 2  # one a machine
    [trace] = maps[1]["data"]
    assert (trace["x"], trace["y"]) == (["1 KiB", "2 KiB", "4 KiB"], ["1", "9"])
    assert trace["text"] == [["20", "40", "80"], ["60", "120", "–"]]
    assert trace["z"][1][2] is None and trace["customdata"][1][2] == "too large"


def test_parallel_has_every_point_once() -> None:
    frame = table(("m", "n"))
    lines = [t for t in figures(frame)[-1]["data"] if t["mode"] == "lines"]
    shown = sum(x is None for t in lines for x in t["x"])
    assert shown == (frame["status"] == "ok").sum()
    heights = [y for t in lines for x, y in zip(t["x"], t["y"], strict=True) if x is not None and y is not None]
    assert min(heights) >= -0.3 and max(heights) <= 1.3


def test_many_points_are_thinned_and_binned() -> None:
    rows = [row("m", "x", f"{n} KiB", n / 7, 1.0 + n) for n in range(5000)]
    text = sweep_page(pandas.DataFrame(rows), Study())
    found = Page(text)
    assert len(text) < 7_000_000
    lines = [t for t in found.figures[-1]["data"] if t["mode"] == "lines"]
    assert sum(x is None for t in lines for x in t["x"]) <= MOST_LINES
    [heat] = of(found.figures, "heatmap")
    assert len(heat["data"][0]["x"]) == 6 and "1,000 of 5,000" in text
    assert found.text.count("ok") <= 500


@pytest.mark.parametrize("left", [0, 1, 2])
def test_what_does_not_vary_is_left_out(left: int) -> None:
    """Nothing ran, one point, one input."""
    frame = table(machines=("x",)).iloc[:left] if left else table().iloc[-1:]
    found = figures(frame)
    kinds = {t["type"] for f in found for t in f["data"]}
    assert kinds == [set(), {"scatter"}, {"scatter", "bar"}][left]
    assert "too large" in sweep_page(table().iloc[-1:], Study())


def test_missing_values_and_odd_types() -> None:
    rows = [row("m", "x", None, True, 1.0), row("m", "x", "none", False, 2.0, energy_mj=float("nan"))]
    rows += [row("m", "x", 3, 1, 3.0, peak_sram_bytes=0.0)]
    frame = pandas.DataFrame(rows)
    found = Page(sweep_page(frame[frame["energy_mj"].notna()], Study()))
    assert "default" in found.html


def test_names_are_not_markup() -> None:
    frame = table((HOSTILE, "m"), (HOSTILE, "y"))
    study = Study(name=HOSTILE, title=HOSTILE, question=HOSTILE, inputs=(*Study().inputs[:5], "a", HOSTILE))
    frame = frame.rename(columns={"b": HOSTILE})
    frame.loc[frame["status"] != "ok", "error"] = HOSTILE
    found = Page(sweep_page(frame, study, [HOSTILE]))
    assert asks_for_nothing(found)
    for figure in found.figures:
        assert "<b onmouseover" not in json.dumps(figure) and "%{x}<" not in json.dumps(figure["data"])


def test_equal_tables_give_equal_pages_that_load_nothing() -> None:
    text = sweep_page(table(("m", "n")), Study(), ["a is best"])
    assert text == sweep_page(table(("m", "n")), Study(), ["a is best"])
    found = Page(text)
    assert asks_for_nothing(found) and "a is best" in found.text and "What is faster?" in found.text
    assert "11 points" not in found.text and "24 points: 23 ran, 1 did not fit" in found.text


@only_with_all_cases
def test_hovering_and_hiding_in_a_browser(browser: Any, tmp_path: Path) -> None:
    """A point tells all of itself, a cell too; an entry of the legend hides its points; a zoom shows fewer."""
    script = """addEventListener("load", () => setTimeout(() => {
      const plots = [...document.querySelectorAll(".plot")], seen = [];
      const points = [[0, [{curveNumber: 2, pointNumber: 0}]], [2, [{curveNumber: 0, pointNumber: 0}]],
        [4, {xpx: 9, ypx: plots[4]._fullLayout._size.h - 9}], [8, [{curveNumber: 0, pointNumber: 5}]]];
      for (const [plot, point] of points) {
        Plotly.Fx.hover(plots[plot], point);
        seen.push(plots[plot].querySelector(".hoverlayer").textContent);
      }
      const shown = () => plots[0].querySelectorAll(".scatterlayer .point").length, before = shown();
      Plotly.restyle(plots[0], {visible: "legendonly"}, [2, 3]).then(() => {
        seen.push(shown() < before && shown() > 0);
        return Plotly.relayout(plots[0], {"xaxis.range": [0, 25]});
      }).then(() => {
        seen.push(plots[0].layout.xaxis.range[1] === 25);
        document.title = JSON.stringify(seen);
      });
    }, 800));"""
    title = seen(browser, sweep_page(table(("m", "n")), Study()), tmp_path, script)
    point, bar, cell, line, hidden, zoomed = json.loads(title)
    for text in (point, cell, line):
        assert text.startswith("m") and "machine: x" in text and "latency, ms: 10" in text and "a: 1 KiB" in text
    assert bar == "machinex: -29%y: +41%"
    assert hidden and zoomed


@only_with_all_cases
@pytest.mark.parametrize("width", sampled([390, 1280], 1))
def test_a_browser_draws_it(browser: Any, tmp_path: Path, width: int) -> None:
    script = """addEventListener("load", () => setTimeout(() => {
      const drawn = [...document.querySelectorAll(".plot")].map((d) => [
        d.querySelectorAll(".point, .hm image, .lines path").length > 0,
        d.getBoundingClientRect().right <= innerWidth]);
      document.title = JSON.stringify([drawn.length, drawn.every((d) => d[0] && d[1]),
        document.documentElement.scrollWidth <= innerWidth]);
    }, 800));"""
    title = seen(browser, sweep_page(table(("m", "n")), Study()), tmp_path, script, width)
    assert json.loads(title) == [2 + 2 + 4 + 1, True, True]


@pytest.mark.parametrize("count", [2, 5, 40])
def test_long_values_of_parallel_coordinates_do_not_reach_each_other(count: int) -> None:
    """An axis has at most six letters next to it, which fit between axes at 390 pixels; longer values are vertical."""
    values = [f"value {n:02d} of some length" for n in range(count)]
    frame = pandas.DataFrame([row("m", "x", value, 1, 10.0 + n) for n, value in enumerate(values)])
    figure = next(f for f in figures(frame) if "parallel" in str(f) or len(f["layout"].get("annotations", ())) > 4)
    height = figure["layout"]["yaxis"]["range"][1] - figure["layout"]["yaxis"]["range"][0]
    area = 536 - figure["layout"]["margin"]["t"] - figure["layout"]["margin"]["b"]
    notes = [n for n in figure["layout"]["annotations"] if str(n["text"]).startswith("value")]
    assert len(notes) >= 2 and all(note["textangle"] == -90 and len(note["text"]) <= 16 for note in notes)
    ordered = sorted(note["y"] for note in notes)
    gap = min(b - a for a, b in pairwise(ordered)) * area / height
    assert gap >= 5 * 16  # pixels of 16 letters
    assert all(len(n["text"]) <= 7 for n in figure["layout"]["annotations"] if n["textangle"] == 0)
