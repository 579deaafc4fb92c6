"""Programs that abuse core and registers end with a stop that has a name; nothing else comes out."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mcusim.api.firmware.emulate import emulate
from tests.support.cases import sample_size
from tests.support.images.hostile_programs import ABUSES, FLASH, Piece, halfwords, hostile_program, load

ENDS = {"idle", "loop", "limit", "exit", "reset", "returned", "main", "fault"}


def poke(address: int, word: int) -> bytes:
    return load(0, address) + load(1, word) + halfwords(0x6001)


@pytest.mark.parametrize("abuse", ABUSES, ids=lambda abuse: abuse.__name__)
def test_a_hostile_program_ends_soon_and_says_how(abuse: Piece, tmp_path: Path) -> None:
    """``scripts/evidence/firmware/hostile_images`` runs hundreds of them by the command."""
    for seed in range(sample_size(2, 1)):
        path, _, machine, *_ = hostile_program(tmp_path, abuse, seed)
        result = emulate(path, machine, peripherals="lenient", max_instructions=2000)
        assert result.stop.kind in ENDS and result.profile.issued <= 2100
        assert (result.stop.fault is not None) is (result.stop.kind == "fault")


def test_a_sleep_that_a_masked_tick_cannot_end_is_idle_at_once(tmp_path: Path) -> None:
    """In a handler above SysTick, which pends and does not wake the core; nothing else is to come."""
    path = tmp_path / "a.bin"
    tick = poke(0xE000_ED20, 0xFF00_0000) + poke(0xE000_E014, 99) + poke(0xE000_E010, 7)
    code = tick + halfwords(0xDF00, 0xE7FE, 0xBF30, 0xE7FE)  # SVC; its handler: WFI
    handler = FLASH + 0x40 + len(tick) + 4 | 1
    table = struct.pack("<16I", 0x2000_4000, FLASH + 0x41, *(14 * [handler]))
    path.write_bytes(table + code)
    result = emulate(f"{path}@{FLASH:#x}", "stm32f469i-disco", max_instructions=1000)
    assert result.stop.kind == "idle" and result.profile.cycles < 300
