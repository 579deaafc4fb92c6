"""The comment for a pull request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.report.diff.markdown import plain
from tests.support.errors import one_error

G4 = "nucleo-g474re"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, options in (("a", {}), ("b", {"clock": "100 MHz"}), ("c", {"sram_budget": "1 KiB"})):
        clock = {"core.clock": options.pop("clock")} if "clock" in options else {}
        mcusim.simulate("figure-1", G4, overrides=clock, **options).save_json(f"{name}.json")  # type: ignore[arg-type]


def test_ten_lines(runs: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a.json", "b.json", "--fail-if", "latency +5 %", "--markdown", "-"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10 and lines[0].startswith(f"**mcusim, figure-1 on {G4}: exceeds latency +5 %: latency ")
    assert lines[2:4] == ["| | base | this | change |", "|---|---:|---:|---:|"]
    latency = [json.loads(Path(f"{name}.json").read_text())["latency_ms"] for name in "ab"]
    assert lines[4] == (
        f"| latency | {latency[0]:.4g} ms | {latency[1]:.4g} ms | +{latency[1] - latency[0]:.4g} ms"
        f" ({100 * latency[1] / latency[0] - 100:+.1f}%) |"
    )
    assert "the clock" in lines[9] and "Most: operator " in lines[9] and "Other settings: clock" in lines[9]
    assert main(["diff", "a.json", "a.json", "--markdown", "m.md"]) == 0
    assert capsys.readouterr().out.startswith("first:  ")
    text = Path("m.md").read_text()
    assert text.startswith(f"**mcusim, figure-1 on {G4}: nothing takes longer or less**\n\n|") and "+" not in text


def test_one_that_did_not_run(runs: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a.json", "c.json", "--markdown", "-"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(": one of the two did not run**") and "does not fit" in lines[2] and len(lines) == 3


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--markdown", "-", "--json", "-"], "standard output is for one of them"),
        (["--markdown", "a.json", "--force"], "cannot write a.json: it is an input file"),
        (["--markdown", "no/x.md"], "no/x.md"),
    ],
)
def test_refused(words: list[str], error: str, runs: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a.json", "b.json", *words]) == 2
    assert error in one_error(capsys)


def test_names_are_no_markup() -> None:
    assert plain("a|b *c* <i>`d`\n# e\u202e @f") == "a\\|b \\*c\\* \\<i\\>\\`d\\` \\# e @\u200bf"
