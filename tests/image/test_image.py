"""ELF images: what is read from them, where it goes on a machine."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mcusim.errors import ImageError
from mcusim.image.image import check_placements, load_image
from mcusim.machine import Machine, load_machine
from tests.support.code.elf_writer import EXECUTE, LABEL, OBJECT, READ, WRITE, DataSegment, ElfSymbol, write_elf
from tests.support.code.images import CODE, DTCM, ELVES, FLASH, ITCM_FLASH, SRAM, patched, with_symbols


@pytest.fixture(scope="module")
def f746() -> Machine:
    return load_machine("stm32f746g-disco")


@pytest.fixture(scope="module")
def f469() -> Machine:
    return load_machine("stm32f469i-disco")


def test_segments_and_entry(tmp_path: Path) -> None:
    data = DataSegment(DTCM, b"\x05\x00\x00\x00", 44, load_address=FLASH + 0x100)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[data]))
    code, ram = image.segments
    assert (code.load_address, code.address, code.data, code.memory_size) == (FLASH, FLASH, CODE, 128)
    assert code.executable and not code.writable
    assert (ram.load_address, ram.address, ram.data, ram.memory_size) == (FLASH + 0x100, DTCM, data.data, 44)
    assert ram.writable and not ram.executable
    assert image.entry == FLASH | 1
    assert image.warnings == []
    assert image.word_at(FLASH + 0x100) == 5 and image.word_at(DTCM) is None


def test_placements_before_and_after_start_up(tmp_path: Path, f746: Machine) -> None:
    moved = DataSegment(DTCM, b"abcd", 44, load_address=FLASH + 0x100)
    zeroes = DataSegment(SRAM, b"", 256)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[moved, zeroes]))
    code, rom, bss = (FLASH, CODE, 128), (FLASH + 0x100, b"abcd", 4), (SRAM, b"", 256)
    assert image.placements(as_started=False) == [code, rom, bss]
    assert image.placements(as_started=True) == [code, rom, (DTCM, b"abcd", 44), bss]
    assert check_placements(image, f746, True) == image.placements(True)


def test_zeroes_with_a_load_address_in_flash_are_not_loaded(tmp_path: Path) -> None:
    """Linkers give .bss the load address that follows .data: in flash, where nothing of it goes."""
    bss = DataSegment(DTCM, b"", 4096, load_address=FLASH + 0x100)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[bss]))
    assert image.placements(as_started=False) == [(FLASH, CODE, 128)]
    assert image.placements(as_started=True) == [(FLASH, CODE, 128), (DTCM, b"", 4096)]


def test_placement_outside_the_machine_names_segment_range_and_regions(tmp_path: Path, f469: Machine) -> None:
    path = write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[DataSegment(0x2400_0000, b"abcd", 0x1000)])
    with pytest.raises(ImageError) as caught:
        check_placements(load_image(path), f469, True)
    text = str(caught.value)
    assert text.startswith(f"{path}: segment 1 (rw-) of 4,096 B, used at 0x2400_0000..0x2400_0FFF")
    assert "memory of stm32f469i-disco: " in text and "ccm 0x1000_0000..0x1000_FFFF, " in text
    assert "link it for this machine" in text


@pytest.mark.parametrize(("size", "fits"), [(320 << 10, True), ((320 << 10) + 4, False)])
def test_a_segment_may_run_through_neighbouring_regions(tmp_path: Path, f469: Machine, size: int, fits: bool) -> None:
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[DataSegment(0x2000_0000, b"", size)]))
    if fits:
        check_placements(image, f469, False)
    else:
        with pytest.raises(ImageError, match="327,684 B"):
            check_placements(image, f469, False)


def test_an_alias_is_memory(tmp_path: Path, f746: Machine, f469: Machine) -> None:
    image = load_image(write_elf(tmp_path / "a.elf", CODE, ITCM_FLASH))
    check_placements(image, f746, False)
    with pytest.raises(ImageError, match="0x0020_0000"):
        check_placements(image, f469, False)


def test_file_headers_in_front_of_code_are_not_part_of_the_segment(tmp_path: Path) -> None:
    """Linked to the middle of a page, GNU ld's first segment begins with the ELF header."""
    path = write_elf(tmp_path / "a.elf", CODE, FLASH + 0x54)
    data = bytearray(path.read_bytes())
    data[52 + 4 : 52 + 24] = struct.pack("<5I", 0, FLASH, FLASH, 0x54 + 128, 0x54 + 128)
    path.write_bytes(data)
    segment = load_image(path).segments[0]
    assert (segment.address, segment.load_address, segment.data, segment.memory_size) == (
        FLASH + 84,
        FLASH + 84,
        CODE,
        128,
    )


