"""Every kind of fault: its name and text, pc, address, registers at the faulting instruction, branches, counts."""

from __future__ import annotations

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Stop
from mcusim.machine import load_machine
from tests.support.code import random_thumb as guest
from tests.support.code.system_code import code

AT = guest.FLASH + 0x100
RAM, STACK = guest.RAM, guest.RAM + 0x8000
LOWEST = STACK - 0x400
SDRAM = 0xC000_0000  # Device by the default map
MACHINES = guest.MACHINES | {"cortex-m7": load_machine("stm32f746g-disco", {"memory.sdram.base": hex(SDRAM)})}
ISAS = ("cortex-m4", "cortex-m7")
both = pytest.mark.parametrize("isa", ISAS)


def run(
    isa: str, program: bytes, limit: int | None = 1000, fpu: bool = True, **registers: int
) -> tuple[Emulator, Stop]:
    emulator = Emulator(MACHINES[isa])
    emulator.write(AT, program)
    emulator.set_stack(STACK, LOWEST)
    emulator.state.fpu = fpu
    emulator.call(AT)
    for name, value in registers.items():
        emulator.core[name] = value
    return emulator, emulator.run(limit)


# the instruction that faults, registers, kind, address, part of the text
FAULTS = {
    "load": (code("ldr r0, [r1, #4]"), {"r1": 0x7000_0000}, "bus fault", 0x7000_0004, "a load"),
    "store": (code("str r0, [r1, #4]"), {"r1": 0x7000_0000}, "bus fault", 0x7000_0004, "a store"),
    "ldm": (code("ldm r1, {r2, r3}"), {"r1": RAM + 2}, "unaligned access", RAM + 2, "a load of 4 B"),
    "stm": (code("stm r1, {r2, r3}"), {"r1": RAM + 2}, "unaligned access", RAM + 2, "a store of 4 B"),
    "ldrd": (code("ldrd r2, r3, [r1]"), {"r1": RAM + 1}, "unaligned access", RAM + 1, "not aligned"),
    "vldr": (code("vldr s0, [r1]"), {"r1": RAM + 2}, "unaligned access", RAM + 2, "not aligned"),
    "undefined": (code("udf #0"), {}, "undefined instruction", None, "de00"),
    "breakpoint": (code("bkpt #3"), {}, "breakpoint", None, "BKPT 0x3"),
    "push": (code("push {r2, r3}"), {"sp": LOWEST}, "stack overflow", LOWEST - 8, f"{LOWEST:#010x}"),
    "guard": (code("str r0, [r1]"), {"r1": LOWEST + 28}, "stack overflow", LOWEST + 28, f"{LOWEST:#010x}"),
    "flash": (code("str r0, [r1]"), {"r1": 0x0800_4000}, "store to flash", 0x0800_4000, "unlocked"),
    "peripheral": (
        code("str r0, [r1]"),
        {"r1": 0x5006_0000},
        "no such peripheral",
        0x5006_0000,
        "[peripherals.<name>]",
    ),
}


@both
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_exact(isa: str, name: str) -> None:
    faulting, registers, kind, address, text = FAULTS[name]
    before = code("movs r0, #7")
    after = code("movs r0, #9; adds r1, #1; bx lr")
    emulator, stop = run(isa, code("b.n .+4; nop; nop") + before + faulting + after, **registers)
    pc = AT + 6 + len(before)
    assert stop.kind == "fault" and stop.fault is not None
    fault = stop.fault
    assert (fault.kind, fault.pc, fault.address) == (kind, pc, address)
    assert text in fault.text
    assert fault.registers["pc"] == pc
    assert fault.registers["r0"] == 7
    assert {name: fault.registers[name] for name in registers} == registers
    assert fault.branches[-1] == (AT, AT + 4)
    assert emulator.instructions == 2 + len(before) // 2  # those before the one that faults
    same, _ = run(isa, code("b.n .+4; nop; nop") + before + faulting + code("bx lr"), **registers)
    assert emulator.cycles == same.cycles > 0  # what follows the fault costs nothing


@both
def test_a_jump_to_where_nothing_is(isa: str) -> None:
    emulator, stop = run(isa, code("nop; bx r1"), r1=0x7000_0001)
    fault = stop.fault
    assert fault is not None
    assert (fault.kind, fault.pc, fault.address) == ("bus fault", 0x7000_0000, 0x7000_0000)
    assert fault.branches[-1] == (AT + 2, 0x7000_0000)
    assert emulator.instructions == 2


