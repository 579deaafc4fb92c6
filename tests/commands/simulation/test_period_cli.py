"""`--period` and `--battery` of run and compare: terminal, JSON, page, status, and from Python the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main

RUN = ["run", "figure-1", "--period", "10 ms", "--battery", "CR2032"]


def test_run_says_what_a_period_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """5 V: the run at 96 mA, the rest of 10 ms at 30 mA, from a cell of 3 V."""
    made, page = tmp_path / "run.json", tmp_path / "run.html"
    assert main([*RUN, "--json", str(made), "--html", str(page), "--show", "timing"]) == 0
    table = capsys.readouterr().out
    answer = json.loads(made.read_text())
    period = answer["period"]
    asleep = 5 * 30 * (10 - answer["latency_ms"]) / 1e3
    assert period["sleep_mj"] == pytest.approx(asleep)
    assert period["energy_mj"] == pytest.approx(answer["energy_mj"] + asleep)
    assert period["mean_power_mw"] == pytest.approx(period["energy_mj"] / 0.01)
    assert period["battery"]["hours"] == pytest.approx(225 * 3 / period["mean_power_mw"])
    low, high = answer["interval"]["energy_mj"]
    assert period["interval_mj"] == pytest.approx([low + 0.8 * asleep, high + 3.7 * asleep])
    assert "of a period" in table and "are expected, 0.8 (peripherals off) to 3.7 times (on)" in " ".join(table.split())
    assert period["battery"]["overload"] and answer["limits"][0]["name"] == "period" and answer["limits"][0]["met"]
    for label in ("energy a period", "mean power", "battery life"):
        assert label in table and label in page.read_text()
    assert "boost converter without loss; it draws more than the 15 mA" in " ".join(table.split())
    assert any(text.startswith("power.sleep = 30 mA at 216 MHz (assumed") for text in answer["assumptions"])
    duty = mcusim.simulate("figure-1", "stm32f746g-disco", period="10 ms", battery="CR2032").duty
    assert duty is not None and json.loads(json.dumps(duty.to_json())) == period


def test_a_period_that_is_too_short_is_a_negative_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "run.json"
    assert main(["run", "ds-cnn", "--period", "30 ms", "--json", str(made), "--all"]) == 1
    shown = capsys.readouterr()
    assert "period 31.2 ms exceeds 30 ms by 1.16 ms" in shown.err
    assert "not met: the inference takes 31.2 ms, 1.16 ms too long" in shown.out
    answer = json.loads(made.read_text())
    assert (answer["period"]["met"], answer["period"]["energy_mj"]) == (False, None)
    assert "--period '30 ms'" in answer["ways_out"][0]["command"] and answer["ways_out"][0]["latency_ms"] <= 30


def test_without_a_period_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "run.json"
    assert main(["run", "figure-1", "--json", str(made)]) == 0
    assert json.loads(made.read_text())["period"] is None
    assert "period" not in capsys.readouterr().out
    assert main(["run", "figure-1", "--battery", "AA"]) == 2
    assert "--battery needs --period" in capsys.readouterr().err


def test_compare_has_a_block_for_each_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "compare.html"
    asked = ["compare", "ds-cnn", "-m", "stm32f746g-disco", "--html", str(page), "--period"]
    assert main([*asked, "33 ms", "--battery", "1000 mAh 3.7 V"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    at = next(number for number, words in enumerate(lines) if words[:2] == ["each", "period"])
    assert [words[0] for words in lines[at + 1 : at + 4]] == ["internal", "external", "tinyops"]
    assert lines[at + 2][1:7] == ["-", "-", "-", "not", "met", "by"] and lines[at + 1][-1] == "h"
    assert "period not met" in page.read_text() and "1000 mAh 3.7 V" in page.read_text()
    assert main([*asked, "20 ms", "--force"]) == 1
    assert "no row ends within the period of 20 ms; the fastest takes 31.2 ms" in capsys.readouterr().err


def test_a_cell_without_a_known_largest_current_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-m", "nucleo-l4r5zi", "--period", "1 s", "--battery", "10 mAh 3.7 V", "--show", "timing"]
    assert main(["run", "figure-1", *words]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "battery life by charge, a linear regulator" in shown and "meant for" not in shown
