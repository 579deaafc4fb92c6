"""Sweeps: the table's rows and columns, the same whoever computes them, and what fails as rows."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import StudyError, UsageError
from mcusim.sweeps import read_study, sweep_table
from mcusim.sweeps.executors import DIED, local
from mcusim.sweeps.point import failed, forget, perform
from mcusim.sweeps.points import points
from mcusim.sweeps.sweep import batches, prepared
from tests.support.boards.sweep_studies import SMALL, names, write
from tests.support.cases import only_with_all_cases
from tests.support.made import figures

INPUTS = ["model", "machine", "policy", "kernels", "fidelity", "memory.sdram.timing.tRCD", "power.run"]
CAUSES = ("compute", "runtime", "flash", "sram", "sdram", "qspi", "dma_wait", "bus", "maintenance")


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The small study."""
    folder = tmp_path_factory.mktemp("sweep")
    output = folder / "out.parquet"
    found = mcusim.sweep(write(folder, SMALL), output, jobs=1)
    pd.testing.assert_frame_equal(found, pd.read_parquet(output))
    assert [path.name for path in folder.iterdir() if path.suffix != ".toml"] == ["out.parquet"]
    (folder / "as-others").touch()
    assert output.stat().st_mode == (folder / "as-others").stat().st_mode
    about = json.loads(pq.read_metadata(output).metadata[b"mcusim"])
    assert figures(about) == {"question": "", "study": "study", "title": "", "version": mcusim.__version__}
    return found


def test_columns(frame: pd.DataFrame) -> None:
    peaks = [name for name in frame if name.startswith("peak_")]
    assert peaks == ["peak_sram_bytes", "peak_dtcm", "peak_flash", "peak_sdram"]
    outputs = ["status", "error", "cycles", "latency_ms", "energy_mj", "supply_current_ma"]
    outputs += ["latency_low_ms", "latency_high_ms", "energy_low_mj", "energy_high_mj", "macs", *peaks]
    causes = [f"cycles_{cause}" for cause in CAUSES]
    assert list(frame) == [*INPUTS, *outputs, *causes, "edp", "version", "key"]


def test_rows_are_those_of_simulate(frame: pd.DataFrame) -> None:
    assert len(frame) == 8
    for row in frame.to_dict("records"):
        overrides = {"memory.sdram.timing.tRCD": f"{row['memory.sdram.timing.tRCD']} sdclk"}
        overrides["power.run"] = f"{1000 * row['power.run']:g} mA"
        result = mcusim.simulate("ds-cnn", row["machine"], row["policy"], overrides=overrides)
        assert result.run is not None
        assert result.energy is not None
        assert (row["status"], row["cycles"]) == ("ok", result.run.cycles)
        for name in ("latency_ms", "energy_mj", "supply_current_ma"):
            assert row[name] == getattr(result.energy, name)
        assert [row[f"cycles_{cause}"] for cause in CAUSES] == [result.run.by_cause[cause] for cause in CAUSES]
        assert {n: row[f"peak_{n}"] for n in result.run.header.peak_bytes} == result.run.header.peak_bytes
        assert row["edp"] == row["energy_mj"] * row["latency_ms"]


def test_a_key_that_is_set_to_what_it_is_changes_nothing(frame: pd.DataFrame) -> None:
    """The machine then is the one that was measured."""
    result = mcusim.simulate("ds-cnn", "stm32f746g-disco", "internal")
    assert (frame["memory.sdram.timing.tRCD"][0], frame["power.run"][0]) == (2, 0.096)
    assert result.interval is not None
    assert (frame.latency_low_ms[0], frame.latency_high_ms[0]) == result.interval.latency_ms
    spread = frame.latency_high_ms / frame.latency_low_ms
    assert all(one > 1.001 * spread[0] for one in spread[1:4])


@only_with_all_cases
def test_the_same_bytes_whatever_the_number_of_processes(tmp_path: Path, frame: pd.DataFrame) -> None:
    study = write(tmp_path, SMALL)
    found = []
    for jobs in (1, 2, 3):
        path = tmp_path / f"{jobs}.parquet"
        assert main(["sweep", str(study), "-o", str(path), "--jobs", str(jobs)]) == 0
        found.append(pq.read_table(path))
    assert found[0] == found[1] == found[2]
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "3.parquet"), frame)


FAILING = """
models = ["ds-cnn", "mbv2-w0.35-r144"]
machines = ["stm32f746g-disco", "nucleo-f746zg", "stm32f469i-disco"]
policies = ["internal", "external"]
[axes]
sram_budget = ["16 KiB", "300 KiB", "9 MiB"]
cache.data.size = ["0 B", "3 KiB"]
[derived]
mb = "peak_sram_bytes / 1024"
"""


