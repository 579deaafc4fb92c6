"""Kernel sets at other addresses than they are linked for: same results, the bytes the linker gives, hostile ELFs."""

from __future__ import annotations

import random
import resource
import shutil
import struct
from pathlib import Path

import pytest

from mcusim.errors import ImageError, InputError
from mcusim.image.image import load_image
from mcusim.kernels.kernel_set import KernelSet, load_set
from mcusim.kernels.link.place import linked_at, move, span
from mcusim.machine.cores import CORES
from mcusim.model import Graph
from tests.support.cases import few, sampled
from tests.support.code.elf_damage import DAMAGES, numbers
from tests.support.code.elf_writer import DataSegment, ElfSymbol, write_elf
from tests.support.kernels.kernel_cases import inputs_for, one_operator
from tests.support.kernels.kernel_guest import ROOM, Guest
from tests.support.kernels.relocated_sets import (
    ABS32,
    CALL,
    FLASH,
    GOT,
    MOVT,
    MOVW,
    NOP,
    linked,
    relocation_bytes,
    with_relocations,
    without_relocations,
)

needs_compiler = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
FLASH_END, SRAM = 0x080E_0040, 0x2001_0000
BEHIND = {"cortex-m4": 0x2002_0000, "cortex-m7": 0x6000_0000 + ROOM}  # SRAM3; SDRAM, from which only the M7 may fetch
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "AVERAGE_POOL_2D", "SOFTMAX", "LOGISTIC", "MEAN",
         "RESIZE_BILINEAR")  # fmt: skip


def cases() -> list[tuple[Graph, int]]:
    """Few of each operator; convolutions with and without dilation, which cmsis tells apart by a function's address."""
    return [
        (one_operator(kind, "int8", seed), seed) for kind in KINDS for seed in range(12 if kind == "CONV_2D" else 3)
    ]


@few(2)
@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("name", ["cmsis", "reference"])
def test_kernels_give_the_same_at_every_address(name: str, isa: str) -> None:
    found = load_set(name)
    here = Guest(found, isa)
    there = [Guest(found, isa, address) for address in (FLASH_END, SRAM, BEHIND[isa])]
    assert any(g.operators[0].options.get("dilation_h", 1) > 1 for g, _ in cases())
    for graph, seed in cases():
        data = inputs_for(graph, seed)
        wanted = here.run(graph, data)[0].tobytes()
        for guest in there:
            assert guest.run(graph, data)[0].tobytes() == wanted, (graph.operators[0], guest.image.moved)


@pytest.mark.parametrize("isa", CORES)
def test_symbols_functions_and_lines_move_along(isa: str) -> None:
    found = load_set("cmsis")
    image, moved = found.image(isa), found.image_at(isa, SRAM)
    assert found.image_at(isa, FLASH) is image and found.image_at(isa, SRAM) is moved
    assert linked_at(image) == FLASH and linked_at(moved) == SRAM
    assert found.loaded_bytes(isa) == len(image.segments[0].data) == span(moved)
    assert image.segments[0].data != moved.segments[0].data
    assert moved.entry - image.entry == moved.moved == SRAM - FLASH
    for kernel in found.kernels.values():
        at, before = moved.symbol(kernel.symbol).address, image.symbol(kernel.symbol).address
        assert at - SRAM == before - FLASH
        assert moved.function_at(at + 2) == (kernel.symbol, 2)
        assert moved.line_at(at) == image.line_at(before) != None  # noqa: E711
        assert moved.line_at(before) is moved.function_at(before) is None
    assert [p.address for p in moved.placements(True)] == [SRAM]


@pytest.mark.parametrize("address", [1, FLASH + 32, -64, (1 << 32) - 64, 1 << 32])
def test_addresses_that_are_none(address: int) -> None:
    with pytest.raises(InputError, match=r"cmsis-cortex-m4[.]elf: .*(not a multiple of 64 B|past the 32-bit)"):
        load_set("cmsis").image_at("cortex-m4", address)


def kinds(found: KernelSet) -> set[int]:
    """The types of its relocations."""
    elf = found.image("cortex-m7").elf
    tables = [elf.content(s) for s in elf.sections if s.name.startswith((".rel.text", ".rel.rodata"))]
    return {info & 0xFF for table in tables for _, info in struct.iter_unpack("<II", table)}


