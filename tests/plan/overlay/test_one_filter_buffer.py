"""Buffers of variant 2023: sizes by closed formulas, and the factors that the firmware had."""

from __future__ import annotations

import pytest

from mcusim.errors import DoesNotFit
from mcusim.program.program import Program
from tests.support.cases import few
from tests.support.programs.plans import DISCOS, KIB, planned, transfers

F469, F746 = DISCOS
BUDGET = 256 * KIB


def plan_2023(name: str, machine: str = F469, **options: object) -> Program:
    return planned(name, machine, "tinyops", variant="2023", **options)


def overlay_buffers(program: Program) -> dict[str, int]:
    return {b.name: b.span.bytes for b in program.header.buffers if b.kind in ("overlay", "scratch")}


def test_the_filter_buffer_has_all_that_is_left() -> None:
    """On a board without a data cache buffers are padded to 16 bytes alone, which these sizes are multiples of."""
    sizes = overlay_buffers(plan_2023("proxyless-w0.30-r144", sram_budget=BUDGET))
    assert sizes == {
        "tile0": 50_112,
        "tile1": 50_112,
        "second0": BUDGET - 3 * 50_112 - 3 * 4_000,
        "second1": 50_112,
        "bias": 4_000,
        "multiplier": 4_000,
        "shift": 4_000,
    }


def test_with_a_data_cache_every_buffer_has_a_line_more() -> None:
    budget, line = 320 * KIB, 32
    sizes = overlay_buffers(plan_2023("proxyless-w0.30-r176", F746, sram_budget=budget))
    assert (sizes["tile0"], sizes["second1"], sizes["bias"]) == (73_920, 73_920, 4_000)
    assert sizes["second0"] == budget - 3 * 73_920 - 3 * 4_000 - 7 * line


def test_scratch_larger_than_a_tile_makes_its_buffer_larger() -> None:
    """Depthwise 5x5 of 6 x 192 channels: two bytes a weight of the window."""
    sizes = overlay_buffers(plan_2023("mnasnet-w1.00-r080", sram_budget=BUDGET))
    assert (sizes["tile0"], sizes["second1"]) == (40_320, 2 * 5 * 5 * 6 * 192)
    assert sizes["second0"] == BUDGET - 2 * 40_320 - 57_600 - 3 * 5_120


@few(2)
@pytest.mark.parametrize(
    ("name", "factors"),
    [
        ("proxyless-w0.75-r128", (6, 4)),
        ("mnasnet-w1.00-r128", (5, 4)),
        ("proxyless-w0.30-r144", (3, 3)),
        ("mnasnet-w1.00-r080", (2, 2)),
        ("mbv3-w1.00-r160", (8, 8)),
    ],
)
def test_factors_are_no_higher_than_with_two_filter_buffers(name: str, factors: tuple[int, int]) -> None:
    found = [planned(name, F469, "tinyops", variant=v, sram_budget=BUDGET).header.options for v in ("2022", "2023")]
    assert tuple(options["factor"] for options in found) == factors


@pytest.mark.parametrize(("name", "kilobytes"), [("proxyless-w0.50-r048", 169), ("proxyless-w0.75-r096", 60)])
def test_filter_buffers_are_as_large_as_those_of_the_firmware(name: str, kilobytes: int) -> None:
    """60 to 169 KB, in which it left 4.9 KB of the 256 KiB to others."""
    sizes = overlay_buffers(plan_2023(name, sram_budget=BUDGET - 4_900))
    assert abs(sizes["second0"] - 1000 * kilobytes) < 600


def test_nothing_is_left_and_nothing_is_over() -> None:
    for budget in range(70 * KIB, 74 * KIB, 331):
        program = plan_2023("mbv3-w0.40-r096", sram_budget=budget)
        used = sum(program.header.peak_bytes.get(name, 0) for name in ("sram1", "sram2", "sram3"))
        assert budget - 16 < used <= budget
        memory = program.header.memory
        assert memory.overlay + memory.scratch == used


def test_a_filter_that_fits_the_rest_is_copied_and_sixteen_bytes_less_leave_it_in_place() -> None:
    """ds-cnn's pointwise filters have 64 x 64 B, more than its tiles of 7 KiB leave of a budget made for that."""
    sizes = overlay_buffers(plan_2023("ds-cnn", sram_budget=40 * KIB, overlay=frozenset({"filter", "bias"})))
    others = sum(sizes.values()) - sizes["second0"]

    def copied(budget: int) -> set[int]:
        program = plan_2023("ds-cnn", sram_budget=budget, overlay=frozenset({"filter", "bias"}))
        return {t.source.bytes for t in transfers(program) if t.kind == "filter"}

    assert 4_096 in copied(others + 4_096) and 4_096 not in copied(others + 4_080)


def test_without_filters_to_copy_the_rest_stays_free() -> None:
    program = plan_2023("mbv3-w0.40-r096", sram_budget=BUDGET, overlay=frozenset({"input"}))
    sizes = overlay_buffers(program)
    assert sizes["second0"] == sizes["tile0"] and sum(sizes.values()) < BUDGET - 50_000


def test_a_budget_too_small_for_any_factor() -> None:
    with pytest.raises(DoesNotFit) as caught:
        plan_2023("ds-cnn", sram_budget=4 * KIB)
    assert caught.value.available == 4 * KIB < caught.value.needed


def test_where_second_buffers_as_large_as_tiles_do_not_fit_they_only_have_what_they_need() -> None:
    """ds-cnn has no second inputs: then two tile buffers of the smallest factor, scratch and the arrays do."""
    smallest = None
    for budget in range(20 * KIB, 0, -256):
        try:
            smallest = overlay_buffers(plan_2023("ds-cnn", sram_budget=budget))
        except DoesNotFit:
            break
    assert smallest is not None and smallest.get("second0", 0) < smallest["tile0"]


def test_tensors_live_one_operator_longer() -> None:
    """ds-cnn: the largest three neighbours instead of the largest two, all of one size."""
    usual, longer = planned("ds-cnn", F469, "tinyops"), plan_2023("ds-cnn")
    sizes = [usual.header.memory.activations, longer.header.memory.activations]
    assert sizes == [2 * 8_000, 3 * 8_000]
    ends = [{b.name: b.last for b in p.header.buffers if b.kind == "activation"} for p in (usual, longer)]
    last = len(usual.header.operators) - 1
    assert ends[1] == {name: min(end + 1, last) for name, end in ends[0].items()}
