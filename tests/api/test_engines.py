"""Inference engines side by side: each row is the run that `mcusim run` makes of it, and what is said above the rows
follows from them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.measurements.vendors import st_engine
from mcusim.results.engine_choice import BoardEngines, EngineChoice
from mcusim.results.measurement.interval import RatioInterval
from tests.support.graphs.small_graphs import chain

BOARD = "stm32f746g-disco"
RUNS = {
    "TFLM, reference": ("TensorFlow", {"kernels": "reference-gcc12"}),
    "TFLM, CMSIS-NN": ("Arm", {}),
    "compiled": ("mcusim", {"runtime": "tinyengine", "kernels": "tinyengine-gcc12"}),
    "TinyEngine": ("MIT", {"runtime": "tinyengine", "kernels": "tinyengine-mit"}),
}


@pytest.fixture(scope="module")
def choice() -> EngineChoice:
    return mcusim.engines("mcunet-vww1", [BOARD, "nucleo-g474re"])


def test_each_row_is_a_run(choice: EngineChoice) -> None:
    board = choice.boards[0]
    own = [row for row in board.rows if row.whose != "ST"]
    assert [(row.name, row.whose) for row in own] == [(name, whose) for name, (whose, _) in RUNS.items()]
    for row in own:
        run = mcusim.simulate("mcunet-vww1", BOARD, **RUNS[row.name][1])  # type: ignore[arg-type]
        assert row.result is not None and run.energy is not None and run.flash is not None and run.run is not None
        assert row.latency_ms == run.energy.latency_ms and row.result.interval == run.interval
        assert row.flash == (run.flash.total, run.flash.total) and row.kernels == run.kernels
        assert row.basis == ("fitted" if row.name == "TinyEngine" else "replayed")


def test_st_rows_are_factors_on_the_compiled_replay(choice: EngineChoice) -> None:
    board = choice.boards[0]
    (compiled,) = (row for row in board.rows if row.name == "compiled")
    estimates = [row for row in board.rows if row.whose == "ST"]
    assert [row.name for row in estimates] == [f"ST {version}" for version in st_engine.versions()]
    for row in estimates:
        assert row.basis == "estimate" and row.latency_ms is not None and compiled.latency_ms is not None
        assert 0.7 < row.latency_ms / compiled.latency_ms < 1.0
        assert row.interval_ms is not None and row.interval_ms[0] < row.latency_ms < row.interval_ms[1]
        assert row.ram is not None and row.ram[0] < row.ram[1] and row.flash is not None
    (on_m4,) = mcusim.engines("figure-1", "nucleo-l4r5zi").boards
    assert {row.reason for row in on_m4.rows if row.whose == "ST"} == {"no published rows on a cortex-m4"}


def test_the_first_lines_follow_from_the_rows(choice: EngineChoice) -> None:
    board, none = choice.boards
    assert [row.name for row in board.smallest] == ["compiled", "TinyEngine"]  # ST's is a range
    fastest = board.running[0]
    assert fastest.latency_ms == min(row.latency_ms for row in board.rows if row.latency_ms is not None)
    assert fastest.over_fastest == RatioInterval(0.9, 1.0, 1.0, 1.0)
    for row in board.running[1:]:
        assert row.over_fastest is not None and row.latency_ms is not None and fastest.latency_ms is not None
        assert row.over_fastest.simulated == pytest.approx(row.latency_ms / fastest.latency_ms, rel=1e-3)
        assert (row in board.as_fast) is (row.over_fastest.low < 1)
    assert none.running == [] and none.smallest == [] and all(row.reason for row in none.rows)


def test_nobody_is_as_fast_whose_ratio_stays_above_one(choice: EngineChoice) -> None:
    board = choice.boards[0]
    apart = RatioInterval(0.9, 1.2, 1.1, 1.3)
    rows = tuple(replace(row, over_fastest=row.over_fastest and apart) for row in board.rows)
    assert BoardEngines(BOARD, rows).as_fast == []


def test_an_emulation_runs_what_is_here() -> None:
    (board,) = mcusim.engines(chain("RELU"), BOARD, fidelity="emulate").boards
    assert all(row.runs for row in board.rows if row.whose == "ST")  # from a replay of its own
    assert [(row.kernels, row.basis, row.runs) for row in board.rows if row.whose != "ST"] == [
        ("reference", "emulated", True), ("cmsis", "emulated", True), ("tinyengine", "emulated", True),
        ("tinyengine-mit", "fitted", False),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="fidelity 'plan' is not known; choose from: replay, emulate"):
        mcusim.engines("figure-1", BOARD, fidelity="plan")


def test_the_command_says_writes_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, page = tmp_path / "e.json", tmp_path / "e.html"
    assert main(["engines", "figure-1", "-m", f"{BOARD},nucleo-l4r5zi", "--json", str(data), "--html", str(page)]) == 0
    assert capsys.readouterr().out.startswith("figure-1 on stm32f746g-disco\n  fastest: ")
    boards = json.loads(data.read_text(encoding="utf-8"))["boards"]
    assert [board["machine"] for board in boards] == [BOARD, "nucleo-l4r5zi"]
    for board in boards:
        by_name = {row["engine"]: row for row in board["engines"]}
        best = by_name[board["fastest"]]
        assert best["latency_ms"] == min(row["latency_ms"] for row in by_name.values() if row["runs"])
        low, high = best["interval_ms"]
        assert low < best["latency_ms"] < high and best["ram_bytes"][0] > 0 and best["flash_bytes"][0] > 0
    text = page.read_text(encoding="utf-8")
    assert "<h2>nucleo-l4r5zi</h2>" in text and "which engine" in text
    assert main(["engines", "figure-1", "--json", str(data)]) == 2  # nothing is overwritten
    assert main(["engines", "ds-cnn", "-p", "external", "-m", "nucleo-l4r5zi"]) == 1
    assert "no engine runs ds-cnn on nucleo-l4r5zi" in capsys.readouterr().err
