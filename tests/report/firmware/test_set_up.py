"""The lines about what a firmware set up: what differs in a table, the rest in words, nothing without a store."""

from __future__ import annotations

import mcusim
from mcusim.kernels.test_programs import program_path
from mcusim.report.firmware.set_up_table import set_up_lines

F7 = "stm32f746g-disco"


def test_a_table_of_what_differs_and_lists_of_the_rest() -> None:
    result = mcusim.emulate(program_path("clock", "cortex-m7"), F7, set_up_costs=True)
    text = set_up_lines(result)
    rows = [line.split() for line in text if "FLASH_ACR" in line]
    assert [row[:3] for row in rows] == [
        ["memory.flash.wait_states", "7", "5"],
        ["memory.flash.accelerator.prefetch", "true", "false"],
    ]
    costs = [f"{int(cost or 0):+,}" for cost in result.set_up.costs.values()]
    assert [row[3] for row in rows] == costs and any("The run has the machine's figures" in line for line in text)
    assert any(line.startswith("  as the machine has it: core.clock 216 MHz") for line in text)
    assert any("cache.data off (never switched on)" in line for line in text)


def test_no_lines_where_nothing_was_set_up() -> None:
    assert set_up_lines(mcusim.emulate(program_path("loops", "cortex-m7"), F7, until="100 cycles")) == []
