"""How a program starts: vector tables, entry points, stacks."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mcusim.emulator.startup import Start, stack_is_reserved, stack_limit, stack_top, start, start_at
from mcusim.errors import ImageError
from mcusim.image.image import load_image
from mcusim.image.programs import load_programs
from mcusim.machine import Machine, load_machine
from tests.support.code.elf_writer import OBJECT, DataSegment, ElfSymbol, write_elf
from tests.support.code.images import CODE, DTCM, FLASH, ITCM_FLASH, SRAM, STACK, absolute, with_symbols


@pytest.fixture(scope="module")
def f746() -> Machine:
    return load_machine("stm32f746g-disco")


def vectors(sp: int, reset: int) -> bytes:
    return struct.pack("<II", sp, reset) + bytes(56)


@pytest.mark.parametrize("base", [FLASH, ITCM_FLASH, 0x2001_0000, 0x0000_0000])
def test_starts_from_the_reset_vector(tmp_path: Path, f746: Machine, base: int) -> None:
    image = load_image(write_elf(tmp_path / "a.elf", vectors(STACK, base + 65) + CODE, base))
    assert start(image, f746) == Start("reset", base + 64, STACK, base)


def test_the_lowest_bits_of_the_first_stack_pointer_are_ignored(tmp_path: Path, f746: Machine) -> None:
    image = load_image(write_elf(tmp_path / "a.elf", vectors(STACK - 1, FLASH + 65) + CODE, FLASH))
    found = Start("reset", FLASH + 64, STACK - 4, FLASH)
    assert start(image, f746) == start_at(image, f746, FLASH) == found


def test_code_used_at_the_alias_and_loaded_to_flash(tmp_path: Path, f746: Machine) -> None:
    path = write_elf(tmp_path / "a.elf", vectors(STACK, ITCM_FLASH + 65) + CODE, ITCM_FLASH, load_address=FLASH)
    assert start(load_image(path), f746) == Start("reset", ITCM_FLASH + 64, STACK, FLASH)


def test_a_reset_vector_may_name_the_alias_of_what_is_loaded(tmp_path: Path, f746: Machine) -> None:
    image = load_image(write_elf(tmp_path / "a.elf", vectors(STACK, ITCM_FLASH + 65) + CODE, FLASH))
    assert start(image, f746) == Start("reset", ITCM_FLASH + 64, STACK, FLASH)


def test_a_vector_table_behind_other_data_is_found_by_its_symbol(tmp_path: Path, f746: Machine) -> None:
    code = bytes(128) + vectors(STACK, FLASH + 0x10C1) + CODE
    symbols = {"g_pfnVectors": ElfSymbol(FLASH + 0x1080, 64, OBJECT)}
    image = load_image(write_elf(tmp_path / "a.elf", code, FLASH + 0x1000, symbols))
    assert start(image, f746) == Start("reset", FLASH + 0x10C0, STACK, FLASH + 0x1080)


def test_a_vector_table_is_where_vtor_can_name_it(tmp_path: Path, f746: Machine) -> None:
    program = tmp_path / "a.bin"
    program.write_bytes(vectors(STACK, FLASH + 0x20C1) + CODE)
    with pytest.raises(ImageError, match=r"0x0800_2040 is no multiple of 128"):
        start(load_programs([f"{program}@0x08002040"]), f746)


@pytest.mark.parametrize(
    ("sp", "reset"),
    [
        (STACK + 4, FLASH + 65),  # behind writable memory
        (FLASH + 64, FLASH + 65),  # not writable
        (STACK, FLASH + 64),  # no Thumb bit
        (STACK, FLASH + 0x1001),  # not in code
    ],
)
def test_an_implausible_vector_table_means_the_entry_point(tmp_path: Path, f746: Machine, sp: int, reset: int) -> None:
    image = load_image(write_elf(tmp_path / "a.elf", vectors(sp, reset) + CODE, FLASH, entry=FLASH + 0x81))
    assert start(image, f746) == Start("entry", FLASH + 0x80, SRAM + (240 << 10), None)


def test_an_entry_point_outside_of_code_is_an_error(tmp_path: Path, f746: Machine) -> None:
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, entry=0x0900_0001))
    with pytest.raises(ImageError, match="entry point 0x0900_0001 is in no executable segment; link it with"):
        start(image, f746)


def test_stack_top_from_symbols_that_are_in_memory(tmp_path: Path, f746: Machine) -> None:
    assert stack_top(with_symbols(tmp_path, ("_estack", absolute(STACK))), f746) == STACK
    assert stack_top(with_symbols(tmp_path, ("__StackTop", absolute(0x2000_8004))), f746) == 0x2000_8000
    newlib = with_symbols(tmp_path, ("__stack", absolute(0x8_0000)))  # of newlib's own linker script
    assert stack_top(newlib, f746) == SRAM + (240 << 10)


def test_stack_top_avoids_a_region_that_data_fills(tmp_path: Path, f746: Machine) -> None:
    full = DataSegment(SRAM, b"", 240 << 10)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[full]))
    assert stack_top(image, f746) == DTCM + (64 << 10)


def test_stack_limit(tmp_path: Path) -> None:
    size, end = ("_Min_Stack_Size", absolute(0x400)), ("end", absolute(0x2001_4000))
    assert stack_limit(with_symbols(tmp_path), STACK) is None
    assert stack_limit(with_symbols(tmp_path, size), STACK) == STACK - 0x400
    assert stack_limit(with_symbols(tmp_path, size, end), STACK) == 0x2001_4000
    limit = ("__StackLimit", absolute(0x2004_0000))
    assert stack_limit(with_symbols(tmp_path, size, end, limit), STACK) == 0x2004_0000
    data = DataSegment(SRAM, b"abcd", 0x800)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[data]))
    assert stack_limit(image, STACK) == SRAM + 0x800


def test_a_stack_that_ends_where_static_data_does_is_not_reserved(tmp_path: Path) -> None:
    size, end = ("_Min_Stack_Size", absolute(0x400)), ("end", absolute(0x2001_4000))
    assert not stack_is_reserved(with_symbols(tmp_path, size, end), STACK)
    assert stack_is_reserved(with_symbols(tmp_path, end, ("__StackLimit", absolute(0x2004_0000))), STACK)
    assert stack_is_reserved(with_symbols(tmp_path, size), STACK)
