"""Registers: what a store changes, what a load finds, and when a status bit follows a control bit."""

from __future__ import annotations

import pytest

from mcusim.soc.register_block import DelayedStatus, Register, RegisterBlock
from tests.support.bare_clock import Clock


def block(*registers: Register) -> tuple[RegisterBlock, Clock]:
    clock = Clock()
    return RegisterBlock("B", 0x4000_0000, 1024, {4 * n: one for n, one in enumerate(registers)}, clock), clock


@pytest.mark.parametrize(
    ("register", "stored", "read"),
    [
        (Register("R", reset=0xF0, writable=0x0F), 0xFF, 0xFF),
        (Register("R", reset=0xF0, writable=0x0F), 0x05, 0xF5),
        (Register("R", reset=0xF0, writable=0x0F, w1c=0x30), 0x15, 0xE5),
        (Register("R", self_clearing=0x1), 0x3, 0x2),
        (Register("R", reset=7, writable=0), 0x0, 0x7),
    ],
)
def test_store_and_load(register: Register, stored: int, read: int) -> None:
    b, _ = block(register)
    b.write(0, 4, stored)
    assert b.read(0, 4) == read


def test_bytes_and_halfwords_change_their_part() -> None:
    b, _ = block(Register("R", reset=0x1122_3344))
    b.write(1, 1, 0xAA)
    b.write(2, 2, 0xBBCC)
    assert (b.read(0, 4), b.read(3, 1), b.read(0, 2)) == (0xBBCC_AA44, 0xBB, 0xAA44)


def test_a_load_clears() -> None:
    b, _ = block(Register("R", reset=3, read_clears=1))
    assert (b.read(0, 4), b.read(0, 4)) == (3, 2)


def test_a_bit_follows_at_its_cycle_and_falls_at_once() -> None:
    b, clock = block(Register("CR", writable=0xFD, follows=(DelayedStatus(0, 1, 1, 100),)))
    clock.cycles = 50
    b.write(0, 4, 1)
    clock.cycles = 149
    assert b.read(0, 4) == 1 and b.waiting
    b.write(0, 4, 5)  # another bit: the time goes on
    clock.cycles = 150
    assert b.read(0, 4) == 7 and not b.waiting
    b.write(0, 4, 4)
    assert b.read(0, 4) == 4
    b.write(0, 4, 5)
    b.write(0, 4, 4)  # taken back before its time
    clock.cycles = 1000
    assert b.read(0, 4) == 4 and not b.waiting


def test_a_field_changes_as_a_whole_in_another_register() -> None:
    b, clock = block(
        Register("CR"), Register("SR", reset=1 << 2, writable=0, follows=(DelayedStatus(0, 3, 2, 10, True),))
    )
    b.write(0, 4, 2)
    assert b.read(4, 4) == 1 << 2
    clock.cycles = 10
    assert b.read(4, 4) == 2 << 2
