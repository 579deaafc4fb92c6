"""Tuners: the guided ones come to good configurations sooner than drawing does, and learn from other layers' logs."""

from __future__ import annotations

import json
from functools import cache
from math import log2
from pathlib import Path
from statistics import median
from typing import Any
from zlib import crc32

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.kernels.compiler import SETS
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.model.geometry import geometry
from mcusim.tuning.config_space import Config
from mcusim.tuning.features import ConfigFeatures
from mcusim.tuning.layer import graph_of_shape
from mcusim.tuning.template import open_template, template_names
from mcusim.tuning.tuner_warm_start import WarmTrial, warm_trials
from mcusim.tuning.tuners import TUNERS, ModelTuner, Tuner
from tests.sessions.test_object_file import needs_compiler
from tests.support.cases import sample_size

PLACES = {"input": "dtcm", "filter": "flash", "scratch": "dtcm"}
SHAPE = {"in_h": 8, "in_w": 8, "in_c": 32, "out_c": 64, "kernel_h": 5, "kernel_w": 5}


@cache
def board(name: str = "nucleo-f746zg") -> Machine:
    return load_machine(name)


def features_of(name: str = "conv2d-direct", **sizes: int) -> ConfigFeatures:
    template = open_template(name)
    shape = {**SHAPE, **sizes} if "1x1" not in name else {**SHAPE, "kernel_h": 1, "kernel_w": 1}
    graph = graph_of_shape(template.operator, shape, "SAME")
    g = geometry(graph, graph.operators[0])
    return ConfigFeatures(g, PLACES, board(), template, template.space(g))


def landscape(config: Config) -> float:
    """Cycles of a made-up board: blocks help until registers run out, some flags do not like some orders, and noise of
    6 % that no model can know."""
    block = int(config["tile_x"]) * int(config["tile_c"])
    cycles = 10.0 / (1 + log2(block)) + max(0, block - 8) * 0.8
    cycles *= 1.0 if config["width"] == 4 else 2.6
    cycles *= {1: 1.3, 2: 1.1, 4: 1.0, 8: 1.02}[int(config["unroll"])]
    cycles *= 1.25 if config["order"] == "y-x-c" and "-O3" in str(config["compiler"]) else 1.0
    cycles *= 0.9 if config["filter"] == "halves" and config["tile_x"] in (2, 4) else 1.0
    return cycles * (1 + crc32(repr(sorted(config.items())).encode()) % 1000 / 1000 * 0.06)


def played(tuner: Tuner, trials: int) -> list[float]:
    """The best after each trial."""
    best, found = float("inf"), list[float]()
    while len(found) < trials and (numbers := tuner.propose(8)):
        took = [landscape(tuner.space.config(number)) for number in numbers]
        tuner.learn(numbers, took)
        for cycles in took:
            best = min(best, cycles)
            found.append(best)
    return found


@pytest.mark.parametrize("name", ["genetic", "model"])
def test_guided_tuners_are_there_sooner(name: str) -> None:
    features, needed = features_of(), []
    for seed in range(sample_size(5, 1 if name == "model" else 3)):
        drawn = played(TUNERS["random"](features, seed, "task"), 200)
        guided = played(TUNERS[name](features, seed, "task"), 80 if name == "model" else 200)
        needed.append(next((i + 1 for i, best in enumerate(guided) if best <= drawn[-1]), 10_000))
    assert median(needed) <= (64 if name == "model" else 140), needed


@pytest.mark.parametrize("name", TUNERS)
def test_a_tuner_proposes_each_once_the_default_first_and_ends(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelTuner, "TREES", 5)
    features = features_of("fully-connected")
    tuner, space = TUNERS[name](features, 0, "task"), features.space
    seen = list[int]()
    while numbers := tuner.propose(8):
        tuner.learn(numbers, [1000.0 + number if number % 5 else float("inf") for number in numbers])
        seen += numbers
        if len(seen) > 120 and name == "model":
            break
    assert len(seen) == len({*seen}) and space.config(seen[0]) == space.default
    assert {*seen} <= {*space.allowed()} and (name == "model" or {*seen} == {*space.allowed()})


