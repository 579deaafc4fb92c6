"""PWR of the L4+ and H7: the flags of a change of the voltage scale, cycle by cycle."""

from __future__ import annotations

import pytest

from mcusim.machine import load_machine
from mcusim.soc.machine_blocks import blocks_of
from tests.support.bare_clock import Clock

TIME = 20  # cycles of a clock of 1 MHz


@pytest.mark.parametrize(
    ("board", "control", "scale", "flags"),
    [
        ("nucleo-l4r5zi", 0x00, 0x400, {0x14: (0x400, 0)}),
        ("nucleo-h743zi", 0x18, 0xC000, {0x18: (0x2000, 0x2000), 0x04: (0xE000, 0xE000)}),
    ],
)
def test_the_flag_of_a_new_scale_comes_after_its_time(
    board: str, control: int, scale: int, flags: dict[int, tuple[int, int]]
) -> None:
    clock = Clock()
    pwr = next(block for block in blocks_of(load_machine(board), clock) if block.name == "PWR")
    assert not pwr.waiting
    pwr.write(control, 4, scale)
    for after in (0, TIME - 1, TIME, TIME + 5):
        clock.cycles = after
        ready = all(pwr.read(offset, 4) & mask == level for offset, (mask, level) in flags.items())
        assert ready == (after >= TIME) == (not pwr.waiting)
    pwr.write(control, 4, pwr.read(control, 4))
    assert not pwr.waiting  # the same scale again
