"""A file has what its name says, or there is one line and no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.commands.app import main


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "figure-1", "--html", "x.svg"], "--html x.svg: a page is written as .html; name it x.html"),
        (["compare", "figure-1", "--html", "x.PDF"], "a page is written as .html; name it x.html"),
        (["run", "figure-1", "--vcd", "x.csv"], "a value change dump is written as .vcd; name it x.vcd"),
        (["sweep", "study.toml", "-o", "p.csv"], "--output p.csv: a table is written as .parquet; name it p.parquet"),
        (["lab", "collect", "a.json", "-o", "g.xlsx"], "a table of grades is written as .csv; name it g.csv"),
        (["export", "figure-1", "-o", "x.png"], "a model is written as .tflite; name it x.tflite"),
    ],
)
def test_another_formats_name_is_refused(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text('models = ["figure-1"]\nmachines = ["stm32f746g-disco"]\n', encoding="utf-8")
    assert main(words) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_its_own_names_and_names_of_nothing_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.html", "b.htm", "plain", "c.report"):
        assert main(["run", "figure-1", "--html", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!")
