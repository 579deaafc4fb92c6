"""Damaged files of networks with state: one line and status 2, or a valid result."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.model.tflite.tflite_writer import write_tflite
from tests.support.damaged_files import BINARY, check, variants
from tests.support.graphs.streaming_graphs import lstm, svdf, wake_word


@pytest.mark.parametrize("graph", [wake_word(), svdf(1), lstm(1)], ids=lambda graph: graph.name)
def test_damaged_files(graph: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sample of what ``scripts/evidence/hostile_state`` does."""
    path, statuses = tmp_path / "x.tflite", []
    for data in variants(write_tflite(graph), BINARY, graph.name):  # type: ignore[arg-type,attr-defined]
        path.write_bytes(data)
        statuses.append(check(["inspect", str(path)], capsys))
    assert 2 in statuses
