"""``mcusim validate``: statistics, models that are not here, the cache, and the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mcusim
from mcusim.errors import UsageError
from mcusim.evidence.validate import cache as validation_cache
from mcusim.evidence.validate import validate as study
from mcusim.evidence.validate.models import find, models_folder
from mcusim.evidence.validate.table import validation_json, validation_table
from mcusim.evidence.validate.validate import stored_validation, validate
from mcusim.measurements.published.runs import PublishedRun, published
from mcusim.measurements.published.stored import FIGURES, StoredOutcome
from mcusim.measurements.published.validation_result import (
    ALL_BOARDS,
    Validation,
    ValidationRow,
    rank_correlation,
    statistics,
)
from tests.support.cases import only_with_all_cases
from tests.support.paths import REPOSITORY

SOME = StoredOutcome({name: 1234.5 for name, _ in FIGURES.values()})


def row(measured: float, simulated: float | None, **changes: Any) -> ValidationRow:
    one = ValidationRow(
        "a source",
        "Table 1",
        "A-BOARD",
        "a model",
        "TFLM",
        "CMSIS-NN",
        "internal",
        "latency",
        "ms",
        "validate",
        measured,
    )
    return replace(one, simulated=simulated, kernels="cmsis", fidelity="emulate", run="mcusim run", **changes)


def test_statistics_by_hand() -> None:
    rows = [row(100, 90), row(200, 230), row(400, 380), row(1000, 1040)]
    found = statistics(rows, "A-BOARD")
    assert (found.board, found.quantity, found.use, found.count) == ("A-BOARD", "latency", "validate", 4)
    assert found.median == pytest.approx(7.5)  # of 10, 15, 5, 4
    assert found.worst == pytest.approx(15)
    assert found.bias == pytest.approx((-10 + 15 - 5 + 4) / 4)
    assert found.rank == pytest.approx(1)
    assert statistics([row(100, 70), row(100, 120)], "A-BOARD").worst == pytest.approx(-30)


def test_a_rank_needs_four_rows_of_one_board() -> None:
    rows = [row(number, 5 - number) for number in (1.0, 2.0, 3.0, 4.0)]
    assert statistics(rows, "A-BOARD").rank == pytest.approx(-1)
    assert statistics(rows[:3], "A-BOARD").rank is None
    assert statistics(rows, ALL_BOARDS).rank is None
    assert rank_correlation([1, 1, 1, 1], [1, 2, 3, 4]) is None
    # one pair exchanged: 1 - 6 x 2 / (4 x 15)
    assert rank_correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=20))
def test_rank_correlation_is_that_of_the_mean_ranks(pairs: list[tuple[int, int]]) -> None:
    def ranks(values: Sequence[int]) -> list[float]:
        return [sum(v < value for v in values) + (1 + sum(v == value for v in values)) / 2 for value in values]

    first, second = zip(*pairs, strict=True)
    found = rank_correlation(first, second)
    if len({*first}) == 1 or len({*second}) == 1:
        assert found is None
    else:
        assert found == pytest.approx(np.corrcoef(ranks(first), ranks(second))[0, 1])


def test_calibrate_validate_and_context_are_counted_apart() -> None:
    rows = [row(100, 110), row(100, 150, use="calibrate"), row(100, 900, use="context"), row(100, None, reason="no")]
    found = Validation((*rows, row(100, 120, board="B-BOARD"), row(100, 95, quantity="energy", unit="mJ"))).summary
    printed = [(one.quantity, one.use, one.board, one.count, round(one.worst, 9)) for one in found]
    assert printed == [
        ("latency", "validate", ALL_BOARDS, 2, 20),
        ("latency", "validate", "A-BOARD", 1, 10),
        ("latency", "validate", "B-BOARD", 1, 20),
        ("latency", "calibrate", "A-BOARD", 1, 50),
        ("energy", "validate", "A-BOARD", 1, -5),
    ]


def test_builds_of_unknown_flags_are_counted_apart_next_to_all() -> None:
    rows = [row(100, 110), row(100, 120, board="B-BOARD"), row(100, 60, build="CMSIS-NN, flags unknown")]
    found = {one.board: (one.count, one.median, one.rank) for one in Validation(tuple(rows)).summary}
    assert found[ALL_BOARDS] == (3, 20, None)
    assert found["flags unknown"] == (1, 40, None) and found["all but these"] == (2, 15, None)


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=1, max_size=12))
def test_statistics_are_those_of_the_errors(pairs: list[tuple[float, float]]) -> None:
    found = statistics([row(measured, simulated) for measured, simulated in pairs], "A-BOARD")
    errors = [100 * (simulated - measured) / measured for measured, simulated in pairs]
    assert found.median == pytest.approx(median(map(abs, errors)))
    assert found.bias == pytest.approx(fmean(errors), abs=1e-6)
    assert abs(found.worst) == pytest.approx(max(map(abs, errors))) and found.count == len(pairs)


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """The commands of the runs that were done, none of which really is; the cache is empty."""
    done: list[str] = []

    def perform(run: PublishedRun, model: str) -> StoredOutcome:
        done.append(run.command)
        return SOME

    monkeypatch.setattr(study, "perform", perform)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MCUSIM_MODELS", raising=False)
    return done  # type: ignore[return-value]


@only_with_all_cases
def test_a_run_is_done_once_for_all_of_its_rows_and_kept(performed: list[str]) -> None:
    steps: list[tuple[int, int]] = []
    first = validate("TinyOps", jobs=1, progress=lambda done, total: steps.append((done, total)))
    assert len(first.rows) == 84 and len(performed) == len({*performed}) == 21
    assert steps == [(done, 21) for done in range(22)]
    second = validate("TinyOps", jobs=1)
    assert len(performed) == 21 and second == first
    assert validate("TinyOps", jobs=1, cache=False) == first and len(performed) == 42
    assert all(one.simulated is not None for one in first.rows)


def test_runs_are_started_in_the_order_of_the_file(performed: list[str]) -> None:
    validate(jobs=1)
    places = {one.run.command: one.run.place for one in published()}
    assert [places[run] for run in performed] == sorted(places[run] for run in performed)
    assert len(performed) == 55  # the others need files


def test_progress_that_raises_ends_it(performed: list[str]) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        validate("TinyOps", jobs=1, progress=stop)
    assert len(performed) == 2


def test_what_a_result_rests_on(performed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    runs = 2  # both orders of Figure 1; the others need files
    validate("Liberis", jobs=1)
    assert len(performed) == runs
    monkeypatch.setattr(validation_cache, "code_sha256", lambda: "other code")
    validate("Liberis", jobs=1)
    assert len(performed) == 2 * runs
    monkeypatch.setattr(validation_cache, "package_versions", lambda: ["other packages"])
    validate("Liberis", jobs=1)
    assert len(performed) == 3 * runs


def test_a_machine_that_changed_is_run_again(performed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    validate(board="f746zg", jobs=1)
    load = validation_cache.load_machine
    monkeypatch.setattr(validation_cache, "load_machine", lambda name: load(name, {"core.clock": "200 MHz"}))
    validate(board="f746zg", jobs=1)
    assert len(performed) == 6  # each run twice


def test_what_could_not_be_run_is_tried_again(performed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def reasons() -> set[str | None]:
        rows = validate("Sadiq", board="f746g-disco", jobs=1).rows
        return {row.reason for row in rows}

    monkeypatch.setattr(study, "perform", lambda run, model: StoredOutcome(reason="it does not fit"))
    assert reasons() == {"it does not fit"}
    monkeypatch.setattr(study, "perform", lambda run, model: SOME)
    assert reasons() == {None}


def test_models_that_are_not_here_are_listed_with_the_reason(performed: list[str], tmp_path: Path) -> None:
    found = validate("MLPerf", jobs=1)
    assert not performed and len(found.rows) == 16
    assert {one.reason for one in found.rows} == {
        "no model files: they do not ship; --models DIR or MCUSIM_MODELS names their folder"
    }
    assert all(one.simulated is one.error is one.interval is None and one.run for one in found.rows)
    (tmp_path / "ad01_int8.tflite").write_bytes(b"TFL3")
    os.mkfifo(tmp_path / "kws_ref_model.tflite")
    reasons = {one.model: one.reason for one in validate("MLPerf", models=tmp_path, jobs=1).rows}
    assert "is another file than the published one (sha256 87cf24194ef93d1d" in str(reasons["ad01_int8"])
    assert reasons["kws_ref_model"] == "the folder of models has no kws_ref_model.tflite"
    text = mcusim.table(validate("MLPerf", models=tmp_path, jobs=1))
    assert "Not run\n  4 rows: ad01_int8.tflite is another file" in text and "16 published numbers, 0 of" in text


def test_the_folder_of_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MCUSIM_MODELS", str(tmp_path))
    assert models_folder(None) == tmp_path and models_folder(str(tmp_path)) == tmp_path
    monkeypatch.setenv("MCUSIM_MODELS", str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"MCUSIM_MODELS .*none: there is no such folder"):
        models_folder(None)
    for wrong in (tmp_path / "none", "\0", "n" * 5000):
        with pytest.raises(UsageError, match=r"--models .*: there is no such folder"):
            models_folder(wrong)


def test_a_file_is_the_published_one_by_its_content(tmp_path: Path) -> None:
    run = replace(published()[0].run, model="m.tflite", sha256="")
    (tmp_path / "m.tflite").write_bytes(b"data")
    sha256 = "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"
    assert find(replace(run, sha256=sha256), tmp_path).model == str(tmp_path / "m.tflite")
    assert "another file" in str(find(replace(run, sha256="0" * 64), tmp_path).reason)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"source": "nobody"}, "--source 'nobody' is part of none of: TinyOps"),
        ({"board": ""}, "--board '' is part of none of: STM32F469I-DISCO, STM32F746G-DISCO"),
        ({"source": "MLPerf", "board": "f469"}, "--board 'f469' is part of none of: NUCLEO-L4R5ZI$"),
        ({"source": 1}, "source = 1: must be a text, not int"),
        ({"models": 1}, "models = 1: must be a folder or None, not int"),
        ({"jobs": 0}, "jobs = 0: must be a whole number from 1 to 32, or None"),
        ({"jobs": True}, "jobs = True: must be"),
        ({"jobs": 33}, "jobs = 33: must be"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: dict[str, Any], text: str, performed: list[str]) -> None:
    with pytest.raises(UsageError, match=text):
        validate(**arguments)
    assert not performed


@only_with_all_cases
def test_json_has_what_the_table_has() -> None:
    found = stored_validation()
    document = json.loads(json.dumps(validation_json(found), allow_nan=False))
    wanted = "source board model engine placement quantity unit use measured simulated error interval covered"
    assert all({*wanted.split()} <= {*one} for one in document["rows"]) and len(document["rows"]) == 151
    for one, printed in zip(found.rows, document["rows"], strict=True):
        assert printed["error"] == one.error and printed["measured"] == one.measured
        if one.error is not None:
            assert printed["error"] == pytest.approx(100 * (printed["simulated"] / printed["measured"] - 1))
            assert document["runs"][printed["run"]]
    assert len(document["summary"]) == len(found.summary)


@only_with_all_cases
def test_the_table_is_80_columns_wide_and_says_every_row() -> None:
    found = stored_validation()
    text = validation_table(found)
    assert max(map(len, text.splitlines())) <= 80
    first = [line for line in text.splitlines() if line.startswith(" proxyless-w0.40-r080 tinyops  v ")]
    assert len(first) == 2  # time and energy; memory and size
    assert "151 published numbers, 142 of them run" in text and "Not run\n  1 row: the q7 functions" in text
    many = row(1e5, 123456.0, model="m" * 60, quantity="energy", unit="uJ", source="s" * 50, why="w " * 100)
    wide = validation_table(Validation((many, row(1, None, reason="r " * 60)))).splitlines()
    assert max(map(len, wide)) <= 80 and "  100  123  +23%" in "\n".join(wide)


@only_with_all_cases
def test_the_documentation_has_the_table_of_the_stored_figures() -> None:
    text = (REPOSITORY / "docs" / "pages" / "evidence" / "published.md").read_text(encoding="utf-8")
    block = text.partition("```sh\nmcusim validate --stored\n```\n\n```text\n")[2].partition("```\n")[0]
    assert block == mcusim.table(stored_validation()) + "\n", "run scripts/evidence/validation"


def test_every_run_has_stored_figures_and_no_other_has() -> None:
    runs = {one.run.command for one in published() if one.run.command}
    assert {*stored_validation().figures} == runs
    stored = json.loads(
        (REPOSITORY / "mcusim" / "measurements" / "published" / "validation.json").read_text(encoding="utf-8")
    )
    assert list(stored) == list(dict.fromkeys(one.run.command for one in published() if one.run.command))


def test_the_script_writes_nothing_without_all_models() -> None:
    stored = (REPOSITORY / "mcusim" / "measurements" / "published" / "validation.json").read_bytes()
    environment = {name: value for name, value in os.environ.items() if name != "MCUSIM_MODELS"}
    script = [sys.executable, str(REPOSITORY / "scripts" / "evidence" / "validation")]
    done = subprocess.run(script, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1 and done.stderr.startswith("nothing is written, for these are not run:\n  mcusim ")
    assert (REPOSITORY / "mcusim" / "measurements" / "published" / "validation.json").read_bytes() == stored
