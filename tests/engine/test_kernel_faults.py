"""Kernels that do something wrong, in the engine: each is named with operator, tile, address, PC and source line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from mcusim.api.simulate import simulate
from mcusim.commands.app import main
from mcusim.errors import InputError, KernelFault
from mcusim.kernels.compiler import compile_set
from mcusim.machine.cores import compiler_flags
from mcusim.model import Graph
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.results import Result
from tests.support.graphs.small_graphs import activation, one_operator
from tests.support.paths import REPOSITORY

DATA = REPOSITORY / "tests" / "data"
INCLUDE = REPOSITORY / "mcusim" / "kernels" / "sets" / "include"
pytestmark = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
MANIFEST = """
name = "bad"
sources = ["bad.c"]
include = ["{include}"]
flags = "-O1"
[kernels.ADD]
int8 = {{ symbol = "{symbol}", layout = "binary_call"{scratch} }}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    shutil.copy(DATA / "bad_set" / "bad.c", folder)
    (folder / "manifest.toml").write_text(MANIFEST.format(include=INCLUDE, symbol="good", scratch=""))
    compile_set(folder / "manifest.toml", folder, compiler_flags())
    return folder


def chosen(built: Path, symbol: str, scratch: str = "") -> str:
    (built / "manifest.toml").write_text(MANIFEST.format(include=INCLUDE, symbol=symbol, scratch=scratch))
    return str(built)


def line_of(comment: str) -> int:
    lines = (DATA / "bad_set" / "bad.c").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if f"/* {comment} */" in line)


def graph(rows: int = 6) -> Graph:
    shape = (1, rows, 5, 3)
    return one_operator("ADD", [activation(shape), activation(shape)], [activation(shape)], activation="NONE")


def fault(built: Path, symbol: str, machine: str = "stm32f746g-disco", policy: str = "internal") -> KernelFault:
    result: Result = simulate(
        graph(), machine, policy, chosen(built, symbol), fidelity="emulate", max_instructions=200_000
    )
    assert result.fault is not None
    assert not result.fits
    assert (result.fault.operator, result.fault.type, result.fault.symbol) == (0, "ADD", symbol)
    return result.fault


def test_a_kernel_that_does_nothing_wrong_runs(built: Path) -> None:
    for policy in ("internal", "external", "tinyops"):
        result = simulate(graph(), "stm32f469i-disco", policy, chosen(built, "good"), fidelity="emulate")
        assert result.fault is None
        assert result.fits


@pytest.mark.parametrize("machine", ["stm32f469i-disco", "stm32f746g-disco"])
@pytest.mark.parametrize(
    ("symbol", "comment", "place"),
    [
        ("writes_behind", "behind", "0 B after output"),
        ("writes_across", "across", "across the end of output"),
        ("writes_before", "before", "1 B before input"),
        ("writes_input", "input", "in input1, which it may only read"),
        ("writes_own_call", "call", "in buffer node0"),
        ("writes_flash", "flash", "a store of 4 B at 0x08000000"),
    ],
)
def test_a_write_outside_is_named_with_its_place_and_line(
    built: Path, symbol: str, comment: str, place: str, machine: str
) -> None:
    found = fault(built, symbol, machine)
    assert found.kind == "write outside its buffers"
    assert place in found.text
    assert found.pc is not None
    assert found.address is not None
    assert found.line == f"bad.c:{line_of(comment)}"
    assert f"operator 0 ADD: kernel {symbol}: write outside its buffers at PC 0x08" in str(found)


def test_the_tile_is_named(built: Path) -> None:
    found = fault(built, "writes_behind", policy="tinyops")
    assert (found.tile, found.tiles) == (0, 2)
    assert "operator 0 ADD, tile 1 of 2: kernel writes_behind" in str(found)
    assert "in buffer" in found.text  # the next tile's rows


@pytest.mark.parametrize(
    ("symbol", "kind", "text"),
    [
        ("writes_nowhere", "bus fault", "0xd8000000"),
        ("overflows", "stack overflow", "below the stack"),
        ("never_returns", "does not return", "200,000 instructions"),
        ("stands_still", "does not return", "branches to itself"),
        ("returns_seven", "error", "returned 7, not 0"),
        ("undefined", "undefined instruction", "de03"),
        ("opens_the_mpu", "write outside its buffers", "a change of the MPU"),
        ("writes_dma_registers", "write outside its buffers", "a store to a peripheral"),
        ("talks_to_the_host", "semihosting", "a call to the host"),
    ],
)
def test_other_ends_of_a_call(built: Path, symbol: str, kind: str, text: str) -> None:
    found = fault(built, symbol)
    assert found.kind == kind
    assert text in found.text


def test_scratch_that_the_formula_makes_too_small(built: Path) -> None:
    """The reference MEAN sums in scratch; a formula that gives it 4 bytes lets it write behind."""
    from mcusim.kernels.kernel_set import load_set

    original = load_set("reference")
    for elf in original.manifest.parent.glob("*.elf"):
        shutil.copy(elf, built)
    text = original.manifest.read_text().replace('"4 * batch * out_h * out_w * out_c"', '"4"')
    folder = built / "small"
    folder.mkdir()
    for elf in original.manifest.parent.glob("*.elf"):
        shutil.copy(elf, folder)
    (folder / "manifest.toml").write_text(text)
    from tests.support.graphs.small_graphs import constant

    mean = one_operator(
        "MEAN", [activation((1, 4, 4, 5)), constant([1, 2])], [activation((1, 1, 1, 5))], keep_dims=True
    )
    result = simulate(mean, "stm32f746g-disco", "internal", str(folder), fidelity="emulate")
    assert result.fault is not None
    assert "after scratch" in result.fault.text
    assert result.fault.line is not None


def test_a_symbol_that_the_elf_does_not_have(built: Path) -> None:
    with pytest.raises(InputError, match=r"kernels\.ADD\.int8\.symbol = .*writes_behnd"):
        simulate(graph(), "stm32f746g-disco", "internal", chosen(built, "writes_behnd"), fidelity="emulate")


def test_an_operator_the_set_does_not_have(built: Path) -> None:
    with pytest.raises(InputError, match="kernel set 'bad' has no CONV_2D for int8"):
        simulate("ds-cnn", "stm32f746g-disco", "internal", chosen(built, "good"), fidelity="emulate")


def test_the_command_says_it_and_exits_with_1(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, report, out = tmp_path / "add.tflite", tmp_path / "run.json", tmp_path / "out.npy"
    model.write_bytes(write_tflite(graph()))
    words = ["run", str(model), "--fidelity", "emulate", "--kernels", chosen(built, "writes_behind")]
    assert main([*words, "--json", str(report), "--output", str(out)]) == 1
    written = capsys.readouterr()
    assert re.search(
        r"error: add on stm32f746g-disco: operator 0 ADD: kernel writes_behind: .*\(bad\.c:\d+\)", written.err
    )
    assert "Traceback" not in written.err
    row = json.loads(report.read_text())
    assert row["fits"] is False
    assert row["fault"]["kind"] == "write outside its buffers"
    assert row["fault"]["line"] == f"bad.c:{line_of('behind')}"
    assert not out.exists()
