"""The Cortex-M7's store buffer against the throughputs that were measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mcusim.cpu.pipeline import store_buffer
from mcusim.cpu.pipeline.branch_predictor import BranchState, reset
from mcusim.memory.state_layout import TICK
from mcusim.native.structs import offset_of

Pattern = Callable[[int], tuple[int, int]]


def stalls(pattern: Pattern, count: int, every: int = 1) -> list[float]:
    """Cycles each of ``count`` stores waits when the program has one every ``every`` cycles."""
    b = BranchState(np.zeros(BranchState.WORDS, np.int64))
    reset(b)
    now, waited = 0, []
    for i in range(count):
        stall = store_buffer.store_stall(b, now, *pattern(i))
        now += stall + every * TICK
        waited.append(stall / TICK)
    return waited


def throughput(pattern: Pattern, every: int = 1) -> float:
    """Cycles per store in the steady state."""
    return every + sum(stalls(pattern, 1600, every)[800:]) / 800


@pytest.mark.parametrize(
    ("pattern", "measured", "within"),
    [
        (lambda i: (4 * i, 4), 1, 0),
        (lambda i: (0, 4), 1, 0),
        (lambda i: (8 * i, 8), 1, 0),
        (lambda i: (0, 1), 4, 0),
        (lambda i: (8 * i + 2, 2), 4, 0),
        (lambda i: (4 * i, 1), 2, 0),
        (lambda i: (i, 1), 2.4, 0.03),
        (lambda i: (2 * i, 2), 2, 0),
        (lambda i: (4 * i + 1, 4), 4, 0),
        (lambda i: (4 * i + 3, 4), 4, 0),
        (lambda i: (3, 2), 4, 0),
    ],
)
def test_one_store_a_cycle(pattern, measured, within):
    assert throughput(pattern) == pytest.approx(measured, abs=within or 1e-9)


def test_unaligned_stores_wait_when_the_buffer_is_full():
    waited = stalls(lambda i: (4 * i + 1, 4), 6)
    assert waited[:4] == [0, 0, 0, 0]
    assert waited[4] > 0


def test_stores_far_enough_apart_are_free():
    assert throughput(lambda i: (0, 1), every=4) == 4
    assert throughput(lambda i: (0, 1), every=3) == 4
    assert throughput(lambda i: (i, 1), every=3) == 3


def test_a_word_waits_for_its_bank_alone():
    b = BranchState(np.zeros(BranchState.WORDS, np.int64))
    reset(b)
    store_buffer.store_stall(b, 0, 0, 1)
    banks = b.bank_done.table(2)
    assert banks.tolist() == [4 * TICK, 0]
    store_buffer.store_stall(b, TICK, 4, 4)
    assert banks.tolist() == [4 * TICK, 2 * TICK]
    store_buffer.store_stall(b, 2 * TICK, 8, 4)
    assert banks.tolist() == [5 * TICK, 2 * TICK]


def test_the_predictor_is_left_alone():
    b = BranchState(np.zeros(BranchState.WORDS, np.int64))
    reset(b)
    own = offset_of(BranchState.store_free)
    before = b.array[:own].copy()
    for i in range(20):
        store_buffer.store_stall(b, i * TICK, i, 1)
    assert (b.array[:own] == before).all()


def test_unaligned_loads():
    assert [store_buffer.load_extra(slot) for slot in (0, 1)] == [3, 4]
    assert store_buffer.load_extra(0) + store_buffer.load_extra(2) == 4  # both of a pair
