"""Faults that the program's handlers take: exception, status registers, return address, and where a run ends."""

from __future__ import annotations

import pytest

from mcusim.cpu.system import fault_status
from mcusim.cpu.system.exception_layout import SVCALL
from mcusim.cpu.system.ppb import BASE
from mcusim.emulator.emulator import Emulator
from tests.support.programs.exception_code import ISAS, VTOR, logged, prepared
from tests.support.programs.fault_code import CODE

HARD, MANAGE, BUS, USAGE = 3, 4, 5, 6
NAMES = {HARD: "HardFault", MANAGE: "MemManage", BUS: "BusFault", USAGE: "UsageFault"}
NOWHERE, PLACE, RBAR = 0x7000_0000, 0x2000_1000, BASE + 0xED9C
FORCED, DEBUG, VECTOR_READ = 1 << 30, 1 << 31, 2
SHCSR, CCR = BASE + 0xED24, BASE + 0xED14
RECORD = next(iter(CODE))  # logs IPSR, return address, CFSR, HFSR, BFAR, MMFAR; clears both; skips r9 bytes
REPAIR = "str r7, [sp, #4]; adds r6, #1; bx lr"  # r1 of the frame is r7
LOOP, ROUND = "1: b 1b", "1: adds r0, #1; ands r0, #3; bne 1b; nop; b 1b"
both = pytest.mark.parametrize("isa", ISAS)


def main(instruction: str) -> str:
    """MOVS r0, #7, the instruction, and what counts in r4 and stores that at r2."""
    return f"movs r0, #7; {instruction}; adds r4, #1; str r4, [r2]; bx lr"


def after_setting(instruction: str) -> str:
    """The same, behind setting the bits r6 of the register at r3."""
    return "ldr r0, [r3]; orr r0, r0, r6; str r0, [r3]; dsb; isb; " + main(instruction)


def began(emulator: Emulator) -> int:
    return emulator.registers()["pc"] & ~1


# instruction, its length, registers, exception, CFSR, address
TAKEN = {
    "load": ("ldr r0, [r1]", 2, {"r1": NOWHERE}, BUS, 0x8200, NOWHERE),
    "store": ("str r0, [r1]", 2, {"r1": NOWHERE}, BUS, 0x8200, NOWHERE),
    "peripheral": ("str r0, [r1]", 2, {"r1": 0x5006_0000}, BUS, 0x8200, 0x5006_0000),
    "unaligned": ("ldm r1, {r5, r7}", 4, {"r1": PLACE + 2}, USAGE, 1 << 24, None),
    "undefined": ("udf #0", 2, {}, USAGE, 1 << 16, None),
    "no FPU": ("vadd.f32 s0, s0, s0", 4, {}, USAGE, 1 << 19, None),
}


@both
@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("name", TAKEN)
def test_a_handler_takes_a_fault_and_the_program_goes_on(isa: str, name: str, enabled: bool) -> None:
    """The frame names the faulting instruction; that has done nothing, nor has what is behind it."""
    instruction, size, registers, exception, cfsr, address = TAKEN[name]
    emulator = prepared(isa, main(instruction), {HARD: RECORD, exception: RECORD}, r2=PLACE, r9=size, **registers)
    emulator.state.fpu = name != "no FPU"
    pc = began(emulator) + 2
    emulator.interrupts.state.enabled[0] |= enabled << exception
    assert emulator.run(1000).kind == "returned"
    number, back, status, hard, bus, _ = logged(emulator)
    assert (number, hard) == ((exception, 0) if enabled else (HARD, FORCED))
    assert (back, status) == (pc, cfsr)
    assert address is None or bus == address
    after = emulator.registers()
    assert (after["r0"], after["r4"], emulator.read(PLACE, 1)) == (7, 1, b"\1")
    (taken,) = emulator.faults.taken
    assert (taken.fault.pc, taken.exception, taken.count) == (pc, NAMES[number], 1)