@few(1)
@needs_compiler
@pytest.mark.parametrize("flags", ["", "-mslow-flash-data", "-fno-section-anchors -fdata-sections"])
def test_moving_gives_the_bytes_that_the_linker_gives(
    flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words in tables and literal pools, and (-mslow-flash-data) MOVW/MOVT pairs whose low half carries."""
    first = linked(tmp_path / "first", FLASH, flags, monkeypatch)
    assert kinds(first) >= ({ABS32, MOVW, MOVT} if "slow" in flags else {ABS32})
    for number, base in enumerate((0x0, 0x0800_FFC0, 0x0801_8000, SRAM, 0x8FFF_8040, 0x9000_0000)):
        other = linked(tmp_path / str(number), base, flags, monkeypatch)
        for isa in CORES:
            assert first.image_at(isa, base).segments[0].data == other.image(isa).segments[0].data
            assert other.image_at(isa, FLASH).segments[0].data == first.image(isa).segments[0].data
            assert base == FLASH or first.image(isa).segments[0].data != other.image(isa).segments[0].data


def test_words_move_when_their_symbol_does(tmp_path: Path) -> None:
    code = struct.pack("<4I", FLASH | 1, FLASH + 0x1_0000, 0xE000_E100, 0) + NOP * 8
    fixed = {"nvic": ElfSymbol(0xE000_E100, 0, 0, 1, 0xFFF1), "weak": ElfSymbol(0, 0, 0, 2, 0)}
    rows = [(FLASH + 4, ABS32, 1), (FLASH, ABS32, 1), (FLASH + 8, ABS32, 2), (FLASH + 12, ABS32, 3), (0, 0, 99)]
    moved = move(with_relocations(tmp_path / "a.elf", code, rows, fixed), SRAM)
    assert struct.unpack("<4I", moved.segments[0].data[:16]) == (SRAM | 1, SRAM + 0x1_0000, 0xE000_E100, 0)
    assert moved.symbol("nvic").address == 0xE000_E100 and moved.symbol("main").address == SRAM


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([(FLASH, GOT, 1)], "R_ARM_GOT_BREL at 0x0800_0000: cannot be applied"),
        ([(FLASH, 250, 1)], "at 0x0800_0000: cannot be applied"),
        ([(FLASH + 30, ABS32, 1)], "at 0x0800_001E: outside of the loaded bytes"),
        ([(SRAM, ABS32, 1)], "at 0x2001_0000: outside of the loaded bytes"),
        ([(FLASH, ABS32, 7)], "of symbol 7, there is none"),
        ([(FLASH, ABS32, 3)], "of symbol 3, which is in no loaded section"),
        ([(FLASH + 8, ABS32, 1), (FLASH + 10, ABS32, 1)], "at 0x0800_000A: overlaps the one before"),
        ([(FLASH + 16, ABS32, 1)], "R_ARM_ABS32 at 0x0800_0010: holds 0xf6c0, which is not near"),
        ([(FLASH, MOVW, 1)], "R_ARM_THM_MOVW_ABS_NC at 0x0800_0000: no such instruction"),
        ([(FLASH + 16, MOVT, 1)], "R_ARM_THM_MOVT_ABS at 0x0800_0010: no MOVW of the same symbol"),
        ([(FLASH + 20, CALL, 2)], "R_ARM_THM_CALL at 0x0800_0014: a distance to the fixed address 0xE000_E100"),
    ],
)
def test_relocations_that_cannot_be_applied(rows: list[tuple[int, int, int]], rule: str, tmp_path: Path) -> None:
    code = bytes(8) + struct.pack("<2I", FLASH, 0) + struct.pack("<HH", 0xF6C0, 0x0000) + NOP * 6  # movt r0, #0x0800
    symbols = {"nvic": ElfSymbol(0xE000_E100, 0, 0, 1, 0xFFF1), "odd": ElfSymbol(0, 0, 0, 1, 2)}
    image = with_relocations(tmp_path / "a.elf", code, rows, symbols)
    with pytest.raises(ImageError) as error:
        move(image, SRAM)
    assert str(error.value).startswith(f"{tmp_path / 'a.elf'}: ") and rule in str(error.value)


@pytest.mark.parametrize("isa", CORES)
def test_a_set_without_relocations_stays_where_it_is(isa: str, tmp_path: Path) -> None:
    found = without_relocations(isa, tmp_path)
    assert found.image_at(isa, FLASH) is found.image(isa)
    with pytest.raises(
        InputError, match=r"has no relocations, and 0x0800_0\w\w\w may hold an address of it.*emit-relocs"
    ):
        found.image_at(isa, SRAM)


def test_a_set_without_addresses_needs_no_relocations(tmp_path: Path) -> None:
    plain = load_image(write_elf(tmp_path / "a.elf", NOP * 64, FLASH, {"main": FLASH}))
    assert move(plain, SRAM).segments[0].data == NOP * 64
    high = struct.pack("<HH", 0xF6C0, 0x0100)  # movt r1, #0x0800
    for code, place in ((NOP + high + NOP * 6, "0x0800_0002"), (NOP * 2 + struct.pack("<I", FLASH | 5), "0x0800_0004")):
        image = load_image(write_elf(tmp_path / "b.elf", code, FLASH, {"main": FLASH}))
        with pytest.raises(ImageError, match=f"has no relocations, and {place} may hold an address"):
            move(image, SRAM)


def test_a_set_with_variables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(
        'name = "mine"\nsources = []\n[kernels.ADD]\nint8 = { symbol = "main", layout = "binary_call" }\n'
    )
    for data in (DataSegment(SRAM, b"", 64), DataSegment(SRAM, b"abcd", load_address=FLASH + 64)):
        write_elf(tmp_path / "mine-cortex-m4.elf", NOP * 8, FLASH, {"main": FLASH}, data_segments=[data])
        with pytest.raises(InputError, match=r"segment 1 \(rw-\) holds variables .*: a kernel set has none"):
            load_set(tmp_path).image_at("cortex-m4", SRAM)
    write_elf(tmp_path / "mine-cortex-m4.elf", NOP * 8, FLASH, {"mainn": FLASH})
    with pytest.raises(InputError, match=r'kernels.ADD.int8.symbol = "main": .*near names are mainn'):
        load_set(tmp_path).image_at("cortex-m4", SRAM)


def test_a_set_far_apart_is_not_moved(tmp_path: Path) -> None:
    path = write_elf(tmp_path / "a.elf", NOP, FLASH, data_segments=[DataSegment(SRAM, b"abcd")])
    with pytest.raises(ImageError, match="span 402,718,724 B, at most 4,194,304 B can be moved"):
        move(load_image(path), 0)


def moved(path: Path) -> str:
    """Load the file and move it; the text of the error, or nothing."""
    message = ""
    try:
        image = move(load_image(path), SRAM)
        for address in (0, SRAM, SRAM + 64, FLASH, 0xFFFF_FFFF):
            image.function_at(address)
            image.line_at(address)
        image.placements(False)
    except ImageError as error:
        message = str(error)
    return message


def test_random_bytes_as_relocations(tmp_path: Path) -> None:
    path, original = tmp_path / "a.elf", load_set("cmsis").elf("cortex-m7").read_bytes()
    found = relocation_bytes(bytearray(original))
    at, size = found.start, len(found)
    assert size >= 100
    errors = []
    for seed in range(60):
        rng, data = random.Random(seed), bytearray(original)
        if seed % 2:
            data[at : at + size] = rng.randbytes(size)
        else:
            numbers(data, at, size, rng)
        path.write_bytes(data)
        errors.append(moved(path))
    assert all(error.startswith(f"{path}: ") and error.isprintable() and len(error) < 500 for error in errors if error)
    assert all(errors[1::2]) and sum(map(bool, errors)) > 40


@few(1)
@pytest.mark.parametrize("damage", sampled(DAMAGES, 3), ids=lambda damage: damage.__name__)
def test_damaged_sets_give_an_error_or_an_image(damage: object, tmp_path: Path) -> None:
    assert callable(damage)
    path, original = tmp_path / "a.elf", load_set("cmsis").elf("cortex-m4").read_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(15):
        data = bytearray(original)
        damage(data, random.Random(f"{damage.__name__} {seed}"))
        path.write_bytes(data)
        message = moved(path)
        assert not message or (message.startswith(str(path)) and message.isprintable() and len(message) < 2_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
