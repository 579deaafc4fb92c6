"""The README says what the program prints."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys

import pytest

import mcusim
from tests.support.paths import REPOSITORY


def test_output_blocks_are_current() -> None:
    script = REPOSITORY / "scripts" / "readme"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_two_commands_stand_on_one_line_each() -> None:
    lines = (REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line.startswith("python3 -m venv .venv && .venv/bin/pip install ")]
    assert [command.rpartition("&& ")[2] for command in commands] == [".venv/bin/mcusim compare", ".venv/bin/pytest"]


def test_python_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert "'compute'" in capsys.readouterr().out
    failed, tried = doctest.testmod(mcusim)
    assert (failed, tried) == (0, 3)
