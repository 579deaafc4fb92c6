"""Masks that put exceptions off, what wakes a core, the shape of frames, and a system reset."""

from __future__ import annotations

import struct

import pytest
from unicorn.arm_const import UC_ARM_REG_BASEPRI

from mcusim.cpu.system.exception_layout import PENDSV as PENDSV_PLACE
from mcusim.cpu.system.ppb import BASE
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.startup import Start
from mcusim.emulator.stops import sleep
from tests.support.programs.exception_code import ISAS, MACHINES, PENDSV, logged, prepared

COUNT, HANDLER = "adds r5, #1; bx lr", "ldr r0, [r10]; str r0, [r8], #4; bx lr"
WFES = "wfe; adds r4, #1; wfe; adds r4, #1; bx lr"
PRIMASKED = (
    "cpsid i; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; cpsie i; ldr r0, [r10]; str r0, [r8], #4; bx lr"
)
BASED = (
    "msr basepri, r6; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; "
    "movs r0, #0; msr basepri, r0; isb; ldr r0, [r10]; str r0, [r8], #4; bx lr"
)
FAULTMASKED = "cpsid f; str r7, [r11]; isb; adds r5, #1; cpsie f; isb; bx lr"
MAX = "msr basepri, r6; msr basepri_max, r4; mrs r5, basepri; bx lr"
SCR, CCR, AIRCR = BASE + 0xED10, BASE + 0xED14, BASE + 0xED0C
both = pytest.mark.parametrize("isa", ISAS)


@both
@pytest.mark.parametrize(
    ("program", "level", "put_off"), [(PRIMASKED, 0, True), (BASED, 0x60, True), (BASED, 0x50, False)]
)
def test_a_mask_puts_an_exception_off_until_it_is_cleared(isa: str, program: str, level: int, put_off: bool) -> None:
    """The log has the handler's cycle in the middle of the program's two, or before them. BASEPRI is 0x60."""
    emulator = prepared(isa, program, {14: HANDLER}, r7=PENDSV, r6=0x60)
    emulator.interrupts.state.priority[PENDSV_PLACE] = level
    free = prepared(isa, BASED, {14: HANDLER}, r7=PENDSV, r6=0)
    assert {emulator.run(1000).kind, free.run(1000).kind} == {"returned"}
    (unmasked,) = free.interrupts.counts()
    times = logged(emulator)
    (taken,) = emulator.interrupts.counts()
    assert len(times) == 3 and times == sorted(times)
    assert (taken.latency["max"] > unmasked.latency["max"]) == put_off


@both
def test_faultmask_lets_nothing_but_nmi_through(isa: str) -> None:
    latencies = []
    for pend, number in ((PENDSV, 14), (1 << 31, 2)):
        emulator = prepared(isa, FAULTMASKED, {number: COUNT}, r7=pend, r5=0)
        assert emulator.run(1000).kind == "returned"
        (taken,) = emulator.interrupts.counts()
        assert (taken.number, emulator.registers()["r5"]) == (number, 2)
        latencies.append(taken.latency["max"])
    assert latencies[0] > latencies[1]


@both
@pytest.mark.parametrize(
    ("base", "new", "after"),
    [(0x60, 0x40, 0x40), (0x60, 0x80, 0x60), (0x60, 0, 0x60), (0, 0x80, 0x80), (0x60, 0x55, 0x50)],
)
def test_basepri_max_only_raises(isa: str, base: int, new: int, after: int) -> None:
    emulator = prepared(isa, MAX, {}, r6=base, r4=new)
    assert (emulator.run(1000).kind, emulator.registers()["r5"]) == ("returned", after)


@both
def test_a_masked_interrupt_ends_wfi_and_is_taken_afterwards(isa: str) -> None:
    """Not one that BASEPRI masks."""
    program = "cpsid i; wfi; ldr r0, [r10]; str r0, [r8], #4; cpsie i; ldr r0, [r10]; str r0, [r8], #4; bx lr"
    emulator = prepared(isa, program, {16: HANDLER})
    emulator.interrupts.state.enabled[1] |= 1
    emulator.at(500, lambda: emulator.interrupts.pend(0))
    assert emulator.run(1000).kind == "returned"
    woken, taken, last = logged(emulator)
    assert 500 <= woken < taken < last < 540
    masked = prepared(isa, program, {16: HANDLER})
    masked.interrupts.state.enabled[1] |= 1
    masked.interrupts.state.priority[32] = 0x80
    masked.core.uc.reg_write(UC_ARM_REG_BASEPRI, 0x40)
    masked.at(500, lambda: masked.interrupts.pend(0))
    assert masked.run(1000).kind == "idle"


