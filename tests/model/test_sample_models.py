"""The models of the sample programs: read, run by LiteRT, and computed by the programs that belong to them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mcusim.api.simulate import replay
from mcusim.machine import load_machine
from mcusim.model import load_model, zoo_names
from mcusim.program import read_program
from mcusim.run_config.input_tensors import random_inputs
from tests.support.cases import few
from tests.support.graphs.litert import LiteRT
from tests.support.paths import REPOSITORY

FOLDER = REPOSITORY / "traces"
MODELS = sorted(FOLDER.glob("*.tflite"))
SAMPLES = [path for path in sorted(FOLDER.glob("[!b]*.jsonl")) if read_program(path).header.model not in zoo_names()]


def model_path(path: Path) -> Path:
    return FOLDER / f"{read_program(path).header.model}.tflite"


def test_every_sample_that_is_no_zoo_network_has_its_model() -> None:
    assert {model_path(path) for path in SAMPLES} == set(MODELS)
    for path in SAMPLES:
        assert read_program(path).header.model_sha256 == load_model(model_path(path)).sha256


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models_are_small_and_use_their_range(path: Path) -> None:
    graph = load_model(path)
    assert path.stat().st_size < 16 << 10
    assert graph.name == path.stem
    assert graph.random_weights
    result = LiteRT(path.read_bytes()).run(*random_inputs(graph))[0].astype(int)
    assert result.std() > 20
    assert np.isin(result, (-128, 127)).mean() < 0.05


@few(3)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_compute_what_litert_does(path: Path) -> None:
    program, model = read_program(path), model_path(path)
    inputs = random_inputs(load_model(model), seed=3)
    machine = load_machine(program.header.machine)
    result = replay(program, machine, "emulate", model=model, input=inputs)
    expected = LiteRT(model.read_bytes()).run(*inputs)
    assert [output.values.tolist() for output in result.outputs] == [values.tolist() for values in expected]


def test_the_command_that_runs_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    from mcusim.commands.app import main

    trace = FOLDER / "ping-pong-four-tiles.jsonl"
    assert main(["replay", str(trace), "--fidelity", "emulate", "--model", str(model_path(trace)), "--all"]) == 0
    assert re.search(r"instructions +7,120,730", capsys.readouterr().out)
