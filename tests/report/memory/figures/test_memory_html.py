"""The pictures of ``mcusim memory``: they show the plan's own figures, ask the network for nothing, take any name."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim.api.plan_memory import priced
from mcusim.machine import load_machine
from mcusim.model import Graph, load_model
from mcusim.plan.allocators import ALLOCATORS, allocate
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.timeline import Timeline, timeline
from mcusim.plan.ordering import optimal_order
from mcusim.plan.pools import Pool, sram_pool
from mcusim.report.memory.figures.addresses import placements
from mcusim.report.memory.figures.working_set import segments
from mcusim.report.memory.page import memory_html
from mcusim.results.memory_plan import MemoryPlan, Planned
from tests.support.cases import few, sampled
from tests.support.graphs.random_dags import Sketch, cell_network, random_dag
from tests.support.graphs.small_graphs import activation, convolution, one_operator
from tests.support.pages.browser import seen
from tests.support.pages.hostile_names import HOSTILE
from tests.support.pages.pages import Page, asks_for_nothing

FIGURE_1 = (4704, 4704, 5216, 4160, 1280, 1024, 1024), (4704, 3648, 3904, 4960, 2336, 1024, 1024)  # Appendix A


def plan_of(
    graph: Graph,
    *,
    order: bool = True,
    counted: Accounting | None = None,
    allocator: str = "greedy",
    machine: str | None = None,
) -> MemoryPlan:
    accounting = counted or Accounting()
    ordering = optimal_order(graph, 5, accounting) if order else None
    board = load_machine(machine) if machine else None
    before = planned(graph, timeline(graph), Accounting())
    after = planned(graph, timeline(graph, ordering.order if ordering else None, accounting), accounting)
    return MemoryPlan(graph, before, after, allocator, ordering, board, sram_pool(board) if board else None)


def planned(graph: Graph, found: Timeline, accounting: Accounting) -> Planned:
    return Planned(found, accounting, {name: allocate(found.blocks, name, seconds=1) for name in ALLOCATORS})


def sides(plan: MemoryPlan) -> Iterator[tuple[Planned, dict[str, Any], int]]:
    """Each order of the plan, its figure, and how many bytes a unit of its axes is."""
    figures = Page(memory_html(plan)).figures
    for side, figure in zip([plan.before, plan.after] if plan.changed else [plan.after], figures, strict=True):
        yield side, figure, 1024 if "KiB" in figure["layout"]["yaxis"]["title"]["text"] else 1


def of_kind(figure: dict[str, Any], kind: str, axis: str | None) -> list[dict[str, Any]]:
    return [t for t in figure["data"] if t["type"] == kind and t.get("yaxis") == axis]


def test_figure_1_stands_as_in_the_paper() -> None:
    plan = plan_of(load_model("figure-1"))
    for (side, figure, unit), usage in zip(sides(plan), FIGURE_1, strict=True):
        (trace,), (totals,) = of_kind(figure, "bar", None), of_kind(figure, "scatter", None)
        heights: dict[int, float] = defaultdict(float)
        for x, y in zip(trace["x"], trace["y"], strict=True):
            heights[x] += y
        assert unit == 1 and tuple(heights[x] for x in range(7)) == usage == tuple(totals["y"]) == side.timeline.usage
        assert totals["text"] == [f"{bytes_:,}" for bytes_ in usage]
        (outline,) = (s for s in figure["layout"]["shapes"] if s["type"] == "rect" and s["yref"] == "y")
        assert (outline["x0"], outline["x1"]) == (usage.index(max(usage)) - 0.5, usage.index(max(usage)) + 0.5)
        assert outline["y1"] == max(usage)
    assert figure["layout"]["meta"]["labels"][:2] == ["0 CONV_2D", "3 CONV_2D"]
    text = Page(memory_html(plan)).text
    assert "5,216 B → 4,960 B (-4.9%) in the optimal order; no order needs less" in text


COUNTED = [Accounting(), Accounting(True), Accounting(True, "streamed"), Accounting(False, "resident")]


@few(6)
@pytest.mark.parametrize("counted", COUNTED, ids=lambda c: f"{c.in_place}-{c.weights}")
@pytest.mark.parametrize("source", ["figure-1", "ds-cnn", 1, 2, 3, 4])
def test_bars_are_the_bytes_in_use(source: str | int, counted: Accounting) -> None:
    plan = plan_of(load_model(source) if isinstance(source, str) else random_dag(12, source), counted=counted)
    for side, figure, unit in sides(plan):
        stacks: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for trace in of_kind(figure, "bar", None):
            for x, base, y in zip(trace["x"], trace["base"], trace["y"], strict=True):
                stacks[x].append((base * unit, y * unit))
        for step, usage in enumerate(side.timeline.usage):
            top = 0.0
            for base, height in sorted(stacks[step]):
                assert base == top and height > 0
                top += height
            assert top == usage
        hatched = [t["marker"].get("pattern") for t in of_kind(figure, "bar", None)]
        kinds = {r.kind for r in side.timeline.residents if r.bytes}
        assert sum(pattern is not None for pattern in hatched) == ("weights" in kinds)


@pytest.mark.parametrize("allocator", list(ALLOCATORS))
@pytest.mark.parametrize("source", ["figure-1", 5, 6])
def test_rectangles_are_the_offsets(source: str | int, allocator: str) -> None:
    graph = load_model(source) if isinstance(source, str) else random_dag(14, source)
    for side, figure, unit in sides(plan_of(graph, allocator=allocator)):
        placed, drawn = side.placed[allocator], set()
        for trace in of_kind(figure, "bar", "y2"):
            for x, width, base, y in zip(*(trace[key] for key in ("x", "width", "base", "y")), strict=True):
                first = x - (width - 1) / 2
                drawn |= {(step, base * unit, y * unit) for step in range(int(first), int(first + width))}
        expected = set()
        for resident, places in zip(side.timeline.residents, placed.places, strict=True):
            for step in range(resident.first, resident.last + 1):
                at = [offset for since, offset in places if since <= step][-1]
                expected |= {(step, at, resident.bytes)} if resident.bytes else set()
        assert drawn == expected
        arrows = [y for trace in of_kind(figure, "scatter", "y2") for y in trace["y"]]
        middles = [((m.source + m.bytes / 2) / unit, (m.target + m.bytes / 2) / unit) for m in placed.moves]
        assert sorted(zip(arrows[::3], arrows[1::3], strict=True)) == sorted(middles)
        ends = [s["y0"] * unit for s in figure["layout"]["shapes"] if s["type"] == "line" and s["yref"] == "y2"]
        assert ends == ([placed.bytes] if placed.gap == 0 else [placed.bytes, placed.bound])


def test_a_tensor_has_one_colour_everywhere_and_both_sides_one_scale() -> None:
    plan = plan_of(load_model("figure-1"), allocator="dynamic")
    colours: dict[str, set[str]] = defaultdict(set)
    ranges = set()
    for side, figure, _ in sides(plan):
        for trace in [*of_kind(figure, "bar", None), *of_kind(figure, "bar", "y2")]:
            for colour, template in zip(trace["marker"]["color"], trace["hovertemplate"], strict=True):
                (resident,) = re.findall(r"^%\{meta\[(\d+)\]\}", template)
                name = side.timeline.residents[int(resident)].name
                assert name in trace["meta"][int(resident)]
                colours[name].add(colour)
        ranges.add(tuple(tuple(figure["layout"][axis]["range"]) for axis in ("yaxis", "yaxis2")))
    assert len(colours) == 8 and all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 8 and len(ranges) == 1


def test_hover_says_what_a_tensor_is_and_what_shares_its_bytes() -> None:
    graph = one_operator("ADD", [activation((4, 4)), activation((4, 4))], [activation((4, 4))])
    *_, (_, figure, _) = sides(plan_of(graph, counted=Accounting(in_place=True)))
    texts = figure["data"][0]["meta"]
    assert texts[0] == (
        "2 tensors in the same bytes:<br><b>activation_0</b><br>int8 4 × 4<br><b>activation_2</b><br>int8 4 × 4<br>"
        "16 B<br>network input, in use from step 0<br>network output, kept to the end"
    )
    assert texts[-1] == "at step 0, 0 ADD: 32 B in use"
    assert figure["data"][0]["text"] == ["in+0", "in"]


def hostile_graph() -> Graph:
    sketch = Sketch(64)
    for i in range(len(HOSTILE)):
        sketch.op([i], 64 + i)
    graph = sketch.graph()
    tensors = [replace(t, name=name) for t, name in zip(graph.tensors, [*HOSTILE, *HOSTILE], strict=False)]
    operators = tuple(replace(op, type=HOSTILE[i]) for i, op in enumerate(graph.operators))
    return replace(graph, name=HOSTILE[0], tensors=tuple(tensors), operators=operators, warnings=tuple(HOSTILE))


def test_hostile_names_stay_text() -> None:
    plan = plan_of(hostile_graph(), order=False, counted=Accounting(weights="resident"), allocator="dynamic")
    whole = memory_html(plan)
    page, tame = Page(whole), Page(memory_html(plan_of(random_dag(5, 1))))
    assert asks_for_nothing(replace_text(page)) and whole.count("</script>") == 2 + len(page.figures)
    assert set(page.names()) <= {*tame.names(), "bdi"} and "</script><script>alert(1)//" in page.text
    assert not set("\x00\x07\t\u2028\u202e\ud800") & set(page.own) and "n" * 500 not in page.own
    texts = [t for f in page.figures for d in f["data"] for t in (*d.get("meta", ()), *f["layout"]["meta"]["labels"])]
    assert not [t for t in texts if re.search(r"<(?!/?b>|br>)", t)] and whole.encode()


def replace_text(page: Page) -> Page:
    """The page without the one address that a name contains, as text."""
    page.own = page.own.replace("https://example.org", "")
    return page


def test_nothing_is_loaded_and_equal_plans_give_equal_bytes() -> None:
    graph = load_model("figure-1")
    first, second = (memory_html(plan_of(graph, allocator="dynamic", machine="nucleo-f767zi")) for _ in range(2))
    assert first == second
    page = Page(first)
    assert asks_for_nothing(page)
    (policy,) = (a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none';") and "connect-src" not in policy


def test_without_a_change_there_is_one_column() -> None:
    page = Page(memory_html(plan_of(convolution((1, 8, 8, 4), (8, 3, 3, 4), (1, 8, 8, 8)))))
    assert len(page.figures) == 1 and "Before" not in page.text and "Peak 768 B in the optimal order" in page.text


@pytest.mark.parametrize("operators", [0, 1])
def test_graphs_of_hardly_anything(operators: int) -> None:
    sketch = Sketch(0)
    for _ in range(operators):
        sketch.op([0], 0)
    for allocator in ALLOCATORS:
        plan = plan_of(sketch.graph(), allocator=allocator)
        page = Page(memory_html(plan))
        assert len(page.figures) == 1 and "Peak 0 B" in page.text
        assert ("no operators" in str(page.figures)) == (operators == 0)


def test_memory_that_is_too_small_is_marked() -> None:
    plan = replace(plan_of(load_model("figure-1"), machine="nucleo-f767zi"), room=Pool("sram1", 0, 4096))
    page = Page(memory_html(plan))
    assert "arena is 864 B larger than the 4,096 B of SRAM (sram1) of nucleo-f767zi" in page.text
    texts = [note["text"] for figure in page.figures for note in figure["layout"]["annotations"]]
    assert texts.count("end of SRAM, 4,096 B") == 2
    roomy = Page(memory_html(replace(plan, room=Pool("sram1", 0, 65536))))
    assert "takes 7.6% of the 65,536 B" in roomy.text and "end of SRAM" not in str(roomy.figures)
    assert "changed:" not in roomy.text
    slower = replace(plan, machine=load_machine("nucleo-f767zi", {"core.clock": "100 MHz"}))
    assert "of nucleo-f767zi (changed: core.clock = 100 MHz)" in Page(memory_html(slower)).text


def test_plots_of_many_operators_stay_small() -> None:
    plan = plan_of(cell_network(560, 1), order=False, counted=Accounting(in_place=True), allocator="dynamic")
    whole = memory_html(plan)
    assert len(plan.graph.operators) >= 560 and plan.changed and len(whole.encode()) < 8_000_000
    assert sum(len(figure["data"]) for figure in Page(whole).figures) <= 6


def test_too_many_pieces_become_fewer() -> None:
    found = timeline(random_dag(30, 3))
    whole = segments(found)
    for most in (31, 60, 100):
        few = segments(found, most)
        assert sum(s.merged == 0 for s in few) <= most < len(whole)
        for step, usage in enumerate(found.usage):
            own, kept = ([s for s in part if s.step == step] for part in (whole, few))
            assert sum(s.bytes for s in kept) == usage and sum(s.merged or 1 for s in kept) == len(own)
            rest = {s.resident for s in own} - {s.resident for s in kept}
            least = min((s.bytes for s in kept if not s.merged), default=0)
            assert all(found.residents[i].bytes <= least for i in rest if i is not None)
    areas = [s.bytes * (s.last - s.first + 1) for s in placements(found, allocate(found.blocks, "dynamic"))]
    kept_areas = [s.bytes * (s.last - s.first + 1) for s in placements(found, allocate(found.blocks, "dynamic"), 10)]
    assert sorted(kept_areas) == sorted(areas)[-10:]


def test_moves_say_what_they_cost() -> None:
    plan = priced(plan_of(load_model("figure-1"), allocator="dynamic", machine="nucleo-f767zi"))
    page = Page(memory_html(plan))
    words, bytes_ = plan.defragmentation
    assert f"by words{words.cycles:,}" in page.text and "What the cost of moving tensors assumes" in page.text
    before, after = (of_kind(figure, "scatter", "y2")[0]["hovertemplate"][::3] for figure in page.figures)
    assert not [text for text in before if "cycles" in text] and len(after) == len(plan.placed.moves) == 6
    for move, own, slow in zip(plan.placed.moves, words.cycles_by_move, bytes_.cycles_by_move, strict=True):
        message = f"after step {move.step}: {move.bytes:,} B copied<br>from offset {move.source:,} to {move.target:,}"
        found = [text for text in after if text.startswith(message)]
        assert len(found) == 1 and f"<br>{own:,} cycles by words, {slow:,} cycles by bytes<br><br>" in found[0]


DRAWN = """
const plots = [...document.querySelectorAll(".plot")], counts = plots.map((p) => [
  p.querySelectorAll(".bars .point path").length, p.data.filter((t) => t.type === "bar").map((t) => t.x.length)]);
