"""Which stores store a constant, by their code."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mcusim.cpu.decode.constant_stores import stores_constant
from mcusim.image.image import load_image
from tests.support.code.elf_writer import write_elf

AT = 0x0800_0100
CASES = {
    "2201 701a": 2,  # movs r2, #1; strb r2, [r3]
    "f04f 0201 601a": 4,  # mov.w r2, #1; str r2, [r3]
    "4a01 601a 4770 0000": 2,  # ldr r2, [pc, #4]; str r2, [r3]
    "2201 2800 d000 3301 601a": 8,  # a branch over code that does not change r2
    "b148 2201 601a": 4,  # cbz r0 before it
}
OTHERS = {
    "681a 3a01 601a": 4,  # ldr r2, [r3]; subs r2, #1; str r2, [r3]: a counter
    "681a 601a": 2,  # what was loaded
    "2201 e000 6812 601a": 6,  # behind a branch
    "2201 2800 d000 2202 601a": 8,  # one of two
    "2201 f7ff fffc 601a": 6,  # a call may change r2
    "2201 3a01 601a d1fc": 4,  # subs r2, #1 goes before it
    "2201 601a 3a01 d1fc": 2,  # and behind it, in a loop
    "2201 e9c3 2200": 2,  # strd: two words
}


def constant(folder: Path, halfwords: str, offset: int) -> bool:
    code = struct.pack(f"<{len(halfwords.split())}H", *(int(one, 16) for one in halfwords.split()))
    program = load_image(write_elf(folder / "a.elf", code, AT, {"handler": AT}))

    def peek(address: int, size: int) -> bytes:
        return code[address - AT :].ljust(size, b"\0")[:size]

    return stores_constant(peek, program, AT + offset)


@pytest.mark.parametrize("code", CASES)
def test_a_constant(tmp_path: Path, code: str) -> None:
    assert constant(tmp_path, code, CASES[code])


@pytest.mark.parametrize("code", OTHERS)
def test_no_constant(tmp_path: Path, code: str) -> None:
    assert not constant(tmp_path, code, OTHERS[code])


def test_code_without_a_symbol_is_not_known(tmp_path: Path) -> None:
    program = load_image(write_elf(tmp_path / "a.elf", bytes(8), AT))
    assert not stores_constant(lambda address, size: bytes(size), program, AT)
