"""Random bytes as code, and test programs with flipped bits: always a clean stop, within time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.cases import sample_size, sampled
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import REPOSITORY

BATCH = REPOSITORY / "tests" / "support" / "code" / "stream_batch.py"
MEBIBYTE = 1024  # KiB


def batch(what: str, isa: str, count: int) -> list[dict[str, Any]]:
    """Run ``count`` of them in one process; a crash or hang of it fails the test."""
    command = [sys.executable, str(BATCH), what, isa, "0", str(count)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kib"] < 1024 * MEBIBYTE
    assert len(found["results"]) == count
    return found["results"]


@pytest.mark.parametrize("isa", sampled(["cortex-m7", "cortex-m4"], 1))
@pytest.mark.parametrize(("what", "count"), [("bytes", sample_size(60, 4)), ("elves", sample_size(20, 8))])
def test_every_run_stops_cleanly(what: str, isa: str, count: int) -> None:
    results = batch(what, isa, count)
    for result in results:
        assert result["kind"] in ("limit", "fault", "exit", "returned", "idle", "reset"), result
        assert result["kind"] != "fault" or result["text"]
        assert result["instructions"] <= 20_000 + 4096
        assert abs(result["causes"] - result["cycles"]) < 1.01
    assert len({kind for result in results for kind in result["faults"]}) >= 3  # they do go wrong, in different ways
