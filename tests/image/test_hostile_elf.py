"""Damaged and hostile ELF files: an ImageError or an image, soon and in little memory."""

from __future__ import annotations

import random
import resource
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from mcusim.emulator.startup import stack_limit, start
from mcusim.errors import ImageError
from mcusim.image import dwarf_lines, symbols
from mcusim.image.image import check_placements, load_image
from mcusim.machine import Machine, load_machine
from tests.support.cases import few, only_with_all_cases
from tests.support.code.elf_damage import DAMAGES, header, noise, program_headers, section, truncated
from tests.support.code.elf_writer import LABEL, OBJECT, DataSegment, ElfSymbol, write_elf
from tests.support.code.images import CODE, DTCM, ELVES, FLASH, THREE, absolute, at_address, line_program

VARIANTS = 400


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load_machine("stm32f746g-disco")


def written(path: Path) -> bytes:
    """A small program with everything a reader looks at: segments, symbols, DWARF 4 and 5."""
    lines = line_program(*at_address(FLASH), *THREE)
    lines += line_program(*at_address(FLASH + 64), *THREE, version=5)
    table = {
        "main": ElfSymbol(FLASH | 1, 32),
        "helper": FLASH + 32,
        "$t": ElfSymbol(FLASH, 0, LABEL, 0),
        "table": ElfSymbol(DTCM, 4, OBJECT),
        "_estack": absolute(0x2005_0000),
    }
    data = DataSegment(DTCM, b"abcd", 44, load_address=FLASH + 0x100)
    return write_elf(
        path, CODE, FLASH, table, data_segments=[data], sections={".debug_line": lines, ".debug_line_str": b"a\0b\0"}
    ).read_bytes()


def used(path: Path, machine: Machine) -> str:
    """Everything a session asks of an image; the text of the ImageError, or nothing."""
    try:
        image = load_image(path)
        for address in (0, 1, FLASH, FLASH + 33, FLASH + 64, DTCM, 0x7FFF_FFFF, 0xFFFF_FFFE, 0xFFFF_FFFF):
            image.function_at(address)
            image.line_at(address)
        image.placements(True), image.placements(False)
        message = "".join(_error(lambda: image.symbol("man"))) and ""
        stack_limit(image, start(image, machine).sp)
        check_placements(image, machine, True)
    except ImageError as error:
        message = str(error)
    return message


def _error(call: Callable[[], object]) -> str:
    with pytest.raises(ImageError) as caught:
        call()
    return str(caught.value)


@few(10)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("source", ["written", "compiled"])
def test_damaged_files_give_an_error_or_an_image(
    source: str, damage: Callable[[bytearray, random.Random], None], tmp_path: Path, machine: Machine
) -> None:
    path = tmp_path / "damaged.elf"
    if source == "compiled" and not ELVES:
        pytest.skip("no built programs")
    original = written(path) if source == "written" else ELVES[0].read_bytes()
    messages, before = [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(VARIANTS // len(DAMAGES)):
        data = bytearray(original)
        damage(data, random.Random(f"{source} {damage.__name__} {seed}"))
        path.write_bytes(data)
        messages.append(used(path, machine))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 << 10, f"{grown} KiB more than before"
    errors = [message for message in messages if message]
    assert all(message.startswith(str(path)) and len(message) < 2_000 for message in errors)
    assert all(message.isprintable() for message in errors)
    if damage in (header, program_headers, truncated, noise):
        assert len(errors) >= 4, "damage that never hurts tests nothing"


@only_with_all_cases
def test_one_long_name_shared_by_many_symbols(tmp_path: Path, machine: Machine) -> None:
    """20,000 symbols whose names begin at different places of one string of 1 MB: 20 GB if taken as they are."""
    path = tmp_path / "a.elf"
    data = bytearray(write_elf(path, CODE, FLASH, [("x" * 1_000_000, FLASH), *(("y", FLASH),) * 20_000]).read_bytes())
    at, size = section(data, b".symtab")
    for index in range(2, size // 16):
        struct.pack_into("<I", data, at + 16 * index, index)
    path.write_bytes(data)
    used(path, machine)
    assert load_image(path).warnings == ["symbol names are damaged: some are cut or left out"]


def test_segments_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    path = write_elf(tmp_path / "a.elf", CODE * 100, FLASH, data_segments=[DataSegment(DTCM, CODE * 100)])
    data = bytearray(path.read_bytes())
    assert load_image(path).segments[1].data == CODE * 100
    for index in (0, 1):
        struct.pack_into("<I", data, 52 + 32 * index + 4, 0)
        struct.pack_into("<II", data, 52 + 32 * index + 16, len(data), len(data))
    path.write_bytes(data)
    with pytest.raises(ImageError, match="more bytes together than the file"):
        load_image(path)


def test_file_names_without_bytes_are_refused(tmp_path: Path) -> None:
    """A DWARF 5 table of 2^28 names of an empty format takes no byte a name."""
    unit = bytearray(line_program(*at_address(FLASH), *THREE, version=5))
    tables = unit.index(b"\x01\x01\x08\x02/home")
    unit[tables : tables + 6] = b"\x00\xff\xff\xff\xff\x01"
    path = write_elf(tmp_path / "a.elf", CODE, FLASH, sections={".debug_line": bytes(unit)})
    image = load_image(path)
    assert image.line_at(FLASH) is None
    assert image.warnings == ["source lines: some cannot be read (file names without a format)"]


def test_rows_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = line_program(*at_address(FLASH), *THREE, *at_address(FLASH + 32), *[1] * 200)
    path = write_elf(tmp_path / "a.elf", CODE, FLASH, sections={".debug_line": table})
    monkeypatch.setattr(dwarf_lines, "MOST_ROWS", 100)
    image = load_image(path)
    assert image.line_at(FLASH) == ("sub/a.c", 10)
    assert image.warnings == ["source lines: some cannot be read (more than 100 rows)"]


def test_symbols_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "MOST_SYMBOLS", 3)
    path = write_elf(tmp_path / "a.elf", CODE, FLASH, {f"f{n}": FLASH + 4 * n for n in range(5)})
    image = load_image(path)
    assert [symbol.name for symbol in image.symbols] == ["f0", "f1"]  # and the empty one every table begins with
    assert image.warnings == ["only the first 3 of 6 symbols are read"]
