"""Exceptions: cycles of entry and return as the guest's own CYCCNT sees them, who is taken when, and sleeping."""

from __future__ import annotations

from itertools import pairwise

import pytest
from unicorn.arm_const import UC_ARM_REG_S0

from mcusim.cpu.system.ppb import BASE
from mcusim.emulator.emulator import Emulator
from mcusim.errors import UsageError
from tests.support.programs.exception_code import ISAS, PENDSV, SYSTICK, SYSTICK_PEND, logged, prepared

PEND = "ldr r0, [r10]; str r0, [r8], #4; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; bx lr"
PEND_FLOATS = "vmov s0, r7; " + PEND
HANDLER = "ldr r0, [r10]; str r0, [r8], #4; bx lr"
TICKS = "str r1, [r0, #4]; str r2, [r0, #8]; str r3, [r0]; 1: wfi; subs r4, #1; bne 1b; bx lr"
SPIN = "1: subs r4, #1; bne 1b; bx lr"
FLOAT_HANDLER = "vmov s0, r8; ldr r0, [r10]; str r0, [r8], #4; bx lr"
COUNT = "adds r5, #1; bx lr"
SVC = "svc #3; bx lr"
both = pytest.mark.parametrize("isa", ISAS)


def spent(emulator: Emulator, number: int) -> float:
    return next(one.cycles for one in emulator.interrupts.counts() if one.number == number)


@both
def test_entry_return_and_chaining_take_their_cycles(isa: str) -> None:
    alone = prepared(isa, PEND, {14: HANDLER}, r7=0)
    assert alone.run().kind == "returned"
    before, after = logged(alone)
    one = prepared(isa, PEND, {14: HANDLER}, r7=PENDSV)
    assert one.run().kind == "returned"
    first, entered, left = logged(one)
    assert (first, entered) == (before, after + 12)
    assert left == entered + spent(one, 14) + 10
    two = prepared(isa, PEND, {14: HANDLER, 15: HANDLER}, r7=PENDSV | SYSTICK_PEND)
    assert two.run().kind == "returned"
    _, entered, chained, left = logged(two)
    assert entered == after + 12
    assert chained == entered + spent(two, 14) + 6
    assert left == chained + spent(two, 15) + 10
    assert two.cycles == alone.cycles + 12 + spent(two, 14) + 6 + spent(two, 15) + 10


@both
def test_a_frame_with_floats_takes_17_cycles_more_each_way(isa: str) -> None:
    alone = prepared(isa, PEND_FLOATS, {14: HANDLER}, r7=0)
    one = prepared(isa, PEND_FLOATS, {14: HANDLER}, r7=PENDSV)
    one.write(BASE + 0xEF34, (1 << 31).to_bytes(4, "little"))  # FPCCR: automatic, not lazy
    assert (alone.run().kind, one.run().kind) == ("returned", "returned")
    entered, left = logged(one)[1:]
    assert entered == logged(alone)[1] + 12 + 17
    assert left == entered + spent(one, 14) + 10 + 17


@both
def test_lazily_floats_are_saved_when_the_handler_first_uses_them(isa: str) -> None:
    plain = prepared(isa, PEND, {14: HANDLER}, r7=PENDSV)
    alone = prepared(isa, PEND_FLOATS, {14: HANDLER}, r7=0)
    unused = prepared(isa, PEND_FLOATS, {14: HANDLER}, r7=PENDSV)
    used = prepared(isa, PEND_FLOATS, {14: FLOAT_HANDLER}, r7=PENDSV)
    basic = prepared(isa, PEND, {14: FLOAT_HANDLER}, r7=PENDSV)
    assert {one.run().kind for one in (plain, alone, unused, used, basic)} == {"returned"}
    assert logged(unused)[1] == logged(alone)[1] + 12
    assert unused.cycles - alone.cycles == 12 + spent(plain, 14) + 10
    assert spent(used, 14) == spent(basic, 14) + 17
    assert used.cycles - alone.cycles == 12 + spent(used, 14) + 10 + 17
    assert used.read(used.registers()["sp"] - 72, 4) == PENDSV.to_bytes(4, "little")  # S0 in the frame
    assert used.core.uc.reg_read(UC_ARM_REG_S0) == PENDSV  # which the handler has overwritten


@both
@pytest.mark.parametrize("main", [PEND, PEND_FLOATS])
def test_what_is_interrupted_goes_on_as_it_was(isa: str, main: str) -> None:
    clobbers = "movs r0, #0; movs r1, #0; movs r2, #0; movs r3, #0; mov r12, r0; adds r5, #1; bx lr"
    held = {"r1": 0x1111, "r2": 0x2222, "r3": 0x3333, "r12": 0xCCCC, "r5": 7}
    emulator = prepared(isa, main, {14: clobbers}, r7=PENDSV, **held)
    before = emulator.registers()
    assert emulator.run().kind == "returned"
    after = emulator.registers()
    assert {name: after[name] for name in held} == held | {"r5": 8}
    assert (after["sp"], after["lr"], after["xpsr"] & 0x1FF) == (before["sp"], before["lr"], 0)


