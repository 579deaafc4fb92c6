"""Sweeps that are killed, interrupted or run out of room: nothing done is lost, nothing is done twice."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.sweeps import Study, read_study, sweep, sweep_table
from mcusim.sweeps.journal import HEAD, Journal
from mcusim.sweeps.point import SharedWork
from tests.support.boards.sweep_studies import LONG, SMALL, finished_rows, names, started, wait_for_rows, write
from tests.support.cases import only_with_all_cases, sampled
from tests.support.other_processes import LONGEST_WAIT, gone, kill, workers

run = import_module("mcusim.sweeps.sweep")  # the package has its function of this name

ROW: dict[str, object] = {
    "status": "ok",
    "error": None,
    "cycles": 0,
    "latency_ms": 0.1,
    "energy_mj": 0.2,
    "supply_current_ma": 90.0,
    "peak_sram_bytes": 7,
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of the long study."""
    folder = tmp_path_factory.mktemp("undisturbed")
    sweep(write(folder, LONG), folder / "out.parquet", jobs=1)
    return (folder / "out.parquet").read_bytes()


def resumed(study: Path, output: Path) -> tuple[int, int]:
    """Finish the sweep in this process: points that were done before, and rows that the journal had."""
    before, done = finished_rows(output), []
    sweep_table(read_study(study), output, jobs=1, progress=lambda *n: done.append(n))
    return done[0][0], before


@pytest.mark.parametrize("jobs", sampled(["2", "1"], 1))
def test_killed_at_a_random_moment(tmp_path: Path, undisturbed: bytes, jobs: str) -> None:
    study, output = write(tmp_path, LONG), tmp_path / "out.parquet"
    for least in sampled([random.Random(jobs).randrange(2, 40), 1], 1):
        process = started(study, output, "-j", jobs)
        wait_for_rows(output, least, process)
        pool = workers(process.pid)
        kill(process.pid)
        process.communicate()
        assert gone(pool)
        assert not output.exists()
    skipped, kept = resumed(study, output)
    assert skipped == kept >= least
    assert output.read_bytes() == undisturbed
    assert names(tmp_path) == ["out.parquet", "study.toml"]


@only_with_all_cases
def test_a_worker_that_is_killed(tmp_path: Path, undisturbed: bytes) -> None:
    study, output = write(tmp_path, LONG), tmp_path / "out.parquet"
    process = started(study, output, "-j", "2")
    wait_for_rows(output, 3, process)
    pool = workers(process.pid)
    assert len(pool) == 2
    kill(pool[0])
    _, errors = process.communicate(timeout=LONGEST_WAIT)
    assert (process.returncode, errors) == (0, "")
    assert output.read_bytes() == undisturbed


@only_with_all_cases
@pytest.mark.parametrize("jobs", sampled(["2", "1"], 1))
def test_ctrl_c(tmp_path: Path, jobs: str) -> None:
    study, output = write(tmp_path, LONG), tmp_path / "out.parquet"
    process = started(study, output, "-j", jobs)
    wait_for_rows(output, 2, process)
    pool = workers(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=LONGEST_WAIT)
    assert (process.returncode, out, errors) == (130, "", "")
    assert gone(pool)
    assert finished_rows(output) >= 2
    assert not output.exists()


