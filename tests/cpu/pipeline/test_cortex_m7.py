"""The Cortex-M7's dual issue: each pairing rule with its near miss, steady loops, what a timing says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.cpu.pipeline.cortex_m7 import CortexM7
from mcusim.cpu.pipeline.timing import CAUSES, Stall, Timing
from tests.support.code.assembler import block
from tests.support.code.thumb_code import CODE

M7 = CortexM7()


def timed(text: str) -> Timing:
    return M7.schedule(block(text))


def steady(text: str) -> float:
    """Cycles per instruction when ``text`` is repeated."""
    short, long = (M7.schedule(block("; ".join([text] * times))).cycles for times in (16, 48))
    return (long - short) / (32 * len(text.split(";")))


PAIRS = [
    "add.w r0, r1, #1; add.w r2, r3, #1",
    "and.w r0, r1, r2; orr.w r3, r4, r5",
    "movw r0, #4660; movt r0, #22136",  # mutual dependency
    "add.w r0, r0, r2; eor.w r6, r0, r6, ror #22",  # early ALU to late ALU
    "mov.w r0, r1; and.w r2, r0, r3",
    "lsl.w r0, r1, #3; and.w r2, r0, r3",
    "rev.w r0, r1; and.w r2, r0, r3",
    "and.w r2, r3, r4; lsl.w r0, r1, #3",
    "lsl.w r0, r1, #3; lsr.w r2, r3, #4",
    "add.w r0, r1, r2, lsl #3; lsl.w r3, r4, #2",
    "mov.w r0, #8128; lsl.w r3, r4, #2",
    "mov.w r0, #8128; add.w r1, r2, #1",
    "add.w r1, r2, #1; mov.w r0, #8128",
    "mov.w r0, #454761243; eor.w r6, r7, r8, ror #22",  # a pattern of bytes is no shifted constant
    "uxtb.w r0, r1; add.w r2, r3, #1",
    "uxtb.w r0, r1; add.w r3, r4, r5, lsl #3",
    "ubfx r0, r1, #3, #4; add.w r2, r3, #1",
    "uadd8 r0, r1, r2; smlad r3, r4, r5, r3",
    "add.w r3, r4, r5, lsl #3; smlad r0, r1, r2, r0",
    "smlad r0, r1, r2, r0; ldr.w r3, [r4]",
    "ldr.w r3, [r4]; smlad r0, r1, r2, r0",
    "and.w r3, r4, r5; mla r0, r1, r2, r3",  # the accumulator is read late
    "ldr.w r0, [r1]; ldr.w r2, [r3]",
    "ldr.w r0, [r1]; str.w r2, [r3]",
    "str.w r2, [r3]; ldr.w r0, [r1]",
    "ldr.w r0, [r1]; str.w r0, [r3]",  # stores take any result of the same cycle
    "ldrb.w r0, [r1]; strb.w r0, [r3]",
    "str.w r2, [r3]; add.w r0, r1, #1",
    "ldr.w r0, [r1], #4; ldr.w r2, [r3], #4",
    "ldr.w r0, [r1], #4; add.w r2, r1, #1",
    "pld [r1]; add.w r2, r3, #1",
    "cmp.w r0, r1; beq.w #8",
    "add.w r2, r3, #1; it eq",
    "nop.w; nop.w",
    "vadd.f32 s0, s1, s2; add.w r0, r1, #1",
    "add.w r0, r1, #1; vadd.f32 s0, s1, s2",
    "vadd.f32 s0, s1, s2; vldr s3, [r0]",
    "vldr s3, [r0]; vldr s4, [r1]",
    "vmla.f32 s0, s1, s2; add.w r0, r1, #1",
    "vmla.f32 s0, s1, s2; vldr s3, [r0]",  # the first one
    "vmov.f32 s0, #1.0; vmov.f32 s1, s2",
    "vdiv.f32 s0, s1, s2; add.w r0, r1, #1",
    "vadd.f64 d0, d1, d2; add.w r0, r1, #1",
    "vfma.f64 d0, d1, d2; add.w r0, r1, #1",
]
NO_PAIRS = [
    "and.w r0, r1, #1; and.w r2, r0, #1",  # late ALU to late ALU
    "add.w r0, r1, #1; add.w r2, r0, r0, lsl #3",  # the inline shift comes too early
    "movt r0, #22136; add.w r1, r0, #1",  # MOVT is late
    "add.w r0, r1, #1; uxtb.w r2, r3",
    "uxtb.w r0, r1; uxtb.w r2, r3",
    "uadd8 r0, r1, r2; uxtb.w r3, r4",
    "ubfx r0, r1, #3, #4; add.w r3, r4, r5, lsl #3",
    "uxtab r0, r1, r2; add.w r3, r4, r5, lsl #3",
    "rev.w r0, r1; mov.w r2, #8128",
    "add.w r0, r1, r2, lsl #3; add.w r3, r4, r5, lsl #3",
    "mov.w r0, #8128; add.w r3, r4, r5, lsl #3",
    "add.w r3, r4, r5, lsl #3; mov.w r0, #8128",
    "lsl.w r0, r1, #3; add.w r3, r4, r5, lsl #3",
    "mul r0, r1, r2; mul r3, r4, r5",
    "smlad r0, r1, r2, r0; smulbb r3, r4, r5",
    "mul r0, r1, r2; str.w r3, [r4]",
    "str.w r3, [r4]; mul r0, r1, r2",
    "str.w r0, [r1]; str.w r2, [r3]",
    "str.w r0, [r1]; vstr s0, [r3]",
    "ldr.w r0, [r1], #4; ldr.w r2, [r1]",  # the written-back base in the same cycle
    "ldr.w r0, [r1]; and.w r2, r0, r3",
    "ldrd r0, r2, [r1]; add.w r3, r4, #1",
    "add.w r3, r4, #1; ldrd r0, r2, [r1]",
    "strd r0, r2, [r1]; add.w r3, r4, #1",
    "add.w r3, r4, #1; stm.w r1, {r4, r5, r6, r7}",
    "add.w r3, r4, #1; sdiv r0, r1, r2",
    "add.w r3, r4, #1; dsb sy",
    "adcs.w r0, r1, r2; adcs.w r3, r4, r5",  # flags are there in the next cycle
    "adds.w r0, r1, #1; adc.w r3, r4, r5",
    "vadd.f32 s0, s1, s2; vmul.f32 s3, s4, s5",
    "vldr d0, [r0]; add.w r3, r4, #1",
    "vmov r0, r1, d0; add.w r3, r4, #1",
    "vmov.f32 s0, #1.0; vmov.f32 s1, #1.0",
    "vadd.f64 d0, d1, d2; vmul.f32 s8, s9, s10",
    "add.w r0, r1, #1; vadd.f64 d0, d1, d2",
    "beq.w #8; b.w #8",
    "vfma.f64 d0, d1, d2; ldr.w r0, [r1]",
]


@pytest.mark.parametrize("text", PAIRS)
def test_issue_together(text):
    assert timed(text).at == (0, 0)
    assert timed(text).cycles == 1 or "vdiv" in text or "f64" in text


@pytest.mark.parametrize("text", NO_PAIRS)
def test_do_not_issue_together(text):
    at = timed(text).at
    assert at[0] < at[1]


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("smlad r0, r1, r2, r0", 1),
        ("smlal r0, r3, r1, r2", 1),
        ("mul r0, r0, r1", 2),
        ("add.w r0, r0, #1", 1),
        ("and.w r0, r1, #1; and.w r2, r3, #1", 0.5),
        ("add.w r0, r1, r0, lsl #3", 2),
        ("ldr.w r0, [r0]", 3),
        ("ldrb.w r0, [r0]", 4),
        ("ldr.w r0, [r1]; and.w r2, r0, #1", 0.5),  # the use pairs with the next load
        ("ldrb.w r0, [r1]; and.w r2, r0, #1", 1),
        ("ldr.w r0, [r1], #4; ldr.w r2, [r3], #4; smlad r4, r0, r2, r4", 1),
        ("ldr.w r0, [r1]; ldr.w r2, [r3]", 0.5),
        ("ldrd r0, r2, [r1]", 1),
        ("str.w r0, [r1]", 1),
        ("ldr.w r0, [r1]; str.w r2, [r3]", 0.5),
        ("ldm.w r1, {r4, r5, r6, r7}", 2),
        ("stm.w r1, {r4, r5, r6, r7}", 2),
        ("push {r4, r5, lr}", 2),
        ("uxtb.w r0, r1", 1),
        ("uxtb.w r0, r1; add.w r2, r3, #1", 0.5),
        ("add.w r0, r1, r2, lsl #3; lsl.w r3, r4, #2", 0.5),
        ("lsl.w r3, r4, #2; add.w r0, r1, r2, lsl #3", 0.5),  # slides by a slot, then pairs
        ("sdiv r0, r1, r2", 7),
        ("udiv r0, r0, r2", 7),
        ("adcs.w r0, r1, r2", 1),
        ("vadd.f32 s0, s0, s1", 3),
        ("vadd.f32 s0, s1, s2", 1),
        ("vfma.f32 s0, s1, s2", 3),
        ("vfma.f32 s0, s1, s2; vfma.f32 s3, s1, s2; vfma.f32 s4, s1, s2", 1),
        ("vfma.f32 s0, s1, s2; vfma.f32 s3, s1, s2", 1.5),
        ("vdiv.f32 s0, s1, s2", 16),
        ("vsqrt.f32 s0, s1", 14),
        ("vmul.f64 d0, d1, d2", 5),
    ],
)
def test_steady_state(text, cycles):
    assert steady(text) == pytest.approx(cycles)


def test_early_alu_needs_operands_in_time_and_the_older_slot():
    late = "and.w r5, r6, r7; and.w r4, r1, r2"
    assert timed(f"{late}; add.w r0, r4, r2; ldr.w r3, [r0]").at == (0, 0, 1, 3)
    assert timed(f"{late}; add.w r0, r1, r2; ldr.w r3, [r0]").at == (0, 0, 1, 2)
    assert timed("and.w r5, r6, r7; add.w r0, r1, r2; ldr.w r3, [r0]").at == (0, 0, 2)
    assert timed("and.w r5, r6, r7; lsl.w r0, r1, #3; ldr.w r3, [r0]").at == (0, 0, 1)
    assert timed("and.w r5, r6, r7; movw r0, #4660; movt r0, #22136").at == (0, 0, 1)
    assert timed("add.w r5, r6, r7, lsl #3; lsl.w r0, r1, #3; ldr.w r3, [r0]").at == (0, 0, 2)


def test_behind_an_fp_multiply_accumulate():
    first = "vfma.f32 s0, s1, s2; add.w r0, r1, #1"
    assert timed(f"{first}; vldr s5, [r2]; add.w r3, r4, #1").at == (0, 0, 1, 1)
    assert timed(f"{first}; add.w r3, r4, #1; vldr s5, [r2]").at == (0, 0, 1, 2)
    assert timed(f"{first}; vmul.f32 s6, s7, s8; vldr s5, [r2]").at == (0, 0, 1, 2)
    assert timed(f"{first}; vfma.f32 s6, s7, s8; vldr s5, [r2]").at == (0, 0, 1, 2)
    assert timed(f"{first}; vldr s5, [r2]; vfma.f32 s6, s7, s8").at == (0, 0, 1, 2)
    assert timed(f"{first}; vldr d4, [r2]").at == (0, 0, 4)
    assert timed(f"{first}; vmov.f32 s6, #1.0").at == (0, 0, 4)
    assert timed(f"{first}; vmov.f32 s6, s7").at == (0, 0, 1)
    wait = "nop.w; nop.w"
    assert timed(f"{first}; {wait}; {wait}; nop.w; vldr s5, [r2]").at[-1] == 4
    assert timed(f"{first}; {wait}; {wait}; {wait}; nop.w; vldr s5, [r2]").at[-2:] == (4, 4)
    assert timed(f"{first}; {wait}; {wait}; add.w r3, r4, #1; vldr s5, [r2]").at[-2:] == (3, 4)


def test_conditional_instructions_cost_as_if_they_passed_and_it_takes_a_slot():
    assert timed("cmp.w r0, r1; it eq; moveq r2, r3; add.w r4, r5, #1").at == (0, 0, 1, 1)
    assert timed("cmp.w r0, r1; moveq r2, r3").at == (0, 0)  # by itself the bytes are no conditional instruction
    assert timed("it eq; ldmeq.w r1, {r4, r5, r6, r7}; add.w r0, r1, #1").at == (0, 1, 3)
    assert timed("nop.w; it eq; addeq r0, r1, r2; nop.w; ldr.w r3, [r0]").at[-1] == 3  # not in the early ALU


def test_stalls_name_instruction_and_cause():
    assert timed("ldr.w r0, [r1]; ldr.w r3, [r0]").stalls == (Stall(1, "address", 2),)
    assert timed("ldrb.w r0, [r1]; and.w r3, r0, r4").stalls == (Stall(1, "load-use", 1),)
    assert timed("mul r0, r1, r2; and.w r3, r0, r4").stalls == (Stall(1, "latency", 1),)
    assert timed("sdiv r0, r1, r2; nop.w").stalls == (Stall(0, "multi-cycle", 6),)
    assert timed("vfma.f32 s0, s1, s2; vadd.f32 s5, s3, s4").stalls == (Stall(1, "structural", 3),)
    assert timed("and.w r0, r1, r2; and.w r3, r0, r4").stalls == ()


SINGLES = sorted(set(CODE) - {text for text in CODE if text.startswith(("it", "b", "ldmeq", "moveq", "addeq"))})


@given(st.lists(st.sampled_from(SINGLES), min_size=1, max_size=24))
def test_every_schedule_is_in_order_two_a_cycle_and_adds_up(lines):
    instructions = block("; ".join(lines))
    timing = M7.schedule(instructions)
    assert len(timing.at) == len(lines)
    assert list(timing.at) == sorted(timing.at)
    assert all(timing.at.count(cycle) <= 2 for cycle in timing.at)
    assert timing.cycles == len(set(timing.at)) + sum(stall.cycles for stall in timing.stalls)
    assert all(stall.cycles > 0 and stall.cause in CAUSES for stall in timing.stalls)
    assert len(timing.accesses) == sum(len(instruction.accesses) for instruction in instructions)
    assert all(access.at < timing.cycles for access in timing.accesses)


def test_accesses():
    timing = timed("ldr.w r0, [r1]; ldr.w r2, [r3]; ldr.w r0, [r1]; str.w r2, [r3]; ldm.w r1, {r4, r5, r6, r7}")
    assert [access.at for access in timing.accesses] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [access.younger for access in timing.accesses] == [False, True, False, True] + [False] * 4
    assert [access.paired for access in timing.accesses] == [False, True] + [False] * 6  # a store waits for no bank
    assert [access.paired for access in timed("str.w r2, [r3]; ldr.w r0, [r1]").accesses] == [False, False]
    assert [access.even for access in timed("stm.w r1, {r4, r5, r6, r7}").accesses] == [True, False, False, False]
    assert not any(access.even for access in timed("push {r4, r5, lr}; ldm.w r1, {r4, r5, r6, r7}").accesses)
    assert [access.at for access in timed("add.w r0, r1, #1; ldrd r0, r2, [r1]").accesses] == [1, 1]


@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("cmp.w r0, r1; nop.w; nop.w; nop.w; nop.w; nop.w; beq.w #8", True),
        ("cmp.w r0, r1; nop.w; nop.w; nop.w; nop.w; beq.w #8", False),
        ("nop.w; nop.w; nop.w; nop.w; beq.w #8", True),  # set before the block
        ("nop.w; nop.w; beq.w #8", False),
        ("cmp.w r0, r1; nop.w; nop.w; nop.w; nop.w; nop.w; b.w #8", False),
    ],
)
def test_flags_early(text, early):
    assert timed(text).flags_early is early


def test_an_empty_block():
    with pytest.raises(ValueError, match="at least one instruction"):
        M7.schedule([])


def test_a_branch_shares_its_cycle_with_its_target():
    alone = timed("add.w r0, r1, #1; add.w r2, r3, #1; beq.w #8")
    with_branch = timed("add.w r0, r1, #1; beq.w #8")
    assert alone.leaves_slot == (True, False)  # begun next to a branch: one slot earlier, the branch is a younger
    assert alone.shares == 1
    assert with_branch.leaves_slot == (False, True)
    assert with_branch.shares == 0
    assert timed("uxtb.w r0, r1; beq.w #8").leaves_slot == (False, False)  # cannot begin as a younger
    assert timed("uxtb.w r0, r1; nop.w; nop.w").leaves_slot == (False, False)  # no branch
    assert timed("sdiv r0, r1, r2; b.w #8").shares == 0
    assert timed("b.w #8").shares == 0  # one branch a cycle


@given(st.lists(st.sampled_from(SINGLES), min_size=1, max_size=12))
def test_sharing_gives_what_one_block_with_the_branch_in_front_would_take(lines):
    text = "; ".join([*lines, "b.w #8"])
    behind = timed(f"b.w #8; {text}")
    if behind.at[1] == 0:
        assert behind.cycles - 1 == timed(text).cycles - timed(text).shares
    else:
        assert timed(text).shares == 0