@both
def test_the_instruction_is_executed_again_with_its_condition(isa: str) -> None:
    program = main("cmp r0, #7; itte eq; moveq r5, #8; ldreq r0, [r1]; movne r5, #9")
    emulator = prepared(isa, program, {HARD: REPAIR}, r1=NOWHERE, r2=PLACE, r7=PLACE, r6=0)
    emulator.write(PLACE, b"\x2a\0\0\0")
    assert emulator.run(1000).kind == "returned"
    after = emulator.registers()
    assert (after["r0"], after["r5"], after["r6"], after["r4"]) == (0x2A, 8, 1, 1)


@both
def test_what_the_block_does_behind_the_fault_is_done_once(isa: str) -> None:
    """Stores and floating-point registers too: the store at r3 would leave another value the second time."""
    program = "movs r0, #7; ldr r0, [r1]; str r0, [r3]; vmov s0, r1; adds r4, #1; str r4, [r2]; bx lr"
    emulator = prepared(isa, program, {HARD: REPAIR}, r1=PLACE + 2, r2=PLACE, r3=PLACE, r7=PLACE + 8, r6=0)
    emulator.state.trap_unaligned = 1
    emulator.write(PLACE, bytes(range(12)))
    assert emulator.run(1000).kind == "returned"
    assert emulator.registers()["r0"] == 0x0B0A0908
    assert emulator.read(PLACE, 12) == b"\1\0\0\0" + bytes(range(4, 12))
    assert (emulator.core.floats[0], emulator.registers()["r6"]) == (PLACE + 8, 1)


@both
@pytest.mark.parametrize(("vector", "exception", "cfsr"), [(NOWHERE | 1, BUS, 1 << 8), (PLACE, USAGE, 1 << 17)])
def test_a_branch_into_nothing_or_to_an_even_address(isa: str, vector: int, exception: int, cfsr: int) -> None:
    emulator = prepared(isa, main("blx r1"), {HARD: LOOP, exception: LOOP}, r1=vector)
    emulator.interrupts.state.enabled[0] |= 1 << exception
    assert emulator.run(1000).kind == "fault"
    (taken,) = emulator.faults.taken
    assert (taken.fault.pc, taken.exception, taken.cfsr) == (vector & ~1, NAMES[exception], cfsr)
    frame = emulator.read(emulator.registers()["sp"], 32)
    assert int.from_bytes(frame[24:28], "little") == vector & ~1
    assert frame[31] & 1 == vector & 1  # EPSR.T