LIMITED = """
import resource, sys
from mcusim.commands.app import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


def limited(size: int, *words: str) -> subprocess.CompletedProcess[str]:
    """The command where no file can be larger than ``size`` bytes."""
    command = [sys.executable, "-c", LIMITED, str(size), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONGEST_WAIT)


@only_with_all_cases
def test_no_room(tmp_path: Path) -> None:
    study, output = write(tmp_path, SMALL), tmp_path / "out.parquet"
    sweep(study, tmp_path / "whole.parquet", jobs=1)
    output.write_bytes((tmp_path / "whole.parquet").read_bytes())
    words = ["sweep", str(study), "-o", str(output), "--force", "-j", "1"]
    stopped = limited(2000, *words)  # in the journal
    assert (stopped.returncode, stopped.stdout) == (2, "")
    [line] = stopped.stderr.splitlines()
    assert line.startswith(f"error: cannot write {output}.journal: ")
    assert "and the same command resumes from there" in line
    assert len(pd.read_parquet(output)) == 8  # as it was
    kept = finished_rows(output)
    assert 0 < kept < 8
    stopped = limited(6000, *words)  # the journal has room, the table has not
    assert stopped.returncode == 2
    assert "resumes from its journal" in stopped.stderr
    assert len(stopped.stderr.splitlines()) == 1
    assert len(pd.read_parquet(output)) == 8
    assert names(tmp_path) == ["out.parquet", "out.parquet.journal", "study.toml", "whole.parquet"]
    assert main(words) == 0
    assert output.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not Path(f"{output}.journal").exists()


def filled(path: Path, count: int) -> bytes:
    with Journal(path, {str(n) for n in range(count)}) as journal:
        for n in range(count):
            journal.add([(str(n), {**ROW, "cycles": n})])
    return path.read_bytes()


@pytest.mark.parametrize("lost", [1, 2, 40, 60])
def test_a_torn_last_line(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "j"
    data = filled(path, 5)
    path.write_bytes(data[:-lost])
    with Journal(path, set("01234")) as journal:
        assert sorted(journal.rows) == ["0", "1", "2", "3"]
        journal.add([("4", {**ROW, "cycles": 4})])
    assert path.read_bytes() == data


def test_every_cut_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "j"
    data = filled(path, 3)
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with Journal(path, set("012")) as journal:
            assert list(journal.rows) == list("012")[: max(0, data[:length].count(b"\n") - 1)]


def test_damaged_lines_cost_their_point_alone(tmp_path: Path) -> None:
    path = tmp_path / "j"
    data = filled(path, 5)
    lines = data.splitlines(keepends=True)
    for n, byte in enumerate(b"\0\n\xff{"):
        lines[n + 1] = lines[n + 1][:20] + bytes([byte]) + lines[n + 1][21:]
    path.write_bytes(b"".join(lines))
    with Journal(path, set("01234")) as journal:
        assert journal.rows == {"4": {**ROW, "cycles": 4}}


def test_rows_of_other_studies_do_not_count(tmp_path: Path) -> None:
    filled(tmp_path / "j", 3)
    with Journal(tmp_path / "j", {"1", "x"}) as journal:
        assert list(journal.rows) == ["1"]


def test_what_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    study = write(tmp_path, SMALL)
    path = tmp_path / "out.parquet.journal"
    for text in ("dear diary", "mcusim sweep journal 9\n"):
        path.write_text(text)
        with pytest.raises(UsageError, match="not the journal of a sweep"):
            sweep(study, tmp_path / "out.parquet", jobs=1)
        assert path.read_text() == text
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UsageError, match="not a regular file"):
        sweep(study, tmp_path / "out.parquet", jobs=1)
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        sweep(study, tmp_path / "out.parquet", jobs=1)


def test_one_sweep_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", set()), pytest.raises(UsageError, match="another sweep is writing it"):
        Journal(tmp_path / "j", set())
    assert names(tmp_path) == []  # nothing was done
    with Journal(tmp_path / "j", {"a"}) as journal:
        journal.add([("a", ROW)])
    assert names(tmp_path) == ["j"]
    with Journal(tmp_path / "j", set()):
        pass
    assert names(tmp_path) == ["j"]  # the rows of another study are kept


def test_a_journal_that_another_sweep_has_just_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is gone between being opened and being locked: its rows would be lost with it."""
    path, lock = tmp_path / "j", fcntl.flock
    filled(path, 1)

    def late(file: int, how: int) -> None:
        if path.exists() and path.stat().st_size > len(HEAD):
            path.unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with Journal(path, {"a"}) as journal:
        assert journal.rows == {}
        assert path.read_bytes() == HEAD
        journal.add([("a", ROW)])
    assert path.read_bytes().count(b"\n") == 2


def test_a_sweep_that_ended_since_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two with one output, of which the first ends while the second reads its models."""
    study, output = read_study(write(tmp_path, SMALL)), tmp_path / "out.parquet"
    read = run.prepared

    def slow(one: Study) -> SharedWork:
        monkeypatch.setattr(run, "prepared", read)
        sweep_table(one, output, jobs=1)
        output.write_bytes(output.read_bytes() + b"as it was")
        return read(one)

    monkeypatch.setattr(run, "prepared", slow)
    with pytest.raises(UsageError, match="exists"):
        sweep_table(study, output, jobs=1)
    assert output.read_bytes().endswith(b"as it was")
    assert names(tmp_path) == ["out.parquet", "study.toml"]
