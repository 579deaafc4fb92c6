"""``mcusim run --fidelity emulate`` and ``both``: files in and out, what is refused, what is printed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.model import Tensor
from mcusim.model.tflite.tflite_writer import write_tflite
from tests.support.cases import only_with_all_cases
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.small_graphs import activation, one_operator

SHAPE = (1, 4, 5, 3)


@pytest.fixture
def adding(tmp_path: Path) -> Path:
    """ADD of two inputs."""
    graph = one_operator("ADD", [activation(SHAPE), activation(SHAPE)], [activation(SHAPE)], activation="NONE")
    path = tmp_path / "add.tflite"
    path.write_bytes(write_tflite(graph))
    return path


@pytest.fixture
def splitting(tmp_path: Path) -> Path:
    """SPLIT into two outputs."""
    axis = Tensor(0, "axis", (), "int32", data=np.array(3, np.int32))
    half = activation((1, 4, 5, 3))
    graph = one_operator("SPLIT", [axis, activation((1, 4, 5, 6))], [half, half], num_splits=2)
    path = tmp_path / "split.tflite"
    path.write_bytes(write_tflite(graph))
    return path


def saved(path: Path, shape: tuple[int, ...] = SHAPE, dtype: str = "int8", seed: int = 0) -> Path:
    np.save(path, np.random.default_rng(seed).integers(-128, 128, shape).astype(dtype))
    return path


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["run", *map(str, words)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


def test_inputs_and_output_are_numpy_files(adding: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, out = saved(tmp_path / "a.npy"), saved(tmp_path / "b.npy", SHAPE[1:], seed=1), tmp_path / "out.npy"
    report = tmp_path / "run.json"
    words = ["run", adding, "--fidelity", "emulate", "--input", a, "--input", b, "-o", out, "--json", report]
    assert main([*map(str, words)]) == 0
    expected = LiteRT(adding.read_bytes()).run(np.load(a), np.load(b).reshape(SHAPE))[0]
    np.testing.assert_array_equal(np.load(out), expected)
    text = capsys.readouterr().out
    assert "kernels cmsis, fidelity emulate" in text
    assert "  output    " in text
    row = json.loads(report.read_text())
    assert row["fidelity"] == "emulate"
    assert row["outputs"][0]["sha256"] == hashlib.sha256(expected.tobytes()).hexdigest()
    assert row["outputs"][0]["values"] == expected.reshape(-1).tolist()
    before = out.read_bytes()
    assert "exists; --force overwrites it" in refused(capsys, adding, "--fidelity", "emulate", "-o", out)
    assert out.read_bytes() == before
    assert main(["run", str(adding), "--fidelity", "emulate", "-o", str(out), "--force"]) == 0
    assert out.read_bytes() != before  # random inputs


def test_several_outputs_go_to_one_npz(splitting: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = saved(tmp_path / "x.npy", (1, 4, 5, 6))
    words = ["run", str(splitting), "--fidelity", "emulate", "--input", str(x), "-o"]
    assert main([*words, str(tmp_path / "out.npz")]) == 0
    found = np.load(tmp_path / "out.npz")
    for name, expected in zip(("output0", "output1"), LiteRT(splitting.read_bytes()).run(np.load(x)), strict=True):
        np.testing.assert_array_equal(found[name], expected)
    capsys.readouterr()
    assert main([*words, str(tmp_path / "out.npy")]) == 2
    assert "the network has 2 outputs; name a .npz" in capsys.readouterr().err
    assert not (tmp_path / "out.npy").exists()


def test_both_fidelities_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "both.json"
    words = ["run", "ds-cnn", "--policy", "tinyops", "--fidelity", "both", "--operators", "4", "--json", str(report)]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "replay of cmsis-gcc12 and emulation of cmsis" in text
    assert "Slowest operators (4 of 13)" in text
    row = json.loads(report.read_text())
    assert row["replay"]["peak_bytes"] == row["emulate"]["peak_bytes"]
    assert row["replay"]["memory"] == row["emulate"]["memory"]
    assert len(row["operators"]) == 13
    one = row["operators"][0]
    assert one["difference_percent"] == pytest.approx(100 * (one["replay"] - one["emulate"]) / one["emulate"])
    assert set(row["difference_percent"]) == {"median", "worst", "run"}


def test_both_says_when_it_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "--fidelity", "both", "--sram-budget", "4 KiB"]) == 1
    assert "does not fit" in capsys.readouterr().err


def test_a_first_run_says_what_it_was_given(adding: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(adding), "--fidelity", "emulate", "--assumptions"]) == 0
    text = capsys.readouterr().out
    assert "input: random values, seed 0; --input gives a real one" in text
    assert "interpreter: 1,800 cycles an operator (assumed" in text


def _text(path: Path) -> None:
    path.write_text("not numpy")


def _truncated(path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(SHAPE, np.int8))
    path.write_bytes(buffer.getvalue()[:-7])


def _objects(path: Path) -> None:
    np.save(path, np.array([{}, []], object), allow_pickle=True)


def _archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"x")


def _huge(path: Path) -> None:
    path.write_bytes(
        b"\x93NUMPY\x01\x00v\x00{'descr': '|i1', 'fortran_order': False, 'shape': (1, 99999999999), }" + b" " * 50
    )


def _large(path: Path) -> None:
    np.save(path, np.zeros(1 << 20, np.int8))


def _fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (_text, "cannot be read as .npy: it is not one (numpy.save writes them)"),
        (_truncated, "cannot be read as .npy"),
        (_objects, "cannot be read as .npy"),
        (_archive, "is an archive of arrays (.npz)"),
        (_huge, "cannot be read as .npy"),
        (_large, "takes less"),
        (_fifo, "not a regular file"),
        (lambda path: path.mkdir(), "not a regular file"),
        (lambda path: None, "No such file"),
        (
            lambda path: saved(path, dtype="float32"),
            "is float32; the model takes int8 (a real value x is round(x / 0.125) + 0)",
        ),
        (lambda path: saved(path, (1, 5, 4, 3)), "has shape 1x5x4x3; the model takes 1x4x5x3"),
        (lambda path: saved(path, ()), "has shape scalar"),
    ],
)
def test_bad_inputs(make: Any, text: str, adding: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = saved(tmp_path / "good.npy"), tmp_path / "bad.npy"
    make(bad)
    error = refused(capsys, adding, "--fidelity", "emulate", "--input", good, "--input", bad)
    assert text in error
    assert str(bad) in error


def test_inputs_that_are_too_few(adding: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, adding, "--fidelity", "emulate", "--input", saved(tmp_path / "a.npy"))
    assert "1 inputs given; add takes 2" in error
    assert "int8 1x4x5x3" in error


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["--fidelity", "magic"],
            "fidelity 'magic' is not known; choose from: replay, emulate; for `mcusim run` also both",
        ),
        (["--input", "x.npy"], "--input has no effect with --fidelity replay"),
        (["--output", "x.npy"], "--output has no effect with --fidelity replay"),
        (["--max-instructions", "5"], "--max-instructions has no effect with --fidelity replay"),
        (["--fidelity", "emulate", "--output", "-"], "--output -"),
        (["--fidelity", "emulate", "--output", "out.txt"], "must end in .npy (one output) or .npz"),
        (["--fidelity", "emulate", "--output", "no/such/out.npy"], "there is no directory"),
        (["--fidelity", "emulate", "--kernels", "cmsis-2021-gcc9"], "cost profile of code that is not here"),
        (["--fidelity", "emulate", "--kernels", "cmsiss"], "did you mean 'cmsis'"),
        (["--fidelity", "emulate", "--code", "itmc"], "has no region 'itmc' for code; it has"),
        (["--kernels", "no-such"], "no kernel profile named 'no-such'"),
        (["--operator-overhead", "-1"], "operator_overhead = '-1': must be a whole number"),
    ],
)
def test_options_that_cannot_be_used(
    words: list[str], text: str, adding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in refused(capsys, adding, *words)


def test_an_output_does_not_overwrite_the_input(
    adding: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = saved(tmp_path / "a.npy")
    error = refused(capsys, adding, "--fidelity", "emulate", "--input", a, "--input", a, "-o", a, "--force")
    assert "is another file of this run" in error


def test_a_header_that_numpy_s_tokenizer_refuses(
    adding: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = b"{'descr':'|i1','fortran_order':False,'shape':(1,4,5,3)(((("
    bad = tmp_path / "bad.npy"
    bad.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(60))
    error = refused(capsys, adding, "--fidelity", "emulate", "--input", bad, "--input", bad)
    assert "cannot be read as .npy" in error


@only_with_all_cases
def test_compare_emulates_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "rows.json"
    words = ["compare", "ds-cnn", "--machine", "stm32f746g-disco", "--fidelity", "emulate", "--json", str(report)]
    assert main(words) == 0
    assert "external takes" in capsys.readouterr().out
    rows = {row["policy"]: row for row in json.loads(report.read_text())["rows"]}
    assert {row["fidelity"] for row in rows.values()} == {"emulate"}
    assert len({row["outputs"][0]["sha256"] for row in rows.values()}) == 1
    assert rows["internal"]["cycles"] < rows["tinyops"]["cycles"] < rows["external"]["cycles"]
