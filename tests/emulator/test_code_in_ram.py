"""Code in RAM that changes, and data next to it."""

from __future__ import annotations

import pytest

from tests.support.code.register_board import RAM, Board, both
from tests.support.code.system_code import code


@both
def test_code_that_rewrites_itself(isa: str) -> None:
    """A function in RAM, called, rewritten by stores of the core, called again."""
    board = Board(isa)
    function = RAM + 0x2000
    for value in (1, 2, 3, 2):
        word = int.from_bytes(code("movs r0, #1; bx lr"), "little") & ~0xFF | value
        board.poke(function, word)
        assert board.call(function) == value
        assert board.call(function) == value


@both
def test_one_call_rewrites_code_behind_itself(isa: str) -> None:
    """The store, DSB, ISB and the rewritten instruction, all in RAM, a loop of it: counts up in the code itself."""
    board = Board(isa)
    at = RAM + 0x2000
    # loop: ldrb r2, [r1]; adds r2, #1; strb r2, [r1]; dsb; isb; b next; next: movs r3, #0; subs r0, #1; bne loop
    program = code("1: ldrb r2, [r1]; adds r2, #1; strb r2, [r1]; dsb; isb; b 2f; 2: movs r3, #0; subs r0, #1; bne 1b")
    board.emulator.write(at, program + code("movs r0, r3; bx lr"))
    assert board.call(at, 50, at + 16) == 50


@both
def test_stores_next_to_code_in_ram_decode_nothing_again(isa: str) -> None:
    """Two functions in RAM, and data between them and in the same 64 bytes: each block is decoded once."""
    board = Board(isa)
    caller, other = RAM + 0x1000, RAM + 0x3000
    loop = code("push {lr}; 1: str r1, [r0]; str r1, [r2]; blx r3; subs r1, #1; bne 1b; pop {pc}")
    board.emulator.write(caller, loop)
    board.emulator.write(other, code("movs r4, #1; bx lr"))
    board.call(caller, RAM + 0x2000, 10, caller + 32, other | 1)
    known = len(board.emulator.tables.known)
    board.call(caller, RAM + 0x2000, 1000, caller + 32, other | 1)
    assert len(board.emulator.tables.known) == known


@both
@pytest.mark.parametrize("before", [0, 16])  # the store begins 64 bytes' end, or in the same
def test_a_store_that_only_ends_in_code(isa: str, before: int) -> None:
    board = Board(isa)
    at = RAM + 0x2000 + before
    board.emulator.write(at, code("movs r0, #1; bx lr"))
    assert board.call(at) == 1
    decoded = len(board.emulator.tables.known)
    board.poke(at - 2, 0x2002 << 16)  # MOVS r0, #2 in its upper half
    assert board.call(at) == 2
    assert len(board.emulator.tables.known) > decoded


def test_a_divide_of_two_blocks_one_of_them_rewritten() -> None:
    """The other's code is still translated with the hook, which counts in the tables, also when they have moved."""
    board = Board("cortex-m4")
    tables, at, more = board.emulator.tables, RAM + 0x2000, RAM + 0x9000
    divide, load = code("nop; nop; nop; nop; sdiv r0, r0, r1; bx lr"), code("ldr r0, [r1]; bx lr")
    board.emulator.write(at, divide)
    assert board.call(at, 100, 7) == board.call(at + 4, 100, 7) == 14
    board.poke(at, int.from_bytes(divide[:4], "little"))

    def divides() -> int:
        records = {record for block in tables.known for _, record in block.divides}
        return sum(tables.accesses.records[record].count for record in records)

    before, count = tables.accesses, divides()
    board.emulator.write(more, load[:2] * 4200 + load[2:])
    board.call(more, 0, RAM)
    assert tables.accesses is not before
    assert board.call(at + 4, 100, 7) == 14
    assert divides() == count + 1
