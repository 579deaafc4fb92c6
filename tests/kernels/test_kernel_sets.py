"""Kernel sets: manifests that are wrong, formulas, structures against the header, sets of one's own."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from mcusim.errors import InputError, ProgramError, UnsupportedError, UsageError
from mcusim.kernels.calls.structs import LAYOUTS, layout_of, pack, size_of
from mcusim.kernels.compiler import compile_set
from mcusim.kernels.kernel_set import NAMES, load_set, set_names
from mcusim.kernels.scratch_formula import check_formula, evaluate
from mcusim.machine.cores import CORES, compiler_flags
from mcusim.model import Geometry
from mcusim.model.operators import OPERATORS
from tests.support.kernels.kernel_cases import inputs_for, one_operator
from tests.support.kernels.kernel_guest import Guest, run_litert

needs_compiler = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
GEOMETRY = Geometry("CONV_2D", 1, 9, 8, 3, 5, 4, 7, kernel_h=3, kernel_w=2, stride_h=2, stride_w=2)
GOOD = """
name = "mine"
sources = ["add.c"]
[kernels.ADD]
int8 = { symbol = "my_add", layout = "binary_call" }
"""


def structures(path: Path) -> dict[str, list[tuple[str, int, int]]]:
    """Structure -> (member, offset, words) by the debug information of an ELF."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    with path.open("rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for entry in unit.iter_DIEs():
                if entry.tag != "DW_TAG_structure_type" or "DW_AT_name" not in entry.attributes:
                    continue
                name = entry.attributes["DW_AT_name"].value.decode()
                members = []
                for member in entry.iter_children():
                    offset = member.attributes["DW_AT_data_member_location"].value
                    members.append((member.attributes["DW_AT_name"].value.decode(), offset))
                ends = [offset for _, offset in members[1:]] + [entry.attributes["DW_AT_byte_size"].value]
                found[name] = [(m, at, (end - at) // 4) for (m, at), end in zip(members, ends, strict=True)]
    return found


@pytest.mark.parametrize("isa", CORES)
def test_structures_are_those_of_the_header(isa: str) -> None:
    found = structures(load_set("reference").elf(isa))
    for name, members in LAYOUTS.items():
        at, expected = 0, []
        for member, words in members.items():
            expected.append((member, at, words))
            at += 4 * words
        assert found[name] == expected
        assert size_of(name) == at


def test_pack() -> None:
    data = pack("mean_call", {"input": 0x2000_0000, "shape": (1, 2, 3, -4), "most": 127})
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    assert words == [0x2000_0000, 0, 0, 1, 2, 3, 2**32 - 4, *[0] * 9, 127]
    assert {layout_of(kind) for kind in OPERATORS} == set(LAYOUTS)
    for values, text in (
        ({"inputt": 1}, "mean_call has no member 'inputt'"),
        ({"shape": [1, 2]}, "mean_call.shape has 4 words, not 2"),
        ({"most": 1 << 32}, "mean_call.most = 4294967296: does not fit 32 bits"),
    ):
        with pytest.raises(ProgramError) as error:
            pack("mean_call", values)
        assert text in str(error.value)


@pytest.mark.parametrize("name", set_names())
def test_every_set_that_ships_is_whole(name: str) -> None:
    found = load_set(name)
    assert found.name == name and found.title
    for isa in CORES:
        for kernel in found.kernels.values():
            assert found.address(isa, kernel) >= 0x0800_0000
            assert 0 < found.code_bytes(isa, kernel) < 20_000
    missing = {"BATCH_MATMUL"} if name == "tinyengine" else set()  # compiled code has no memory for its copies
    assert {kind for kind, _ in found.kernels} == set(OPERATORS) - missing


def test_names_and_paths(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(GOOD)
    assert load_set(tmp_path).name == load_set(tmp_path / "manifest.toml").name == "mine"
    for wrong, text in (("referense", "did you mean 'reference'"), ("no/such", "the path of a folder"), ("a\0b", "no")):
        with pytest.raises(UsageError) as error:
            load_set(wrong)
        assert text in str(error.value)
    with pytest.raises(InputError, match=r"mine-cortex-m4[.]elf is missing; build it"):
        load_set(tmp_path).elf("cortex-m4")
    with pytest.raises(UsageError, match="core 'cortex-m0'"):
        load_set(tmp_path).elf("cortex-m0")
    with pytest.raises(UnsupportedError, match="has no ADD for uint8; it has int8"):
        load_set(tmp_path).kernel("ADD", "uint8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_set(tmp_path / "empty")
    (tmp_path / "empty" / "manifest.toml").mkdir()
    with pytest.raises(InputError, match="not a regular file"):
        load_set(tmp_path / "empty")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('name = "mine"', "", "name: is missing"),
        ('name = "mine"', "name = 3", "name = 3: must be a text"),
        ('name = "mine"', 'name = "../mine"', 'name = "../mine": must be 1 to 64 letters'),
        ('["add.c"]', '"add.c"', 'sources = "add.c": must be a list of texts'),
        ('["add.c"]', '["add.c", 7]', "sources = 7: must be a list of texts"),
        ("[kernels.ADD]", "[kernels.ADDD]", "kernels.ADDD: is not an operator; did you mean ADD?"),
        ("[kernels.ADD]", "[kernel.ADD]", "kernel: unknown key; known: name"),
        ("int8 =", "int4 =", "kernels.ADD.int4: types are int8, uint8, int16, int32, uint32, int64, float32, two"),
        ("int8 = {", "int8 = 5 # {", "kernels.ADD.int8 = 5: must be a table such as"),
        ('symbol = "my_add", ', "", "kernels.ADD.int8.symbol: is missing"),
        ('"my_add"', '"my add"', 'kernels.ADD.int8.symbol = "my add": must be a C name'),
        ('"my_add"', "[]", "kernels.ADD.int8.symbol = a list: must be a text"),
        ('"binary_call"', '"conv_call"', "ADD is called with a binary_call"),
        ('"binary_call"', '"call"', 'kernels.ADD.int8.layout = "call": layouts are conv_call'),
        ('"binary_call"', '"binary_call", scratc = "4"', "kernels.ADD.int8.scratc: unknown key"),
        ('"binary_call"', '"binary_call", scratch = "4 * rows"', "unknown name 'rows'; known: batch"),
        ('"binary_call"', '"binary_call", scratch = "2 ** 9"', "is not allowed in a formula"),
        ("[kernels.ADD]", "[kernels.ADD", "cannot be read: "),
    ],
)
def test_wrong_manifests(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in GOOD
    path = tmp_path / "manifest.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as error:
        load_set(path)
    assert str(error.value).startswith(f"{path}: ")
    assert text in str(error.value)


def test_a_symbol_that_is_missing_is_named(tmp_path: Path) -> None:
    shipped = load_set("reference")
    shutil.copy(shipped.elf("cortex-m4"), tmp_path / "mine-cortex-m4.elf")
    (tmp_path / "manifest.toml").write_text(GOOD.replace("my_add", "reference_ad"))
    with pytest.raises(InputError, match=r'manifest.toml: kernels.ADD.int8.symbol = "reference_ad": .*reference_add'):
        load_set(tmp_path).image("cortex-m4")
    (tmp_path / "manifest.toml").write_text(GOOD.replace("my_add", "powers.0"))
    with pytest.raises(InputError, match="must be a C name"):
        load_set(tmp_path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("4 * in_c * kernel_h * kernel_w", 72),
        ("max(min(in_c, 2), 1) + 7 // 2", 5),
        ("2 * in_c * (in_c < 4) + (in_c >= 4)", 6),
        ("(kernel_h == 3) * 100 - -in_h", 109),
    ],
)
def test_formulas(text: str, value: int) -> None:
    kernel = replace(load_set("reference").kernel("CONV_2D"), scratch=text)
    assert kernel.scratch_bytes(GEOMETRY) == value


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "is not an integer expression"),
        ("in_c in_h", "is not an integer expression"),
        ("1.5", "is not allowed in a formula"),
        ("True", "is not allowed in a formula"),
        ("in_c / 2", "is not allowed in a formula"),
        ("in_c.real", "is not allowed in a formula"),
        ("abs(in_c, 2)", "is not allowed in a formula"),
        ("__import__('os').system('true')", "is not allowed in a formula"),
        ("(1).__class__", "is not allowed in a formula"),
        ("1 < in_c < 3", "is not allowed in a formula"),
        ("1 << 60", "is not allowed in a formula"),
        ("rows", "unknown name 'rows'"),
        ("9" * 60, "is not allowed in a formula"),
        ("-" * 60 + "1", "is nested deeper than 50"),
        ("(" * 900 + "1" + ")" * 900, "is not an integer expression"),
        ("1 + " * 4000 + "1", "longer than 16000 characters"),
        ("*".join(["1099511627776"] * 9), "grows beyond 80 bits"),
    ],
)
def test_formulas_that_are_none(text: str, rule: str) -> None:
    with pytest.raises(InputError) as error:
        check_formula(text, NAMES)
    assert rule in str(error.value)


