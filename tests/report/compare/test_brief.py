"""``mcusim compare --brief``: what a cell says, and that the table is narrow however many boards there are."""

from __future__ import annotations

import json

import pytest

from mcusim.commands.app import main
from mcusim.report.compare.brief import _marks

Capsys = pytest.CaptureFixture[str]
F746, F469, G4 = "stm32f746g-disco", "stm32f469i-disco", "nucleo-g474re"
MODELS = ["ds-cnn", "mnasnet-w1.00-r096"]


def brief(capsys: Capsys, *words: str) -> tuple[int, list[str], str]:
    status = main(["compare", *words, "--brief"])
    captured = capsys.readouterr()
    return status, captured.out.splitlines(), captured.err


def test_a_line_for_each_model_in_blocks_of_80_columns(capsys: Capsys) -> None:
    status, lines, _ = brief(capsys, *MODELS, "--machine", "all", "--policy", "internal,tinyops")
    assert status == 0 and max(map(len, lines)) <= 80
    assert len([line for line in lines if line.startswith("ds-cnn ")]) == 3  # blocks
    text = "\n".join(lines)
    assert "31.2 ms" in text and "+182.7 KiB" in text and "+3.2 MiB f" in text and "795 ms t" in text
    assert "fastest of internal, tinyops t; +: that much too little RAM, or flash (f)" in " ".join(text.split())


def test_cells_are_the_figures_of_the_runs(capsys: Capsys) -> None:
    asked = ["ds-cnn", "mnasnet-w1.00-r096", "-m", f"{F746},{G4}"]
    assert main(["compare", *asked, "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert main(["compare", *asked, "--brief", "--json", "-"]) == 0
    for model in json.loads(capsys.readouterr().out)["models"]:
        for board in model["boards"]:
            own = [row for row in rows if (row["model"], row["machine"]) == (model["model"], board["machine"])]
            times = {row["policy"]: row["latency_ms"] for row in own if row["fits"]}
            assert board["fits"] is bool(times) and board["latency_ms"] == min(times.values(), default=None)
            assert board["policy"] == (min(times, key=lambda name: times[name]) if times else None)
            over = [reason["needed"] - reason["available"] for row in own if (reason := row.get("does_not_fit"))]
            assert board["over_bytes"] == (None if times else min(over, default=None))


def test_a_model_that_fits_no_board_is_status_1(capsys: Capsys) -> None:
    status, lines, error = brief(capsys, *MODELS, "-m", f"{G4},nucleo-l4r5zi", "-p", "internal")
    assert status == 1 and "mnasnet-w1.00-r096 fits no board" in error and "ds-cnn" not in error
    assert any(line.startswith("ds-cnn ") and " ms" in line for line in lines)


def test_two_tables_at_once(capsys: Capsys) -> None:
    for words in (["--explain"], ["--html", "x.html"], ["--ablation", "--runtime", "tinyengine"]):
        assert main(["compare", "no-such-model", "--brief", *words]) == 2
        assert f"--brief and {words[0]} are two tables" in capsys.readouterr().err


def test_marks_are_the_fewest_letters_that_tell_policies_apart() -> None:
    marks = _marks(["internal", "tinyops", "tinyops-2023", "external"])
    assert marks == {"internal": "", "tinyops": " tinyops", "tinyops-2023": " tinyops-", "external": " e"}
