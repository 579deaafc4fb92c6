"""``--clock`` and ``--force-clock``: what moved is said in the terminal, in JSON, in the page and in a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from tests.support.cases import few
from tests.support.made import figures

F746 = "stm32f746g-disco"
CURRENTS = [f"power.{name}" for name in ("dma_active", "run", "sdram_active", "sleep", "stalled")]


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(list(words)) == status
    streams = capsys.readouterr()
    return streams.out if status == 0 else streams.err


def as_json(path: Path, *words: str) -> Any:
    assert main([*words, "--json", str(path), "--force"]) == 0
    return json.loads(path.read_text())


def test_a_run_says_what_moved_by_what_and_on_what_basis(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = " ".join(said(capsys, "run", "ds-cnn", "--clock", "108 MHz", "--all").split())
    assert "changed: core.clock = 108 MHz moved with the clock: regulator scale1-over-drive -> scale3 (" in out
    assert "memory.flash.wait_states 5 -> 3 (up to 120 MHz; datasheet)" in out
    assert "memory.sdram.clock 108 MHz -> 54 MHz (bus.clock / 2; datasheet), 5 currents of [power] (in --json)" in out
    assert "moved with" not in said(capsys, "run", "ds-cnn", "--clock", "216 MHz")
    page = tmp_path / "run.html"
    found = as_json(tmp_path / "a.json", "run", "ds-cnn", "--clock", "108 MHz", "--html", str(page))["clock"]
    head = {"hz": 108_000_000, "max_hz": 216_000_000, "forced": False, "regulator": "scale3"}
    assert {key: found[key] for key in head} == head and [one["key"] for one in found["moved"]][4:] == CURRENTS
    states = found["moved"][2]
    assert (states["before"], states["after"], states["basis"]) == ("5", "3", "datasheet")
    assert (
        states["source"].startswith("ST RM0385")
        and f"<td>datasheet</td><td>{states['source']}</td>" in page.read_text()
    )


def test_clock_is_short_for_its_key(tmp_path: Path) -> None:
    row = as_json(tmp_path / "a.json", "run", "ds-cnn", "--clock", "108 MHz")
    assert figures(row) == figures(as_json(tmp_path / "b.json", "run", "ds-cnn", "--set", "core.clock=108 MHz"))
    assert row["set"] == {"core.clock": "108 MHz"}
    compared = as_json(tmp_path / "c.json", "compare", "ds-cnn", "--policy", "internal", "--clock", "108 MHz")
    assert [one["clock"]["moved"] for one in compared["rows"] if one["machine"] == F746] == [row["clock"]["moved"]]


def test_a_program_keeps_its_clock(tmp_path: Path) -> None:
    path = tmp_path / "program.jsonl"
    assert main(["plan", "ds-cnn", "--policy", "tinyops", "--clock", "108 MHz", "-o", str(path)]) == 0
    assert json.loads(path.read_text().splitlines()[0])["options"]["set"] == {"core.clock": "108 MHz"}
    replayed = as_json(tmp_path / "a.json", "replay", str(path))
    run = as_json(tmp_path / "b.json", "run", "ds-cnn", "--policy", "tinyops", "--clock", "108 MHz")
    assert replayed["cycles"] == run["cycles"]
    assert replayed["clock"]["regulator"] == "scale3"
    assert main(["verify", "ds-cnn", "--static", "--clock", "108 MHz"]) == 0
    forced = tmp_path / "forced.jsonl"
    assert main(["plan", "ds-cnn", "--clock", "300 MHz", "--force-clock", "-o", str(forced)]) == 0
    assert as_json(tmp_path / "c.json", "replay", str(forced))["clock"]["forced"] is True


@few(2)
@pytest.mark.parametrize("command", [["run"], ["compare"], ["verify", "--static"], ["plan", "-o", "never.jsonl"]])
def test_beyond_the_part_is_refused_or_forced(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    name, *more = command
    err = said(capsys, name, "figure-1", *more, "--machine", F746, "--clock", "300 MHz", status=2)
    assert "300 MHz exceeds core.max_clock = 216 MHz (ST RM0385, highest clock, with over-drive);" in err
    assert "--force-clock runs it as a what-if beyond the part" in err and not Path("never.jsonl").exists()


def test_a_forced_run_says_that_it_is_beyond_the_part(capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(said(capsys, "run", "figure-1", "--clock", "300 MHz", "--force-clock", "--all").split())
    assert "beyond the part: 300 MHz, where core.max_clock is 216 MHz" in out
    assert "memory.flash.wait_states 5 -> 9 (beyond the table, by its own step of 30 MHz; datasheet)" in out


def test_one_clock_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "figure-1", "--clock", "54 MHz", "--set", "core.clock=108 MHz")
    assert "--clock is --set core.clock, which is given too: '108 MHz'" in said(capsys, *words, status=2)


def test_machines_shows_a_board_at_another_clock(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "machines", F746, "--clock", "108 MHz")
    assert "moved with the clock: regulator" in " ".join(out.split())


def test_the_page_of_a_comparison_has_each_machine_once(tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    words = ["compare", "figure-1", "--machine", f"{F746},stm32f469i-disco", "--clock", "108 MHz", "--html", str(page)]
    assert main(words) == 0
    for board in (F746, "stm32f469i-disco"):
        assert page.read_text().count(f"keys of {board} moved with the clock") == 1
