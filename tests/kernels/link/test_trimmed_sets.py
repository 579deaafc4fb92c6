"""Only the functions that are needed of a kernel set: same results, the linker's own bytes, source lines."""

from __future__ import annotations

import struct
import subprocess
from functools import cache
from pathlib import Path

import pytest

from mcusim.errors import ImageError
from mcusim.image.image import Image, load_image
from mcusim.kernels import compiler as building
from mcusim.kernels.kernel_set import KernelSet, load_set
from mcusim.kernels.link.trim import trim, trimmed_bytes
from mcusim.machine.cores import CORES
from mcusim.model.operators import OPERATORS
from tests.support.cases import only_with_all_cases, sampled
from tests.support.kernels import relocated_sets
from tests.support.kernels.kernel_cases import inputs_for, one_operator
from tests.support.kernels.kernel_guest import Guest
from tests.support.kernels.relocated_sets import (
    ABS32,
    FLASH,
    NOP,
    POINTERS,
    REL,
    linked,
    with_relocations,
    without_relocations,
)
from tests.support.kernels.tiny_sets import needs_compiler

BOTH = pytest.mark.parametrize("isa", CORES)
NETWORK = ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX")
WITHOUT_STATE = sorted(key for key in load_set("reference").kernels if not OPERATORS[key[0]].traits.keeps_state)
NAMES = [f"{name}-{isa}" for name in ("cmsis", "reference") for isa in CORES]
ROOM, FIRST, SRAM = 0x2000, FLASH + 0x1_8040, 0x2001_0040  # odd multiples of 64 B; room for one kernel, behind the set


class Trimmed(Guest):
    """The whole set, and at other addresses each function with what it needs."""

    def __init__(self, kernels: KernelSet, isa: str) -> None:
        super().__init__(kernels, isa)
        self.whole = self.image
        self.parts: dict[str, Image] = {}

    def part(self, symbol: str) -> Image:
        if symbol not in self.parts:
            image = self.kernels.image_at(self.isa, FIRST + ROOM * len(self.parts), [symbol])
            assert self.kernels.loaded_bytes(self.isa, [symbol]) == len(image.segments[0].data) < ROOM
            assert self.core.poke(image.segments[0].address, image.segments[0].data)
            self.parts[symbol] = image
        return self.parts[symbol]

    def both(self, kind: str, types: str, seed: int) -> tuple[list[bytes], list[bytes]]:
        graph = one_operator(kind, types, seed)
        data, found = inputs_for(graph, seed), []
        for image in (self.whole, self.part(self.kernels.kernel(kind, types).symbol)):
            self.image = image
            found.append([values.tobytes() for values in self.run(graph, data)])
        return found[0], found[1]


@cache
def guest(name: str) -> Trimmed:
    kernels, isa = name.split("-", 1)
    return Trimmed(load_set(kernels), isa)


def symbols(found: KernelSet, *kinds: str) -> set[str]:
    return {found.kernel(kind).symbol for kind in kinds}


@pytest.mark.parametrize(("kind", "types", "name"), sampled([(*k, n) for k in WITHOUT_STATE for n in NAMES], 100))
def test_a_function_alone_gives_what_the_whole_set_gives(kind: str, types: str, name: str) -> None:
    """Few cases of each; more of convolutions, which have more paths."""
    for seed in range(14 if kind in ("CONV_2D", "DEPTHWISE_CONV_2D") else 3):
        whole, alone = guest(name).both(kind, types, seed)
        assert whole == alone


@BOTH
def test_what_published_networks_need_fits_the_smallest_itcm(isa: str) -> None:
    found = load_set("cmsis")
    needed = symbols(found, *NETWORK)
    assert found.loaded_bytes(isa) > 16 << 10 > found.loaded_bytes(isa, needed)
    assert found.loaded_bytes(isa, needed) == {"cortex-m4": 12_760, "cortex-m7": 12_864}[isa]
    assert found.image_at(isa, 0, needed) is found.image_at(isa, 0, sorted(needed))
    everything = {symbol.name for symbol in found.image(isa).symbols if symbol.kind == "function"}
    assert found.image_at(isa, FLASH, everything).segments[0].data == found.image(isa).segments[0].data


@BOTH
def test_symbols_functions_and_lines_are_at_the_new_places(isa: str) -> None:
    found = load_set("cmsis")
    image = found.image(isa)
    part = found.image_at(isa, SRAM, symbols(found, "FULLY_CONNECTED", "SOFTMAX"))
    end = part.segments[0].end
    assert part.entry == SRAM | 1 and part.symbols.get("cmsis_conv") is part.symbols.get("kernels") is None
    with pytest.raises(ImageError, match='has no symbol "cmsis_conv"'):
        part.symbol("cmsis_conv")
    functions = [s for s in part.symbols if s.kind == "function"]
    assert {s.name.partition(".")[0] for s in functions} == {
        "cmsis_fully_connected", "one_vector", "one_vector_plain", "reference_softmax", "exp_of_difference",
        "reciprocal_of_one_plus",
    }  # fmt: skip
    for symbol in functions:
        before = image.symbol(symbol.name).address
        assert SRAM <= symbol.address < end and symbol.address != before
        for offset in range(0, symbol.size, 2):
            assert part.line_at(symbol.address + offset) == image.line_at(before + offset) is not None
            assert part.function_at(symbol.address + offset) == (symbol.name, offset)
    assert part.line_at(SRAM - 2) is part.line_at(end) is part.line_at(FLASH) is part.function_at(end) is None


