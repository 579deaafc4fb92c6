"""How long the command line takes to start, against a bare interpreter in the same run."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any


def seconds(arguments: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=60)
    return time.perf_counter() - started


def test_help_starts_like_a_light_program(benchmark: Any) -> None:
    """``mcusim --help`` costs little beyond the interpreter and typer: no numpy, numba, simpy or tflite."""
    seconds(["-m", "mcusim", "--help"])  # byte code is compiled once
    bare = min(seconds(["-c", "import typer"]) for _ in range(5))
    times: list[float] = []
    benchmark.pedantic(lambda: times.append(seconds(["-m", "mcusim", "--help"])), rounds=5)
    assert min(times) < 4 * bare
