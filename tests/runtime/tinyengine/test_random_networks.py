"""Samples of ``scripts/evidence/tinyengine/networks``, which runs 200 networks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import REPOSITORY


def test_random_networks_give_the_bytes_of_litert_and_are_replayed_within_5_percent() -> None:
    """They have dead channels and their kind, clamped outputs and patches of many taps."""
    pytest.importorskip("ai_edge_litert")
    script = REPOSITORY / "scripts" / "evidence" / "tinyengine" / "networks"
    command = [sys.executable, script, "--channels", "--networks", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 networks, 0 wrong" in done.stdout.splitlines()[-1]
