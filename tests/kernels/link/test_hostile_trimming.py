"""Taking functions out of a kernel set whose ELF is damaged, and the branches that change: one clear error or none."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mcusim.errors import ImageError, InputError, UsageError
from mcusim.image.image import load_image
from mcusim.kernels.kernel_set import load_set
from mcusim.kernels.link.relocations import set_distance
from mcusim.kernels.link.trim import trim, trimmed_bytes
from tests.support.code.elf_damage import numbers
from tests.support.kernels.relocated_sets import CALL, FLASH, MOVT, relocation_bytes, section_header, section_headers
from tests.support.kernels.tiny_sets import needs_compiler

JUMP24, JUMP19, JUMP11, GOT = 30, 51, 102, 26
SRAM = 0x2001_0040


def test_what_cannot_be_asked_for() -> None:
    found = load_set("cmsis")
    with pytest.raises(UsageError, match=r"cmsis-cortex-m4.elf: name at least one function"):
        found.image_at("cortex-m4", FLASH, [])
    with pytest.raises(InputError, match='has no symbol "cmsis_addd"; near names are'):
        found.loaded_bytes("cortex-m4", ["cmsis_addd"])
    with pytest.raises(InputError, match="kernels at 0x0800_0000 is in no loaded section"):
        found.loaded_bytes("cortex-m4", ["kernels"])
    for address in (32, 1 << 32, -64, (1 << 32) - 64):
        with pytest.raises(InputError, match=r"not a multiple of 64 B|past the 32-bit address space"):
            found.image_at("cortex-m4", address, ["cmsis_conv"])


def with_header(field: int, value: int, name: bytes = b".text.one_pixel") -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        struct.pack_into("<I", data, section_header(data, name) + 4 * field, value)

    return change


def with_row(kind: int | None, move: int = 0, symbol: int | None = None) -> Callable[[bytearray], None]:
    """The first relocation, a call, is another one."""

    def change(data: bytearray) -> None:
        at = struct.unpack_from("<I", data, section_header(data, b".rel.text.cmsis_max_pool") + 16)[0]
        place, info = struct.unpack_from("<II", data, at)
        index = info >> 8 if symbol is None else symbol
        struct.pack_into("<II", data, at, place + move, index << 8 | (info & 0xFF if kind is None else kind))

    return change


def with_all_moved(data: bytearray) -> None:
    """Every symbol is somewhere else."""
    at = struct.unpack_from("<I", data, section_header(data, b".symtab") + 16)[0]
    size = struct.unpack_from("<I", data, section_header(data, b".symtab") + 20)[0]
    for row in range(at, at + size, 16):
        if data[row + 12] & 15 == 2:
            struct.pack_into("<I", data, row + 4, struct.unpack_from("<I", data, row + 4)[0] + 64)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (with_row(GOT), "R_ARM_GOT_BREL at 0x0800_.*: cannot be applied"),
        (with_row(JUMP11), "R_ARM_THM_JUMP11 at 0x0800_.*: cannot be applied between functions"),
        (with_row(JUMP19), "R_ARM_THM_JUMP19 at 0x0800_.*: no such instruction there"),
        (with_row(MOVT), "R_ARM_THM_MOVT_ABS at .*: no such instruction there"),
        (with_row(None, move=4), "R_ARM_THM_CALL at .*(no such instruction there|goes .*, its symbol is)"),
        (with_row(None, move=0x4000), "outside of section .text.cmsis_max_pool, which it is for: damaged"),
        (with_row(None, symbol=60_000), "of symbol 60000, there is none: damaged"),
        (with_all_moved, "(goes .* B, its symbol is .* B away: damaged|in no function or constant of the set)"),
        (with_header(8, 3), "section .text.one_pixel at .*: its alignment is 3 B, no power of two up to 64"),
        (with_header(8, 4096), "its alignment is 4,096 B, no power of two up to 64"),
        (with_header(5, 0x4000), "overlaps .text.one_pixel: damaged"),
        (with_header(3, SRAM), "section .text.one_pixel at 0x2001_0040: its .* B are in no segment: damaged"),
        (with_header(5, 8), "the byte at 0x0800_0.* is in no section: what functions need is unknown"),
        (with_header(2, 0), "(is in no section: what functions need|in no loaded section)"),
    ],
)
def test_damaged_sets_are_one_clear_error(change: Callable[[bytearray], None], rule: str, tmp_path: Path) -> None:
    data, path = bytearray(load_set("cmsis").elf("cortex-m7").read_bytes()), tmp_path / "a.elf"
    change(data)
    path.write_bytes(data)
    with pytest.raises(ImageError, match=f"^{path}: .*{rule}"):
        trim(load_image(path), SRAM, ["cmsis_max_pool"])


def test_random_relocations_and_headers_give_an_error_or_an_image(tmp_path: Path) -> None:
    path, original = tmp_path / "a.elf", load_set("cmsis").elf("cortex-m7").read_bytes()
    places = relocation_bytes(bytearray(original)), section_headers(bytearray(original))
    wrong = 0
    for seed in range(120):
        rng, data = random.Random(seed), bytearray(original)
        place = places[seed % 2]
        numbers(data, place.start, place.stop - place.start, rng)
        path.write_bytes(data)
        try:
            image = load_image(path)
            assert len(trim(image, SRAM, ["cmsis_conv"]).segments[0].data) == trimmed_bytes(image, ["cmsis_conv"])
        except ImageError as error:
            wrong += 1
            assert str(error).startswith(f"{path}: ") and str(error).isprintable() and len(str(error)) < 500
    assert wrong > 60


@needs_compiler
@pytest.mark.parametrize(("kind", "text"), [(CALL, "bl"), (JUMP24, "b.w"), (JUMP19, "bne.w")])
def test_branches_are_encoded_as_the_assembler_does(kind: int, text: str, tmp_path: Path) -> None:
    reach = 1 << (20 if kind == JUMP19 else 24)
    rng = random.Random(text)
    wanted = [-reach, reach - 2, 0, -2, 2, *(rng.randrange(-reach, reach, 2) for _ in range(60))]

    def assembled(distance: int) -> bytes:
        return code[4 * wanted.index(distance) :][:4]

    lines = "".join(f"{text} . + 4 + ({distance})\n" for distance in wanted)
    (tmp_path / "a.s").write_text(f".syntax unified\n.thumb\n{lines}")
    subprocess.run(["arm-none-eabi-as", "-mcpu=cortex-m7", "a.s", "-o", "a.o"], cwd=tmp_path, check=True)
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "a.o", "a.bin"], cwd=tmp_path, check=True)
    code = (tmp_path / "a.bin").read_bytes()
    assert len(code) == 4 * len(wanted)
    for old in wanted:
        new, data = rng.choice(wanted), bytearray(assembled(old))
        set_distance("here", kind, data, 0, old + 4 | 1, new - old)
        assert bytes(data) == assembled(new), (old, new)
        with pytest.raises(ImageError, match="here: cannot reach"):
            set_distance("here", kind, data, 0, new + 4, reach - new)
