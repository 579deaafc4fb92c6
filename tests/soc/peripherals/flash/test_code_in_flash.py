"""Firmware that writes its own flash: the core waits for it, and runs the code that is there now."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.profile import profile
from mcusim.machine import Machine, load_machine
from tests.support.programs.register_script import load, run, store

# push {r4, lr} behind the keys; blx r8; mov r9, r0; then erase, PG and a word by stores that wait; blx r8; mov r10, r0
OVERWRITES = bytes.fromhex("6060616010b5c0478146226123612e60c047824610bd")
TARGET, RAM, REGISTERS = 0x0800_8000, 0x2000_0000, 0x4002_3C00
K1, K2 = 0x4567_0123, 0xCDEF_89AB
F4, F7 = load_machine("stm32f469i-disco"), load_machine("stm32f746g-disco")
SR, CR = REGISTERS + 0x0C, REGISTERS + 0x10


@pytest.mark.parametrize(("machine", "sector", "waits"), [(F4, 2, 0.25), (F7, 1, 0.25 + 16e-6)])
def test_code_that_is_programmed_runs_and_the_core_waits_for_it(machine: Machine, sector: int, waits: float) -> None:
    """The line of the code is in the accelerator of the F4, not behind the F7's AXI port."""
    emulator = Emulator(machine, caches=False)
    emulator.write(RAM, OVERWRITES)
    emulator.write(TARGET, bytes.fromhex("01207047"))  # movs r0, #1; bx lr
    emulator.set_stack(RAM + 0x4000, 0)
    emulator.call(RAM)
    start = 2 << 8 | sector << 3 | 2 | 1 << 16
    words = {"r0": K1, "r1": K2, "r2": start, "r3": 0x201, "r4": REGISTERS, "r5": TARGET, "r6": 0x4770_2002}
    for name, word in {**words, "r8": TARGET | 1}.items():
        emulator.core[name] = word
    assert emulator.run(1000).kind == "returned"
    registers = emulator.registers()
    assert (registers["r9"], registers["r10"]) == (1, 2)
    least = round(machine.core.clock * waits)
    assert least < emulator.cycles < least + 300
    causes = profile(emulator, RAM + 0x4000).causes
    assert sum(causes.values()) == pytest.approx(emulator.cycles)  # where it waits is counted


def test_reads_of_the_other_bank_do_not_wait(tmp_path: Path) -> None:
    keys = [store(REGISTERS + 4, K1), store(REGISTERS + 4, K2), store(CR, 0x201)]
    same, other = (0x0808_0000, 0x0818_0000)
    waits, _ = run(tmp_path, F4, [*keys, store(same, 0), load(SR)])
    found = run(tmp_path, F4, [*keys, store(other, 0), load(SR), load(other), load(SR)])
    assert waits.profile.cycles > 16e-6 * F4.core.clock
    assert found[1] == [1 << 16, 0, 0] and found[0].profile.cycles < waits.profile.cycles + 100


def test_a_wrong_key_is_a_bus_error(tmp_path: Path) -> None:
    result, _ = run(tmp_path, F7, [store(REGISTERS + 4, K2)])
    fault = result.stop.fault
    assert fault is not None and fault.kind == "bus fault" and "FLASH + 0x04): a wrong key" in fault.text
    assert [(one.exception, one.cfsr) for one in result.faults] == [("HardFault", 0x200)]


def test_a_store_to_a_locked_flash_ends_a_strict_run_by_its_name(tmp_path: Path) -> None:
    steps = [store(TARGET, 5), load(SR), load(TARGET)]
    strict, _ = run(tmp_path, F4, steps)
    assert strict.stop.fault is not None and strict.stop.fault.kind == "store to flash" and strict.exit_status == 1
    lenient, words = run(tmp_path, F4, steps, peripherals="lenient")
    assert words == [1 << 7, 0xFFFF_FFFF]
    assert [(one.rule, one.address, one.count) for one in lenient.findings] == [("flash-store", TARGET, 1)]


def test_the_end_of_an_operation_interrupts(tmp_path: Path) -> None:
    keys = [store(REGISTERS + 4, K1), store(REGISTERS + 4, K2), store(CR, 0x201 | 1 << 24), store(0xE000_E100, 1 << 4)]
    result, _ = run(tmp_path, F4, [*keys, store(0x0818_0000, 0), load(0x0818_0000), load(0x0818_0000)])
    assert [(one.name, one.count) for one in result.profile.exceptions] == [("IRQ 4", 1)]
