"""Kernel sets and small ELF files with relocations."""

from __future__ import annotations

import shutil
import struct
from itertools import pairwise
from pathlib import Path

import pytest

from mcusim.image.image import Image, load_image
from mcusim.kernels import compiler as building
from mcusim.kernels.kernel_set import KernelSet, load_set
from mcusim.machine.cores import compiler_flags
from tests.support.code.elf_writer import ElfSymbol, write_elf

FLASH, NOP = 0x0800_0000, b"\x00\xbf"
REL, ABS32, REL32, CALL, MOVW, MOVT, GOT = 9, 2, 3, 10, 47, 48, 26
POINTERS = """
#include <stdint.h>
static int32_t one(const int32_t *x) { return x[0] + 1; }
static int32_t two(const int32_t *x) { return x[1] * 3; }
static int32_t (*const functions[])(const int32_t *) = { one, two, one };
static const int32_t table[40000] = { [3] = 5, [39999] = 7 };
static const int32_t *const inside[] = { table + 3, table - 2, table + 39999, table + 40000, 0 };
static const char *const names[] = { "conv", "pool" };
extern const uint32_t fixed[] __attribute__((weak));
int32_t my_maximum(const int32_t *x)
{
    const int32_t *at = inside[x[0] & 3];
    return functions[x[2] % 3](x) + at[x[3]] + names[x[4] & 1][x[5] & 3] + table[x[6]] + (fixed ? 1 : 0)
        + *(volatile uint32_t *)0xE000E100u;
}
"""


def linked(folder: Path, base: int, flags: str, monkeypatch: pytest.MonkeyPatch) -> KernelSet:
    """A set full of addresses, linked for ``base``."""
    folder.mkdir()
    (folder / "pointers.c").write_text(POINTERS)
    script = folder / "set.ld"
    script.write_text((building.SETS / "common" / "set.ld").read_text().replace("0x08000000", f"{base:#x}"))
    monkeypatch.setattr(building, "SCRIPT", script)
    manifest = folder / "manifest.toml"
    manifest.write_text(
        f'name = "mine"\nsources = ["pointers.c"]\nflags = "-O2 {flags}"\n'
        '[kernels.MAXIMUM]\nint8 = { symbol = "my_maximum", layout = "binary_call" }\n'
    )
    building.compile_set(manifest, folder, compiler_flags())
    return load_set(folder)


def with_relocations(
    path: Path, code: bytes, rows: list[tuple[int, int, int]], symbols: dict[str, ElfSymbol] | None = None
) -> Image:
    """Code at FLASH with relocations (place, type, symbol's index); symbols are main, then ``symbols``."""
    table = b"".join(struct.pack("<II", place, index << 8 | kind) for place, kind, index in rows)
    write_elf(path, code, FLASH, {"main": FLASH, **(symbols or {})}, sections={".rel.text": table})
    data = bytearray(path.read_bytes())
    at = section_header(data, b".rel.text")
    struct.pack_into("<I", data, at + 4, REL)
    struct.pack_into("<II", data, at + 24, 2, 1)  # of .symtab, for .text
    path.write_bytes(data)
    return load_image(path)


def section_headers(data: bytearray) -> range:
    (at,), (count,) = struct.unpack_from("<I", data, 32), struct.unpack_from("<H", data, 48)
    return range(at, at + 40 * count, 40)


def relocation_bytes(data: bytearray) -> range:
    """Where the tables of relocations are: one behind the other."""
    rows = [struct.unpack_from("<10I", data, header) for header in section_headers(data)]
    tables = sorted((row[4], row[4] + row[5]) for row in rows if row[1] == REL)
    assert all(first[1] == second[0] for first, second in pairwise(tables))
    return range(tables[0][0], tables[-1][1])


def section_header(data: bytearray, name: bytes) -> int:
    starts = section_headers(data)
    (names,) = struct.unpack_from("<H", data, 50)
    text = struct.unpack_from("<10I", data, starts[names])[4]
    return next(row for row in starts if data[text + struct.unpack_from("<I", data, row)[0] :].startswith(name + b"\0"))


def without_relocations(isa: str, folder: Path) -> KernelSet:
    """The set cmsis as a user could have linked it; its tables of relocations are now something else."""
    shipped = load_set("cmsis")
    data = bytearray(shipped.elf(isa).read_bytes())
    for header in section_headers(data):
        if struct.unpack_from("<I", data, header + 4)[0] == REL:
            struct.pack_into("<I", data, header + 4, 1)
    (folder / f"cmsis-{isa}.elf").write_bytes(data)
    shutil.copy(shipped.manifest, folder)
    return load_set(folder)
