"""Loops of the program ``loops`` on the emulated Cortex-M4, 0 wait states: cycles of a turn against a count by hand.

Each count is of the instructions between the loop's label and its branch, in order, from the instruction table and the
rules of the prefetch (docs/pages/reference/core-timing.md); ``bne`` has its refill of 1. All loops but one begin with a
wide instruction at an odd halfword, which costs a cycle a turn behind the branch: ``entry``. Data is in one SRAM.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import Image, load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import load_machine

A, B, C = 0x2001_0000, 0x2001_2000, 0x2001_4000


@cache
def board() -> tuple[Emulator, Image]:
    emulator = Emulator(load_machine("stm32f469i-disco", {"memory.flash.wait_states": "0"}))
    image = load_image(program_path("loops", "cortex-m4"))
    emulator.load(image, as_started=True)
    return emulator, image


def cycles(function: str, *arguments: int) -> int:
    emulator, image = board()
    emulator.set_stack(0x2001_0000, 0)
    before = emulator.cycles
    emulator.call(image.symbol(function).address, arguments)
    assert emulator.run().kind == "returned"
    return emulator.cycles - before


def put(address: int, values: Sequence[int], size: int) -> None:
    board()[0].write(address, b"".join(value.to_bytes(size, "little") for value in values))


def test_matrix_product() -> None:
    entry, two_loads, cmp, add, mla, bne = 1, 3, 1, 1, 1, 2
    inner = entry + two_loads + cmp + add + mla + bne

    def rows_apart(n: int) -> int:  # one element of c more for each column, so that only the inner loop differs
        return cycles("matrix", A, B, C, n)

    # c has n * n elements of n turns; second and third differences leave the turns of the inner loop
    third = rows_apart(5) - 3 * rows_apart(4) + 3 * rows_apart(3) - rows_apart(2)
    assert third == 6 * inner


def test_table_crc() -> None:
    entry, ldrb, eor, uxtb, cmp, ldr, bne = 1, 2, 1, 1, 1, 2, 2
    turn = entry + ldrb + eor + uxtb + cmp + ldr + eor + bne
    assert cycles("crc_table", A, 60, B) - cycles("crc_table", A, 20, B) == 40 * turn


def test_hash() -> None:
    entry, ldrb, eors, cmp, mul, bne = 1, 2, 1, 1, 1, 2
    turn = entry + ldrb + eors + cmp + mul + bne
    assert cycles("hash", A, 60) - cycles("hash", A, 20) == 40 * turn


def test_insertion_sort_of_what_is_in_reverse() -> None:
    ldr, cmp, bgt, subs, store, beq = 2, 1, 2, 1, 1, 1  # BGT is taken, BEQ is not
    turn = ldr + cmp + bgt + subs + store + beq

    def reverse(n: int) -> int:
        put(A, range(n, 0, -1), 4)
        return cycles("sort", A, n)

    assert reverse(12) - 2 * reverse(11) + reverse(10) == turn


@pytest.mark.parametrize(
    ("events", "turns"),
    [
        ([0], [2 + 1 + 1 + 2 + 3 + 1 + 1]),  # ldrb, and, cmp, beq taken; sub, clz, lsrs; cmp, beq not taken
        (
            [1, 0],
            [11, 2 + 1 + 1 + 1 + 1 + 2 + 4 + 2 + 1 + 1],
        ),  # cmp, beq, cmp, beq taken; sub, clz, lsrs, lsls; b; cmp, beq
    ],
)
def test_state_machine(events: list[int], turns: list[int]) -> None:
    put(A, events * 60, 1)
    count = 20 * len(events)
    assert cycles("states", A, count + 20) - cycles("states", A, 20) == count // len(turns) * sum(turns)