def test_function_at_is_exact_at_both_ends(tmp_path: Path) -> None:
    image = with_symbols(tmp_path, ("a", ElfSymbol(FLASH | 1, 16)), ("b", ElfSymbol((FLASH + 32) | 1, 8)))
    assert image.function_at(FLASH) == ("a", 0)
    assert image.function_at(FLASH + 15) == ("a", 15)
    assert image.function_at(FLASH + 16) is None
    assert image.function_at(FLASH + 31) is None
    assert image.function_at(FLASH + 39) == ("b", 7)
    assert image.function_at(FLASH + 40) is None
    assert image.function_at(FLASH - 1) is None
    assert image.symbol("a").address == FLASH and image.symbol("a").thumb


def test_a_size_of_zero_reaches_to_the_next_function_or_the_end_of_the_section(tmp_path: Path) -> None:
    image = with_symbols(tmp_path, ("a", FLASH), ("b", FLASH + 32))
    assert image.function_at(FLASH + 31) == ("a", 31)
    assert image.function_at(FLASH + 32) == ("b", 0)
    assert image.function_at(FLASH + 127) == ("b", 95)
    assert image.function_at(FLASH + 128) is None


def test_mapping_symbols_and_data_are_no_functions(tmp_path: Path) -> None:
    marks = [(name, ElfSymbol(FLASH + 8, 0, LABEL, 0)) for name in ("$t", "$d", "$a", "$d.7")]
    table = ("table", ElfSymbol(FLASH + 16, 4, OBJECT))
    image = with_symbols(tmp_path, ("f", ElfSymbol(FLASH | 1, 64)), *marks, table)
    assert image.function_at(FLASH + 10) == ("f", 10)
    assert image.function_at(FLASH + 16) == ("f", 16)
    assert image.symbols.get("$t") is None and image.symbol("table").size == 4


def test_labels_count_where_no_function_is(tmp_path: Path) -> None:
    inside, outside = ElfSymbol(FLASH + 8, 0, LABEL, 0), ElfSymbol(FLASH + 64, 0, LABEL)
    image = with_symbols(tmp_path, ("f", ElfSymbol(FLASH | 1, 32)), ("loop", inside), ("asm", outside))
    assert image.function_at(FLASH + 10) == ("f", 10)
    assert image.function_at(FLASH + 40) is None
    assert image.function_at(FLASH + 66) == ("asm", 2)


def test_of_several_names_the_strong_one_is_shown(tmp_path: Path) -> None:
    weak = [(f"IRQ{n}_Handler", ElfSymbol(FLASH | 1, 2, binding=2)) for n in range(5)]
    image = with_symbols(tmp_path, *weak[:3], ("Default_Handler", ElfSymbol(FLASH | 1, 2)), *weak[3:])
    assert image.function_at(FLASH) == ("Default_Handler", 0)


def test_an_unknown_symbol_suggests_near_names(tmp_path: Path) -> None:
    image = with_symbols(tmp_path, ("convolve_s8", FLASH), ("main", FLASH + 32))
    with pytest.raises(ImageError, match=r'has no symbol "convolve_8"; near names are convolve_s8'):
        image.symbol("convolve_8")
    with pytest.raises(ImageError, match='"arm-none-eabi-nm" lists'):
        image.symbol("zzz")


def test_a_stripped_image_says_so(tmp_path: Path) -> None:
    image = with_symbols(tmp_path)
    assert image.function_at(FLASH) is None and image.line_at(FLASH) is None
    with pytest.raises(ImageError, match=r"has no symbols.*link it without -s"):
        image.symbol("main")


