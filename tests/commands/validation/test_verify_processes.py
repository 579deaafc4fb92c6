"""``mcusim verify --fuzz`` as a terminal sees it: its bar, and Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from tests.support.cases import only_with_all_cases, sampled
from tests.support.other_processes import AS_A_TERMINAL, LONGEST_WAIT, children, eventually
from tests.support.paths import REPOSITORY

COMMAND = [sys.executable, "-m", "mcusim", "verify", str(REPOSITORY / "traces" / "ping-pong-four-tiles.jsonl")]


@only_with_all_cases
@pytest.mark.skipif(not Path("/proc/self/task").is_dir() or len(os.sched_getaffinity(0)) < 2, reason="needs processes")
def test_ctrl_c_ends_the_fuzzing_and_its_processes() -> None:
    """As a terminal sends it, to all processes at once."""
    command = [sys.executable, "-c", AS_A_TERMINAL.format("SIG_DFL"), *COMMAND, "--fuzz", "100000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert eventually(lambda: len(children(process.pid)) >= 2)
        sleep(1.5)  # they are at work, or about to be
        started = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST_WAIT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))


@only_with_all_cases
@pytest.mark.skipif(not Path("/proc/self/task").is_dir() or len(os.sched_getaffinity(0)) < 2, reason="needs processes")
def test_a_fuzzing_under_nohup_continues() -> None:
    """Ctrl-C while its processes start and, once more, when they are at work."""
    command = [sys.executable, "-c", AS_A_TERMINAL.format("SIG_IGN"), *COMMAND, "--fuzz", "12"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert eventually(lambda: len(children(process.pid)) >= 2)
        for _ in range(6):
            os.killpg(process.pid, signal.SIGINT)
            sleep(0.3)
        out, _ = process.communicate(timeout=LONGEST_WAIT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode == 0 and out.rstrip().endswith(b"seeds 1 to 12: identical outputs")


@only_with_all_cases
@pytest.mark.skipif(not Path("/proc/self/task").is_dir() or len(os.sched_getaffinity(0)) < 2, reason="needs processes")
def test_processes_of_the_fuzzing_do_not_outlive_one_that_is_killed() -> None:
    process = subprocess.Popen([*COMMAND, "--fuzz", "100000"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        assert eventually(lambda: len(children(process.pid)) >= 2)
        sleep(1.5)
        started = children(process.pid)
    finally:
        process.kill()
        process.wait()
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))


@only_with_all_cases
@pytest.mark.parametrize(
    "folder", sampled(["a-folder-whose-name-alone-is-longer-than-what-a-terminal-of-80-columns-has-left", ""], 1)
)
def test_the_bar_has_a_rate_and_leaves_standard_output_alone(folder: str, tmp_path: Path) -> None:
    trace = tmp_path / folder / "a-program.jsonl"
    trace.parent.mkdir(exist_ok=True)
    trace.write_bytes(Path(COMMAND[-1]).read_bytes())
    model = REPOSITORY / "traces" / "sample-tall-conv.tflite"
    terminal, end = pty.openpty()
    command = [*COMMAND[:-1], str(trace), "--model", str(model), "--fuzz", "2"]
    process = subprocess.Popen(command, stderr=end, stdout=subprocess.PIPE)
    os.close(end)
    shown = b""
    try:
        while some := os.read(terminal, 4096):
            shown += some
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    out, _ = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 0
    assert b"fuzzing" in shown and b"2/2" in shown and b"seeds/s" in shown and b"a-program.jsonl" in shown
    assert b"\x1b" not in out and out.rstrip().endswith(b"seeds 1 to 2: identical outputs")
