"""Corrupted models, traces and machine files: a clean error or a valid result, soon, and in bounded memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from mcusim.commands.app import main
from tests.support.boards.memory_growth import Grown
from tests.support.cases import sample_size, sampled
from tests.support.damaged_files import BINARY, TEXT, check, variants
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import shared_model

MODELS = ("kws_ref_model.tflite", "vww_96_int8.tflite", "swiftnet_vwwc19_uint8.tflite")
LIMIT_BYTES = 1 << 30


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Native code is compiled once after installation; that is not the input's doing."""
    assert main(["run", "ds-cnn", "--machine", "stm32f746g-disco", "--policy", "tinyops"]) == 0


@pytest.mark.parametrize("name", sampled(MODELS, 1))
def test_corrupted_models(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    statuses, grown = set(), Grown()
    for data in variants(shared_model(name).read_bytes(), BINARY, name):
        path.write_bytes(data)
        statuses.add(check(["run", str(path), "--machine", "stm32f746g-disco", "--policy", "internal"], capsys))
    assert 2 in statuses, "no variant was damaged enough to be refused"
    assert grown.bytes < LIMIT_BYTES


def test_corrupted_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, path = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    assert main(["plan", "ds-cnn", "--machine", "stm32f746g-disco", "--policy", "tinyops", "-o", str(good)]) == 0
    capsys.readouterr()
    statuses = set()
    for data in variants(good.read_bytes(), TEXT, "trace"):
        path.write_bytes(data)
        statuses.add(check(["replay", str(path), "--machine", "stm32f746g-disco"], capsys))
    assert 2 in statuses


def test_corrupted_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mcusim.machine.catalog import config_directory

    path = tmp_path / "bad.toml"
    statuses = set()
    for data in variants((config_directory() / "stm32f746g-disco.toml").read_bytes(), TEXT, "machine"):
        path.write_bytes(data)
        statuses.add(check(["run", "ds-cnn", "--machine", str(path)], capsys))
    assert 2 in statuses


def test_corrupted_inputs_within_a_memory_limit(tmp_path: Path) -> None:
    """Some variants in processes of their own that may not have more than 1 GiB."""
    original = shared_model(MODELS[0]).read_bytes()
    for number, data in enumerate(variants(original, BINARY, "limited")[: sample_size(10, 2)]):
        path = tmp_path / f"{number}.tflite"
        path.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-m", "mcusim", "run", str(path)],
            capture_output=True,
            text=True,
            timeout=LONGEST_WAIT,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES)),
        )
        assert done.returncode in (0, 1, 2), done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or done.stderr.startswith("error: ")
