"""How much two activities that share a memory slow each other down, against sums by hand."""

from __future__ import annotations

import pytest

from mcusim.engine.contention import ONE, Activity
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import AccessStats


def activity(accesses: int, each: int, spared: int = 0, waiting: float = 1) -> Activity:
    """1,000 cycles long with so many reads of so many cycles; ``spared``: cycles that a read FIFO saves it."""
    demand = AccessStats(accesses, 0, 0, 0, accesses * each * TICK, 0, spared=spared * TICK)
    return Activity(1000, {"sdram": demand}, waiting={"sdram": waiting})


def more(one: Activity, other: Activity) -> float:
    """Cycles that ``other`` costs ``one``."""
    return one.wait_per_tick(other) * 1000 / ONE


@pytest.mark.parametrize(("others", "lost"), [(50, 200), (100, 400), (200, 400)])
def test_what_was_read_ahead_is_lost_to_accesses_in_between(others: int, lost: int) -> None:
    """Of 100 reads every second has one of 50 before it; each of 2 cycles is met by a tenth, half of it left."""
    met = 100 * (others * 2 / 1000) * 1
    assert more(activity(100, 2), activity(others, 2)) == pytest.approx(met, abs=1)
    assert more(activity(100, 2, spared=400), activity(others, 2)) == pytest.approx(met + lost, abs=1)


def test_a_transfer_that_finds_nothing_ahead_any_more_is_waited_for_longer() -> None:
    """100 reads of 1 cycle take 5 once the 4 that the FIFO spared each are lost, of a transfer then 1,400 long."""
    assert more(activity(100, 2), activity(100, 1)) == pytest.approx(100 * 0.1 * 0.5, abs=1)
    assert more(activity(100, 2), activity(100, 1, spared=400)) == pytest.approx(100 * 500 / 1400 * 2.5, abs=1)


def test_the_part_that_waits_is_all_that_waits() -> None:
    assert more(activity(100, 2, spared=400, waiting=0.5), activity(50, 2)) == pytest.approx(5 + 200, abs=1)
    assert more(activity(100, 2), activity(50, 2, waiting=2)) == pytest.approx(100 * 0.2, abs=1)
