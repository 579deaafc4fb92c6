"""Rules of the core's own registers (Arm DDI0403 B3): who may access them, and bits that are not there."""

from __future__ import annotations

import struct

import pytest
from unicorn.arm_const import UC_ARM_REG_BASEPRI

from mcusim.cpu.system import nvic
from mcusim.cpu.system.exception_layout import FIRST_LINE, PENDSV
from mcusim.cpu.system.ppb import BASE
from tests.support.programs.exception_code import ISAS, SYSTICK, VTOR, prepared

CCR, CPACR, STIR, SHPR1, SHPR2 = BASE + 0xED14, BASE + 0xED88, BASE + 0xEF00, BASE + 0xED18, BASE + 0xED1C
ICTR, LAST_ISER, LAST_IPR, MPU_CTRL = BASE + 0xE004, BASE + 0xE11C, BASE + 0xE4EC, BASE + 0xED94
ONES, COUNTFLAG, HIDDEN = 0xFFFF_FFFF, 1 << 16, 0x2000_1000
UNPRIVILEGED = "movs r0, #1; msr control, r0; isb; str r3, [r2]; adds r5, #1; bx lr"
ON_PROCESS = "msr psp, r2; movs r0, #3; msr control, r0; isb; svc #3; bx lr"
READ_CONTROL = "mrs r5, control; bx lr"
STORED = "str r1, [r2]; dsb; ldr r5, [r2]; bx lr"
WITH_MPU = "str r1, [r0, #8]; str r2, [r0, #12]; str r3, [r0]; isb; ldr r5, [r4]; bx lr"
READ = "ldr r6, [r4]; b ."
COUNTED = (
    "str r1, [r0, #4]; str r1, [r0, #8]; str r2, [r0]; nop; nop; nop; nop; nop; nop; nop; nop; str r3, [r0, #4];"
    " 1: subs r4, #1; bne 1b; ldr r5, [r0]; ldr r6, [r0]; ldr r7, [r0]; bx lr"
)
REGIONS = "str r1, [r0, #8]; str r2, [r0, #12]; str r3, [r0, #4]; ldr r5, [r0, #8]; ldr r6, [r0, #12]; bx lr"
COUNT = "adds r5, #1; bx lr"
both = pytest.mark.parametrize("isa", ISAS)


@both
@pytest.mark.parametrize(
    ("address", "ccr", "allowed"), [(CPACR, 0x202, False), (STIR, 0x200, False), (STIR, 0x202, True)]
)
def test_unprivileged_code_may_pend_by_stir_alone(isa: str, address: int, ccr: int, allowed: bool) -> None:
    emulator = prepared(isa, UNPRIVILEGED, {}, r2=address, r3=7, r5=0)
    emulator.write(CCR, struct.pack("<I", ccr))
    stop = emulator.run(100)
    if allowed:
        assert (stop.kind, nvic.has(emulator.interrupts.state.pending, FIRST_LINE + 7)) == ("returned", 1)
    else:
        assert stop.fault is not None and stop.fault.kind == "unprivileged access"
        assert (stop.fault.address, stop.fault.registers["r5"]) == (address, 0)


@both
def test_a_handler_reads_control_without_spsel(isa: str) -> None:
    emulator = prepared(isa, ON_PROCESS, {11: READ_CONTROL}, r2=0x2000_3000)
    assert (emulator.run(100).kind, emulator.registers()["r5"]) == ("returned", 1)


@both
@pytest.mark.parametrize(
    ("address", "stored", "read"),
    [
        (LAST_ISER, ONES, 0), (LAST_IPR, ONES, 0), (SHPR1, ONES, 0x00F0_F0F0), (SHPR2, ONES, 0xF000_0000),
        (VTOR, 0x2000_0081, 0x2000_0080), (ICTR, 2, None),
    ],
)  # fmt: skip
def test_bits_that_are_not_there_read_as_zero(isa: str, address: int, stored: int, read: int | None) -> None:
    emulator = prepared(isa, STORED, {}, r1=stored, r2=address)
    if read is None:  # 96 lines of an F469, 128 of an F746
        assert emulator.read(address, 1)[0] == (2 if isa == "cortex-m4" else 3)
        return
    assert (emulator.run(100).kind, emulator.registers()["r5"]) == ("returned", read)


@both
def test_stir_pends_no_line_that_is_not_there(isa: str) -> None:
    emulator = prepared(isa, STORED, {}, r1=0x1FF, r2=STIR)
    assert emulator.run(100).kind == "returned"
    assert not emulator.interrupts.state.pending.table(9)[1:].any()


@both
@pytest.mark.parametrize(("base", "taken"), [(0x0F, 1), (0x1F, 0)])
def test_the_low_bits_of_basepri_do_not_mask(isa: str, base: int, taken: int) -> None:
    emulator = prepared(isa, COUNT, {14: COUNT}, r5=0)
    x = emulator.interrupts.state
    emulator.core.uc.reg_write(UC_ARM_REG_BASEPRI, base)
    x.priority[PENDSV] = 0x10
    nvic.pend(x, PENDSV, 0)
    assert (emulator.run(100).kind, emulator.registers()["r5"]) == ("returned", 1 + taken)
    assert nvic.has(x.enabled, PENDSV)


@both
@pytest.mark.parametrize("kept", [False, True])
def test_hardfault_runs_without_the_mpu_unless_hfnmiena_is_set(isa: str, kept: bool) -> None:
    registers = {"r0": MPU_CTRL, "r1": HIDDEN | 16, "r2": 7 << 1 | 1, "r3": 7 if kept else 5, "r4": HIDDEN, "r6": 0}
    emulator = prepared(isa, WITH_MPU, {3: READ}, **registers)
    emulator.write(HIDDEN, b"\x21")
    stop = emulator.run(1000)
    assert stop.fault is not None and stop.fault.kind == ("lockup" if kept else "access violation")
    assert emulator.faults.taken[0].exception == "HardFault"
    assert emulator.registers()["r6"] == 0x21 or kept


@both
def test_a_reload_of_zero_counts_once(isa: str) -> None:
    registers = {"r0": SYSTICK, "r1": 50, "r2": 5, "r3": 0, "r4": 200}
    emulator = prepared(isa, COUNTED, {}, **registers)
    assert emulator.run(1000).kind == "returned"
    assert [emulator.registers()[name] & COUNTFLAG for name in ("r5", "r6", "r7")] == [COUNTFLAG, 0, 0]


@both
def test_mpu_registers_are_those_of_the_selected_region(isa: str) -> None:
    registers = {"r0": MPU_CTRL, "r1": HIDDEN | 16 | 2, "r2": 0x0300_000B}
    same = prepared(isa, REGIONS, {}, **registers, r3=2)
    other = prepared(isa, REGIONS, {}, **registers, r3=1)
    assert (same.run(100).kind, other.run(100).kind) == ("returned", "returned")
    assert [same.registers()[name] for name in ("r5", "r6")] == [HIDDEN | 2, 0x0300_000B]
    assert [other.registers()[name] for name in ("r5", "r6")] == [1, 0]
