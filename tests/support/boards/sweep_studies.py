"""Studies that the tests of sweeps share, and their command in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

from tests.support.other_processes import AS_A_TERMINAL, LONGEST_WAIT

SMALL = """
models = ["ds-cnn"]
machines = ["stm32f746g-disco"]
policies = ["internal", "external"]
[axes]
"memory.sdram.timing.tRCD" = ["2 sdclk", "3 sdclk"]
"power.run" = ["96 mA", "80 mA"]
[derived]
edp = "energy_mj * latency_ms"
"""
# some seconds of work
LONG = """
models = ["ds-cnn"]
machines = ["stm32f746g-disco"]
policies = ["tinyops"]
[axes]
"memory.sdram.timing.tWR" = { low = "1 sdclk", high = "10 sdclk", step = "1 sdclk" }
"core.clock" = { low = "100 MHz", high = "200 MHz", step = "20 MHz" }
"""


def write(folder: Path, text: str, name: str = "study.toml") -> Path:
    """The study ``text`` as a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def names(folder: Path) -> list[str]:
    """What is in ``folder``."""
    return sorted(path.name for path in folder.iterdir())


def started(study: Path, output: Path, *more: str) -> subprocess.Popen[str]:
    """``mcusim sweep``, in a session of its own, as at a terminal: where Ctrl-C is not ignored."""
    start = [sys.executable, "-c", AS_A_TERMINAL.format("SIG_DFL"), sys.executable, "-m", "mcusim"]
    command = [*start, "sweep", str(study), "-o", str(output), *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, stdout=subprocess.PIPE, start_new_session=True)


def finished_rows(output: Path) -> int:
    """Whole rows in the journal next to ``output``."""
    path = output.with_name(f"{output.name}.journal")
    return max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0


def wait_for_rows(output: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Until the journal has ``count`` rows, or the process has ended."""
    until = monotonic() + LONGEST_WAIT
    while finished_rows(output) < count and process.poll() is None and monotonic() < until:
        sleep(0.005)
