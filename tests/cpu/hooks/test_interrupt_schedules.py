"""Interrupts at random moments leave the program's state as it would have been, and cost the same however it is cut."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unicorn import arm_const as arm

from mcusim.cpu.emulator import Emulator
from mcusim.cpu.system.exception_layout import ENABLED, FIRST_LINE, GROUP_SHIFT, PENDING, PRIORITY
from mcusim.cpu.system.ppb import BASE
from tests.support.code import random_thumb as guest

RELAXED = settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
VECTORS, HANDLER, MAIN_STACK = 0x0800_8000, 0x0800_8100, 0x2001_4000
STACKS = ((guest.STACK - 0x1000, guest.STACK), (MAIN_STACK - 0x1000, MAIN_STACK))
# movs r0 to r3, #0; mov r12, r0; vmov s0 and s15, r0; vcmp.f32 s0, s15; vmrs apsr_nzcv, fpscr; cmp r0, #1; it ne; addne
# r3, #1; bx lr
CLOBBERS = bytes.fromhex("0020002100220023844600ee100a07ee900ab4ee670af1ee10fa012818bf01337047")
LINES = 6
Schedule = list[tuple[int, int]]
SCHEDULES = st.lists(st.tuples(st.integers(1, 600), st.integers(0, LINES - 1)), min_size=1, max_size=30)


def started(program: guest.Program, isa: str, control: int) -> Emulator:
    """CONTROL: FPCA, as the program has floating-point state; on the process stack; unprivileged."""
    emulator = guest.hooked(program, isa)
    emulator.write(VECTORS, struct.pack("<64I", *[HANDLER | 1] * 64))
    emulator.write(HANDLER, CLOBBERS)
    emulator.write(BASE + 0xED08, struct.pack("<I", VECTORS))
    emulator.interrupts.with_vectors()
    uc = emulator.core.uc
    if control & 2:
        uc.reg_write(arm.UC_ARM_REG_MSP, MAIN_STACK)
        uc.reg_write(arm.UC_ARM_REG_PSP, guest.STACK)
    uc.reg_write(arm.UC_ARM_REG_CONTROL, control)
    return emulator


def disturb(emulator: Emulator, schedule: Schedule, levels: list[int], shift: int) -> list[int]:
    """Enter the pulses of ``schedule``; what is returned counts those that were not pending already."""
    state = emulator.interrupts.state
    state[ENABLED + 1] = (1 << LINES) - 1
    state[GROUP_SHIFT] = shift
    state[PRIORITY + FIRST_LINE : PRIORITY + FIRST_LINE + LINES] = levels
    asked = [0] * LINES

    def pulse(line: int) -> None:
        asked[line] += not state[PENDING + 1] >> line & 1
        emulator.interrupts.pend(line)

    for cycle, line in schedule:
        emulator.at(cycle, lambda line=line: pulse(line))  # type: ignore[misc]
    return asked


def left(emulator: Emulator) -> dict[str, Any]:
    """Registers and memory, the stacks' garbage apart."""
    state: dict[str, Any] = guest.guest_state(emulator.core)
    for low, high in STACKS:
        emulator.write(low, bytes(high - low))
    return state | guest.guest_memory(emulator.core, emulator.machine)


@pytest.mark.parametrize("isa", list(guest.MACHINES))
@RELAXED
@given(
    program=guest.programs(20),
    schedule=SCHEDULES,
    levels=st.lists(st.sampled_from(range(0, 256, 16)), min_size=LINES, max_size=LINES),
    shift=st.integers(1, 8),
    control=st.sampled_from([4, 6, 7]),
    cut=st.integers(1, 7),
)
def test_interrupts_leave_the_programs_state(
    isa: str, program: guest.Program, schedule: Schedule, levels: list[int], shift: int, control: int, cut: int
) -> None:
    alone = started(program, isa, control)
    assert alone.run(100_000).kind == "returned"
    whole = started(program, isa, control)
    asked = disturb(whole, schedule, levels, shift)
    assert whole.run(100_000).kind == "returned"
    pending = [int(whole.interrupts.state[PENDING + 1]) >> line & 1 for line in range(LINES)]
    served = {one.number - 16: one.count for one in whole.interrupts.counts()}
    assert [served.get(line, 0) + pending[line] for line in range(LINES)] == asked
    pieces = started(program, isa, control)
    disturb(pieces, schedule, levels, shift)
    while pieces.run_until(pieces.cycles + cut).kind == "horizon":
        pass
    assert (pieces.cycles, pieces.instructions) == (whole.cycles, whole.instructions)
    assert left(pieces) == left(whole) == left(alone)
