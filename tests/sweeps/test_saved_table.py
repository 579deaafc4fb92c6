"""Tables of finished sweeps: shown again, not computed again, and refused when they are none."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.sweeps import column_units, read_table
from mcusim.sweeps.point import perform
from mcusim.sweeps.study_file import names_of_files
from tests.support.made import bare
from tests.support.paths import shared_model

STUDY = """title = "Two policies"
models = ["figure-1"]
machines = ["stm32f746g-disco"]
policies = ["internal", "external"]
[derived]
twice = "latency_ms * 2"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study and its table."""
    place = tmp_path_factory.mktemp("swept")
    (place / "s.toml").write_text(STUDY)
    assert main(["sweep", str(place / "s.toml"), "-o", str(place / "t.parquet"), "-j", "1"]) == 0
    return place


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("s.toml", "t.parquet"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_finished_sweep_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("t.parquet").stat()
    assert main(["sweep", "s.toml", "-o", "t.parquet", "--html", "p.html"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "t.parquet has all 2 points of the same inputs: nothing to do; --force does it again\n"
    assert captured.out.startswith("Two policies: 2 points, 2 ok") and Path("p.html").is_file()
    assert Path("t.parquet").stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("change", [('"external"', '"tinyops"'), ('"internal", ', ""), ("figure-1", "ds-cnn")])
def test_another_study_does_not_overwrite(
    change: tuple[str, str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.toml").write_text(STUDY.replace(*change))
    before = Path("t.parquet").read_bytes()
    assert main(["sweep", "s.toml", "-o", "t.parquet"]) == 2
    gone = 2 if change[0] == "figure-1" else 1
    assert f"error: t.parquet exists, and {gone} of its 2 points are not of this study" in capsys.readouterr().err
    assert Path("t.parquet").read_bytes() == before and not Path("t.parquet.journal").exists()


def test_a_study_that_grew_keeps_its_points(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points that are there are not run again, and the table is the one that a fresh sweep writes."""
    grown = STUDY.replace('"internal", ', '"internal", "tinyops", ').replace("* 2", "* 3")
    Path("s.toml").write_text(grown)
    assert main(["sweep", "s.toml", "-o", "fresh.parquet", "-j", "1"]) == 0
    capsys.readouterr()
    done = list[int]()
    monkeypatch.setattr(
        "mcusim.sweeps.executors.perform", lambda work, batch: done.append(len(batch)) or perform(work, batch)
    )
    assert main(["sweep", "s.toml", "-o", "t.parquet", "-j", "1"]) == 0
    assert capsys.readouterr().err.startswith("t.parquet has 2 of 3 points: 1 are run\n") and done == [1]
    assert read_table("t.parquet").table.equals(read_table("fresh.parquet").table)
    Path("s.toml").write_text(grown.replace("* 3", "* 4"))  # what is derived alone
    assert main(["sweep", "s.toml", "-o", "t.parquet", "-j", "1"]) == 0
    assert "t.parquet has 3 of 3 points: none is run" in capsys.readouterr().err and done == [1]
    frame = read_table("t.parquet").table.to_pandas()
    assert (frame.twice == 4 * frame.latency_ms).all()


def test_other_spellings_and_names_are_the_same_points(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        Path(folder).mkdir()
        shutil.copy(shared_model("hello_world_int8.tflite"), f"{folder}/m.tflite")
    text = STUDY.replace('"figure-1"', '"a/m.tflite"').replace(', "external"', "")
    Path("s.toml").write_text(f'{text}[axes]\nclock = ["0.18 GHz", "90 MHz"]\n')
    assert main(["sweep", "s.toml", "-o", "n.parquet", "-j", "1"]) == 0
    text = text.replace('"a/m.tflite"', '"a/m.tflite", "b/m.tflite"')
    Path("s.toml").write_text(f'{text}[axes]\nclock = ["90000 kHz", "180 MHz"]\n')
    capsys.readouterr()
    assert main(["sweep", "s.toml", "-o", "n.parquet", "-j", "1"]) == 0
    assert "n.parquet has 4 of 4 points" in capsys.readouterr().err  # the same file in another folder is the same model
    assert set(read_table("n.parquet").table.column("model").to_pylist()) == {"a/m", "b/m"}


def test_without_a_file_the_points_are_listed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "s.toml", "-j", "1"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines[2:5]] == ["policy", "internal", "external"] and lines[2][1:3] == ["ms", "mJ"]
    assert sorted(path.name for path in here.iterdir()) == ["s.toml", "t.parquet"]