@pytest.mark.parametrize("name", template_names())
def test_estimates_follow_the_loops(name: str) -> None:
    """Features are of one length; SIMD, blocks and a filter in slower memory move the estimate the right way."""
    features = features_of(name, **({"out_c": 32} if name == "depthwise" else {}))
    space = features.space
    assert len({len(features.of(number)) for number in list(space.allowed())[:50]}) == 1
    plain = space.default
    simd = {**plain, "width": 4}
    assert features.estimate(simd) < features.estimate(plain)
    elsewhere = ConfigFeatures(
        features.geometry, {**PLACES, "filter": "sdram"}, board("stm32f746g-disco"), features.template, space
    )
    here = ConfigFeatures(features.geometry, PLACES, board("stm32f746g-disco"), features.template, space)
    assert elsewhere.estimate(plain) > here.estimate(plain)


def test_a_tuner_learns_from_other_layers() -> None:
    """What was fast for another layer is tried first."""
    other = features_of(in_h=16, in_w=16, in_c=16, out_c=32)
    numbers = [*other.space.allowed()][::9]
    base = landscape(other.space.default)
    trials = [
        WarmTrial("conv2d-direct", other.space.config(n), other.of(n), landscape(other.space.config(n)) / base)
        for n in numbers
    ]
    for name in ("genetic", "model"):
        cold, warm = (TUNERS[name](features_of(), 0, "task") for _ in range(2))
        warm.warm(trials)
        assert played(warm, 16)[-1] < played(cold, 16)[-1]
    with pytest.raises(UsageError, match="others do not learn"):
        TUNERS["random"](features_of(), 0, "task").warm(trials)


BASE = """
name = "base"
title = "plain loops, those of two operators"
sources = ["FOLDER/reference/convolution.c", "FOLDER/reference/move.c", "FOLDER/common/words.c"]
include = ["FOLDER/include"]
flags = "-O3"
[kernels.CONV_2D]
int8 = { symbol = "reference_conv", layout = "conv_call" }
[kernels.CONCATENATION]
int8 = { symbol = "reference_join", layout = "join_call" }
"""


@needs_compiler
def test_the_fastest_as_a_kernel_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A network with the set is right, its tuned layers take what their trials took; a log warms another tuning up."""
    log, folder = tmp_path / "log.jsonl", tmp_path / "mine"
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "manifest.toml").write_text(BASE.replace("FOLDER", str(SETS)))
    assert main(["kernels", "build", str(tmp_path / "base"), "--out", str(tmp_path / "built")]) == 0
    capsys.readouterr()
    arguments = ["figure-1", "--machine", "nucleo-f746zg", "--layers", "3", "--tuner", "random", "--trials", "3"]
    arguments += ["--template", "conv2d-direct", "--kernels", str(tmp_path / "built" / "base")]
    assert main(["tune", *arguments, "--log", str(log), "--apply", str(folder), "--json", "-"]) == 0
    tuned: dict[str, Any] = json.loads(capsys.readouterr().out)
    again = ["tune", *arguments, "--log", str(log), "--apply", str(folder)]
    assert main(again) == 2 and "is there already" in capsys.readouterr().err
    run = ["figure-1", "--machine", "nucleo-f746zg", "--policy", "internal", "--kernels", str(folder), "--json", "-"]
    assert main(["verify", *run]) == 0
    verified = json.loads(capsys.readouterr().out)
    assert verified["equivalence"]["litert"]["equal"]
    assert main(["run", *run, "--fidelity", "emulate"]) == 0
    operators = {o["index"]: o for o in json.loads(capsys.readouterr().out)["operators"]}
    for task in tuned["tasks"]:
        for index in task["operators"]:
            assert operators[index]["kernel"] == "tuned_conv_2d"
            runtime = operators[index]["cycles_by_cause"]["runtime"]
            assert operators[index]["cycles"] - runtime == pytest.approx(task["best"]["cycles"], rel=0.03)
    trials = warm_trials([log], board(), ["conv2d-direct"])
    assert len(trials) == 3 and min(trial.against_default for trial in trials) < 1
    with pytest.raises(UsageError, match="there is nothing to learn"):
        warm_trials([log], board(), ["depthwise"])
