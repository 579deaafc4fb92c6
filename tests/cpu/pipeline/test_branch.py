"""The Cortex-M7's branch predictor: what each kind of branch costs at first, once known, and when it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from mcusim.cpu import state_layout as C
from mcusim.cpu.pipeline import branch_predictor as branch
from mcusim.cpu.pipeline.branch_predictor import BranchState
from mcusim.cpu.state_layout import BlockRecord

HERE, BACK, AHEAD = 0x0800_0100, 0x0800_0080, 0x0800_0180
NEXT = HERE + 2


@pytest.fixture
def b() -> BranchState:
    state = BranchState(np.full(BranchState.WORDS, 99, np.int64))
    branch.reset(state)
    return state


def cost(b, kind=C.CONDITIONAL, taken=1, target=BACK, early=0, address=HERE) -> int:
    block = BlockRecord(np.zeros(BlockRecord.WORDS, np.int64))
    block.last_pc, block.kind, block.fall_through, block.flags_early = address, kind, address + 2, early
    return branch.branch_cycles(b, block, taken, target)


def test_static_prediction(b):
    assert cost(b, target=BACK, taken=1) == 1
    branch.reset(b)
    assert cost(b, target=BACK, taken=0) == 8
    branch.reset(b)
    assert cost(b, target=AHEAD, taken=1) == 8
    branch.reset(b)
    assert cost(b, target=AHEAD, taken=0) == 0


def test_early_flags_shorten_a_misprediction_of_conditional_branches_only(b):
    assert cost(b, target=AHEAD, early=1) == 6
    assert cost(b, C.INDIRECT, target=AHEAD, early=1, address=0x0800_0200) == 8


def test_a_loop_costs_its_exit(b):
    loop = [1] * 9 + [0]
    first = [cost(b, taken=taken) for taken in loop]
    again = [cost(b, taken=taken) for taken in loop]
    assert first == [1] + [0] * 8 + [8]
    assert again == [0] * 9 + [8]


def test_two_wrong_turns_change_the_prediction(b):
    for _ in range(5):
        cost(b, target=AHEAD)
    assert [cost(b, target=AHEAD, taken=0) for _ in range(3)] == [8, 8, 0]
    assert [cost(b, target=AHEAD) for _ in range(3)] == [8, 8, 0]


def test_direct_unconditional_branches_are_never_wrong(b):
    assert [cost(b, kind, target=AHEAD, address=a) for kind, a in ((C.UNCONDITIONAL, HERE), (C.CALL, BACK))] == [1, 1]
    assert [cost(b, kind, target=AHEAD, address=a) for kind, a in ((C.UNCONDITIONAL, HERE), (C.CALL, BACK))] == [0, 0]


def test_an_unconditional_branch_to_the_next_instruction_is_taken(b):
    assert [cost(b, C.UNCONDITIONAL, taken=0, target=NEXT) for _ in range(3)] == [1, 0, 0]
    assert b.taken == 3


def test_a_conditional_call_not_taken(b):
    assert cost(b, C.CALL, taken=0, target=AHEAD) == 0
    assert [cost(b, C.CALL, target=AHEAD), cost(b, C.CALL, taken=0, target=AHEAD)] == [1, 8]


@pytest.mark.parametrize("kind", [C.INDIRECT_CALL, C.RETURNS, C.INDIRECT, C.TABLE])
def test_indirect_branches_are_right_when_they_go_where_they_went(b, kind):
    assert [cost(b, kind, target=target) for target in (AHEAD, AHEAD, BACK, BACK)] == [8, 0, 8, 0]


def test_a_conditional_return_not_taken(b):
    assert cost(b, C.RETURNS, taken=0, target=NEXT) == 0
    cost(b, C.RETURNS, target=AHEAD)
    assert [cost(b, C.RETURNS, taken=0, target=NEXT) for _ in range(2)] == [8, 0]


def test_64_branches_fit_and_branches_of_one_entry_replace_each_other(b):
    places = [HERE + 2 * i for i in range(64)]
    for place in places:
        cost(b, C.RETURNS, target=BACK, address=place)
    assert [cost(b, C.RETURNS, target=BACK, address=place) for place in places] == [0] * 64
    index = (HERE >> 1 ^ HERE >> 7) % 64
    rival = next(a for a in range(HERE + 128, HERE + 9999, 2) if (a >> 1 ^ a >> 7) % 64 == index)
    assert cost(b, C.RETURNS, target=BACK, address=rival) == 8
    assert cost(b, C.RETURNS, target=BACK, address=HERE) == 8


def test_counters(b):
    for taken in (1, 1, 0, 1):
        cost(b, taken=taken)
    assert (b.branches, b.taken, b.mispredicted) == (4, 3, 1)
    branch.reset(b)
    assert not b.branches | b.taken | b.mispredicted
