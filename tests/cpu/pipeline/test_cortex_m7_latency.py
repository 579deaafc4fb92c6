"""The Cortex-M7's latencies: every kind of result against every kind of reader, inside a block and over its border."""

from __future__ import annotations

import pytest

from mcusim.cpu.decode.instruction import SINGLE
from mcusim.cpu.pipeline.cortex_m7 import CortexM7
from mcusim.cpu.pipeline.timing import Timing
from tests.support.code.assembler import block


def timed(text: str) -> Timing:
    return CortexM7().schedule(block(text))


READERS = [
    "ldr.w r3, [r0]",
    "add.w r3, r4, r0, lsl #3",
    "and.w r3, r0, r4",
    "add.w r3, r0, r4, lsl #3",
    "mul r3, r0, r4",
    "mla r3, r4, r5, r0",
    "str.w r0, [r4]",
    "vmov s0, r0",
]
FP_READERS = [
    "vmul.f32 s3, s0, s4",
    "vfma.f32 s0, s3, s4",
    "vmla.f32 s0, s3, s4",
    "vfma.f32 s5, s0, s4",
    "vstr s0, [r4]",
    "vmov r3, s0",
    "vmov.f32 s5, s0",
]


@pytest.mark.parametrize(
    ("producer", "cycles"),
    [
        ("add.w r0, r1, r2", [1, 1, 0, 0, 0, 0, 0, 1]),
        ("lsl.w r0, r1, #3", [1, 1, 0, 1, 0, 0, 0, 1]),  # 1: does not pair with an inline shift
        ("rev.w r0, r1", [2, 2, 0, 1, 0, 0, 0, 1]),
        ("ldr.w r6, [r0], #4", [1, 1, 0, 0, 0, 0, 0, 1]),
        ("and.w r0, r1, r2", [2, 2, 1, 1, 1, 0, 0, 1]),
        ("mul r0, r1, r2", [3, 3, 2, 2, 2, 1, 1, 1]),
        ("qadd r0, r1, r2", [3, 3, 2, 2, 2, 1, 0, 1]),
        ("ldr.w r0, [r1]", [3, 2, 1, 2, 2, 0, 0, 1]),
        ("ldrb.w r0, [r1]", [4, 3, 2, 2, 2, 1, 0, 2]),
        ("vadd.f32 s0, s1, s2", [3, 3, 2, 3, 1, 3, 3]),
        ("vfma.f32 s0, s1, s2", [5, 3, 2, 5, 3, 5, 5]),
        ("vmla.f32 s0, s1, s2", [6, 4, 3, 6, 4, 6, 6]),
        ("vldr s0, [r0]", [1, 3, 2, 1, 1, 2, 1]),
        ("vmov s0, r0", [3, 3, 3, 3, 1, 3, 3]),
        ("vmov.f32 s0, s1", [3, 3, 3, 3, 1, 3, 3]),
        ("vdiv.f32 s0, s1, s2", [16] * 7),
    ],
)
def test_results_against_readers(producer, cycles):
    readers = READERS if len(cycles) == len(READERS) else FP_READERS
    measured = [timed(f"{producer}; {reader}").at for reader in readers]
    assert [last - first for first, last in measured] == cycles


@pytest.mark.parametrize(
    ("producer", "cycles"),
    [
        ("add.w r0, r1, r2", 1),
        ("rev.w r0, r1", 1),
        ("ldr.w r6, [r0], #4", 2),
        ("and.w r0, r1, r2", 2),
        ("mul r0, r1, r2", 3),
        ("ldr.w r0, [r1]", 2),
        ("ldrb.w r0, [r1]", 3),
    ],
)
def test_operands_in_time_for_the_early_alu(producer, cycles):
    for behind in range(1, 5):
        fill = "nop.w; nop.w; " * (behind - 1)
        at = timed(f"{producer}; nop.w; {fill}add.w r3, r0, #1; nop.w; ldr.w r6, [r3]").at
        early = at[-3] == behind and at[-1] == behind + 1
        assert early == (behind >= cycles)


