"""``mcusim diff``: statuses, what it says, and files that are no runs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from tests.support.cases import only_with_all_cases
from tests.support.hostile_runs import hostile_limit, hostile_run

F746 = "stm32f746g-disco"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a.json: internal; b.json: tinyops at another clock; none.json: does not fit."""
    folder = tmp_path_factory.mktemp("runs")
    runs = {
        "a": [], "b": ["--policy", "tinyops", "--set", "core.clock=200 MHz"], "none": ["--sram-budget", "1 KiB"],
    }  # fmt: skip
    for name, options in runs.items():
        assert main(["run", "ds-cnn", *options, "--json", str(folder / f"{name}.json")]) == (name == "none")
    return folder


@pytest.fixture(scope="module")
def good(saved: Path) -> Any:
    return json.loads((saved / "b.json").read_text())


def latency(saved: Path, name: str) -> float:
    """Of a saved run, in ms."""
    found: float = json.loads((saved / f"{name}.json").read_text())["latency_ms"]
    return found


def test_table_says_what_differs_first(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(saved / "a.json"), str(saved / "b.json"), "--operators", "2"]) == 0
    printed = capsys.readouterr()
    head, _, rest = printed.out.partition("latency")
    assert re.search(r"policy +internal +tinyops\n", head) and re.search(r"set core.clock +- +200 MHz\n", head)
    more = latency(saved, "b") - latency(saved, "a")
    assert f"The second run takes {more:.3g} ms longer than the first: " in rest
    assert "Operators by change (2 of 13)" in rest and printed.err == ""


def test_a_run_and_itself(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = str(saved / "a.json")
    assert main(["diff", same, same, "--fail-if", "latency +0 %", "--fail-if", "cycles -0"]) == 0
    text = capsys.readouterr().out
    assert "Model, machine, kernels and options are the same." in text and "takes as long as the first" in text


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (["latency +{above} %"], 0),
        (["latency +{below} %"], 1),
        (["energy +1 J", "sram +1 KiB"], 1),
        (["latency -1 %"], 0),
    ],
)
def test_status_of_limits(saved: Path, limits: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    percent = int(100 * latency(saved, "b") / latency(saved, "a") - 100)
    named = [limit.format(above=percent + 1, below=percent) for limit in limits]
    given = [word for limit in named for word in ("--fail-if", limit)]
    assert main(["diff", str(saved / "a.json"), str(saved / "b.json"), *given]) == status
    assert len(capsys.readouterr().err.splitlines()) == status


def test_a_run_that_did_not_take_place_is_a_verdict(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(saved / "a.json"), str(saved / "none.json")]) == 1
    assert "the second run did not take place: does not fit" in capsys.readouterr().err


def test_json_and_page(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data = tmp_path / "diff.html", tmp_path / "diff.json"
    given = ["diff", str(saved / "a.json"), str(saved / "b.json"), "--html", str(page), "--json", str(data)]
    assert main(given) == 0
    found = json.loads(data.read_text())
    assert len(found["operators"]) == 13 and found["settings"]["policy"] == ["internal", "tinyops"]
    change = found["figures"]["latency"]["change"]
    assert sum(one["ms"] for one in found["parts"]) == pytest.approx(change)
    assert sum(one["ms"]["change"] for one in found["operators"]) == pytest.approx(change)
    assert "two runs operator by operator" in page.read_text()
    assert main(given) == 2 and "--force overwrites it" in capsys.readouterr().err


def test_an_input_is_never_overwritten(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, before = str(saved / "a.json"), (saved / "a.json").read_bytes()
    for option in ("--json", "--html"):
        assert main(["diff", first, str(saved / "b.json"), option, first, "--force"]) == 2
        assert "it is an input file" in capsys.readouterr().err
    assert (saved / "a.json").read_bytes() == before


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("latency", "must be FIGURE +NUMBER UNIT, as in 'latency +5 %'"),
        ("speed +5 %", "'speed' is none of latency, cycles, energy, sram, flash"),
        ("latency +5 KiB", "the unit of latency must be one of %, s, ms, us, µs, not 'KiB'"),
        ("latency +nan %", "must be FIGURE"),
        ("sram +5", "the unit of sram must be one of %, B, KiB, MiB, not ''"),
    ],
)
def test_limits_that_cannot_be_read(saved: Path, limit: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is written, and whatever the files are."""
    page = saved / "page.html"
    given = ["diff", str(saved / "a.json"), str(saved / "b.json"), "--html", str(page), "--fail-if", limit]
    assert main(given) == 2
    assert message in capsys.readouterr().err and not page.exists()


def test_a_figure_that_a_file_does_not_have(saved: Path, good: Any, capsys: pytest.CaptureFixture[str]) -> None:
    older = saved / "older.json"
    older.write_text(json.dumps({key: value for key, value in good.items() if key != "energy_mj"}))
    assert main(["diff", str(saved / "a.json"), str(older), "--fail-if", "energy +5 %"]) == 2
    assert "older.json: has no energy, which --fail-if 'energy +5 %' is about" in capsys.readouterr().err


def test_files_that_are_no_runs(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe, rows, firmware = tmp_path / "pipe", tmp_path / "rows.json", tmp_path / "firmware.json"
    os.mkfifo(pipe)
    rows.write_text('{"rows": []}')
    firmware.write_text('{"stop": {}, "causes": {}, "functions": [], "cycles": 1}')
    for path, message in (
        (tmp_path, "not a regular file"),
        (pipe, "not a regular file"),
        (tmp_path / "none.json", "No such file"),
        (rows, "holds a comparison, not one run"),
        (firmware, "`mcusim emulate --program FILE` writes what `mcusim compare A.jsonl B.jsonl`"),
    ):
        assert main(["diff", str(saved / "a.json"), str(path)]) == 2
        assert message in capsys.readouterr().err


def check(saved: Path, folder: Path, seed: int, good: Any, capsys: pytest.CaptureFixture[str]) -> int:
    """One hostile file and limit: one line and nothing written with status 2, else a table."""
    bad, page, data = folder / "bad.json", folder / "page.html", folder / "out.json"
    bad.write_bytes(hostile_run(good, seed))
    data.write_text("kept")
    options = ["--fail-if", hostile_limit(seed)] if seed % 3 == 0 else []
    status = main(["diff", str(saved / "a.json"), str(bad), "--html", str(page), *options])
    printed = capsys.readouterr()
    errors = printed.err.splitlines()
    assert status in (0, 1, 2) and len(errors) == (status > 0), (seed, printed.err[:500])
    assert not errors or (errors[0].startswith("error: ") and len(errors[0]) < 800), (seed, errors)
    assert set(printed.out + printed.err) & {"\x1b", "\u202e", "\x00"} == set(), seed
    assert page.exists() is (status < 2), seed
    page.unlink(missing_ok=True)
    assert main(["diff", str(saved / "a.json"), str(bad), "--json", str(data)]) == 2  # it exists
    assert data.read_text() == "kept"
    capsys.readouterr()
    return status


@only_with_all_cases
def test_hostile_files(saved: Path, good: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sample; `scripts/evidence/hostile_diff` takes a thousand."""
    statuses = [check(saved, tmp_path, seed, good, capsys) for seed in range(42)]
    assert statuses.count(2) > 25 and statuses.count(0) > 3
