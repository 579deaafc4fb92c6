"""Generated C: compiled for both cores, it gives what emulated kernels and the interpreter do; nothing half-written."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcusim
from mcusim import simulate
from mcusim.codegen.c_text import comment
from mcusim.commands.app import main
from mcusim.errors import UnsupportedError, UsageError
from mcusim.machine import load_machine
from mcusim.model import Quantization, load_model
from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.run_config.input_tensors import random_inputs
from mcusim.runtime.runtime import find_runtime
from tests.support.cases import few, only_with_all_cases
from tests.support.graphs.float_graphs import float_network
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.paths import REPOSITORY

GCC = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed")
BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}


def run_c(model: str | Graph, folder: Path, core: str = "cortex-m7", *options: str, **more: Any) -> Any:
    """What a run of generated code gives, built without a warning."""
    mcusim.generate(model, folder, BOARDS[core], **more)
    done = subprocess.run(["make", "-s", *options], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return mcusim.emulate(folder / f"model-{core}.elf", BOARDS[core], call="main", dumps=["outputs"])


def emulated(model: str | Graph) -> bytes:
    graph = load_model(model) if isinstance(model, str) else model
    given = random_inputs(find_runtime("tinyengine").executed(graph))
    outputs = mcusim.simulate(graph, "stm32f746g-disco", fidelity="emulate", input=given).outputs
    return b"".join(one.values.tobytes() for one in outputs)


@few(1)
@GCC
@pytest.mark.parametrize("core", BOARDS)
@pytest.mark.parametrize(
    ("model", "patches"),
    [("mnasnet-w0.10-r032-pad", {"patches": "4x4", "patch_split": 7})]
    + [(name, {}) for name in ("ds-cnn", "figure-1", "mcunet-vww1")],
)
def test_it_gives_the_bytes_of_an_interpreter_in_the_time_of_its_runtime(
    model: str, patches: dict[str, Any], core: str, tmp_path: Path
) -> None:
    run = simulate(model, BOARDS[core], runtime="tinyengine", fidelity="emulate", **patches).run
    assert run is not None and run.header.options.get("patches") == patches.get("patches")
    generated = run_c(model, tmp_path / "c", core, **patches)
    assert generated.dumps[0].data == emulated(model)
    assert generated.profile.cycles == pytest.approx(run.cycles, rel=0.02)


@GCC
def test_floats_too(tmp_path: Path) -> None:
    generated = run_c(float_network(), tmp_path / "c")
    assert generated.dumps[0].data == emulated(float_network())


@only_with_all_cases
@GCC
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_all_levels_and_the_host_give_the_bytes_of_litert() -> None:
    """A sample of ``scripts/evidence/tinyengine/generated``, which has five models."""
    pytest.importorskip("ai_edge_litert")
    script = REPOSITORY / "scripts" / "evidence" / "tinyengine" / "generated"
    done = subprocess.run([sys.executable, script, "--sample"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("the same bytes") == 5


def test_the_same_model_gives_the_same_bytes_and_only_what_it_needs(tmp_path: Path) -> None:
    one, other = (mcusim.generate("figure-1", tmp_path / name) for name in "ab")
    assert one.files == other.files and one.flash == one.weights + one.tables + one.code
    written = {str(p.relative_to(tmp_path / "a")): p.read_bytes() for p in (tmp_path / "a").rglob("*") if p.is_file()}
    assert written == one.files
    assert not any("lstm" in place or "svdf" in place for place in one.files)


def test_a_folder_with_files_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="--force"):
        mcusim.generate("figure-1", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    mcusim.generate("figure-1", tmp_path, force=True)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine" and (tmp_path / "Makefile").is_file()


def test_an_interpreter_has_nothing_to_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "figure-1", "--runtime", "tflm", "-o", str(tmp_path / "c")]) == 2
    assert "tinyengine" in capsys.readouterr().err and not (tmp_path / "c").exists()


@pytest.mark.parametrize("damage", ["empty", "truncated", "unknown", "float", "huge"])
def test_hostile_files_are_one_line_and_leave_nothing(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, file = load_model("figure-1"), tmp_path / "m.tflite"
    data, (first, *rest) = write_tflite(graph), graph.operators
    if damage == "unknown":
        data = write_tflite(replace(graph, operators=(replace(first, type="RFFT2D"), *rest)))
    elif damage == "float":
        data = write_tflite(replace(graph, tensors=tuple(map(as_float, graph.tensors))))
    elif damage == "huge":
        data = write_tflite(relu(5000, 5000, 64))
    file.write_bytes({"empty": b"", "truncated": data[: len(data) // 3]}.get(damage, data))
    assert main(["generate", str(file), "-o", str(tmp_path / "c")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and not (tmp_path / "c").exists()
    wanted = {"unknown": "operator 0 RFFT2D (1x", "float": "float16", "huge": "64 MiB"}.get(damage, "m.tflite")
    assert wanted in error


def as_float(tensor: Tensor) -> Tensor:
    values = None if tensor.data is None else tensor.data.astype(np.float16)
    return replace(tensor, dtype="float16", quantization=None, data=values)


def relu(*size: int) -> Graph:
    """One operator on a map of that size."""
    scale = Quantization((0.5,), (0,))
    tensors = [Tensor(i, "map", (1, *size), "int8", scale) for i in range(2)]
    return Graph("relu", tuple(tensors), (Operator(0, "RELU", (0,), (1,), {}),), (0,), (1,), "")


def test_what_cannot_be_generated_is_named_with_its_shapes(tmp_path: Path) -> None:
    graph = load_model("figure-1")
    wrong = graph.operators[0].__class__(0, "WHATEVER", graph.operators[0].inputs, graph.operators[0].outputs, {})
    hostile = Graph("h", graph.tensors, (wrong, *graph.operators[1:]), graph.inputs, graph.outputs, "")
    with pytest.raises(UnsupportedError, match=r"operator 0 WHATEVER \(1x"):
        mcusim.generate(hostile, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_what_does_not_fit_the_board_is_named_and_not_linked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = load_model("figure-1")
    small = load_machine("stm32f746g-disco", {"memory.flash.size": "4 KiB"})
    over = mcusim.generate(graph, tmp_path / "a", small).over
    assert len(over) == 1 and over[0].endswith(" of 4 KiB flash (flash)")
    assert f"ASSERT(code_end <= {0x8001000:#x}," in (tmp_path / "a" / "board.ld").read_text(encoding="utf-8")
    large = tmp_path / "large.tflite"
    tensor = Tensor(0, "image", (1, 256, 256, 16), "int8", Quantization((0.1,), (0,)))
    relu = (Operator(0, "RELU", (0,), (1,), {}),)
    large.write_bytes(write_tflite(Graph("large", (tensor, replace(tensor, index=1)), relu, (0,), (1,), "")))
    assert main(["generate", str(large), "-o", str(tmp_path / "b")]) == 1
    assert "does not fit stm32f746g-disco: needs 2 MiB of 320 KiB RAM (dtcm+sram1+sram2)" in capsys.readouterr().out


@only_with_all_cases
@GCC
@pytest.mark.parametrize("name", ["main", "stdint", "kernels", "conv_1x1", "String", "*/ int x; /*\n#error"])
def test_a_model_of_any_name_compiles(name: str, tmp_path: Path) -> None:
    """A header of the name of one of C's, or of the kernels', would be found before it; nothing in a name is code."""
    graph = load_model("figure-1")
    tensors = tuple(replace(t, name=f'*/ "{name}" \\\n#error ??/') for t in graph.tensors)
    run_c(replace(graph, name=name, tensors=tensors), tmp_path / "c")


def test_names_cannot_become_code() -> None:
    assert "*" not in comment("*/ system(1); /*") and "\n" not in comment("a\nb") and "\\" not in comment("\\")
