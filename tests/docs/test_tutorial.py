"""The tutorial: its code runs from top to bottom and prints what stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.paths import REPOSITORY

SCRIPT = REPOSITORY / "scripts" / "tutorial"


def tutorial() -> str:
    return (files("mcusim") / "evidence" / "TUTORIAL.md").read_text(encoding="utf-8")


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)


def test_its_code_runs_and_prints_what_stands_there() -> None:
    done = run("--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["simulate(", "mcusim.table(", "mcusim.figure(", "compare(", ".replace(", "sweep("])
def test_it_shows_what_a_notebook_needs(name: str) -> None:
    assert any(name in code for code in re.findall(r"```python\n(.*?)```", tutorial(), re.DOTALL))


def test_it_takes_five_minutes_to_read() -> None:
    words = re.sub(r"```text\n.*?```", "", tutorial(), flags=re.DOTALL).split()
    assert len(words) < 5 * 200  # code read as slowly as prose


def test_a_stale_output_is_found_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    told = "```python\nx = 1\n```\n\n```python\nprint(x + 1)\n```\n\n```text\n{}\n```\n\n```text\nprose\n```\n"
    path.write_text(told.format(3), encoding="utf-8")
    stale = run("--check", path)
    assert (stale.returncode, stale.stderr) == (1, "page.md is not current; run scripts/tutorial\n")
    assert run(path).returncode == 0
    assert path.read_text(encoding="utf-8") == told.format(2)
    assert run("--check", path).returncode == 0


def test_code_that_fails_is_told(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("```python\nprint(nothing)\n```\n", encoding="utf-8")
    assert "NameError" in run("--check", path).stderr
