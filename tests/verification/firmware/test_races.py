"""Which changes of a word in two steps an interrupt handler can come between: what masks it, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.api.firmware.verify import firmware_case, watch_firmware
from mcusim.verification.firmware.finding import FirmwareFinding
from tests.support.boards.dma_bench import F469
from tests.support.programs.register_script import FLASH, TABLE, TOP

# From reset: store pairs of address and value up to a zero; then r3-r7, and 60 times, with a pause in between:
# "str r5, [r4]; dsb; ldr r0, [r7]" (where r3 is 0, else the load comes first), "adds r0, #1; str r0, [r7]; str r6,
# [r4]"; an exit. The handler of TIM3 clears SR, loads a dozen other words (as FreeRTOS' queues do before they look
# whether the scheduler is suspended), and unless the word at GUARD is set: "ldr r1, [r0, #4]; adds r1, #1; str r1, [r0,
# #4]".
CODE = bytes.fromhex(
    "1ca703cf08b10160fbe7f8cf3c222bb92560bff34f8f3868013004e038682560bff34f8f013038602660c8200138fdd1013aecd118200149"
    "abbefee7260002000a48002101600a48016c416c816cc16c016d416d816dc16d016e416e816ec16e016811b9416801314160704710040040"
    "00100020"
)
HANDLER = FLASH + 4 * TABLE + 0x40
GUARD, COUNT, ELSEWHERE = 0x2000_1000, 0x2000_1004, 0x2000_2000
TIM3, LINE, PENDING = 0x4000_0400, 29, 0xE000_E200
DIER = TIM3 + 0xC
STARTED = [(0x4002_3840, 2), (TIM3 + 0x2C, 400), (DIER, 1), (TIM3, 1), (0xE000_E100, 1 << LINE)]
ENABLED = [(0xE000_E100, 1 << LINE)]


def findings(
    folder: Path, pairs: list[tuple[int, int]], late: bool, mask: tuple[int, int, int]
) -> list[FirmwareFinding]:
    vectors = [TOP, FLASH + 4 * TABLE | 1] + [HANDLER | 1] * (TABLE - 2)
    words = [word for pair in pairs for word in pair] + [0, 0, int(late), *mask, COUNT]
    path = folder / "race.bin"
    path.write_bytes(
        b"".join(w.to_bytes(4, "little") for w in vectors) + CODE + b"".join(w.to_bytes(4, "little") for w in words)
    )
    result = watch_firmware(firmware_case(f"{path}@{FLASH:#x}", F469, max_instructions=100_000))
    assert result.run.status == 0 and result.run.fault is None
    return list(result.findings)


@pytest.mark.parametrize(
    ("mask", "late", "races"),
    [
        ((ELSEWHERE, 1, 0), False, True),
        ((DIER, 0, 1), False, False),  # the timer's own enable bit
        ((DIER, 0, 1), True, True),  # cleared after the load
        ((DIER, 1, 1), False, True),  # not cleared
        ((GUARD, 1, 0), False, False),  # a word that the handler looks at first
        ((ELSEWHERE, 1, 0), True, True),
    ],
)
def test_what_the_handler_can_come_between(tmp_path: Path, mask: tuple[int, int, int], late: bool, races: bool) -> None:
    found = findings(tmp_path, STARTED, late, mask)
    assert [one.rule for one in found] == ["race"] * races
    assert all((one.low, one.times) == (COUNT, 60) or one.times > 50 for one in found)


def test_a_handler_that_the_program_pends_itself_needs_no_peripheral(tmp_path: Path) -> None:
    """It comes between load and store each time, with more instructions than may lie between the two."""
    assert [one.rule for one in findings(tmp_path, ENABLED, False, (PENDING, 1 << LINE, 0))] == ["race"]