def test_quantities_are_numbers_with_their_unit(here: Path) -> None:
    axes = '[axes]\nclock = ["100 MHz", "216 MHz"]\nsram_budget = ["none", "64 KiB"]\nperiod = ["20 ms"]\n'
    axes += '"power.run" = ["96 mA at 216 MHz"]\n"memory.sdram.timing.tRCD" = ["2 sdclk", "30 ns"]\n'
    Path("s.toml").write_text(STUDY.replace("[derived]", f"{axes}[derived]").replace(', "external"', ""))
    assert main(["sweep", "s.toml", "-o", "u.parquet", "--csv", "u.csv", "--json", "u.json", "-j", "1"]) == 0
    saved = read_table("u.parquet")
    rows = saved.table.to_pylist()
    assert {row["clock"] for row in rows} == {100_000_000, 216_000_000} and rows[0]["period"] == 0.02
    assert {row["sram_budget"] for row in rows} == {None, 65536}
    assert (rows[0]["power.run"], rows[1]["memory.sdram.timing.tRCD"]) == ("96 mA at 216 MHz", "30 ns")
    assert saved.units == {"clock": "Hz", "sram_budget": "B", "period": "s"}
    units = column_units(saved.table)
    outputs = {"cycles": "cycles", "energy_mj": "mJ", "peak_dtcm": "B", "clock_bus": "Hz", "mean_power_mw": "mW"}
    assert units.items() >= outputs.items() and not units.keys() & {
        "twice",
        "macs",
        "status",
        "memory.sdram.timing.tRCD",
    }
    assert json.loads(Path("u.json").read_text())["units"] == units
    head = Path("u.csv").read_text().splitlines()[0]
    assert '"clock [Hz]","sram_budget [B]","period [s]"' in head and '"latency_ms","energy_mj"' in head
    assert mcusim.sweep("s.toml", jobs=1).attrs["units"] == units


def test_a_model_is_its_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        Path(folder).mkdir()
        shutil.copy(shared_model("hello_world_int8.tflite"), f"{folder}/hello.tflite")
    text = STUDY.replace('["figure-1"]', f'["{here}/a/hello.tflite", "b/hello.tflite"]')
    Path("s.toml").write_text(text.replace(', "external"', ""))
    assert main(["sweep", "s.toml", "-o", "m.parquet", "-j", "1"]) == 0
    assert set(read_table("m.parquet").table.column("model").to_pylist()) == {"a/hello", "b/hello"}
    names = names_of_files(["/m/x.tflite", "ds-cnn", "/m/ds-cnn.tflite", "y", "y.tflite"])
    assert list(names) == ["x", "ds-cnn", "ds-cnn.tflite", "y", "y.tflite"] and names["x"] == "/m/x.tflite"


def test_a_table_is_shown_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "s.toml", "-o", "new.parquet", "--html", "a.html", "-j", "1"]) == 0
    first = capsys.readouterr().out
    assert main(["sweep", "t.parquet", "--html", "b.html"]) == 0
    assert capsys.readouterr().out == first
    assert bare(Path("a.html")) == bare(Path("b.html"))
    for option in (["-o", "x.parquet"], ["--jobs", "2"], ["--dry-run"], ["--html", "t.parquet", "--force"]):
        assert main(["sweep", "t.parquet", *option]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 4


def tables() -> dict[str, Any]:
    """Tables that are none of a sweep, by what is wrong with them."""
    import pyarrow as pa

    def changed(name: str, values: list[Any]) -> Any:
        return lambda t: t.set_column(t.column_names.index(name), name, pa.array(values))

    return {
        "no rows": lambda t: t.slice(0, 0),
        "no study": lambda t: t.replace_schema_metadata({}),
        "study of numbers": lambda t: t.replace_schema_metadata({"mcusim": "[1]"}),
        "deep study": lambda t: t.replace_schema_metadata({"mcusim": "[" * 100_000}),
        "status": changed("status", ["ok", "great"]),
        "cycles": changed("cycles", [1, None]),
        "negative": changed("latency_ms", [1.0, -1.0]),
        "not a number": changed("latency_ms", [1.0, float("nan")]),
        "nested": changed("macs", [[1], [2]]),
        "text": changed("macs", ["1", "2"]),
        "machine": changed("machine", ["a", None]),
        "columns": lambda t: t.drop_columns(["key"]),
        "order": lambda t: t.select(t.column_names[::-1]),
    }


@pytest.mark.parametrize("wrong", tables())
def test_what_is_no_table_of_a_sweep(wrong: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(tables()[wrong](pq.read_table("t.parquet")), "x.parquet")
    assert main(["sweep", "x.parquet", "--html", "p.html"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: x.parquet: is not the table of a sweep: ") and error.count("\n") == 1
    assert not Path("p.html").exists()


def test_damaged_tables_are_one_error(here: Path) -> None:
    """50 of the 1,000 of scripts/evidence/hostile_inputs."""
    data, draw = Path("t.parquet").read_bytes(), random.Random(17)
    for _ in range(50):
        bad = bytearray(data[: draw.randrange(len(data)) if draw.random() < 0.3 else len(data)])
        for _ in range(draw.randrange(1, 8)):
            if bad:
                bad[draw.randrange(len(bad))] = draw.randrange(256)
        Path("x.parquet").write_bytes(bad)
        try:
            assert read_table("x.parquet").table.num_rows == 2
        except UsageError as error:
            assert str(error).startswith("x.parquet: ") and "\n" not in str(error) and len(str(error)) < 400


@pytest.mark.parametrize("path", ["none.parquet", ".", "pipe.parquet"])
def test_what_is_no_file(path: str, here: Path) -> None:
    os.mkfifo("pipe.parquet")
    with pytest.raises(UsageError):
        read_table(path)
