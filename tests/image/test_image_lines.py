"""Source lines of a program, against tables written by hand and against another reader."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from mcusim.image.image import load_image
from tests.support.code.elf_writer import write_elf
from tests.support.code.images import CODE, ELVES, FLASH, THREE, at_address, line_program, patched


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_lines_of_every_dwarf_version(tmp_path: Path, version: int) -> None:
    table = line_program(*at_address(FLASH), *THREE, version=version)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, sections={".debug_line": table}))
    found = [image.line_at(FLASH + at) for at in (-2, 0, 2, 4, 6, 8, 10, 12)]
    ten, twelve, eleven = ("sub/a.c", 10), ("sub/a.c", 12), ("sub/a.c", 11)
    assert found == [None, ten, ten, twelve, twelve, eleven, eleven, None]
    assert image.warnings == []


def test_lines_of_functions_that_the_linker_dropped_are_left_out(tmp_path: Path) -> None:
    table = line_program(*at_address(0), *THREE, *at_address(FLASH + 64), *THREE)
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, sections={".debug_line": table}))
    assert image.line_at(0) is None and image.line_at(FLASH + 64) == ("sub/a.c", 10)


def test_a_compressed_table_is_unpacked(tmp_path: Path) -> None:
    table = line_program(*at_address(FLASH), *THREE)
    packed = struct.pack("<III", 1, len(table), 1) + zlib.compress(table)
    path = write_elf(tmp_path / "a.elf", CODE, FLASH, sections={".debug_line": packed})
    flags = struct.unpack_from("<I", path.read_bytes(), 32)[0] + 4 * 40 + 8
    assert load_image(patched(path, flags, b"\x00\x08")).line_at(FLASH) == ("sub/a.c", 10)


def test_a_damaged_unit_costs_its_own_lines_only(tmp_path: Path) -> None:
    good = line_program(*at_address(FLASH), *THREE)
    bad = bytearray(good)
    bad[4] = 9  # version
    image = load_image(write_elf(tmp_path / "a.elf", CODE, FLASH, sections={".debug_line": bytes(bad) + good}))
    assert image.line_at(FLASH) == ("sub/a.c", 10)
    assert image.warnings == ["source lines: some cannot be read (DWARF version 9)"]


@pytest.mark.parametrize("path", ELVES, ids=lambda path: path.name)
def test_lines_equal_those_of_pyelftools(path: Path) -> None:
    """At every address of the program: an independent reader of the same tables."""
    elffile = pytest.importorskip("elftools.elf.elffile")
    expected: dict[int, int] = {}
    with path.open("rb") as file:
        dwarf = elffile.ELFFile(file).get_dwarf_info()
        for unit in dwarf.iter_CUs():
            states = [e.state for e in dwarf.line_program_for_CU(unit).get_entries() if e.state is not None]
            for state, following in pairwise(states):
                if not state.end_sequence:
                    expected |= dict.fromkeys(range(state.address, following.address), state.line)
    image = load_image(path)
    code = image.segments[0]
    inside = [address for address in expected if code.address <= address < code.end]
    assert len(inside) > 500
    lines = {address: image.line_at(address) for address in inside}
    assert {a: found[1] if found else 0 for a, found in lines.items()} == {a: expected[a] for a in inside}
