"""Hardware semaphores: taken by one process at a time, freed by the same."""

from __future__ import annotations

from mcusim.soc.peripherals.hsem import CORE, LOCK, Hsem
from tests.support.bare_clock import Clock


def test_a_semaphore_is_taken_once_and_freed_by_its_owner() -> None:
    block = Hsem("HSEM", 0x5802_6400, 0x400, {}, Clock())
    block.write(0x08, 4, LOCK | CORE | 5)
    block.write(0x08, 4, LOCK | CORE | 6)
    assert block.read(0x08, 4) == LOCK | CORE | 5
    block.write(0x08, 4, CORE | 6)
    assert block.read(0x08, 4) & LOCK
    block.write(0x08, 4, CORE | 5)
    assert not block.read(0x08, 4) & LOCK
    block.write(0x08, 4, LOCK | 1 << 8)  # of a core that is not there
    assert not block.read(0x08, 4) & LOCK


def test_a_load_takes_a_free_semaphore() -> None:
    block = Hsem("HSEM", 0x5802_6400, 0x400, {}, Clock())
    assert block.read(0x80 + 4 * 31, 4) == LOCK | CORE == block.read(4 * 31, 4)
    block.write(0, 4, LOCK | CORE | 9)
    assert block.read(0x80, 4) == LOCK | CORE | 9  # another process has it
