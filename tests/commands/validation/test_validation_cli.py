"""``mcusim validate``: what it prints and writes, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.evidence.validate.ledger import ledger_json, ledger_table
from mcusim.evidence.validate.validate import stored_validation
from tests.support.cases import only_with_all_cases
from tests.support.other_processes import AS_A_TERMINAL, LONGEST_WAIT, children, eventually
from tests.support.paths import REPOSITORY

FIGURE_1 = ["validate", "--source", "Liberis", "--jobs", "1"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MCUSIM_MODELS", raising=False)


@only_with_all_cases
def test_stored_figures_are_printed_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = tmp_path / "v.json", tmp_path / "v.html"
    assert main(["validate", "--stored", "--json", str(files[0]), "--html", str(files[1])]) == 0
    assert capsys.readouterr().out == mcusim.table(stored_validation()) + "\n"
    assert len(json.loads(files[0].read_text())["rows"]) == 151
    assert files[1].read_text().startswith("<!DOCTYPE html>")
    assert not (tmp_path / "cache").exists()


def test_some_rows_run_and_the_others_have_a_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*FIGURE_1, "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    figure_1 = [row for row in rows if row["model"] == "figure-1 graph"]
    assert [row["simulated"] for row in figure_1] == [5216, 4960] and all(row["error"] == 0 for row in figure_1)
    assert all(row["reason"].startswith("no model files: they do not ship") for row in rows if row not in figure_1)
    assert len(list((tmp_path / "cache" / "mcusim" / "validation").iterdir())) == 2
    assert main([*FIGURE_1, "--no-cache"]) == 0
    assert "10 rows: no model files" in capsys.readouterr().out


def test_nothing_run_is_a_negative_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--source", "mlperf tiny v1.0"]) == 1
    printed = capsys.readouterr()
    assert "Not run" in printed.out and "8 published numbers, 0 of them run" in printed.out
    assert printed.err.startswith(
        "error: none of 8 rows was run; the first: no model files: they do not ship; --models DIR"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--source", "nobody"], "--source 'nobody' is part of none of: TinyOps"),
        (["--board", ""], "--board '' is part of none of: STM32F469I-DISCO"),
        (["--models", "none"], "--models none: there is no such folder"),
        (["--jobs", "0"], "Invalid value for '--jobs'"),
        (["--stored", "--no-cache"], "--stored runs nothing; --no-cache has no effect with it"),
        (["--stored", "--models", "."], "--stored runs nothing; --models has no effect with it"),
        (["--stored", "--jobs", "2"], "--stored runs nothing; --jobs has no effect with it"),
        (["--ledger", "--stored"], "--ledger runs nothing; --stored has no effect with it"),
        (["--ledger", "--source", "TinyOps"], "--ledger runs nothing; --source has no effect with it"),
        (["--html", "a/b.html"], "cannot write a/b.html: there is no directory a"),
        (["--html", "same", "--json", "same"], "same is named for two outputs"),
        (["--html", "-"], "-: name a file; standard output is for the table"),
        (["--html", "there"], "there exists; --force overwrites it"),
    ],
)
def test_what_cannot_be_used_is_refused_before_the_work(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("kept")
    assert main(["validate", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and text in printed.err and printed.err.count("\n") == 1
    assert Path("there").read_text() == "kept"


@only_with_all_cases
def test_the_ledger_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--ledger"]) == 0
    assert capsys.readouterr().out == ledger_table() + "\n"
    assert main(["validate", "--ledger", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(ledger_json()))


def test_force_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "there.html"
    path.write_text("old")
    assert main(["validate", "--stored", "--source", "TinyOps", "--html", str(path), "--force"]) == 0
    assert path.read_text().startswith("<!DOCTYPE html>")


@only_with_all_cases
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs processes")
def test_ctrl_c_ends_the_runs_and_their_processes() -> None:
    """As a terminal sends it, to all processes at once."""
    words = ["validate", "--source", "TinyOps", "--jobs", "2", "--no-cache"]
    command = [sys.executable, "-c", AS_A_TERMINAL.format("SIG_DFL"), sys.executable, "-m", "mcusim", *words]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, cwd=REPOSITORY
    )
    try:
        assert eventually(lambda: len(children(process.pid)) >= 2)
        sleep(1)  # they are at work, or about to be
        started = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST_WAIT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))


def test_a_terminal_shows_a_bar_and_standard_output_the_table() -> None:
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mcusim", *FIGURE_1, "--no-cache"], stderr=end, stdout=subprocess.PIPE, cwd=REPOSITORY
    )
    os.close(end)
    shown = b""
    try:
        while some := os.read(terminal, 4096):
            shown += some
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    out, _ = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 0 and b"validating" in shown and b"\x1b" not in out
    assert out.startswith(b"                ") and b"figure-1 graph" in out
