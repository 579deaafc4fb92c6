"""Offline memory plans that no planner would write: one line and status 2, or a plan that is followed."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.model.tflite.offline_plan import with_offline_plan
from mcusim.model.tflite.tflite_writer import write_tflite
from tests.support.graphs.tflm_graphs import random_network

MARK = 16 * 77_777  # an offset that is found again in the file


def hostile(seed: int) -> bytes:
    """A file whose plan has other numbers than it was written with: offsets, their count, or the whole header."""
    rng = random.Random(seed)
    graph = random_network(3 + seed % 6, seed)
    data = bytearray(with_offline_plan(write_tflite(graph), "hostile", [MARK] * len(graph.tensors)))
    first = data.index(struct.pack("<2i", MARK, MARK))
    for i in range(len(graph.tensors)):
        value = rng.choice([-1, 0, 16 * rng.randrange(4000), rng.randrange(-(2**31), 2**31), 2**31 - 16, 7])
        struct.pack_into("<i", data, first + 4 * i, value)
    if rng.random() < 0.4:
        struct.pack_into("<i", data, first - 4 * rng.randint(1, 4), rng.choice([0, 1, -1, 2**31 - 1, len(data)]))
    return bytes(data)


def test_a_hostile_plan_is_one_line_or_is_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out, refused = tmp_path / "hostile.tflite", tmp_path / "out.tflite", 0
    for seed in range(60):
        path.write_bytes(hostile(seed))
        out.write_bytes(b"mine")
        commands = [["memory", str(path), "-o", str(out), "--force", "--seconds", "0.1"]]
        commands += [["run", str(path)]] * (seed % 10 == 0)
        for arguments in commands:
            status = main(arguments)
            error = capsys.readouterr().err
            assert status in (0, 1, 2) and "Traceback" not in error, f"seed {seed}"
            if status == 2:
                assert len(error.splitlines()) == 1 and error.startswith("error: "), f"seed {seed}"
                assert arguments[0] == "run" or out.read_bytes() == b"mine"
                refused += 1
    assert refused > 40
