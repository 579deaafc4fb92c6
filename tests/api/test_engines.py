"""Inference engines side by side: each row is the run that `mcusim run` makes of it, and what is said above the rows
follows from them."""

from __future__ import annotations

import json
from dataclasses import replace
from math import hypot, log
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import InputError
from mcusim.measurements.vendors import st_engine
from mcusim.model.operators import opaque
from mcusim.results.engine_choice import BoardEngines, EngineChoice
from mcusim.results.measurement.interval import RatioInterval
from tests.support.graphs.small_graphs import chain
from tests.support.paths import REPOSITORY

BOARD = "stm32f746g-disco"
RUNS = {
    "TFLM reference": ("TensorFlow", {"kernels": "reference-gcc12"}),
    "TFLM CMSIS-NN": ("Arm", {}),
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


def test_custom_operators_of_the_interpreter_are_timed_with_it_alone() -> None:
    graph = chain("RELU", opaque("CUSTOM(SignalWindow)"), "RELU")
    (board,) = mcusim.engines(graph).boards
    assert [row.name for row in board.rows if row.runs] == ["TFLM reference", "TFLM CMSIS-NN"]
    (compiled,) = (row for row in board.rows if row.name == "compiled")
    assert "code that tinyengine compiles has no kernel for CUSTOM(SignalWindow);" in compiled.reason
    with pytest.raises(InputError, match=r"CUSTOM\(other\): no engine can be timed"):
        mcusim.engines(chain("RELU", opaque("CUSTOM(other)")))


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
    (elsewhere,) = mcusim.engines("mcunet-vww1", BOARD, "external").boards
    assert st_reasons(elsewhere) == {"published rows are of --policy internal alone"}


def test_st_rows_are_of_int8_and_of_the_board_they_were_measured_on(tmp_path: Path) -> None:
    """A board of the user's own is another one, whatever it is called."""
    small = chain("RELU")
    unsigned = replace(small, tensors=tuple(replace(tensor, dtype="uint8") for tensor in small.tensors))
    (board,) = mcusim.engines(unsigned, BOARD).boards
    assert st_reasons(board) == {"published rows are of int8 networks, and 100 % of the time is in uint8"}
    own = tmp_path / "own.toml"
    own.write_text(toml_of("nucleo-h743zi"), encoding="utf-8")
    at_400 = {"core.clock": "400 MHz"}  # as the rows are
    boards = mcusim.engines("mcunet-vww1", ["nucleo-h743zi", own], overrides=at_400).boards
    boards += mcusim.engines("mcunet-vww1", "nucleo-h743zi").boards
    usual, renamed, faster = (spread(board) for board in boards)
    assert len({board.machine for board in boards}) == 1 and renamed > 1.05 * usual and faster > 1.05 * usual


def st_reasons(board: BoardEngines) -> set[str]:
    return {row.reason for row in board.rows if row.whose == "ST"}


def toml_of(name: str) -> str:
    return (REPOSITORY / "machine_configs" / f"{name}.toml").read_text(encoding="utf-8")


def spread(board: BoardEngines) -> float:
    """Of the first estimate."""
    (ends, *_) = (row.interval_ms for row in board.rows if row.basis == "estimate")
    assert ends is not None
    return ends[1] / ends[0]


def test_versions_are_told_apart_by_what_they_differ_by(choice: EngineChoice) -> None:
    """All rest on one replay: their ratio is narrower than that of two intervals that have nothing in common."""
    fastest, *others = choice.boards[0].running
    assert fastest.basis == "estimate" and fastest.interval_ms is not None
    for row in others:
        assert row.over_fastest is not None and row.interval_ms is not None
        apart = hypot(*(log(high / low) for low, high in (row.interval_ms, fastest.interval_ms)))
        assert (log(row.over_fastest.high / row.over_fastest.low) < 0.99 * apart) is (row.basis == "estimate")


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


def test_an_emulation_runs_what_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st_engine, "_SMALLEST", 0.0)
    (board,) = mcusim.engines(chain("RELU"), BOARD, fidelity="emulate").boards
    assert all(row.runs for row in board.rows if row.whose == "ST")  # from a replay of its own
    assert [(row.kernels, row.basis, row.runs) for row in board.rows if row.whose != "ST"] == [
        ("reference", "emulated", True), ("cmsis", "emulated", True), ("tinyengine", "emulated", True),
        ("tinyengine-mit", "fitted", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"fidelity": "plan"}, "fidelity 'plan' is not known; choose from: replay, emulate"),
        ({"fidelity": None}, "fidelity = None: must be a text"),
        ({"machines": []}, "machines: no machine is named"),
        (
            {"model": chain("RELU", "CUSTOM(Mine)")},
            "operators mcusim does not know: .*: no engine can be timed with them",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        mcusim.engines(**{"model": "figure-1", **arguments})


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
    own = tmp_path / "own.toml"
    own.write_text(toml_of(BOARD), encoding="utf-8")
    for option in ("--json", "--html"):  # nor a machine, by force
        assert main(["engines", "figure-1", "-m", str(own), option, str(own), "--force"]) == 2
        assert own.read_text(encoding="utf-8") == toml_of(BOARD)
    assert main(["engines", "figure-1", "-m", f"all,{BOARD}"]) == 2
    capsys.readouterr()
    assert main(["engines", "ds-cnn", "-p", "external", "-m", "nucleo-l4r5zi"]) == 1
    assert "no engine runs ds-cnn on nucleo-l4r5zi" in capsys.readouterr().err
