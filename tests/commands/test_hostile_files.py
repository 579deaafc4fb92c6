"""Corrupted models, traces and machine files: a clean error or a valid result, soon, and in bounded memory."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcusim.commands.app import main
from tests.support.boards.memory_growth import Grown
from tests.support.paths import shared_model

MODELS = ("kws_ref_model.tflite", "vww_96_int8.tflite", "swiftnet_vwwc19_uint8.tflite")
VARIANTS_EACH = 40  # x (three models, a trace, a machine file) = 200
LIMIT_SECONDS = 5.0
LIMIT_BYTES = 1 << 30


def place(size: int, rng: random.Random) -> int:
    """A word: half of the damage goes to the two ends of a file, where a flatbuffer keeps its structure."""
    first, last = rng.choice(((0, size), (0, size), (0, min(size, 4096)), (size - size // 8, size)))
    return 4 * rng.randrange(first // 4, last // 4)


def truncated(data: bytearray, rng: random.Random) -> bytearray:
    return data[: rng.randrange(len(data))]


def flipped(data: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice((1, 8, 64))):
        data[place(len(data), rng) + rng.randrange(4)] ^= 1 << rng.randrange(8)
    return data


def swapped(data: bytearray, rng: random.Random) -> bytearray:
    """Two aligned words change places: offsets that point elsewhere."""
    a, b = place(len(data), rng), place(len(data), rng)
    data[a : a + 4], data[b : b + 4] = data[b : b + 4], data[a : a + 4]
    return data


def huge(data: bytearray, rng: random.Random) -> bytearray:
    """An aligned word becomes a very large number: a length or an offset far outside."""
    at = place(len(data), rng)
    data[at : at + 4] = rng.choice((b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x00\x00\x00\x40"))
    return data


def huge_number(data: bytearray, rng: random.Random) -> bytearray:
    """A digit of a text becomes many."""
    digits = [i for i, c in enumerate(data) if chr(c).isdigit()]
    at = rng.choice(digits)
    data[at : at + 1] = rng.choice((b"9" * 30, b"1e999", b"-1", b"99999999"))
    return data


def other_digit(data: bytearray, rng: random.Random) -> bytearray:
    """A digit becomes another one, or a few: still well-formed, but it may not add up any more."""
    digits = [i for i, c in enumerate(data) if chr(c).isdigit()]
    at = rng.choice(digits)
    data[at : at + 1] = rng.choice((b"0", b"3", b"7", b"99", b"9999", b"999999"))
    return data


BINARY = (truncated, flipped, swapped, huge)
TEXT = (truncated, flipped, swapped, huge_number, other_digit)
Corruption = Callable[[bytearray, random.Random], bytearray]


def variants(original: bytes, ways: tuple[Corruption, ...], seed: str) -> list[bytes]:
    rng = random.Random(seed)
    return [bytes(ways[i % len(ways)](bytearray(original), rng)) for i in range(VARIANTS_EACH)]


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Native code is compiled once after installation; that is not the input's doing."""
    assert main(["run", "ds-cnn", "--machine", "stm32f746g-disco", "--policy", "tinyops"]) == 0


def check(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Run in this process: status 0, 1 or 2, at most one error line, in time."""
    started = time.perf_counter()
    status = main(arguments)
    seconds = time.perf_counter() - started
    captured = capsys.readouterr()
    assert status in (0, 1, 2)
    errors = [line for line in captured.err.splitlines() if line.startswith("error: ")]
    assert captured.err.splitlines() == errors
    assert len(errors) == (0 if status == 0 else 1)
    assert seconds < LIMIT_SECONDS
    return status


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
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


@pytest.mark.slow
def test_corrupted_inputs_within_a_memory_limit(tmp_path: Path) -> None:
    """Ten variants in processes of their own that may not have more than 1 GiB."""
    original = shared_model(MODELS[0]).read_bytes()
    for number, data in enumerate(variants(original, BINARY, "limited")[:10]):
        path = tmp_path / f"{number}.tflite"
        path.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-m", "mcusim", "run", str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES)),
        )
        assert done.returncode in (0, 1, 2), done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or done.stderr.startswith("error: ")
