"""Images that several test files use."""

from __future__ import annotations

import struct
from pathlib import Path

from mcusim.image.image import Image, load_image
from mcusim.kernels.test_programs import FOLDER
from tests.support.code.elf_writer import LABEL, ElfSymbol, write_elf

FLASH, ITCM_FLASH, DTCM, SRAM = 0x0800_0000, 0x0020_0000, 0x2000_0000, 0x2001_0000
STACK = 0x2005_0000  # end of SRAM2
CODE = b"\x00\xbf" * 64  # nop
ELVES = sorted(FOLDER.glob("*.elf"))


def with_symbols(folder: Path, *symbols: tuple[str, int | ElfSymbol]) -> Image:
    return load_image(write_elf(folder / "s.elf", CODE, FLASH, symbols))


def absolute(value: int) -> ElfSymbol:
    """What a linker script defines."""
    return ElfSymbol(value, 0, LABEL, 1, 0xFFF1)


def patched(path: Path, at: int, value: bytes) -> Path:
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    path.write_bytes(data)
    return path


def line_program(*program: int, version: int = 4) -> bytes:
    """A unit with one file, line_base -5, line_range 14, opcode_base 13."""
    lengths = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    if version >= 5:
        tables = b"\x01\x01\x08\x02/home\0sub\0" + b"\x02\x01\x08\x02\x0b\x02" + b"a.c\0\x00" + b"a.c\0\x01"
    else:
        tables = b"sub\0\0" + b"a.c\0\x01\0\0" + b"\0"
    per_instruction = b"\x01" if version >= 4 else b""
    rest = b"\x02" + per_instruction + b"\x01" + struct.pack("<b", -5) + b"\x0e\x0d" + lengths + tables
    header = (b"\x04\0" if version >= 5 else b"") + struct.pack("<I", len(rest)) + rest
    unit = struct.pack("<H", version) + header + bytes(program)
    return struct.pack("<I", len(unit)) + unit


def at_address(address: int) -> list[int]:
    return [0, 5, 2, *address.to_bytes(4, "little")]


END = [0, 1, 1]
# line 10 at 0, line 12 at 4 (special opcode: 2 steps of 2 B, +2 lines), line 11 at 8, end at 12
THREE = [3, 9, 1, 13 + 5 + 2 + 2 * 14, 13 + 5 - 1 + 2 * 14, 2, 2, *END]