@both
def test_wfe_waits_for_an_event(isa: str) -> None:
    """An exception's entry and return set the event register, so the second WFE goes on; SEVONPEND needs no handler."""
    emulator = prepared(isa, WFES, {16: COUNT}, r4=0, r5=0)
    emulator.interrupts.state.enabled[1] |= 1
    emulator.at(700, lambda: emulator.interrupts.pend(0))
    assert emulator.run(1000).kind == "returned"
    assert (emulator.registers()["r4"], emulator.registers()["r5"]) == (2, 1) and emulator.cycles >= 700
    alone = prepared(isa, WFES, {16: COUNT}, r4=0)
    assert (alone.run(1000).kind, alone.registers()["r4"]) == ("idle", 0)
    quick = prepared(isa, "sev; wfe; adds r4, #1; bx lr", {16: COUNT}, r4=0)
    assert (quick.run(1000).kind, quick.registers()["r4"]) == ("returned", 1)
    for on_pend in (0, 1 << 4):
        pended = prepared(isa, "str r5, [r3]; wfe; adds r4, #1; bx lr", {16: COUNT}, r3=SCR, r4=0, r5=on_pend)
        pended.at(400, lambda: pended.interrupts.pend(0))  # noqa: B023  # not enabled
        assert pended.run(1000).kind == ("returned" if on_pend else "idle")
        assert pended.interrupts.state.sev_on_pend == (1 if on_pend else 0)
        assert not pended.interrupts.state.event


@both
def test_sleep_on_exit_goes_to_sleep_behind_the_handler(isa: str) -> None:
    emulator = prepared(isa, "str r5, [r3]; dsb; isb; wfi; nop; bx lr", {16: COUNT}, r3=SCR, r5=2)
    emulator.interrupts.state.enabled[1] |= 1
    for cycle in (300, 600):
        emulator.at(cycle, lambda: emulator.interrupts.pend(0))
    assert emulator.run(1000).kind == "idle"  # the code behind WFI never runs
    assert emulator.registers()["r5"] == 4
    assert emulator.cycles < 700


@both
def test_a_sleep_with_deadlines_that_wake_nobody_has_an_end(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = "str r1, [r0, #4]; str r2, [r0, #8]; str r3, [r0]; 1: wfi; subs r4, #1; bne 1b; bx lr"
    emulator = prepared(isa, ticks, {15: COUNT}, r0=BASE + 0xE010, r1=99, r2=0, r3=7, r4=1)
    emulator.interrupts.state.priority[15] = 0x80
    emulator.core.uc.reg_write(UC_ARM_REG_BASEPRI, 0x40)
    assert emulator.run(1000).kind == "idle"
    assert emulator.cycles < 300  # SysTick pends once
    monkeypatch.setattr(sleep, "MOST_DEADLINES", 1000)
    seen: list[int] = []
    other = prepared(isa, "str r5, [r3]; dsb; isb; wfi; nop; bx lr", {}, r3=SCR, r5=0)

    def again() -> None:
        seen.append(other.cycles)
        other.at(other.cycles + 10, again)

    other.at(10, again)
    assert (other.run(1000).kind, len(seen)) == ("idle", 1000)


@both
@pytest.mark.parametrize("aligned", [True, False])
def test_the_frame_is_aligned_where_stkalign_says_so(isa: str, aligned: bool) -> None:
    emulator = prepared(isa, "svc #3; bx lr", {11: "1: b 1b"}, sp=0x2000_3FFC)
    emulator.write(CCR, struct.pack("<I", 0x200 if aligned else 0))
    assert emulator.run(1000).kind == "loop"
    always = isa == "cortex-m7"
    assert emulator.registers()["sp"] == 0x2000_3FFC - 32 - (4 if aligned or always else 0)
    back = prepared(isa, "svc #3; bx lr", {11: COUNT}, sp=0x2000_3FFC)
    back.write(CCR, struct.pack("<I", 0x200 if aligned else 0))
    assert (back.run(1000).kind, back.registers()["sp"]) == ("returned", 0x2000_3FFC)


def resetting(isa: str, counts: bool) -> Emulator:
    """A program that adds 1 to a word in RAM (or 0), then asks for a reset."""
    machine = MACHINES[isa][0]
    emulator = Emulator(machine, caches=False)
    flash = next(r.base for r in machine.memory.values() if r.kind == "flash")
    # ldr r0, =RAM; ldr r1, [r0]; adds r1, #1 or #0; str r1, [r0]; ldr r0, =AIRCR; ldr r1, =key; str r1, [r0]; b .
    program = bytes.fromhex(f"04480168 {counts:02x}31 0160 03480449 0160 fee7 00bf00bf")
    words = struct.pack("<3I", 0x2000_0000, AIRCR, 0x05FA_0004)
    emulator.write(flash, struct.pack("<2I", 0x2000_4000, flash + 9) + program + words)
    emulator.started = Start("reset", flash + 8, 0x2000_4000, flash)
    emulator.call(flash + 8)
    emulator.set_stack(0x2000_4000, 0)
    emulator.interrupts.with_vectors()
    return emulator


@both
def test_a_reset_runs_on_and_endless_ones_end(isa: str) -> None:
    once = resetting(isa, True)
    once.most_resets = 5
    assert once.run(10_000).kind == "reset"
    assert (once.resets, once.read(0x2000_0000, 4)) == (5, b"\6\0\0\0")
    same = resetting(isa, False)
    assert (same.run(10_000).kind, same.resets) == ("reset", 2)  # the first one changes the reset flags
    stays = resetting(isa, True)
    stays.most_resets = 0
    assert (stays.run(10_000).kind, stays.resets) == ("reset", 0)
