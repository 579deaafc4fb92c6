"""Options that have no effect are refused; the program on standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mcusim
from mcusim.cli import main
from mcusim.errors import UsageError


def test_compare_takes_an_option_that_one_of_its_policies_takes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "ds-cnn", "--machine", "stm32f746g-disco", "--policy", "external,tinyops", "--json", "-"]
    assert main([*arguments, "--overlay", "input", "--sram-budget", "128 KiB"]) == 0
    assert [row["fits"] for row in json.loads(capsys.readouterr().out)["rows"]] == [True, True]


def test_options_without_effect_are_refused_from_python_too() -> None:
    with pytest.raises(UsageError, match="no effect under policy internal"):
        mcusim.simulate("ds-cnn", "stm32f746g-disco", overlay=["input"])
    with pytest.raises(UsageError, match="no effect under policy external"):
        mcusim.compare(["ds-cnn"], policies=["external"], sram_budget="1 KiB")


def test_plan_to_standard_output_is_the_program_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "ds-cnn", "--policy", "tinyops", "-o", "x.jsonl"]) == 0
    capsys.readouterr()
    assert main(["plan", "ds-cnn", "--policy", "tinyops", "-o", "-"]) == 0
    assert capsys.readouterr() == ((tmp_path / "x.jsonl").read_text(encoding="utf-8"), "")
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]
