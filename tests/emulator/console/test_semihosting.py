"""Semihosting as a program asks for it: output, exit status, what newlib's start-up code wants to know."""

from __future__ import annotations

import pytest

from tests.support.code.register_board import PROGRAM, RAM, Board, both
from tests.support.code.system_code import code


@both
@pytest.mark.parametrize(("reason", "value", "status"), [(0x20026, 0, 0), (0x20026, 7, 7), (0x20023, 0, 1)])
def test_semihosting_output_and_exit_status(isa: str, reason: int, value: int, status: int) -> None:
    board = Board(isa)
    board.emulator.write(RAM, b"text\0")
    assert board.run(code("movs r0, #4; bkpt #0xab; movs r0, #9; bx lr"), 0, RAM) == 9
    assert b"".join(board.printed) == b"text"
    board.emulator.write(RAM, reason.to_bytes(4, "little") + value.to_bytes(4, "little"))
    board.emulator.write(PROGRAM + 64, code("movs r0, #32; bkpt #0xab; movs r0, #9; bx lr"))
    board.emulator.call(PROGRAM + 64, (0, RAM))
    stop = board.emulator.run(100)
    assert (stop.kind, stop.status, board.emulator.registers()["r0"]) == ("exit", status, 32)


@both
def test_semihosting_features_and_heap(isa: str) -> None:
    """What newlib asks before it hands over an exit status, and what its crt0 asks before ``main``."""
    board = Board(isa)
    name, block, data = RAM + 0x100, RAM, RAM + 0x200

    def ask(operation: int, *words: int) -> int:
        board.emulator.write(block, b"".join(word.to_bytes(4, "little") for word in words))
        call = bytes([operation, 0x20]) + bytes.fromhex("abbe 7047")  # movs r0, #operation; bkpt 0xab; bx lr
        return board.run(call, 0, block)

    board.emulator.write(name, b":semihosting-features\0")
    board.emulator.write(data, b"\xff" * 16)
    handle = ask(1, name, 0, 21)
    assert handle not in (0, 0xFFFF_FFFF)
    assert (ask(0x0C, handle), ask(9, handle)) == (5, 0), "a file of five bytes, no console"
    assert ask(6, handle, data, 4) == 0
    assert ask(6, handle, data + 4, 4) == 3, "one byte is left"
    assert board.emulator.read(data, 5) == b"SHFB\3", "SYS_EXIT_EXTENDED, and standard error by append"
    assert (ask(0x0A, handle, 4), ask(6, handle, data, 1)) == (0, 0)
    assert board.emulator.read(data, 1) == b"\3"
    board.emulator.write(name, b":tt\0")
    console = ask(1, name, 4, 3)
    assert console != handle
    assert (ask(9, console), ask(6, console, data, 4)) == (1, 4)
    board.emulator.write(name, b":semihosting-other")
    assert ask(1, name, 0, 18) == 0xFFFF_FFFF
    assert ask(0x16, data) == 0
    assert board.emulator.read(data, 16) == bytes(16)
