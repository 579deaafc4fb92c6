"""What the tests of ``mcusim kernels`` share: a tiny set of one's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcusim.commands.app import main
from tests.support.paths import REPOSITORY

TINY = REPOSITORY / "tests" / "data" / "tiny_set"
needs_compiler = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run it: status 2 and nothing on standard output; returns standard error, whose last line is the error."""
    assert main([*map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "Traceback" not in captured.err
    assert captured.err.splitlines()[-1].startswith("error: ")
    return captured.err


def copied(folder: Path) -> Path:
    """A copy of the tiny set at ``folder``."""
    return shutil.copytree(TINY, folder)


def built(tmp_path: Path, *options: str, source: Path = TINY) -> Path:
    """The tiny set, built by the command line into ``tmp_path/out``."""
    out = tmp_path / "out"
    assert main(["kernels", "build", str(source), "--out", str(out), *options]) == 0
    assert [path.name for path in out.iterdir()] == ["tiny"]
    return out / "tiny"
