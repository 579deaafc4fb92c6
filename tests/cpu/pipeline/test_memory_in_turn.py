"""What other accesses of the core cost a load of the emulated Cortex-M4: literals the fetch, the bus matrix the load.

The code is put into the flash byte by byte, without wait states; each count is by hand from the instruction table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from tests.support.code.cortex_m4_code import CODE

FLASH, SRAM1, SRAM2 = 0x0800_0000, 0x2000_0100, 0x2001_C100
NO_LINES = {f"memory.flash.accelerator.{key}": "0" for key in ("instruction_lines", "data_lines")}
WITHOUT = {**NO_LINES, "memory.flash.accelerator.prefetch": "false"}  # as FLASH_ACR is after reset
ADD, LITERAL, RETURN = "add.w r0, r1, r2", "ldr.w r0, [pc, #32]", "7047"
LDR_R1, LDR_R3 = "ldr r0, [r1]", "ldr r2, [r3]"


def cycles(texts: Sequence[str], r1: int, r3: int, settings: Mapping[str, str] | None = None) -> int:
    """Of a function of these instructions, called the second time."""
    emulator = Emulator(load_machine("stm32f407g-disc1", {"memory.flash.wait_states": "0", **(settings or {})}))
    emulator.write(FLASH, bytes.fromhex("".join(CODE[text] for text in texts) + RETURN))
    taken = 0
    for _ in range(2):
        emulator.set_stack(SRAM1 + 0x1000, 0)
        before = emulator.cycles
        emulator.call(FLASH | 1, (0, r1, 0, r3))
        assert emulator.run().kind == "returned"
        taken = emulator.cycles - before
    return taken


@pytest.mark.parametrize(
    ("settings", "late"),
    [
        ({}, 0),  # lines for code and for data: the buses do not meet
        (WITHOUT, 1),
        ({**WITHOUT, "memory.flash.accelerator.prefetch": "true"}, 0),  # the next line is read ahead
        ({**WITHOUT, "memory.flash.accelerator.instruction_lines": "64"}, 0),
    ],
)
def test_literals_meet_the_fetch_where_nothing_keeps_them_apart(settings: dict[str, str], late: int) -> None:
    literals = [ADD, LITERAL, LITERAL, *[ADD] * 5]  # the second line, at 16, is asked for in the literals' cycles
    others = [ADD, "ldr.w r0, [r1]", "ldr.w r2, [r3]", *[ADD] * 5]
    assert cycles(literals, SRAM1, SRAM1, settings) - cycles(others, SRAM1, SRAM1, settings) == late


@pytest.mark.parametrize(
    ("texts", "r1", "r3", "more", "without"),
    [
        ([LDR_R1], SRAM1, SRAM1, 0, 0),
        ([LDR_R1], SRAM2, SRAM1, 1, 0),
        ([LDR_R1, LDR_R3], SRAM2, SRAM2, 1, 0),  # back to back: arbitrated once
        ([LDR_R1, "adds r0, r1, r2", LDR_R3], SRAM2, SRAM2, 2, 0),
        ([LDR_R1, LDR_R3], SRAM1, SRAM2, 1, 1),  # not pipelined: nothing beyond that
        ([LDR_R1, LDR_R3], SRAM2, SRAM1, 2, 1),
        (["ldm r1, {r4, r5, r6}"], SRAM2, SRAM1, 1, 0),
        (["ldm r1, {r4, r5, r6}", LDR_R3], SRAM2, SRAM2, 2, 0),
        (["str r0, [r1]"], SRAM2, SRAM1, 0, 0),  # behind the write buffer
    ],
)
def test_the_matrix_is_arbitrated_for_the_first_of_reads_back_to_back(
    texts: list[str], r1: int, r3: int, more: int, without: int
) -> None:
    ideal = cycles(texts, SRAM1, SRAM1)
    assert cycles(texts, r1, r3) - ideal == more
    assert cycles(texts, r1, r3, {"memory.sram2.read_arbitration": "0 cycles"}) - ideal == without