@both
def test_erased_flash_has_no_instructions(isa: str) -> None:
    emulator, stop = run(isa, code("nop; bx r1"), r1=0x0808_0001)
    assert emulator.read(0x0808_0000, 4) == b"\xff" * 4
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.pc) == ("undefined instruction", 0x0808_0000)


@both
def test_arm_state(isa: str) -> None:
    _, stop = run(isa, code("nop; bx r1"), r1=AT + 0x10)
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.pc) == ("invalid state", AT + 0x10)


@both
def test_supervisor_call(isa: str) -> None:
    _, stop = run(isa, code("movs r0, #7; svc #5; movs r0, #9"))
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.registers["r0"]) == ("exception", 7)
    assert "SVC 5" in stop.fault.text
    assert stop.fault.pc in (AT + 2, AT + 4)


@both
def test_floating_point_while_it_is_off(isa: str) -> None:
    _, stop = run(isa, code("movs r0, #7; vadd.f32 s0, s0, s0; movs r0, #9"), fpu=False, r5=55)
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.registers["r5"]) == ("no coprocessor", 55)
    assert "CPACR" in stop.fault.text


@both
def test_execute_never(isa: str) -> None:
    _, stop = run(isa, code("nop; bx r1"), r1=SDRAM | 1)
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.pc, stop.fault.address) == ("execution violation", SDRAM, SDRAM)
    assert stop.fault.branches[-1] == (AT + 2, SDRAM)


@pytest.mark.parametrize(("isa", "faults"), [("cortex-m4", False), ("cortex-m7", True)])
@pytest.mark.parametrize("offset", [1, 2, 3, 4])
def test_unaligned_to_device_memory(isa: str, faults: bool, offset: int) -> None:
    _, stop = run(isa, code("ldr r0, [r1]; bx lr"), r1=SDRAM + offset)
    assert (stop.kind == "fault") == (faults and offset != 4)
    if stop.fault:
        assert (stop.fault.kind, stop.fault.address) == ("unaligned access", SDRAM + offset)
        assert "Device" in stop.fault.text


@both
def test_unaligned_trap(isa: str) -> None:
    program = code("ldr r2, [r3]; orr r2, r2, #8; ldr r0, [r1]; str r2, [r3]; dsb; isb") + code("ldr r0, [r1]; bx lr")
    emulator, stop = run(isa, program, r1=RAM + 0x101, r3=0xE000_ED14)
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.address) == ("unaligned access", RAM + 0x101)
    assert "UNALIGN_TRP" in stop.fault.text
    assert emulator.instructions == 6  # the same load before the trap was set is none of its business


# r3: RBAR, r2 its value, r4 RASR's, r5 CTRL's; then a load and a store of [r1]
MPU = code("str r2, [r3]; str r4, [r3, #4]; str r5, [r3, #-8]; dsb; isb") + code("ldr r0, [r1]; str r0, [r1]; bx lr")
REGION = RAM + 0x1000 | 0x10
KIB = 9 << 1 | 1  # SIZE 9: 1 KiB, enabled


@both
@pytest.mark.parametrize(("permission", "offset", "text"), [(0, 22, "gives no access"), (6, 24, "read-only")])
def test_mpu_region(isa: str, permission: int, offset: int, text: str) -> None:
    _, stop = run(isa, MPU, r1=RAM + 0x1000, r2=REGION, r3=0xE000_ED9C, r4=permission << 24 | 0x7_0000 | KIB, r5=5)
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.address) == ("access violation", RAM + 0x1000)
    assert text in stop.fault.text
    assert stop.fault.pc - AT == len(MPU) - (6 if permission == 0 else 4)
    _, neighbour = run(isa, MPU, r1=RAM + 0x1400, r2=REGION, r3=0xE000_ED9C, r4=permission << 24 | 0x7_0000 | KIB, r5=5)
    assert neighbour.kind == "returned"


@both
def test_a_run_away_ends_at_the_limit(isa: str) -> None:
    emulator, stop = run(isa, code("1: nop; b 1b"), limit=500)
    assert (stop.kind, stop.fault, emulator.instructions) == ("limit", None, 500)


