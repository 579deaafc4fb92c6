"""The verdict on a plan: its parts, and that a run says the same when it fits and when it does not."""

from __future__ import annotations

import pytest

from mcusim import load_machine, simulate
from mcusim.errors import DoesNotFit
from mcusim.plan.ram_pools import arena_parts
from mcusim.plan.verdict import ARENA, MemoryVerdict
from mcusim.results import to_json


def test_parts_sum_also_where_a_heuristic_needs_less_for_more() -> None:
    assert arena_parts(100, 130, 7, 0) == {"activations": 100, "scratch": 30, "runtime": 7}
    assert arena_parts(100, 90, 7, 16) == {"activations": 90, "scratch": 0, "state": 16, "runtime": 7}


def test_a_verdict_and_the_reason_that_it_does_not_fit_say_the_same() -> None:
    verdict = MemoryVerdict(ARENA, "sram", 137, 100, arena_parts(100, 130, 7, 0))
    assert (verdict.fits, verdict.over) == (False, 37)
    assert verdict.reason is not None and MemoryVerdict.of(verdict.reason) == verdict
    assert str(verdict) == (
        "the tensor arena does not fit sram: needs 137 B, 100 B available (37 B too many): activations 100 B,"
        " scratch 30 B, runtime 7 B"
    )


def test_a_reason_without_parts_is_one_part() -> None:
    assert MemoryVerdict.of(DoesNotFit("sram", 4096, 10, "the kernels' stack")).parts == {"stack": 4096}


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
def test_what_is_needed_is_the_least_that_fits(policy: str) -> None:
    """The bytes of the verdict on a board with room are the least with which it fits."""
    board = load_machine("stm32f746g-disco")
    found = simulate("figure-1", board, policy).verdict
    assert found is not None and found.fits and sum(found.parts.values()) == found.needed
    if policy != "internal":
        return
    enough = simulate("figure-1", board, sram_budget=found.needed).verdict
    assert enough == MemoryVerdict(found.what, found.region, found.needed, found.needed, found.parts)
    less = simulate("figure-1", board, sram_budget=found.needed - 1)
    assert less.verdict == MemoryVerdict(found.what, found.region, found.needed, found.needed - 1, found.parts)
    assert to_json(less)["verdict"]["over"] == 1
