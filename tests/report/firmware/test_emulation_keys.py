"""Every key of an emulated program's JSON is described, and every description has its key."""

from __future__ import annotations

from functools import cache
from typing import Any

import mcusim
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.report.firmware.json import emulation_json
from mcusim.report.firmware.keys import EMULATION_KEYS, emulation_json_page
from mcusim.report.json_keys import described
from tests.support.paths import REPOSITORY

F746 = "stm32f746g-disco"
RARE = ("faults[]", "findings[]", "set_up.refused", "warnings[]", "clock.stayed", "stop.fault.branches", "reset_log[]")


@cache
def rows() -> list[Any]:
    faults = program_path("faults", "cortex-m7")
    conv = program_path("conv", "cortex-m7")
    runs = [
        mcusim.emulate(conv, F746, call="lcg", arguments=[0x2000_0000], dumps=["0x20000000:4"]),
        mcusim.emulate(faults, F746, call="fault_load", arguments=[0x3000_0000]),
        mcusim.emulate(program_path("dma", "cortex-m7"), F746, overrides={"core.clock": "108 MHz"}),
        mcusim.emulate(program_path("rtos", "cortex-m7", FIRMWARE), F746, until="1 ms"),
    ]
    return [emulation_json(run) for run in runs]


def test_every_key_is_described() -> None:
    missing = {path for row in rows() for path, key in described(row, EMULATION_KEYS) if key is None}
    assert missing == set(), "describe new keys in mcusim/report/firmware/keys.py, with the type that they have"


def test_every_description_has_its_key() -> None:
    seen = {key for row in rows() for _, key in described(row, EMULATION_KEYS)}
    assert {key for key in set(EMULATION_KEYS) - seen if not key.startswith(RARE)} == set()


def test_the_page_lists_them() -> None:
    page = emulation_json_page()
    assert (REPOSITORY / "docs/pages/reference/emulate-json.md").read_text(encoding="utf-8").endswith(page)
