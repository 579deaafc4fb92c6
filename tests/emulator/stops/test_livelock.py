"""Waits for memory that nothing changes end as endless polls; those that something ends run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.emulator import emulator
from mcusim.machine import load_machine
from tests.support.cases import only_with_all_cases
from tests.support.programs.register_script import POLL, poll, run, store, wait

F4, FLAG = load_machine("stm32f469i-disco"), 0x2000_2000
TIM2, ISER, WAITS = 0x4000_0000, 0xE000_E100, poll(0x2000_2000, 1, 1)


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "SLICE", 10_000)


def test_a_wait_for_memory_that_nothing_changes_has_its_place(tmp_path: Path) -> None:
    result, _ = run(tmp_path, F4, [store(FLAG, 6), WAITS])
    fault = result.stop.fault
    assert fault is not None and (fault.kind, fault.pc, fault.address) == ("endless poll", POLL, FLAG)
    assert "finds 0x6" in fault.text and result.exit_status == 1
    assert 10_000 < result.profile.issued < 60_000


def test_a_wait_that_an_interrupt_may_end_runs_on(tmp_path: Path) -> None:
    timer = [store(TIM2 + 0x2C, 999), store(TIM2 + 0x0C, 1), store(TIM2, 1), store(ISER, 1 << 28)]
    result, _ = run(tmp_path, F4, [*timer, WAITS], max_instructions=100_000)
    assert result.stop.kind in ("limit", "loop")  # its handler is an endless loop of its own


@only_with_all_cases
def test_a_loop_that_counts_or_stores_is_no_wait(tmp_path: Path) -> None:
    result, _ = run(tmp_path, F4, [wait(200_000)])
    assert result.stop.kind == "loop" and result.exit_status == 0
