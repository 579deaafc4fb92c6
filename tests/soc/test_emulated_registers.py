"""Programs on register blocks: start-up from reset, bit-band, missing blocks, polls, the stack pointer's low bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.api.firmware.emulate import emulate
from mcusim.cpu.unicorn_core import whole_pages
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Fault, Stop
from mcusim.kernels.test_programs import program_path
from mcusim.machine import Machine, load_machine
from mcusim.soc.bus import Strictness
from tests.support.code import random_thumb as guest
from tests.support.code.system_code import code

F4, F7 = load_machine("stm32f469i-disco"), load_machine("stm32f746g-disco")
AT, STACK = guest.FLASH + 0x100, guest.RAM + 0x8000
RCC = 0x4002_3800


def run(isa: str, text: bytes, peripherals: Strictness = "strict", **registers: int) -> tuple[Emulator, Stop]:
    emulator = Emulator(F4 if isa == "cortex-m4" else F7, peripherals=peripherals)
    emulator.write(AT, text)
    emulator.set_stack(STACK, STACK - 0x400)
    emulator.call(AT)
    for name, value in registers.items():
        emulator.core[name] = value
    return emulator, emulator.run(100_000)


def fault(stop: Stop) -> Fault:
    assert stop.fault is not None, stop
    return stop.fault


@pytest.mark.parametrize(("core", "machine"), [("cortex-m4", F4), ("cortex-m7", F7)])
def test_a_clock_set_up_runs_from_reset_to_its_end(core: str, machine: Machine) -> None:
    shown = bytearray()
    result = emulate(program_path("clock", core), machine, output=shown.extend)
    assert result.stop.kind == "exit" and result.exit_status == 0
    assert shown.startswith(b"clocks 0\n")
    # oscillator 2 ms, over-drive 2 x 45 us, PLL 300 us at most, at the 16 MHz of the internal oscillator
    assert 16 * 2.2e3 < result.profile.cycles < 16 * 2.6e3


def test_bit_band_of_peripherals_and_of_memory() -> None:
    text = code("str r0, [r1]; str r0, [r2]; ldr r3, [r2]; ldr r4, [r5]; bx lr")
    emulator, stop = run("cortex-m4", text, r0=1, r1=0x4247_0000 + 16 * 4, r2=0x2200_0000 + 0x1004 * 32 + 9 * 4, r5=RCC)
    assert stop.kind == "returned"
    assert emulator.read(guest.RAM + 0x1004, 4) == (1 << 9).to_bytes(4, "little")
    assert emulator.core["r3"] == 1 and emulator.core["r4"] == 0x1_0083


def test_no_bit_band_on_a_cortex_m7() -> None:
    _, stop = run("cortex-m7", code("str r0, [r1]; bx lr"), r1=0x4247_0040)
    assert stop.kind == "fault"


def test_a_missing_block_is_named_or_keeps_what_is_stored() -> None:
    text = code("str r0, [r1]; ldr r2, [r1]; bx lr")
    _, stop = run("cortex-m7", text, r0=5, r1=0x5006_0000)
    assert fault(stop).kind == "no such peripheral" and "CRYP + 0x00" in fault(stop).text
    emulator, stop = run("cortex-m7", text, "lenient", r0=5, r1=0x5006_0000)
    assert stop.kind == "returned" and emulator.core["r2"] == 5
    [found] = emulator.peripherals.findings()
    assert (found.rule, found.count, found.pc, found.address) == ("undescribed-block", 2, AT, 0x5006_0000)
    assert found.text.startswith("CRYP has no description")


def test_a_poll_that_can_never_end_is_named() -> None:
    """PLLRDY without PLLON."""
    emulator, stop = run("cortex-m7", code("1: ldr r0, [r1]; tst r0, #0x2000000; beq 1b; bx lr"), r1=RCC)
    found = fault(stop)
    assert (found.kind, found.pc, found.address) == ("endless poll", AT, RCC) and "RCC_CR" in found.text
    assert emulator.instructions < 10_000


def test_a_poll_with_a_bit_to_come_or_a_count_is_let_run() -> None:
    polled = code("str r2, [r1]; 1: ldr r0, [r1]; tst r0, #0x2000000; beq 1b; bx lr")
    _, stop = run("cortex-m7", polled, r1=RCC, r2=0x100_0083)
    assert stop.kind == "returned"
    counted = code("1: ldr r0, [r1]; subs r2, #1; bne 1b; bx lr")
    _, stop = run("cortex-m7", counted, r1=RCC, r2=20_000)
    assert stop.kind == "returned"


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m7"])
def test_the_two_lowest_bits_of_the_stack_pointer_are_ignored(core: str) -> None:
    emulator, stop = run(
        core, code("mov r5, sp; mov sp, r4; push {r0, r1}; mov r6, sp; mov sp, r5; bx lr"), r4=STACK - 1
    )
    assert stop.kind == "returned"
    assert emulator.core["r6"] == STACK - 4 - 8


def test_reset_with_an_odd_stack_top(tmp_path: Path) -> None:
    """As linker scripts of ST have it: _estack = 0x2004FFFF."""
    data = program_path("loops", "cortex-m7").read_bytes()
    top = (0x2001_0000).to_bytes(4, "little")
    at = data.index(top)
    path = tmp_path / "odd.elf"
    path.write_bytes(data[:at] + (0x2000_FFFF).to_bytes(4, "little") + data[at + 4 :])
    result = emulate(path, F7)
    assert result.exit_status == 0 and result.stack.top == 0x2000_FFFC


def test_blocks_in_neighbouring_pages_are_mapped_together() -> None:
    ranges = [(0x5000, 0x6001), (0x10, 0x20), (0x1000, 0x1400), (0x30, 0x40)]
    assert whole_pages(ranges) == [(0, 0x2000), (0x5000, 0x7000)]
