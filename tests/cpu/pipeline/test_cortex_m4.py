"""Each timing rule of the Cortex-M4 twice: a case in which it acts and the nearest one in which it does not.

Instructions are named by their text; ``cortex_m4_code`` has their bytes.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.cpu.decode.decoder import Decoder
from mcusim.cpu.decode.instruction import SINGLE, Instruction
from mcusim.cpu.pipeline.cortex_m4 import CortexM4, divide_extra
from mcusim.cpu.pipeline.timing import CAUSES, Timing
from mcusim.machine.cores import core_named
from tests.support.code.cortex_m4_code import CODE

DECODER, CORE = Decoder(), CortexM4()


def block(*texts: str, at: int = 0x0800_0000) -> list[Instruction]:
    return DECODER.decode(bytes.fromhex("".join(CODE[text] for text in texts)), at)


def timed(*texts: str) -> Timing:
    """Entered with the prefetch full, so that its rules do not act on a few instructions."""
    return CORE.schedule(block(*texts))


# what is timed -> cycles; neighbours in the list are the two sides of a rule
CYCLES = [
    # the table
    (["adds r0, r1, r2"], 1),
    (["mul r0, r1, r2"], 1),
    (["umlal r0, r1, r2, r3"], 1),
    (["smlad r0, r1, r2, r0", "smlad r0, r1, r2, r0", "smlad r0, r1, r2, r0"], 3),
    (["sxtb16 r0, r1"], 1),
    (["nop"], 1),
    (["udiv r0, r1, r2"], 2),
    (["beq"], 1),
    (["bx lr"], 1),
    (["mov pc, r0"], 1),
    (["pld [r1]"], 1),
    (["wfi"], 1),
    (["dmb"], 1),
    (["isb"], 3),
    (["mrs r0, primask"], 2),
    (["msr primask, r0"], 2),
    # loads pipeline behind each other, not across an addition
    (["ldr r0, [r1]"], 2),
    (["ldr r0, [r1]", "ldr r2, [r3]"], 3),
    (["ldr r0, [r1]", "ldr r2, [r3]", "ldr r4, [r5]"], 4),
    (["ldr r0, [r1]", "adds r1, #4", "ldr r2, [r3]"], 5),
    (["ldr r0, [r1]", "ldrb r2, [r3, #1]"], 3),
    (["ldr r0, [r1]", "ldr r2, [r0]"], 4),
    (["ldr r0, [r1]", "ldr r2, [r3, r0]"], 4),
    (["ldrex r0, [r1]", "ldr r2, [r3]"], 3),
    (["strex r0, r2, [r3]"], 2),
    # base registers updated
    (["ldr r0, [r1], #4", "ldr r2, [r3], #4"], 3),
    (["ldr r0, [r1], #4", "ldr r2, [r1], #4"], 4),
    (["ldr r0, [r1]", "ldr r2, [r1], #4"], 3),
    (["ldr r0, [r1], #4", "ldr r2, [r1, #8]"], 4),
    (["str r0, [r1], #4", "str r2, [r3], #4"], 2),
    (["str r0, [r1], #4", "str r2, [r1], #4"], 3),
    # a NOP is hidden by a load, a comparison is not
    (["ldr r0, [r1]", "nop"], 2),
    (["ldr r0, [r1]", "cmp r0, #0"], 3),
    (["ldr r0, [r1]", "nop", "nop"], 3),
    # stores
    (["str r0, [r1]"], 1),
    (["str r0, [r1]", "str r2, [r3]"], 2),
    (["ldr r0, [r1]", "str r2, [r3]"], 2),
    (["ldr r0, [r1]", "str r0, [r1]"], 2),
    (["ldr r0, [r1]", "str r2, [r0]"], 3),
    (["str r0, [r1, r2]"], 2),
    (["str r0, [r1, r2]", "nop"], 2),
    (["str r0, [r1, r2]", "cmp r0, #0"], 3),
    (["ldr r0, [r1]", "str r2, [r3, r4]"], 3),
    (["str r0, [r1]", "ldr r2, [r3]"], 4),
    (["str r0, [r1]", "nop", "ldr r2, [r3]"], 4),
    (["str r0, [r1]", "ldm r1, {r4, r5, r6}"], 6),
    (["str r0, [r1]", "stm r1!, {r4, r5, r6}"], 5),
    # several words
    (["ldrd r4, r5, [r1]"], 3),
    (["strd r4, r5, [r1]"], 3),
    (["ldm r1, {r4, r5, r6}"], 4),
    (["stm r1!, {r4, r5, r6}"], 4),
    (["push {r4, r5, lr}"], 4),
    (["pop {r4, r5}"], 3),
    (["ldr r0, [r1]", "ldrd r4, r5, [r1]"], 5),
    (["ldrd r4, r5, [r1]", "ldr r0, [r1]"], 5),
    # an address made by the instruction before
    (["adds r0, r1, r2", "ldr r2, [r0]"], 4),
    (["adds r0, r1, r2", "ldr r2, [r3]"], 3),
    (["adds r0, r1, r2", "nop", "ldr r2, [r0]"], 4),
    (["adds r0, r1, r2", "ldr r2, [r3, r0]"], 4),
    (["adds r0, r1, r2", "str r2, [r0]"], 3),
    (["adds r0, r1, r2", "str r0, [r1]"], 2),
    (["mul r0, r1, r2", "ldr r2, [r0]"], 4),
    (["adds r1, #4", "ldm r1, {r4, r5, r6}"], 6),
    (["ldr r2, [r3], #4", "str r2, [r0]"], 2),
    # floating point
    (["vadd.f32 s0, s1, s2", "vadd.f32 s5, s6, s7"], 2),
    (["vmov s3, r0"], 1),
    (["vmov r0, r1, d0"], 2),
    (["vldr s0, [r1]"], 2),
    (["vldr d0, [r1]"], 3),
    (["vstr s0, [r1]"], 2),
    (["vldmia r1!, {s0-s3}"], 5),
    (["vstmia r1!, {d0-d1}"], 5),
    (["vpush {d8}"], 3),
    (["vmla.f32 s0, s1, s2"], 3),
    (["vmla.f32 s0, s1, s2", "vadd.f32 s4, s0, s2"], 5),
    (["vmla.f32 s0, s1, s2", "vadd.f32 s5, s6, s7"], 4),
    (["vmla.f32 s0, s1, s2", "adds r0, r1, r2", "vadd.f32 s4, s0, s2"], 5),
    (["vdiv.f32 s0, s1, s2", "vadd.f32 s4, s0, s2"], 15),
    (["vdiv.f32 s0, s1, s2", "vadd.f32 s5, s6, s7"], 15),
    (["vdiv.f32 s0, s1, s2", *["adds r0, r1, r2"] * 13, "vadd.f32 s4, s0, s2"], 15),
    (["vdiv.f32 s0, s1, s2", *["adds r0, r1, r2"] * 14, "vadd.f32 s4, s0, s2"], 16),
    (["vsqrt.f32 s0, s1", "vsqrt.f32 s0, s1"], 15),
    # IT behind 16 bits, and behind 32
    (["cmp r0, #0", "it eq", "adds r1, #4"], 2),
    (["add.w r0, r1, r2", "it eq", "adds r1, #4"], 3),
    (["it eq", "adds r1, #4"], 2),
    (["ldr r0, [r1]", "it eq", "ldr r2, [r3]"], 2),
]


@pytest.mark.parametrize(
    ("texts", "cycles"), CYCLES, ids=lambda value: "; ".join(value) if isinstance(value, list) else ""
)
def test_cycles(texts: list[str], cycles: int) -> None:
    assert timed(*texts).cycles == cycles


@pytest.mark.parametrize(
    ("texts", "cycles"),
    [
        (["b"], 2),  # found in decode
        (["beq"], 2),
        (["bl"], 2),
        (["bx lr"], 2),
        (["ldr.w lr, [r1]", "bx lr"], 2 + 3),  # LR written just before
        (["ldr.w lr, [r1]", "nop", "bx lr"], 2 + 2),
        (["mov pc, lr"], 2),
        (["mov pc, r0"], 3),
        (["blx r3"], 3),
        (["cbz r0"], 3),
        (["ldr pc, [r1]"], 5),
        (["pop {r4, r5, pc}"], 7),
        (["tbb [pc, r0]"], 6),
    ],
)
def test_branches_with_their_refill(texts: list[str], cycles: int) -> None:
    timing = timed(*texts)
    assert timing.cycles + (core_named("cortex-m4").branch_refill or 0) - timing.found_in_decode == cycles


@pytest.mark.parametrize(
    ("dividend", "divisor", "signed", "cycles"),
    [
        (0, 7, 0, 2),
        (7, 0, 0, 2),
        (3, 4, 0, 3),
        (4, 4, 0, 5),
        (7, 4, 0, 5),
        (15, 1, 0, 5),
        (16, 1, 0, 6),
        (0xFFFF_FFFF, 1, 0, 12),
        (0xFFFF_FFFF, 1, 1, 5),
        (0x8000_0000, 1, 1, 12),
        (0x7FFF_FFFF, 0xFFFF_FFFF, 0, 3),
        (0x8000_0000, 0xFFFF_FFFF, 1, 12),
        (-16, 1, 1, 6),
    ],
)
def test_divides_terminate_early(dividend: int, divisor: int, signed: int, cycles: int) -> None:
    assert 2 + divide_extra(dividend, divisor, signed) == cycles


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 1))
def test_divides_take_2_to_12_cycles(dividend: int, divisor: int, signed: int) -> None:
    def value(word: int) -> int:
        return abs(word - 2**32) if signed and word >> 31 else word

    bits = [value(word).bit_length() for word in (dividend, divisor)]
    if not all(bits):
        expected = 2
    elif bits[0] < bits[1]:
        expected = 3
    else:
        expected = 5 + (bits[0] - bits[1]) // 4
    assert 2 + divide_extra(dividend, divisor, signed) == expected <= 12


def test_a_skipped_load_costs_one_cycle_and_the_rest_comes_with_its_access() -> None:
    alone = timed("it eq", "ldr r0, [r1]", "cmp r0, #0")
    assert alone.cycles == 3
    assert [access.extra for access in alone.accesses] == [1]
    hidden = timed("itt eq", "ldr r0, [r1]", "str r2, [r3]", "cmp r0, #0")
    assert hidden.cycles == 4
    assert [access.extra for access in hidden.accesses] == [0, 0]
    several = timed("it eq", "ldm r1, {r4, r5, r6}")
    assert several.cycles == 2
    assert [access.extra for access in several.accesses] == [3, 0, 0]
    address = timed("itt eq", "adds r0, r1, r2", "ldr r2, [r0]")
    assert address.cycles == 3
    assert [access.extra for access in address.accesses] == [2]
    always = timed("adds r0, r1, r2", "ldr r2, [r0]")
    assert [access.extra for access in always.accesses] == [0]


def test_accesses_back_to_back_say_so() -> None:
    texts = ("ldr r0, [r1]", "ldr r2, [r3]", "str r2, [r3]", "ldr r4, [r5]", "adds r1, #4", "ldr r2, [r3]")
    assert [access.follows for access in timed(*texts).accesses] == [False, True, True, False, False]
    assert [access.follows for access in timed("ldr r0, [r1]", "ldm r1, {r4, r5, r6}").accesses] == [
        False,
        False,
        True,
        True,
    ]
    dependent = timed("ldr r0, [r1]", "ldr r2, [r0]")
    assert [access.follows for access in dependent.accesses] == [False, False]


def test_accesses_happen_one_word_a_cycle() -> None:
    timing = timed("cmp r0, #0", "ldm r1, {r4, r5, r6}", "vldmia r1!, {s0-s3}", "vstmia r1!, {d0-d1}")
    assert [access.at for access in timing.accesses] == [1, 2, 3, 5, 6, 7, 8, 10, 12]


def test_a_quotient_in_flight_goes_over_to_the_next_block() -> None:
    timing = timed("vdiv.f32 s0, s1, s2", "b")
    assert timing.cycles == 2
    assert dict(timing.ready) == {SINGLE: 12}
    assert dict(timing.needs) == {SINGLE + 1: 0, SINGLE + 2: 0}
    assert not timed("vadd.f32 s0, s1, s2", "b").ready
    written_first = timed("vadd.f32 s0, s1, s2", "vadd.f32 s4, s0, s2")
    assert SINGLE not in written_first.needs


def test_no_cycle_is_unaccounted_for() -> None:
    for texts, cycles in CYCLES:
        timing = timed(*texts)
        folded = sum(1 for early, late in zip(timing.at, timing.at[1:], strict=False) if early == late)
        assert len(texts) - folded + sum(stall.cycles for stall in timing.stalls) == cycles
        assert {stall.cause for stall in timing.stalls} <= set(CAUSES)
        assert list(timing.at) == sorted(timing.at)


@given(st.lists(st.sampled_from(sorted(CODE)), min_size=1, max_size=12), st.sampled_from([0x0800_0000, 0x0800_0002]))
def test_any_sequence_has_a_timing(texts: list[str], at: int) -> None:
    instructions = block(*texts, at=at)
    timing = CORE.schedule(instructions)
    assert len(timing.at) == len(instructions)
    assert len(timing.accesses) == sum(len(instruction.accesses) for instruction in instructions)
    assert timing.cycles >= timing.at[-1]
    assert all(stall.cycles > 0 for stall in timing.stalls)
    assert all(cycles > 0 for cycles in timing.ready.values())


def test_an_empty_block_takes_no_time() -> None:
    assert CORE.schedule([]).cycles == 0