@both
def test_an_endless_loop_ends_the_run(isa: str) -> None:
    emulator, stop = run(isa, code("movs r0, #7") + code("b ."), limit=None)
    assert (stop.kind, emulator.registers()["r0"], emulator.registers()["pc"]) == ("loop", 7, AT + 2)


@both
def test_semihosting_that_points_nowhere(isa: str) -> None:
    _, stop = run(isa, code("movs r0, #4; bkpt #0xab; bx lr"), r1=0x7000_0000)
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.pc) == ("semihosting", AT + 2)
    assert "operation 0x4: 64 B at 0x70000000" in stop.fault.text


@both
def test_an_access_over_a_regions_end(isa: str) -> None:
    machine = MACHINES[isa]
    end = max(region.end for region in machine.memory.values() if region.base >> 28 == 2)
    _, stop = run(isa, code("movs r0, #7; ldr r0, [r1]; bx lr"), r1=end - 2)
    assert stop.fault is not None
    assert (stop.fault.kind, stop.fault.pc, stop.fault.registers["r0"]) == ("bus fault", AT + 2, 7)


@both
def test_a_fault_inside_an_if_then_block(isa: str) -> None:
    program = code("movs r0, #7; cmp r0, #7; itt eq; moveq r0, #8; ldreq r2, [r1]; movs r0, #9; bx lr")
    emulator, stop = run(isa, program, r1=0x7000_0000)
    assert stop.fault is not None
    assert (stop.fault.pc, stop.fault.registers["r0"], emulator.instructions) == (AT + 8, 8, 4)


@both
@pytest.mark.parametrize("hint", ["yield", "wfe", "sev"])
def test_hints_do_nothing(isa: str, hint: str) -> None:
    hints = {"yield": code("yield; movs r0, #9; bx lr"), "wfe": code("wfe; movs r0, #9; bx lr")}
    emulator, stop = run(isa, hints.get(hint, code("sev; movs r0, #9; bx lr")))
    assert (stop.kind, emulator.registers()["r0"], emulator.instructions) == ("returned", 9, 3)


@both
@pytest.mark.parametrize("address", [RAM, 0xE000_ED98])  # the second makes the hooks stop the core too
def test_waiting_for_an_interrupt_is_the_end(isa: str, address: int) -> None:
    emulator, stop = run(isa, code("str r0, [r1]; wfi; movs r2, #9; bx lr"), r0=1, r1=address)
    assert (stop.kind, emulator.registers()["r2"], emulator.instructions) == ("idle", 0, 2)
    assert emulator.run(10).kind == "idle"


@both
def test_a_program_that_has_faulted_stays_so_until_another_begins(isa: str) -> None:
    emulator, stop = run(isa, code("movs r0, #7; udf #0"))
    cycles = emulator.cycles
    assert emulator.run(10) == stop
    assert (emulator.cycles, emulator.instructions) == (cycles, 1)
    emulator.write(AT + 0x40, code("movs r0, #7; bx lr"))
    emulator.call(AT + 0x40)
    assert emulator.run(10).kind == "returned"


def test_an_instruction_on_the_border_of_two_memories() -> None:
    emulator, _ = run("cortex-m7", code("bx lr"))
    border = RAM + 0x1_0000
    emulator.write(border - 2, code("add.w r0, r0, #1; bx lr"))
    emulator.call(border - 2, (4,))
    assert (emulator.run(10).kind, emulator.registers()["r0"]) == ("returned", 5)
    assert emulator.read(border - 2, 6) == code("add.w r0, r0, #1; bx lr")


@both
def test_a_stack_elsewhere_is_no_overflow_and_the_known_one_is_checked_again(isa: str) -> None:
    program = code("mov r4, sp; mov sp, r1; push {r2, r3}; mov sp, r4; b 1f; 1: push {r2, r3}; pop {r2, r3}; bx lr")
    _, elsewhere = run(isa, program, r1=LOWEST - 64)
    assert elsewhere.kind == "returned"
    _, back = run(isa, program, r1=LOWEST - 64, sp=LOWEST + 8)  # the second push reaches the guard
    assert back.fault is not None and back.fault.kind == "stack overflow"
    assert back.fault.pc == AT + 10
