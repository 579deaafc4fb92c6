"""What an interrupt and a sleep cost of host time; only ratios within one run are asserted.

``ratio_to_a_round``: an interrupt with its handler as so many rounds of a loop of two instructions.
``ratio_of_sleeps``: sleeps that are a hundred times longer against short ones, as many of each.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcusim.emulator.emulator import Emulator
from tests.benchmarks.test_emulation_speed import best
from tests.support.programs.exception_code import ISAS, SYSTICK, prepared

SET_UP = "str r1, [r0, #4]; str r2, [r0, #8]; str r3, [r0]; "
LOOP, SLEEPS = SET_UP + "1: subs r4, #1; bne 1b; bx lr", SET_UP + "1: wfi; subs r4, #1; bne 1b; bx lr"
HANDLER = "adds r5, #1; bx lr"
ROUNDS, PERIOD, TICKS = 100_000, 500, 300


def ticking(isa: str, program: str, rounds: int, period: int) -> int:
    """Run with a tick every ``period`` cycles, 0: without; how many came."""
    emulator: Emulator = prepared(
        isa, program, {15: HANDLER}, r0=SYSTICK, r1=max(0, period - 1), r2=0, r3=7 if period else 0, r4=rounds, r5=0
    )
    assert emulator.run().kind == "returned"
    return emulator.registers()["r5"]


@pytest.mark.parametrize("isa", ISAS)
def test_an_interrupt_costs_as_much_as_some_rounds_of_a_loop(isa: str, benchmark: Any) -> None:
    count = ticking(isa, LOOP, ROUNDS, PERIOD)
    assert count > 200
    with_ticks, without, empty = best(
        5,
        lambda: ticking(isa, LOOP, ROUNDS, PERIOD),
        lambda: ticking(isa, LOOP, ROUNDS, 0),
        lambda: ticking(isa, LOOP, 1, 0),
    )
    ratio = (with_ticks - without) / count / ((without - empty) / ROUNDS)
    benchmark.extra_info["ratio_to_a_round"] = ratio
    benchmark.pedantic(ticking, args=(isa, LOOP, ROUNDS, PERIOD), rounds=1)
    assert ratio < 200


def test_a_long_sleep_costs_what_a_short_one_does(benchmark: Any) -> None:
    isa = ISAS[0]
    assert ticking(isa, SLEEPS, TICKS, 200_000) == ticking(isa, SLEEPS, TICKS, 2_000) == TICKS
    long, short = best(3, lambda: ticking(isa, SLEEPS, TICKS, 200_000), lambda: ticking(isa, SLEEPS, TICKS, 2_000))
    benchmark.extra_info["ratio_of_sleeps"] = long / short
    benchmark.pedantic(ticking, args=(isa, SLEEPS, TICKS, 200_000), rounds=1)
    assert long / short < 2
