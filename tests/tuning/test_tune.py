"""Tunings: the same with any number of processes, and gone on with after any death."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import load_machine
from mcusim.tuning.layer import graph_of_shape, layers_of
from mcusim.tuning.measuring import Measurer
from mcusim.tuning.trial import TrialResult
from mcusim.tuning.tune import TuningPlan, tasks_of, tune_tasks
from mcusim.tuning.tuners import TUNERS, ModelTuner
from tests.sessions.test_object_file import needs_compiler
from tests.support.cases import only_with_all_cases, sample_size

SHAPE = {"in_h": 4, "in_w": 4, "in_c": 4, "out_c": 4}
SMALL = "in=4x4x4,kernel=3x3,out=4"


def plan(tuner: str = "random", trials: int = 20, seed: int = 0, layers: int = 1) -> TuningPlan:
    """Of small layers."""
    machine = load_machine("nucleo-f746zg")
    found = [layers_of(graph_of_shape("CONV_2D", {**SHAPE, "in_h": 4 + n}, "SAME"), machine)[0] for n in range(layers)]
    return TuningPlan(machine, tasks_of(found, machine, ["conv2d-direct"]), tuner, trials, seed)


@pytest.fixture
def by_formula(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Trials without an emulator: what each takes is a formula of its number; the numbers that were measured."""
    measured: list[int] = []

    def formula(self: Measurer, task: str, numbers: list[int]) -> Any:
        for number in numbers:
            measured.append(number)
            result = "fault" if number % 11 == 3 else "ok"
            yield TrialResult(result, None if result == "fault" else 1000.0 + number * 7919 % 1013, text=result)  # type: ignore[arg-type]

    monkeypatch.setattr(Measurer, "measured", formula)
    monkeypatch.setattr("mcusim.tuning.tune._sets", lambda task, kernels: {})
    return measured


def without_times(path: Path) -> list[Any]:
    """The lines of a log."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


@pytest.mark.parametrize("tuner", TUNERS)
def test_a_log_cut_anywhere_is_gone_on_with(
    tuner: str, by_formula: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written is not measured again, what comes out is the same file; a whole one is measured no more."""
    monkeypatch.setattr(ModelTuner, "TREES", 5)
    monkeypatch.setattr(ModelTuner, "POOL", 50)
    monkeypatch.setattr(ModelTuner, "WHOLE", 50)
    chosen, whole = plan(tuner, layers=2), tmp_path / "whole.jsonl"
    best = [task.best for task in tune_tasks(chosen, whole)]
    assert len(by_formula) == 40 and all(best)
    data, dice = whole.read_bytes(), random.Random(tuner)
    for _ in range(sample_size(100, 1 if tuner == "model" else 10)):
        path, end = tmp_path / "cut.jsonl", dice.randrange(len(data) + 1)
        path.write_bytes(data[:end])
        by_formula.clear()
        assert [task.best for task in tune_tasks(chosen, path)] == best
        assert path.read_bytes() == data
        assert len(by_formula) == 40 - max(0, data[:end].count(b"\n") - 1)
    assert {record.trial for record in tune_tasks(chosen, whole)[0].records} == set(range(20))
    more = tune_tasks(plan(tuner, trials=30), tmp_path / "more.jsonl")
    assert [record.config for record in more[0].records[:16]] == [r.config for r in tune_tasks(chosen)[0].records[:16]]


def test_a_log_of_another_tuning_is_refused(by_formula: list[int], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    tune_tasks(plan(), path)
    data = path.read_bytes()
    with pytest.raises(UsageError, match=r"log of another tuning \(seed: 0, now 1"):
        tune_tasks(plan(seed=1), path)
    path.write_bytes(data.replace(b'"tile_x":1', b'"tile_x":2', 1))
    with pytest.raises(UsageError, match=r"trial 0 of .* is not the one that this tuning makes"):
        tune_tasks(plan(), path)
    lines = data.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b'{"trial": -1}\n', *lines[3:]]))
    with pytest.raises(UsageError, match=r"log.jsonl:4: is no record of a trial"):
        tune_tasks(plan(), path)
    path.write_text("something else\n")
    with pytest.raises(UsageError, match="is not a log of `mcusim tune`"):
        tune_tasks(plan(), path)
    assert path.read_text() == "something else\n"


@needs_compiler
def test_processes_and_the_command_give_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [tmp_path / f"{jobs}.jsonl" for jobs in (1, 2)[: sample_size(2, 1)]]  # two: test_plan_task has them too
    for jobs, log in enumerate(logs, 1):
        arguments = ["--trials", "3", "--log", str(log), "--jobs", str(jobs), "--json", "-"]
        assert main(["tune", "conv2d-direct", "--shape", SMALL, *arguments]) == 0
        found = json.loads(capsys.readouterr().out)
    assert without_times(logs[0]) == without_times(logs[-1])
    (task,) = found["tasks"]
    assert [record["trial"] for record in task["records"]] == list(range(3))
    assert task["best"]["cycles"] == min(r["cycles"] for r in task["records"] if r["result"] == "ok")
    assert task["default_cycles"] == task["records"][0]["cycles"] and task["sets"]["cmsis"]["cycles"] > 0
    assert main(["tune", "conv2d-direct", "--shape", SMALL, "--trials", "3", "--log", str(logs[0])]) == 0
    text = capsys.readouterr().out
    assert (
        f"{task['best']['cycles']:,.0f}" in text and "kernels cmsis" in text and max(map(len, text.splitlines())) <= 80
    )


@needs_compiler
@only_with_all_cases
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster_gives_the_same(tmp_path: Path) -> None:
    """Workers that share nothing but the package."""
    distributed = pytest.importorskip("distributed")
    chosen, logs = plan(trials=5), [tmp_path / "here.jsonl", tmp_path / "there.jsonl"]
    tune_tasks(chosen, logs[0], jobs=1)
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "protocol": "tcp"}
    with distributed.LocalCluster(local_directory=str(tmp_path / "dask"), **options) as cluster:
        tune_tasks(chosen, logs[1], dask=cluster.scheduler_address)
    assert without_times(logs[0]) == without_times(logs[1])
