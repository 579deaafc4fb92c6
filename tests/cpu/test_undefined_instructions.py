"""What a core lacks is an undefined instruction there, exactly where it is; what it has runs, with its timing."""

from __future__ import annotations

import struct

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Fault, Stop
from mcusim.machine import load_machine
from tests.support.code.lacking_code import DOUBLE, FPV5, NOWHERE

M4, M7_SINGLE, M7_DOUBLE = "stm32f469i-disco", "stm32f746g-disco", "nucleo-h743zi"
MACHINES = {name: load_machine(name) for name in (M4, M7_SINGLE, M7_DOUBLE, "nucleo-f767zi")}
AT = 0x0800_0100
MOVS_R0_7, MOVS_R0_9, BX_LR = "0720", "0920", "7047"
MVFR = 0xE000_EF40


def run(board: str, code: str, fpu: bool = True, **registers: int) -> tuple[Emulator, Stop]:
    """``code`` is called; r1 points to words that are 8 and more, aligned."""
    machine = MACHINES[board]
    sram = machine.memory["sram1"].base
    emulator = Emulator(machine)
    emulator.write(AT, bytes.fromhex(code))
    emulator.write(sram, bytes(range(8, 40)))
    emulator.set_stack(sram + 0x4000, 0)
    emulator.state.fpu = fpu
    emulator.call(AT)
    for name, value in ({"r1": sram} | registers).items():
        emulator.core[name] = value
    return emulator, emulator.run(1000)


def undefined(board: str, code: str) -> Fault:
    """The fault of an instruction between two moves to r0."""
    emulator, stop = run(board, MOVS_R0_7 + code + MOVS_R0_9 + BX_LR)
    fault = stop.fault
    assert fault is not None, stop
    assert (fault.kind, fault.pc, fault.registers["pc"]) == ("undefined instruction", AT + 2, AT + 2)
    assert (fault.registers["r0"], emulator.instructions) == (7, 1)  # nothing behind it ran or was counted
    assert f"at {AT + 2:#010x}" in fault.text
    assert f"no instruction of this {MACHINES[board].core.isa}" in fault.text
    return fault


def returns(board: str, code: str) -> bool:
    emulator, stop = run(board, MOVS_R0_7 + code + MOVS_R0_9 + BX_LR)
    return (stop.kind, emulator.registers()["r0"], emulator.instructions) == ("returned", 9, 4)


@pytest.mark.parametrize("name", DOUBLE)
def test_double_precision_runs_where_the_part_has_it_only(name: str) -> None:
    code = DOUBLE[name]
    assert returns(M7_DOUBLE, code) and returns("nucleo-f767zi", code)
    for board in (M7_SINGLE, M4):
        text = undefined(board, code).text
        assert name.partition(" ")[0].partition(".")[0] in text
        assert "single precision only" in text or (board == M4 and "FPv5" in text)


@pytest.mark.parametrize("name", FPV5)
def test_fpv5_runs_on_a_cortex_m7_only(name: str) -> None:
    assert returns(M7_SINGLE, FPV5[name])
    assert "FPv4" in undefined(M4, FPV5[name]).text


@pytest.mark.parametrize("name", NOWHERE)
@pytest.mark.parametrize("board", [M4, M7_DOUBLE])
def test_other_architectures_instructions_are_undefined(board: str, name: str) -> None:
    text = undefined(board, NOWHERE[name]).text
    first = bytes.fromhex(NOWHERE[name])[1::-1].hex()
    assert first in text and "Armv7E-M" in text


def test_a_skipped_one_does_nothing_and_one_that_is_not_skipped_faults() -> None:
    # cmp r0, #7; it eq; vaddeq.f64 d0, d1, d2; movs r0, #9; bx lr
    code = "0728 08bf 31ee020b 0920 7047".replace(" ", "")
    _, skipped = run(M7_SINGLE, code, r0=6)
    assert skipped.kind == "returned"
    emulator, taken = run(M7_SINGLE, code, r0=7)
    assert taken.fault is not None
    assert (taken.fault.pc, taken.fault.registers["r0"], emulator.instructions) == (AT + 4, 7, 2)