def test_formulas_without_a_size() -> None:
    for text, rule in (
        ("4 // (in_c - 3)", "divides by zero"),
        ("in_c - 9", "is -6"),
        ("1099511627776 * 2", "is 2,199"),
    ):
        with pytest.raises(InputError) as error:
            replace(load_set("reference").kernel("CONV_2D"), scratch=text).scratch_bytes(GEOMETRY)
        assert rule in str(error.value) and "reference_conv" in str(error.value)
    assert evaluate("1099511627776", {}) == 1 << 40


OWN = """
#include "fixed_point.h"
#include "kernels.h"
int32_t my_maximum(const struct binary_call *call)
{
    const int8_t *a = call->input1, *b = call->input2;
    int8_t *output = call->output;
    for (int32_t i = 0; i < call->shape[0] * call->shape[1] * call->shape[2] * call->shape[3]; i++)
        output[i] = a[i] > b[i] ? a[i] : b[i];
    return BROKEN;
}
"""


def own_set(folder: Path, broken: str = "0") -> Any:
    """A tiny set of a user's own, compiled into its folder."""
    (folder / "maximum.c").write_text(OWN.replace("BROKEN", broken))
    include = Path(str(load_set("reference").manifest)).parents[1] / "include"
    manifest = folder / "manifest.toml"
    manifest.write_text(
        f'name = "mine"\nsources = ["maximum.c"]\ninclude = ["{include}"]\nflags = "-O2"\n'
        '[kernels.MAXIMUM]\nint8 = { symbol = "my_maximum", layout = "binary_call" }\n'
    )
    record = compile_set(manifest, folder, compiler_flags())
    assert '"mine-cortex-m4.elf" = ' in record and " -O2" in record
    return load_set(folder)


@needs_compiler
def test_a_set_of_ones_own(tmp_path: Path) -> None:
    guests = [Guest(own_set(tmp_path), isa) for isa in CORES]
    done = 0
    for seed in range(200):
        graph = one_operator("MAXIMUM", "int8", seed)
        if graph.tensors[0].shape != graph.tensors[1].shape:
            continue
        data = inputs_for(graph, seed)
        wanted = run_litert(graph, data)[0].tobytes()
        assert all(guest.run(graph, data)[0].tobytes() == wanted for guest in guests)
        done += 1
    assert done > 20


@needs_compiler
def test_a_kernel_that_reports_an_error_is_seen(tmp_path: Path) -> None:
    guest = Guest(own_set(tmp_path, "call->shape[0] + 7"), "cortex-m4")
    graph = one_operator("MAXIMUM", "int8", 1)
    with pytest.raises(AssertionError, match="my_maximum returned"):
        guest.run(graph, inputs_for(graph, 1))
