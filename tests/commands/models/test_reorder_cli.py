"""``mcusim reorder``: files in another order that run as before, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.model import load_model
from mcusim.model.tflite import offline_plan
from mcusim.plan.liveness.lifetimes import peak_bytes
from mcusim.run_config.input_tensors import random_inputs
from tests.support.graphs.litert import LiteRT
from tests.support.paths import shared_model

SWIFTNET = "swiftnet_vwwc19_uint8.tflite"


def reordered(model: str, out: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main(["reorder", model, "-o", str(out), "--json", "-", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_swiftnet_needs_less_and_computes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = shared_model(SWIFTNET), tmp_path / "least.tflite"
    stored = path.read_bytes()
    found = reordered(str(path), out, capsys)
    assert (found["peak_before"], found["peak_after"], found["lower_bound"]) == (351_232, 301_056, 301_056)
    assert found["optimal"] and found["seconds"] < 60
    old, new = load_model(path), load_model(out)
    assert peak_bytes(new) == 301_056 and path.read_bytes() == stored
    inputs = random_inputs(old)
    results = (LiteRT(data).run(*inputs) for data in (stored, out.read_bytes()))
    assert all((a == b).all() for a, b in zip(*results, strict=True))
    assert [op.options for op in new.operators] == [old.operators[i].options for i in found["order"]]


def test_every_byte_but_the_order_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = shared_model(SWIFTNET), tmp_path / "least.tflite"
    reordered(str(path), out, capsys)
    old, new = (np.frombuffer(one.read_bytes(), np.uint8) for one in (path, out))
    changed = np.flatnonzero(old != new)
    assert len(old) == len(new) and 0 < changed.max() - changed.min() < 4 * 85


@pytest.mark.parametrize("name", ["vww_96_int8", "ad01_int8", "person_detect"])
def test_a_chain_is_its_own_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = shared_model(f"{name}.tflite"), tmp_path / "same.tflite"
    found = reordered(str(path), out, capsys)
    assert found["peak_before"] == found["peak_after"] and out.read_bytes() == path.read_bytes()


def test_a_network_of_the_zoo_is_written_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "figure-1.tflite"
    found = reordered("figure-1", out, capsys)
    assert (found["peak_before"], found["peak_after"]) == (5216, 4960)
    assert found["usage_before"] == [4704, 4704, 5216, 4160, 1280, 1024, 1024]
    assert main(["export", "figure-1", "-o", str(tmp_path / "own.tflite")]) == 0
    inputs = random_inputs(load_model(out))
    own, new = (LiteRT(path.read_bytes()).run(*inputs) for path in (tmp_path / "own.tflite", out))
    assert all((a == b).all() for a, b in zip(own, new, strict=True))


def test_the_table_marks_the_bottleneck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reorder", "figure-1", "-o", str(tmp_path / "x.tflite"), "--operators"]) == 0
    shown = capsys.readouterr().out
    assert "at operator 2 CONV_2D  5,216 B" in shown and "no order needs less (" in shown
    assert "5,216 *" in shown and "4,960 *" in shown


def test_the_input_is_never_touched_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(shared_model(SWIFTNET).read_bytes())
    before = path.read_bytes()
    assert main(["reorder", str(path), "-o", str(path)]) == 2
    assert "it is an input file" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert main(["reorder", str(path), "-o", str(path), "--force"]) == 0
    assert path.read_bytes() != before and peak_bytes(load_model(path)) == 301_056


def test_a_memory_plan_for_the_old_order_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, out = tmp_path / "planned.tflite", tmp_path / "out.tflite"
    assert main(["memory", str(shared_model(SWIFTNET)), "-o", str(plan)]) == 0
    assert main(["reorder", str(plan), "-o", str(out)]) == 2
    assert "its metadata has an offline memory plan" in capsys.readouterr().err and not out.exists()
    assert main(["memory", str(plan), "--order", "optimal", "-o", str(out)]) == 0
    assert peak_bytes(load_model(out)) == 301_056


def test_a_memory_plan_for_an_order_that_stays_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, out = tmp_path / "planned.tflite", tmp_path / "out.tflite"
    assert main(["memory", "ds-cnn", "--allocator", "optimal", "-o", str(plan)]) == 0
    capsys.readouterr()
    reordered(str(plan), out, capsys)
    assert out.read_bytes() == plan.read_bytes()


def test_control_dependencies_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "model.tflite", tmp_path / "out.tflite"
    with monkeypatch.context() as other:
        other.setattr(offline_plan, "OFFLINE_PLAN", "model_control_dependencies")
        assert main(["memory", str(shared_model(SWIFTNET)), "-o", str(path)]) == 0
    assert main(["reorder", str(path), "-o", str(out)]) == 2
    assert "its metadata has control dependencies" in capsys.readouterr().err and not out.exists()


@pytest.mark.parametrize("cut", [0, 3, 100, 5_000, 100_000])
def test_damaged_files(cut: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.tflite"
    path.write_bytes(shared_model(SWIFTNET).read_bytes()[:cut])
    assert main(["reorder", str(path), "-o", str(tmp_path / "out.tflite")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.startswith("error: ") and not (tmp_path / "out.tflite").exists()