def test_the_unit_switched_off_comes_before_what_it_lacks() -> None:
    _, stop = run(M7_SINGLE, DOUBLE["vadd.f64 d0, d1, d2"] + BX_LR, fpu=False)
    assert stop.fault is not None and stop.fault.kind == "no coprocessor"


def test_code_written_over_a_lacked_instruction_runs() -> None:
    lacked = MOVS_R0_7 + DOUBLE["vadd.f64 d0, d1, d2"] + BX_LR
    emulator, stop = run(M7_SINGLE, lacked)
    assert stop.kind == "fault"
    emulator.write(AT, bytes.fromhex("0720 00bf 00bf 7047"))
    emulator.call(AT)
    assert emulator.run(10).kind == "returned"
    emulator.write(AT, bytes.fromhex(lacked))
    emulator.call(AT)
    assert emulator.run(10).kind == "fault"


@pytest.mark.parametrize(
    ("board", "features"),
    [
        (M4, (0x1011_0021, 0x1100_0011, 0)),  # DDI0439
        (M7_SINGLE, (0x1011_0021, 0x1100_0011, 0x40)),  # DDI0489, single and double precision
        (M7_DOUBLE, (0x1011_0221, 0x1200_0011, 0x40)),
    ],
)
def test_feature_registers_say_what_the_unit_has(board: str, features: tuple[int, int, int]) -> None:
    assert struct.unpack("<3I", Emulator(MACHINES[board]).read(MVFR, 12)) == features


@pytest.mark.parametrize(
    ("board", "cpuid"),
    [(M4, 0x410F_C241), (M7_SINGLE, 0x410F_C271), ("nucleo-f767zi", 0x411F_C270), (M7_DOUBLE, 0x411F_C271)],
)
def test_cpuid_is_that_of_the_parts_core(board: str, cpuid: int) -> None:
    emulator, stop = run(board, "0868 7047".replace(" ", ""), r1=0xE000_ED00)  # ldr r0, [r1]
    assert stop.kind == "returned"
    assert emulator.registers()["r0"] == cpuid


def cycles_of_chain(code: str) -> int:
    """Cycles that each of a long chain of ``code`` takes, from the difference of 60 and 30 of it."""

    def cycles(count: int) -> int:
        emulator, stop = run(M7_DOUBLE, "00bf" + code * count + BX_LR)
        assert stop.kind == "returned"
        emulator.call(AT)
        warm = emulator.cycles
        assert emulator.run(1000).kind == "returned"
        return emulator.cycles - warm

    found, rest = divmod(cycles(60) - cycles(30), 30)
    assert rest == 0
    return found


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("30ee010b", 4),  # vadd.f64 d0, d0, d1
        ("20ee010b", 7),  # vmul.f64 d0, d0, d1
        ("a0ee010b", 11),  # vfma.f64 d0, d0, d1
        ("80ee010b", 30),  # vdiv.f64 d0, d0, d1
        ("30ee800a", 3),  # vadd.f32 s0, s1, s0
    ],
)
def test_double_precision_has_its_latency_in_the_emulated_core(code: str, cycles: int) -> None:
    assert cycles_of_chain(code) == cycles


def test_double_precision_computes_as_ieee_754_has_it() -> None:
    # vldr d0, [r1]; vldr d1, [r1, #8]; vdiv.f64 d2, d0, d1; vfma.f64 d2, d0, d1; vsqrt.f64 d2, d2; vstr d2, [r1, #16]
    code = "91ed000b 91ed021b 80ee012b a0ee012b b1eec22b 81ed042b".replace(" ", "") + BX_LR
    machine = MACHINES[M7_DOUBLE]
    emulator = Emulator(machine)
    sram = machine.memory["sram1"].base
    emulator.write(AT, bytes.fromhex(code))
    emulator.write(sram, struct.pack("<2d", 2.0, 3.0))
    emulator.set_stack(sram + 0x4000, 0)
    emulator.state.fpu = 1
    emulator.call(AT, (0, sram))
    assert emulator.run(100).kind == "returned"
    (found,) = struct.unpack("<d", emulator.read(sram + 16, 8))
    assert found == (2.0 / 3.0 + 6.0) ** 0.5