@pytest.mark.parametrize(
    ("producer", "consumer", "cycles"),
    [
        ("and.w r0, r1, r2", "ldr.w r3, [r4, r0]", 2),
        ("and.w r0, r1, r2", "ubfx r3, r0, #3, #4", 2),
        ("and.w r0, r1, r2", "uxtb.w r3, r0", 1),
        ("and.w r0, r1, r2", "uxtab r3, r4, r0", 2),
        ("and.w r0, r1, r2", "uxtab r3, r0, r4", 1),
        ("and.w r0, r1, r2", "pkhbt r3, r0, r4", 1),
        ("and.w r0, r1, r2", "pkhtb r3, r0, r4, asr #3", 2),
        ("add.w r0, r1, r2, lsl #3", "ldr.w r3, [r0]", 2),  # not an early one
        ("lsl.w r0, r1, #3", "ldr.w r3, [r0]", 1),
        ("uxtb.w r0, r1", "ldr.w r3, [r0]", 2),
        ("rev.w r0, r1", "rev.w r3, r0", 2),
        ("ldrh.w r0, [r1]", "add.w r3, r4, r0, lsl #3", 3),
        ("ldrsb.w r0, [r1]", "add.w r3, r0, r4, lsl #3", 2),
        ("ldrd r0, r2, [r1]", "and.w r3, r2, r4", 2),
        ("mul r0, r1, r2", "mla r3, r0, r5, r4", 2),
        ("smull r0, r3, r1, r2", "and.w r5, r3, r4", 2),
        ("sxtb16 r0, r1", "and.w r3, r0, r4", 1),
        ("ssat r0, #4, r1", "and.w r3, r0, r4", 2),
        ("sdiv r0, r1, r2", "and.w r3, r0, r4", 7),
        ("sdiv r0, r1, r2", "and.w r3, r4, r4", 7),
        ("ldm.w r1, {r4, r5, r6, r7}", "and.w r3, r7, r0", 2),
        ("ldm.w r1, {r4, r5, r6, r7}", "ldr.w r3, [r7]", 4),
        ("ldm.w r1, {r4, r5, r6, r7}", "ldr.w r3, [r5]", 3),  # two registers a cycle
        ("vmul.f32 s0, s1, s2", "vfma.f32 s0, s3, s4", 3),
        ("vmul.f32 s0, s1, s2", "vmla.f32 s0, s3, s4", 2),
        ("vmla.f32 s0, s1, s2", "vfma.f32 s5, s3, s4", 2),  # independent
        ("vmla.f32 s0, s1, s2", "vmla.f32 s5, s3, s4", 1),
        ("vfma.f32 s0, s1, s2", "vadd.f32 s5, s3, s4", 4),  # independent, too
        ("vfma.f32 s0, s1, s2", "vmul.f32 s5, s3, s4", 1),
        ("vldr s0, [r0]", "vadd.f32 s3, s0, s4", 1),
        ("vmov r0, s0", "and.w r3, r0, r4", 1),
        ("vsqrt.f32 s0, s1", "vadd.f32 s3, s0, s4", 14),
        ("vadd.f64 d0, d1, d2", "vadd.f64 d3, d0, d4", 4),
        ("vmul.f64 d0, d1, d2", "vadd.f64 d3, d0, d4", 7),
        ("vfma.f64 d0, d1, d2", "vmul.f64 d3, d0, d4", 11),
        ("vdiv.f64 d0, d1, d2", "vadd.f64 d3, d0, d4", 30),
    ],
)
def test_latency(producer, consumer, cycles):
    at = timed(f"{producer}; {consumer}").at
    assert at[1] - at[0] == cycles


def over_a_border(first: str, second: str) -> int:
    """Cycles the second block waits for the first, as the hooks work it out."""
    ready, needs = timed(first).ready, timed(second).needs
    return max([0] + [ready[register] - needs[register] for register in ready if register in needs])


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        ("mul r0, r1, r2", "and.w r3, r0, r4"),
        ("mul r0, r1, r2", "ldr.w r3, [r0]"),
        ("mul r0, r1, r2", "mla r3, r4, r5, r0"),
        ("and.w r0, r1, r2", "ldr.w r3, [r0]"),
        ("and.w r0, r1, r2", "and.w r3, r0, r4"),
        ("add.w r0, r1, r2", "ldr.w r3, [r0]"),
        ("and.w r0, r1, r2", "add.w r3, r4, r0, lsl #3"),
        ("ldrb.w r0, [r1]", "and.w r3, r0, r4"),
        ("ldrb.w r0, [r1]", "add.w r3, r4, r0, lsl #3"),
        ("ldr.w r0, [r1]", "and.w r3, r0, r4"),
        ("ldr.w r0, [r1]", "add.w r3, r4, r0, lsl #3"),
        ("vfma.f32 s0, s1, s2", "vmul.f32 s3, s0, s4"),
        ("vmla.f32 s0, s1, s2", "vmul.f32 s3, s0, s4"),
        ("vadd.f32 s0, s1, s2", "vmov r0, s0"),
        ("vadd.f32 s0, s1, s2", "vstr s0, [r0]"),
    ],
)
def test_results_over_a_border_come_as_inside_a_block(producer, consumer):
    inside = timed(f"{producer}; nop.w; {consumer}").at[2]
    if inside == 0:
        inside = 1
    assert over_a_border(f"{producer}; nop.w", consumer) == inside - 1


def test_what_goes_over_a_border():
    timing = timed("vfma.f32 s0, s1, s2; mul r0, r1, r2; nop.w; nop.w; nop.w")
    assert timing.ready == {SINGLE: 5 + 1 - 3}
    assert timed("nop.w; nop.w; nop.w; nop.w; and.w r3, r0, r4").needs == {}
    assert timed("ldr.w r3, [r0]; and.w r3, r0, r4").needs == {0: 0, 4: 1}  # the first reader counts
    assert timed("mov.w r0, r1; ldr.w r3, [r0]").needs == {1: 1}
    assert over_a_border("ldr.w r0, [r1]; nop.w", "ldr.w r3, [r0]") == 1  # two inside a block: left out