Plotly.Fx.hover(plots[0], [{curveNumber: 0, pointNumber: 1}]);
const hover = plots[0].querySelector(".hovertext text").textContent;
Plotly.relayout(plots[0], {"xaxis.range": [0.5, 2.5], "yaxis.range": [0, 7]}).then(() => setTimeout(() => {
  const ticks = [...plots[0].querySelectorAll(".xtick text")].map((t) => t.textContent);
  document.title = JSON.stringify([counts, hover, ticks, plots.map((p) => p.layout.yaxis.range),
    document.documentElement.scrollWidth <= innerWidth, [...document.querySelectorAll(".modebar-btn")].length]);
}, 500));
"""


@pytest.mark.parametrize("hostile", sampled([True, False], 1))
def test_a_browser_draws_it(browser: Any, tmp_path: Path, hostile: bool) -> None:
    graph = hostile_graph() if hostile else load_model("figure-1")
    plan = plan_of(graph, allocator="dynamic", counted=Accounting(weights="resident"))
    found = seen(browser, memory_html(plan).encode().decode(), tmp_path, DRAWN)
    counts, hover, ticks, ranges, fits, buttons = json.loads(found)
    assert all(paths == sum(points) > 0 for paths, points in counts)
    assert ranges == [[0, 7]] * len(counts) and fits and buttons == 6 * len(counts)
    if hostile:
        assert hover.startswith(HOSTILE[1]) and ticks[0] == '1 "><img src=x…r=alert(1)>'
    else:
        assert ticks == ["1 CONV_2D", "2 CONV_2D"] and "4,704 B in use" in hover