def test_a_name_local_to_several_files_is_ambiguous(tmp_path: Path) -> None:
    local = [("f", ElfSymbol((FLASH + at) | 1, 4, binding=0)) for at in (0, 32)]
    with pytest.raises(ImageError, match=r"local to several files.*0x0800_0000, 0x0800_0020"):
        with_symbols(tmp_path, *local).symbol("f")
    assert with_symbols(tmp_path, *local, ("f", FLASH + 64)).symbol("f").address == FLASH + 64


def test_names_are_safe_to_print(tmp_path: Path) -> None:
    image = with_symbols(tmp_path, ("red\x1b[31m", FLASH))
    assert image.function_at(FLASH) == ("red\\x1b[31m", 0)


def test_damaged_symbols_cost_the_symbols_only(tmp_path: Path) -> None:
    path = write_elf(tmp_path / "a.elf", CODE, FLASH, {"main": FLASH})
    data = bytearray(path.read_bytes())
    at = struct.unpack_from("<I", data, 32)[0] + 2 * 40 + 16  # of .symtab: its offset in the file
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    image = load_image(path)
    assert len(image.symbols) == 0 and image.segments[0].data == CODE
    assert image.warnings == ["symbols cannot be read: section .symtab runs beyond the end of the file"]


@pytest.mark.parametrize(
    ("at", "value", "match"),
    [
        (0, b"\x7fELG", "no ELF file"),
        (0, b"!<arch>\n", "static library"),
        (0, b":02000004", "Intel HEX"),
        (4, b"\x02", "64-bit"),
        (5, b"\x02", "big-endian"),
        (16, b"\x01\x00", "relocatable.*link it first"),
        (16, b"\x03\x00", "position-independent"),
        (18, b"\x3e\x00", r"machine 62, not 40 \(Arm\)"),
        (28, b"\xf0\xff\xff\xff", "program headers at 0xfffffff0 run beyond the end"),
        (42, b"\x28\x00", "e_phentsize is 40"),
        (44, b"\x00\x00", "no loadable segments"),
        (44, b"\xff\xff", "65,535 program headers"),
        (52, b"\x06", "no loadable segments"),
        (56, b"\x00\x10\x00\x00", "segment 0 at 0x0800_0000: its 128 B at 0x1000 run beyond the end"),
        (68, b"\xff\xff\xff\xff", "more bytes together than the file"),
        (72, b"\x40\x00\x00\x00", "128 B in the file and 64 B in memory"),
        (72, b"\xff\xff\xff\xff", "past the 32-bit address space"),
    ],
)
def test_broken_headers_are_named(tmp_path: Path, at: int, value: bytes, match: str) -> None:
    path = patched(write_elf(tmp_path / "a.elf", CODE, FLASH), at, value)
    with pytest.raises(ImageError, match=match) as caught:
        load_image(path)
    assert str(caught.value).startswith(str(path)) and caught.value.exit_status == 2


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for path, match in (
        (tmp_path, "a directory"),
        (tmp_path / "none", "no such file"),
        (tmp_path / "empty", "is empty"),
    ):
        with pytest.raises(ImageError, match=match):
            load_image(path)


def test_a_huge_memory_size_costs_no_memory(tmp_path: Path, f746: Machine) -> None:
    data = DataSegment(SRAM, b"abcd", 0xD000_0000)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[data]))
    with pytest.raises(ImageError, match="segment 1"):
        check_placements(image, f746, True)


@pytest.mark.parametrize("path", ELVES, ids=lambda path: path.name)
def test_every_instruction_of_a_built_program_is_in_a_function(path: Path) -> None:
    image = load_image(path)
    first = image.symbol("Reset_Handler")
    assert image.function_at(first.address) == ("Reset_Handler", 0)
    assert image.function_at(first.address + first.size - 2) == ("Reset_Handler", first.size - 2)
    for symbol in image.symbols:
        if symbol.kind == "function" and symbol.size:
            assert image.function_at(symbol.address + symbol.size - 1) is not None


def test_flags_of_the_writer(tmp_path: Path) -> None:
    ram_code = DataSegment(SRAM, CODE, flags=READ | WRITE | EXECUTE)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, data_segments=[ram_code]))
    assert [str(segment) for segment in image.segments] == ["segment 0 (r-x)", "segment 1 (rwx)"]