@both
@pytest.mark.parametrize(("trapped", "divisor"), [(True, 0), (True, 5), (False, 0)])
def test_a_divide_by_zero_faults_where_it_is_asked_to(isa: str, trapped: bool, divisor: int) -> None:
    program = after_setting("sdiv r0, r0, r5")
    registers = {"r2": PLACE, "r3": CCR, "r5": divisor, "r6": 16 if trapped else 0, "r9": 4}
    emulator = prepared(isa, program, {HARD: RECORD}, **registers)
    assert emulator.run(1000).kind == "returned"
    assert emulator.registers()["r0"] == (7 if trapped and not divisor else 7 // divisor if divisor else 0)
    assert [one.cfsr for one in emulator.faults.taken] == ([1 << 25] if trapped and not divisor else [])


@both
def test_an_mpu_region_is_memmanages(isa: str) -> None:
    program = "str r5, [r3]; str r6, [r3, #4]; str r7, [r3, #-8]; dsb; isb; " + main("str r0, [r1]")
    at = PLACE + 0x400
    registers = {"r1": at + 4, "r2": PLACE, "r3": RBAR, "r5": at | 16, "r6": 0x0607_0000 | 9 << 1 | 1, "r7": 5}
    emulator = prepared(isa, program, {MANAGE: RECORD, HARD: RECORD}, r9=2, **registers)
    emulator.interrupts.state.enabled[0] |= 1 << MANAGE
    assert emulator.run(1000).kind == "returned"
    assert (logged(emulator)[0], logged(emulator)[2], logged(emulator)[5]) == (MANAGE, 0x82, at + 4)
    assert emulator.read(at, 8) == bytes(8)


@both
def test_shcsr_enables_and_shows_and_status_bits_are_cleared_by_ones(isa: str) -> None:
    emulator = prepared(isa, after_setting("ldr r0, [r1]"), {BUS: RECORD}, r1=NOWHERE, r3=SHCSR, r6=1 << 17, r9=2)
    while not emulator.faults.taken:
        emulator.run_until(emulator.cycles + 1)
    assert (
        fault_status.value(emulator.interrupts.state, fault_status.SHCSR) == 1 << 17 | 1 << 1
    )  # BUSFAULTENA, BUSFAULTACT
    assert fault_status.value(emulator.interrupts.state, fault_status.CFSR) == 0x8200
    assert emulator.run(1000).kind == "returned"
    assert fault_status.value(emulator.interrupts.state, fault_status.SHCSR) == 1 << 17
    assert fault_status.value(emulator.interrupts.state, fault_status.CFSR) == 0


@both
def test_svc_that_may_not_preempt_and_a_breakpoint_are_hardfaults(isa: str) -> None:
    for instruction, hfsr in (("svc #0", FORCED), ("bkpt #1", DEBUG)):
        emulator = prepared(isa, main(instruction), {HARD: RECORD, 11: LOOP}, r2=PLACE, r9=2)
        emulator.interrupts.state.priority[SVCALL] = 256  # as PRIMASK would
        assert emulator.run(1000).kind == "returned"
        number, back, status, hard = logged(emulator)[:4]
        assert (number, status, hard) == (HARD, 0, hfsr)
        assert emulator.read(back, 2) in (b"\0\xdf", b"\1\xbe")


@both
@pytest.mark.parametrize("handler", [LOOP, ROUND])
def test_a_handler_without_end_ends_the_run_at_the_faults_place(isa: str, handler: str) -> None:
    emulator = prepared(isa, main("ldr r0, [r1]"), {HARD: handler}, r1=NOWHERE)
    pc = began(emulator) + 2
    stop = emulator.run(20_000_000)
    assert stop.fault is not None and stop.kind == "fault"
    assert (stop.fault.kind, stop.fault.pc, stop.fault.registers["r1"]) == ("bus fault", pc, NOWHERE)
    assert "does not come to an end" in stop.fault.text


@both
def test_a_handler_that_returns_to_the_fault_ends_the_run(isa: str) -> None:
    emulator = prepared(isa, main("ldr r0, [r1]"), {HARD: "bx lr"}, r1=NOWHERE)
    stop = emulator.run()
    assert stop.fault is not None and "again and again" in stop.fault.text
    assert emulator.faults.taken[0].count == 1000


@both
def test_a_fault_in_hardfault_is_a_lockup(isa: str) -> None:
    emulator = prepared(isa, main("ldr r0, [r1]"), {HARD: "ldr r0, [r1]; bx lr"}, r1=NOWHERE)
    stop = emulator.run(1000)
    assert stop.fault is not None and stop.fault.kind == "lockup"
    assert f"bus fault at {began(prepared(isa, main('ldr r0, [r1]'), {HARD: LOOP})) + 2:#010x}" in stop.fault.text
    masked = prepared(isa, main("cpsid f; ldr r0, [r1]"), {HARD: LOOP}, r1=NOWHERE)
    stop = masked.run(1000)
    assert stop.fault is not None and (stop.fault.kind, masked.faults.taken) == ("lockup", ())
    assert "FAULTMASK" in stop.fault.text


@both
@pytest.mark.parametrize("vector", [0, NOWHERE | 1, PLACE | 1, PLACE])
def test_without_a_handler_the_fault_ends_the_run(isa: str, vector: int) -> None:
    emulator = prepared(isa, main("ldr r0, [r1]"), {HARD: LOOP}, r1=NOWHERE)
    table = int.from_bytes(emulator.read(VTOR, 4), "little")
    emulator.write(table + 4 * HARD, vector.to_bytes(4, "little"))
    stop = emulator.run(1000)
    assert stop.fault is not None and (stop.fault.kind, emulator.faults.taken) == ("bus fault", ())
    assert "handler" not in stop.fault.text


@both
def test_a_stack_that_is_in_no_memory(isa: str) -> None:
    """STKERR: HardFault begins all the same, on that stack; its own fault is the end."""
    emulator = prepared(
        isa, "movs r0, #7; mov sp, r6; svc #0; adds r4, #1; str r4, [r2]; bx lr", {HARD: LOOP, 11: LOOP}
    )
    emulator.core["r6"] = NOWHERE + 64
    stop = emulator.run(1000)
    assert stop.fault is not None and stop.fault.kind == "stacking"
    assert [(one.exception, one.cfsr, one.hfsr) for one in emulator.faults.taken] == [("HardFault", 1 << 12, FORCED)]


@both
def test_a_return_from_a_stack_that_is_in_no_memory(isa: str) -> None:
    emulator = prepared(isa, main("svc #0"), {BUS: LOOP, 11: "mov sp, r6; bx lr"}, r6=NOWHERE)
    emulator.interrupts.state.enabled[0] |= 1 << BUS
    stop = emulator.run(1000)
    assert stop.fault is not None and stop.fault.kind == "unstacking"
    assert [(one.exception, one.cfsr) for one in emulator.faults.taken] == [("BusFault", 1 << 11)]
    assert emulator.registers()["xpsr"] & 0x1FF == BUS


@both
def test_a_vector_that_cannot_be_read_is_a_hardfault(isa: str) -> None:
    emulator = prepared(isa, main("udf #0"), {HARD: LOOP, 16 + 16: LOOP})
    table = int.from_bytes(emulator.read(VTOR, 4), "little")
    end = max(region.end for region in emulator.machine.memory.values() if region.base >> 28 == 2)
    emulator.write(end - 128, emulator.read(table, 128))  # the memory ends before vector 32
    emulator.write(VTOR, (end - 128).to_bytes(4, "little"))
    emulator.interrupts.state.enabled[1] = 1 << 16
    emulator.interrupts.pend(16)
    stop = emulator.run(1000)
    assert stop.fault is not None and stop.fault.kind == "bad vector"
    assert [(one.exception, one.hfsr) for one in emulator.faults.taken] == [("HardFault", VECTOR_READ)]


@both
@pytest.mark.parametrize("low", [0x1, 0x5])  # to a handler though none is active; no such return
def test_a_return_that_does_not_fit_is_a_usage_fault(isa: str, low: int) -> None:
    emulator = prepared(isa, main("svc #0"), {USAGE: LOOP, 11: "mov r6, lr; bfi r6, r5, #0, #4; bx r6"}, r5=low)
    emulator.interrupts.state.enabled[0] |= 1 << USAGE
    stop = emulator.run(1000)
    assert stop.fault is not None and stop.fault.kind == "bad exception return"
    assert [(one.exception, one.cfsr) for one in emulator.faults.taken] == [("UsageFault", 1 << 18)]
    assert emulator.registers()["lr"] & 0xF == low


@both
def test_a_frame_whose_number_does_not_fit_is_a_usage_fault(isa: str) -> None:
    forged = "ldr r0, [sp, #28]; orr r0, r0, #15; str r0, [sp, #28]; bx lr"
    emulator = prepared(isa, main("svc #0"), {USAGE: LOOP, 11: forged})
    emulator.interrupts.state.enabled[0] |= 1 << USAGE
    stop = emulator.run(1000)
    assert stop.fault is not None and stop.fault.kind == "bad exception return"
    assert [(one.exception, one.cfsr) for one in emulator.faults.taken] == [("UsageFault", 1 << 18)]