@both
def test_a_stack_that_is_not_a_multiple_of_8_comes_back(isa: str) -> None:
    emulator = prepared(isa, PEND, {14: HANDLER}, r7=PENDSV, sp=0x2000_3FFC)
    assert emulator.run().kind == "returned"
    assert emulator.registers()["sp"] == 0x2000_3FFC
    assert emulator.read(0x2000_3FF8 - 4, 4)[1] & 2  # xPSR of the frame tells of the padding


@both
def test_systick_wakes_a_sleeping_core_every_period(isa: str) -> None:
    """From one handler's first instruction to the next one's is the period, however short the work."""
    period = 10_000
    emulator = prepared(isa, TICKS, {15: HANDLER}, r0=SYSTICK, r1=period - 1, r2=0, r3=7, r4=50)
    assert emulator.run(1000).kind == "returned"
    entries = logged(emulator)
    assert [b - a for a, b in pairwise(entries)] == [period] * 49
    (ticks,) = emulator.interrupts.counts()
    assert (ticks.number, ticks.name, ticks.count) == (15, "SysTick", 50)
    assert ticks.latency == {"min": 12, "median": 12, "max": 12}


@both
@pytest.mark.parametrize("systick", [0, 1, 5])  # off; no interrupt asked for (enabled, or with the core's clock)
def test_a_sleep_that_nothing_ends_ends_the_run(isa: str, systick: int) -> None:
    emulator = prepared(isa, TICKS, {15: COUNT}, r0=SYSTICK, r1=99, r2=0, r3=systick, r4=1)
    assert emulator.run(1000).kind == "idle"
    assert emulator.registers()["r4"] == 1


@both
def test_an_event_is_run_before_the_first_block_at_or_after_its_cycle(isa: str) -> None:
    emulator = prepared(isa, SPIN, {16: COUNT}, r4=1000)
    seen: list[int] = []
    for cycle in (100, 101, 102, 103, 300):
        emulator.at(cycle, lambda: seen.append(emulator.cycles))
    emulator.at(200, lambda: seen.append(-1)).cancel()
    assert emulator.run().kind == "returned"
    loop = max(seen[1:4]) - min(seen[:4]) + 1  # cycles of a turn, at most
    for cycle, at in zip((100, 101, 102, 103, 300), seen, strict=True):
        assert cycle <= at < cycle + loop + 3
    with pytest.raises(UsageError, match="cycle -1"):
        emulator.at(-1, lambda: None)


@both
def test_a_line_that_stays_high_is_taken_again(isa: str) -> None:
    emulator = prepared(isa, SPIN, {16: COUNT, 17: COUNT}, r4=1000, r5=0)
    emulator.interrupts.state.enabled[1] |= 1
    emulator.at(100, lambda: emulator.interrupts.raise_line(0))
    emulator.at(200, lambda: emulator.interrupts.lower_line(0))
    emulator.at(500, lambda: emulator.interrupts.pend(0))
    emulator.at(600, lambda: emulator.interrupts.pend(1))  # not enabled
    assert emulator.run().kind == "returned"
    (line,) = emulator.interrupts.counts()
    assert (line.number, line.name, line.count) == (16, "IRQ 0", emulator.registers()["r5"])
    chained = 88 / (line.cycles / line.count + 6)  # from the first one's entry to where the line goes low
    assert chained <= line.count - 1 <= chained + 2
    with pytest.raises(UsageError, match="interrupt line 240"):
        emulator.interrupts.pend(240)


@both
def test_svc_is_taken_at_once(isa: str) -> None:
    emulator = prepared(isa, SVC, {11: COUNT}, r5=0)
    assert emulator.run().kind == "returned"
    assert emulator.registers()["r5"] == 1
    (call,) = emulator.interrupts.counts()
    assert (call.name, call.count, call.latency["max"]) == ("SVCall", 1, 12)


@both
def test_what_comes_first_while_the_frame_is_pushed_takes_it_over(isa: str) -> None:
    """The second at 0 to 12 cycles behind the first: free until the vector is asked for, then 6 cycles from there."""

    def run(second: int | None) -> tuple[list[int], Emulator]:
        emulator = prepared(isa, SVC, {11: HANDLER, 16: HANDLER})
        emulator.interrupts.state.enabled[1] |= 1
        emulator.interrupts.state.priority[11] = 0x10
        if second is not None:
            emulator.at(second, lambda: emulator.interrupts.pend(0))
        assert emulator.run().kind == "returned"
        return logged(emulator), emulator

    ((entered,), alone) = run(None)
    start = entered - 12
    for late in range(1, 13):
        (first, chained), emulator = run(start + late)
        assert first == max(entered, start + late + 6)
        assert chained == first + spent(emulator, 16) + 6
        assert spent(alone, 11) == spent(emulator, 11)


@both
def test_a_run_cut_anywhere_takes_the_same_cycles(isa: str) -> None:
    def started() -> Emulator:
        return prepared(isa, TICKS, {15: HANDLER}, r0=SYSTICK, r1=299, r2=0, r3=7, r4=9)

    whole = started()
    assert whole.run(1000).kind == "returned"
    cut = started()
    for cycle in range(whole.cycles):
        if cut.run_until(cycle).kind != "horizon":
            break
    assert cut.run().kind == "returned"
    assert (cut.cycles, logged(cut), cut.registers()) == (whole.cycles, logged(whole), whole.registers())
