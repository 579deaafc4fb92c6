"""``mcusim verify`` on the command line: tables, JSON, exit status, and files that are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from test_hostile import TEXT, check, variants

from mcusim.cli import main
from mcusim.plan.proof import RULES

TRACES = REPOSITORY / "traces"


def verified(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    status = main(["verify", *arguments, "--json", "-"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
def test_planned_models_are_proven(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = verified(["ds-cnn", "--machine", "stm32f746g-disco", "--policy", policy], capsys)
    assert (status, data["findings"], data["policy"]) == (0, [], policy)


def test_a_model_is_planned_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ds-cnn", "--overlay", "filter", "--sram-budget", "128 KiB", "--set", "dma.dma2.max_units=1000"]
    status, data = verified(arguments, capsys)
    assert (status, data["findings"]) == (0, [])
    assert main(["verify", "ds-cnn", "-m", "stm32f469i-disco"]) == 0
    assert "no findings" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(TRACES.glob("broken-*.jsonl")), ids=lambda path: path.stem)
def test_broken_traces_have_status_1_and_whole_findings(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = verified([str(path)], capsys)
    assert status == 1
    ids = {json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()[1:]}
    for finding in data["findings"]:
        assert set(finding) == {"rule", "tasks", "buffers", "bytes", "text", "fix"}
        assert finding["rule"] in RULES
        assert finding["tasks"] and set(finding["tasks"]) <= ids
        assert finding["bytes"][0] < finding["bytes"][1]


def test_the_table_says_what_and_how_to_mend_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(TRACES / "broken-01.jsonl")]) == 1
    shown = capsys.readouterr()
    assert "1. unordered" in shown.out
    assert "tasks 5, 8; 0x20002400 to 0x200047ff (9 KiB) in tile1" in shown.out
    assert "fix: add 5 to `after` of task 8" in shown.out
    assert shown.err.strip().endswith("broken-01.jsonl: 1 finding")


def test_a_program_may_be_verified_on_another_machine(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "cache-maintenance.jsonl")
    assert verified([trace], capsys)[0] == 0
    status, data = verified([trace, "--machine", "stm32f469i-disco"], capsys)
    assert status == 1
    assert {f["rule"] for f in data["findings"]} == {"bounds"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere.jsonl"], "cannot be read"),
        (["no-such-model"], "no-such-model"),
        ([str(TRACES / "broken-01.jsonl"), "--policy", "tinyops"], "--policy is for a model"),
        ([str(TRACES / "broken-01.jsonl"), "--machine", "moon"], "moon"),
        ([str(TRACES)], "traces"),
        (["ds-cnn", "--policy", "moon"], "moon"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ") and reason in lines[0]


def test_damaged_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, statuses = tmp_path / "bad.jsonl", set()
    for sample in ("cache-maintenance", "broken-10"):
        for data in variants((TRACES / f"{sample}.jsonl").read_bytes(), TEXT, sample):
            path.write_bytes(data)
            statuses.add(check(["verify", str(path)], capsys))
    assert statuses >= {1, 2}


def test_help_says_that_it_is_static(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "static proof" in shown and "mcusim verify traces/broken-03.jsonl" in shown
