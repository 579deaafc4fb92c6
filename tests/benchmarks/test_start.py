"""How long the command line takes to start, against a bare interpreter in the same run."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

from tests.support.other_processes import LONGEST_WAIT


def seconds(arguments: list[str]) -> float:
    """Processor time of an interpreter with these arguments: other programs disturb it less than the wall clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=LONGEST_WAIT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_starts_like_a_light_program(benchmark: Any) -> None:
    """``mcusim --help`` costs little beyond the interpreter and typer: no numpy, numba, simpy or tflite."""
    seconds(["-m", "mcusim", "--help"])  # byte code is compiled once
    bare = min(seconds(["-c", "import typer"]) for _ in range(5))
    times: list[float] = []
    benchmark.pedantic(lambda: times.append(seconds(["-m", "mcusim", "--help"])), rounds=5)
    assert min(times) < 4 * bare