def test_points_that_fail_are_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = FAILING.replace(', "mbv2-w0.35-r144"', "").replace('"300 KiB", ', "")
    output, data = tmp_path / "out.parquet", tmp_path / "out.json"
    assert main(["sweep", str(write(tmp_path, text)), "-o", str(output), "-j", "1", "--json", str(data)]) == 0
    frame = pd.read_parquet(output)
    assert len(frame) == 24
    by_status = frame.groupby("status").size().to_dict()
    assert set(by_status) == {"ok", "does-not-fit", "error"}
    errors = frame.loc[frame.status == "error", "error"]
    for wanted in ("cache.data.size", "has no such key", "needs SDRAM", "is more than"):
        assert errors.str.contains(wanted).any(), wanted
    failed_rows = frame[frame.status != "ok"]
    assert failed_rows.cycles.isna().all()
    assert failed_rows.mb.isna().all()
    assert frame[frame.status == "ok"].error.isna().all()
    printed = capsys.readouterr().out
    assert printed.startswith("study: 24 points, ")
    assert "fastest" in printed
    assert len(json.loads(data.read_text())["rows"]) == 24


def test_no_point_that_runs_is_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SMALL.replace("[axes]", 'sram_budget = ["1 KiB"]').replace(', "external"', "")
    text = text.replace('sram_budget = ["1 KiB"]', '[axes]\nsram_budget = ["1 KiB"]')
    path = write(tmp_path, text)
    assert main(["sweep", str(path), "-o", str(tmp_path / "a.parquet"), "-j", "1"]) == 1
    assert "error: none of 4 points ran" in capsys.readouterr().err
    assert main(["sweep", str(path.with_name("a.parquet"))]) == 1
    assert "error: none of 4 points ran" in capsys.readouterr().err


def test_points_that_are_all_errors_are_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SMALL.replace("stm32f746g-disco", "nucleo-f746zg").replace('"internal", ', "")  # it has no SDRAM
    path = write(tmp_path, "\n".join(line for line in text.splitlines() if "tRCD" not in line))
    assert main(["sweep", str(path), "-o", str(tmp_path / "a.parquet"), "-j", "1"]) == 2
    assert "points ran; the first: " in capsys.readouterr().err


