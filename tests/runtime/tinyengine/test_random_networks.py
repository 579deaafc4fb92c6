"""A sample of ``scripts/evidence/tinyengine/networks``, which runs 200 networks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import REPOSITORY


def test_random_networks_give_the_bytes_of_litert() -> None:
    pytest.importorskip("ai_edge_litert")
    script = REPOSITORY / "scripts" / "evidence" / "tinyengine" / "networks"
    done = subprocess.run([sys.executable, script, "--sample"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 networks, 0 wrong" in done.stdout.splitlines()[-1]