def changed_bytes(image: Image, part: Image, name: str) -> set[int]:
    """Offsets in function ``name`` at which the two differ."""

    def code(one: Image) -> bytes:
        symbol, segment = one.symbol(name), one.segments[0]
        return segment.data[symbol.address - segment.address :][: symbol.size]

    return {i for i, (a, b) in enumerate(zip(code(image), code(part), strict=True)) if a != b}


@BOTH
def test_code_is_unchanged_but_where_relocations_are(isa: str) -> None:
    found = load_set("cmsis")
    image, part = found.image(isa), found.image_at(isa, SRAM, symbols(found, *NETWORK))
    elf = image.elf
    tables = [elf.content(s) for s in elf.sections if s.kind == REL]
    fields = {place + i for table in tables for place, _ in struct.iter_unpack("<II", table) for i in range(4)}
    changed = set()
    for symbol in part.symbols:
        if symbol.kind == "function":
            start = image.symbol(symbol.name).address
            changed |= {start + offset for offset in changed_bytes(image, part, symbol.name)}
    assert changed and changed <= fields


MORE = """
__attribute__((noinline)) static int32_t far(const int32_t *x) { return x[2] / 7; }
__attribute__((noinline)) static int32_t choose(const int32_t *x) { return x[0] > 3 ? far(x + 1) : x[1]; }
int32_t unused(const int32_t *x) { return x[5] + 900; }
static const int64_t wide[] __attribute__((aligned(64))) = { 5, 6, 7, -8 };
int32_t my_minimum(const int32_t *x) { return choose(x) + far(x) + (int32_t)wide[x[1] & 3]; }
int32_t my_sub(const int32_t *x) { return x[0] ? my_maximum(x + 1) : unused(x); }
"""
SETS = [("my_maximum",), ("my_minimum",), ("my_sub",), ("unused",), ("my_minimum", "my_maximum")]


def collected(folder: Path, found: KernelSet, isa: str, needed: tuple[str, ...], base: int) -> bytes:
    """The set linked by the linker itself, for ``base``, with --gc-sections."""
    script = folder / "gc.ld"
    script.write_text((building.SETS / "common" / "set.ld").read_text().replace("0x08000000", f"{base:#x}"))
    command = ["arm-none-eabi-gcc", *CORES[isa].compiler_flags, *building.FLAGS.split(), *found.flags.split()]
    command += [f"-I{place}" for place in (*found.include, building.SETS / "include")]
    command += ["-Wl,--gc-sections", *(f"-Wl,-u,{name}" for name in needed), "-T", str(script)]
    subprocess.run([*command, *found.sources, "-o", str(folder / "gc.elf")], cwd=found.manifest.parent, check=True)
    return load_image(folder / "gc.elf").segments[0].data


@only_with_all_cases
@needs_compiler
@pytest.mark.parametrize("flags", ["", "-mslow-flash-data", "-O1 -fno-section-anchors"])
def test_trimming_gives_the_bytes_that_the_linker_gives(
    flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls, tail calls, words in tables and literal pools, MOVW/MOVT pairs, sections of 1 to 64 B alignment."""
    monkeypatch.setattr(relocated_sets, "POINTERS", POINTERS + MORE)
    found = linked(tmp_path / "set", FLASH, flags, monkeypatch)
    for isa in CORES:
        sizes = set()
        for needed in SETS:
            for base in (0, FLASH, 0x2000_FFC0):
                wanted = collected(tmp_path, found, isa, needed, base)
                assert found.image_at(isa, base, needed).segments[0].data == wanted
                assert found.loaded_bytes(isa, needed) == len(wanted)
            sizes.add(len(wanted))
        assert len(sizes) == len(SETS)


@only_with_all_cases
@needs_compiler
def test_shipped_functions_are_what_the_linker_collects(tmp_path: Path) -> None:
    found = load_set("cmsis")
    needed = tuple(sorted(symbols(found, *NETWORK)))
    wanted = collected(tmp_path, found, "cortex-m7", needed, 0x40)
    assert found.image_at("cortex-m7", 0x40, needed).segments[0].data == wanted


@BOTH
def test_a_set_without_relocations_stays_whole(isa: str, tmp_path: Path) -> None:
    found = without_relocations(isa, tmp_path)
    assert found.image_at(isa, FLASH, ["cmsis_add"]) is found.image(isa)
    assert found.loaded_bytes(isa, ["cmsis_add"]) == found.loaded_bytes(isa)


def test_one_section_with_everything_stays_whole(tmp_path: Path) -> None:
    code = struct.pack("<2I", FLASH | 1, 0) + NOP * 20
    image = with_relocations(tmp_path / "a.elf", code, [(FLASH, ABS32, 1)])
    part = trim(image, SRAM, ["main"])
    assert part.segments[0].data == struct.pack("<2I", SRAM | 1, 0) + NOP * 20
    assert trimmed_bytes(image, ["main"]) == len(code)