def test_outputs_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, output = write(tmp_path, SMALL), tmp_path / "out.parquet"
    output.write_text("mine")
    assert main(["sweep", str(study), "-o", str(output)]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert output.read_text() == "mine"
    for options in (["-o", str(study), "--force"], ["-o", str(tmp_path)], ["-o", str(tmp_path / "no" / "x")]):
        assert main(["sweep", str(study), *options]) == 2
    with pytest.raises(UsageError, match="exists"):
        mcusim.sweep(study, output)
    assert study.read_text() == SMALL


@pytest.mark.parametrize(
    "arguments",
    [
        {"jobs": 0},
        {"jobs": 1.5},
        {"jobs": True},
        {"jobs": 99},
        {"dask": 5},
        {"dask": "tcp://x:1", "jobs": 2},
        {"output": 5},
    ],
)
def test_arguments_from_python(arguments: dict[str, Any]) -> None:
    study = {"models": ["ds-cnn"], "machines": ["stm32f746g-disco"], "policies": ["internal"]}
    with pytest.raises(UsageError):
        mcusim.sweep(study, **arguments)


def test_a_study_may_be_a_mapping() -> None:
    done: list[tuple[int, int]] = []
    study = {"models": ["ds-cnn"], "machines": "stm32f746g-disco", "policies": ["internal"]}
    frame = mcusim.sweep({**study, "axes": {"code": ["flash", "itcm"]}}, jobs=1, progress=lambda *n: done.append(n))
    assert list(frame.status) == ["ok", "ok"]
    assert frame.cycles[0] != frame.cycles[1]
    assert done == [(0, 2), (1, 2), (2, 2)]
    with pytest.raises(StudyError, match="the study: policies"):
        mcusim.sweep({**study, "policies": ["x"]})
    with pytest.raises(UsageError, match="study = 5"):
        mcusim.sweep(5)  # type: ignore[arg-type]


def test_a_dry_run_counts_and_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, data = write(tmp_path, SMALL), tmp_path / "e.json"
    assert main(["sweep", str(path), "--dry-run", "-j", "1", "--json", str(data)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("study: 8 points, 4 different runs\n  about ")
    found = json.loads(data.read_text())
    assert (found["points"], found["runs"], found["timed"], found["jobs"]) == (8, 4, 2, 1)
    assert 0 < found["seconds"] < 60
    assert main(["sweep", str(path), "--dry-run", "-o", str(tmp_path / "x"), "-j", "1"]) == 0
    assert main(["sweep", str(path), "--dry-run", "--dask", "tcp://x:1"]) == 2
    assert names(tmp_path) == ["e.json", "study.toml"]


def test_points_that_share_a_run_go_to_one_process(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALL))
    work = prepared(study)
    found = batches(work, [(str(n), point) for n, point in enumerate(points(study))])
    assert [[key for key, _ in batch] for batch in found] == [["0", "1", "2", "3"], ["4", "5", "6", "7"]]
    many = [(str(n), (*point[:-1], f"{n} mA")) for n, point in enumerate([points(study)[0]] * 500)]
    assert [len(batch) for batch in batches(work, many)] == [200, 200, 100]


def test_points_of_the_same_accesses_are_neighbours(tmp_path: Path) -> None:
    """What gets past the caches is kept by the process that has seen it."""
    axes = '"memory.flash.wait_states" = [4, 5, 6, 7]\n"cache.data.size" = ["4 KiB", "8 KiB"]\n'
    study = read_study(write(tmp_path, SMALL[: SMALL.index("[axes]")] + "[axes]\n" + axes))
    pairs = [(str(number), point) for number, point in enumerate(points(study))]
    assert [[key for key, _ in batch] for batch in batches(prepared(study), pairs)][:2] == [[*"0246"], [*"1357"]]


@only_with_all_cases
def test_a_process_that_dies_costs_its_point_alone(tmp_path: Path) -> None:
    """A point that ends its process as soon as it is there, twice."""
    study = read_study(write(tmp_path, SMALL))
    work, chosen = prepared(study), points(study)
    deadly: Any = (*chosen[0][:-1], Deadly())
    asked = [("a", chosen[0]), ("deadly", deadly), *[(str(n), point) for n, point in enumerate(chosen[1:])]]
    done = dict(row for rows in local(2)(work, [(one,) for one in asked]) for row in rows)
    assert len(done) == 9
    assert done.pop("deadly") == failed(DIED)
    assert {row["status"] for row in done.values()} == {"ok"}


class Deadly:
    """Ends the process that unpickles it."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


@only_with_all_cases
def test_processes_that_cannot_start_are_no_rows(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALL))
    chosen: Any = points(study)
    work: Any = Deadly()
    with pytest.raises(UsageError, match="die when they start"):
        list(local(2)(work, [(("a", chosen[0]),), (("b", chosen[1]),)]))


def test_a_defect_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = read_study(write(tmp_path, SMALL))
    forget()
    monkeypatch.setattr("mcusim.sweeps.point.run_or_reason", lambda *_: 1 / 0)
    [(key, row)] = perform(prepared(study), (("k", points(study)[0]),))
    assert (key, row) == ("k", failed("mcusim failed: ZeroDivisionError: division by zero"))


def test_files_next_to_a_study_are_found_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a cluster have other current folders, and rows do not tell where the study lies."""
    write(tmp_path, 'extends = "stm32f746g-disco"\nname = "mine"', "mine.toml")
    text = SMALL.replace("stm32f746g-disco", "mine.toml")
    text = text.replace('"memory.sdram.timing.tRCD" = ["2 sdclk", "3 sdclk"]', 'cache.data.size = ["4 KiB", "3 KiB"]')
    monkeypatch.chdir(tmp_path)
    study = read_study(write(tmp_path, text).name)
    work, found = prepared(study), points(study)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    rows = [row for _, row in perform(work, tuple((str(n), point) for n, point in enumerate(found)))]
    assert [row["status"] for row in rows] == ["ok", "ok", "error", "error"] * 2
    assert rows[2]["error"].startswith("mine.toml (set by the user): cache.data.size = 3 KiB: ")


@pytest.mark.parametrize("what", ["models", "machines", "kernels"])
@pytest.mark.parametrize("other", ["sha256", "path"])
def test_other_files_are_no_rows(tmp_path: Path, what: str, other: str) -> None:
    """A worker that has another model at that path, or none, does not make the points wrong."""
    study = read_study(write(tmp_path, SMALL))
    work, point = prepared(study), points(study)[0]
    [(name, (path, sha256))] = getattr(work, what).items()
    changed = (path, "0") if other == "sha256" else (str(tmp_path / "none.toml"), sha256 or "0")
    with pytest.raises(UsageError, match="does not have its files: "):
        perform(replace(work, **{what: {name: changed}}), (("k", point),))


def test_another_mcusim_is_refused(tmp_path: Path) -> None:
    work = replace(prepared(read_study(write(tmp_path, SMALL))), code="0")
    with pytest.raises(UsageError, match="another mcusim"):
        perform(work, ())


def test_tables_keep_whole_numbers(tmp_path: Path) -> None:
    text = SMALL.replace("[axes]", '[axes]\nsram_budget = ["64 KiB", "none"]\nmemory.flash.wait_states = [5]')
    table = sweep_table(read_study(write(tmp_path, text)), jobs=1)
    kinds = {
        name: str(table.schema.field(name).type) for name in ("sram_budget", "cycles", "edp", "peak_dtcm", "error")
    }
    assert kinds == {
        "sram_budget": "int64",
        "cycles": "int64",
        "edp": "double",
        "peak_dtcm": "int64",
        "error": "string",
    }
    assert table.column("sram_budget").to_pylist()[:8] == [65536] * 4 + [None] * 4
    assert set(table.column("memory.flash.wait_states").to_pylist()) == {5}


def test_a_study_that_ships_has_conclusions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data = tmp_path / "page.html", tmp_path / "rows.json"
    words = ["sweep", "flash-wait-states", "--html", str(page), "--json", str(data), "-j", "1"]
    assert main(words) == 0
    message = json.loads(data.read_text())["conclusions"]
    assert message
    assert all(one["holds"] for one in message)
    printed, text = capsys.readouterr().out, page.read_text()
    assert "Flash wait states" in text
    assert all(one["text"].split()[0] in printed for one in message)
