"""The static array of a compiled runtime, against TinyEngine's own planner and by its rules on random lives."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim import plan_memory
from mcusim.errors import UsageError
from mcusim.model import geometry
from mcusim.plan.allocators.greedy import Arena
from mcusim.plan.static_array import ArrayBlock, Phase, first_fit
from mcusim.report.memory.json import memory_json
from mcusim.results.memory_plan import MemoryPlan
from tests.support.kernels.random_networks import random_network, with_floats
from tests.support.paths import shared_model

# arena, scratch, filters, total, parameters and the arena without in-place convolutions, as TinyEngine's scheduler has
# them for the public files
VWW1 = (89_600, 3_528, 864, 93_992, 469_432, 96_000)
IN3 = (247_808, 17_672, 864, 266_344, 790_536, 371_712)
PROXYLESS = (247_808, 16_928, 864, 265_600, 796_080, 309_760)
KEYS = ("arena", "scratch", "filters", "total", "parameters")


@cache
def planned(model: str | Path, in_place: bool = True, im2col: str | None = None) -> MemoryPlan:
    return plan_memory(model, runtime="tinyengine", in_place=in_place, im2col=im2col)


def figures(model: str | Path) -> tuple[int, ...]:
    array = memory_json(planned(model))["planned"]
    return (*(array[key] for key in KEYS), memory_json(planned(model, in_place=False))["planned"]["arena"])


@pytest.mark.parametrize(
    ("file", "wanted"),
    [("mcunet_vww1.tflite", VWW1), ("mcunet_in3.tflite", IN3), ("proxyless_w0.3_r176.tflite", PROXYLESS)],
)
def test_the_array_is_that_of_the_public_planner_to_the_byte(file: str, wanted: tuple[int, ...]) -> None:
    assert figures(shared_model(file)) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"), [("mcunet-vww1", VWW1), ("mcunet-in3", IN3), ("proxyless-mit-w0.30-r176", PROXYLESS)]
)
def test_the_same_networks_of_the_zoo_have_the_same_array(name: str, wanted: tuple[int, ...]) -> None:
    assert figures(name) == wanted


def test_adaptive_columns_are_those_of_the_papers_equations() -> None:
    plan = planned("small-cifar", im2col="adaptive")
    every = [geometry(plan.graph, op) for op in plan.graph.operators]
    shapes = [g for g in every if g.traits.windowed and g.traits.parametric]
    lengths = [g.kernel_h * g.kernel_w * g.in_c for g in shapes]
    assert [one["columns"] for one in memory_json(plan)["columns"]] == [max(lengths) // length for length in lengths]
    assert plan.array is not None and plan.array.scratch == 2 * max(lengths)
    two = planned("small-cifar").array
    assert two is not None and two.scratch == 4 * max(lengths) and set(two.columns) == {0, 2}


@pytest.mark.parametrize("name", ["mcunet-vww1", "ds-cnn", "figure-1"])
def test_tensors_that_are_alive_together_are_apart(name: str) -> None:
    plan = planned(name)
    found = plan.after.timeline.residents
    offsets = plan.addresses.offsets
    for i, one in enumerate(found):
        for j, other in enumerate(found[:i]):
            if one.first <= other.last and other.first <= one.last:
                assert offsets[i] + one.bytes <= offsets[j] or offsets[j] + other.bytes <= offsets[i], (i, j)
    assert plan.array is not None
    assert plan.after.timeline.peak <= plan.array.arena <= plan.before.placed[plan.allocator].bytes


def test_the_verdict_counts_the_whole_array_then_the_flash() -> None:
    small = {"memory.sram1.size": "24 KiB", "memory.sram2.size": "1 KiB"}
    found = [
        plan_memory("mcunet-vww1", runtime="tinyengine", machine="stm32f746g-disco", overrides=overrides).verdict
        for overrides in ({}, small, {"memory.flash.size": "256 KiB"})
    ]
    whole, over, flash = found
    assert whole is not None and over is not None and flash is not None
    assert whole.fits and whole.needed == 93_992
    assert not over.fits and over.over == 93_992 - (64 + 24) * 1024  # sram2 is apart from them then
    assert (flash.fits, flash.region) == (False, "flash") and flash.needed > 469_432


def test_what_has_no_effect_is_refused() -> None:
    for options, says in (
        ({"allocator": "greedy"}, "--allocator has no effect with --runtime tinyengine"),
        ({"weights": "resident"}, "--weights has no effect"),
        ({"kernels": "cmsis", "machine": "stm32f746g-disco"}, "has kernels of its own"),
        ({"im2col": "three"}, 'unknown im2col "three"; there are two, adaptive'),
        ({"runtime": "tflm", "im2col": "two"}, "--im2col has no effect with --runtime tflm"),
        ({"align": 12}, "an alignment of 12 B"),
        ({"align": 0}, "an alignment of 0 B"),
        ({"runtime": "tflm", "align": 0}, "an alignment of 0 B"),
    ):
        with pytest.raises(UsageError, match=says):
            plan_memory("ds-cnn", **{"runtime": "tinyengine", **options})  # type: ignore[arg-type]


@st.composite
def _blocks(draw: st.DrawFn) -> list[ArrayBlock]:
    found = []
    for tensor in range(draw(st.integers(0, 12))):
        first, size, phases = draw(st.integers(0, 9)), draw(st.integers(1, 40)), []
        for _ in range(draw(st.integers(1, 3))):
            last = first + draw(st.integers(0, 3))
            phases.append(Phase(tensor, first, last, size))
            first, size = last + 1, max(1, size // draw(st.sampled_from((1, 4))))
        found.append(ArrayBlock(tuple(phases), draw(st.sampled_from((1, 1, 2, 4)))))
    return found


@given(_blocks(), st.sampled_from((1, 4)))
def test_blocks_rest_on_something_and_never_overlap_in_time_and_place(blocks: list[ArrayBlock], align: int) -> None:
    arena = first_fit(blocks, align)
    spans = [
        (step, arena.offsets[i], arena.offsets[i] + phase.bytes, i)
        for i, block in enumerate(blocks)
        for phase in block.phases
        for step in range(phase.first, phase.last + 1)
    ]
    for step, start, end, i in spans:
        assert end <= arena.bytes and start % max(align, blocks[i].align) == 0
        for other_step, other_start, other_end, j in spans:
            assert i == j or step != other_step or end <= other_start or other_end <= start
    for block, offset in zip(blocks, arena.offsets, strict=True):
        step = max(align, block.align)
        assert offset == 0 or offset in {-(-end // step) * step for _, _, end, _ in spans}


def test_words_lie_where_the_core_can_load_them() -> None:
    """A network with numbers of four bytes between odd int8 tensors; int8 tensors lie anywhere."""
    graph = with_floats(random_network(3), random.Random(0))
    plan = plan_memory(graph, runtime="tinyengine")
    wide = [graph.tensors[one.tensors[0]].dtype == "float32" for one in plan.after.timeline.residents]
    offsets = plan.addresses.offsets
    assert any(wide) and not any(offset % 4 for offset, words in zip(offsets, wide, strict=True) if words)
    assert any(offset % 4 for offset, words in zip(offsets, wide, strict=True) if not words)


def test_equal_lives_are_not_apart() -> None:
    """The public planner takes two buffers of exactly equal life for disjoint."""
    blocks = [ArrayBlock((Phase(i, 0, 3, 16),)) for i in range(2)]
    assert first_fit(blocks) == Arena((0, 16), 32)
