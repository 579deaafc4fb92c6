"""Tables of finished sweeps: shown again, not computed again, and refused when they are none."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.sweeps import read_table

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


@pytest.mark.parametrize("change", [("* 2", "* 3"), ('"external"', '"tinyops"'), ("twice =", "double =")])
def test_another_study_does_not_overwrite(
    change: tuple[str, str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.toml").write_text(STUDY.replace(*change))
    before = Path("t.parquet").read_bytes()
    assert main(["sweep", "s.toml", "-o", "t.parquet"]) == 2
    assert capsys.readouterr().err == "error: t.parquet exists; --force overwrites it\n"
    assert Path("t.parquet").read_bytes() == before


def test_a_table_is_shown_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "s.toml", "-o", "new.parquet", "--html", "a.html", "-j", "1"]) == 0
    first = capsys.readouterr().out
    assert main(["sweep", "t.parquet", "--html", "b.html"]) == 0
    assert capsys.readouterr().out == first
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()
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
