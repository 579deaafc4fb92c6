"""What users' files and Python may do: one line, status 2, nothing lost, no hang; cases that went wrong."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.errors import McusimError
from mcusim.labs.draw import MOST_DRAWS
from mcusim.machine import load_machine
from mcusim.nas_search.scorers import scorer_of
from mcusim.nas_search.stats import STATS_LOG
from mcusim.record_log import RecordLog
from mcusim.sessions.session import session
from mcusim.sessions.shell import TYPES, SessionShell
from mcusim.tuning.layer import graph_of_shape, layers_of
from mcusim.tuning.template import FOLDER, open_template
from tests.support.cases import sample_size

BOARD = "stm32f746g-disco"
SHAPE = "--shape=in=4x4x4,kernel=3x3,out=4"
DIGITS = "9" * 5000
LAB = """title = "T"
minutes = 5
model = "figure-1"
needs = "x"
aims = ["a"]
figures = ["cycles"]
text = "Hello"
[after]
text = "Bye"
teacher = "See"
[parameters]
{parameters}
[[part]]
title = "P"
text = "x"
[[part.step]]
ask = "Q?"
id = "q"
unit = "c"
answer = "1"
hints = ["h"]
"""
SCORER = """
class F(float):
    def __float__(self): raise ValueError("no\\nnumber")
class Silent(Exception):
    def __str__(self): raise SystemExit(0)
def f(network):
    {body}
"""
BODIES = (
    "return F(1)",
    "raise SystemExit(0)",
    "raise Silent()",
    "raise BaseException('a\\nb')",
    "return '\\ud800'",
    "raise ValueError('\\ud800')",
    "return type('T', (), {'__str__': lambda s: 1})()",
    "return 10 ** 400",
    "return float('nan')",
    "import sys; sys.exit('bye')",
)


def template(folder: Path, python: str) -> Path:
    """A shipped template whose C comes from ``python``."""
    shutil.copytree(FOLDER / "conv2d-direct", folder)
    table = (folder / "template.toml").read_text(encoding="utf-8").replace('source = "kernel.c"', 'python = "k.py"')
    (folder / "template.toml").write_text(table, encoding="utf-8")
    (folder / "k.py").write_text(python, encoding="utf-8")
    return folder


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that ``words`` are answered with, status 2."""
    capsys.readouterr()
    assert main(words) == 2, words
    out, err = capsys.readouterr()
    assert err.startswith("error: ") and err.count("\n") == 1 and "Traceback" not in out + err
    return err


def test_a_log_that_is_none_keeps_its_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stats = ["nas", "stats", "--networks", "5", "--widths", "0.3", "--resolutions", "48", "--log"]
    for text in ("my notes of the afternoon", '{"format": "other"}', "{", "notes\nmore", '{"format": "mcusim-nas-'):
        path = tmp_path / "notes.txt"
        path.write_text(text, encoding="utf-8")
        if '{"format": "mcusim-nas-stats", '.startswith(text):
            continue  # a first line that was cut short, as that of a killed run
        assert "is not a l" in refused([*stats, str(path)], capsys)
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("parameters", [8 * [16], [8000], [65], 3 * [5]], ids=str)
def test_a_lab_with_too_many_draws_is_refused_at_once(
    parameters: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = "\n".join(f"p{i} = {json.dumps([str(v) for v in range(n)])}" for i, n in enumerate(parameters))
    path = tmp_path / "many.toml"
    path.write_text(LAB.replace("{parameters}", values), encoding="utf-8")
    capsys.readouterr()
    assert main(["lab", "check", str(path)]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 2 and (f"at most {MOST_DRAWS} can be" in text or "must have at most 16" in text)


@pytest.mark.parametrize(
    "command",
    [
        f"tensor a 4 int8 random={DIGITS}", f"tensor a 4 int8 {DIGITS}", f"tensor a {DIGITS}",
        f"tensor a {'x'.join('1' * 65)}", f"call memset limit={DIGITS}", f"call memset 0x{'f' * 5000}",
        f"call memset {DIGITS}", "tensor a zip.npy", "tensor a tokenize.npy", "tensor a pipe.npy", "load pipe.npy",
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_a_session_refuses_in_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zip.npy").write_bytes(b"PK\x03\x04" + bytes(100))
    Path("tokenize.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f4', 'shape': ((".ljust(118))
    os.mkfifo("pipe.npy")
    load = [] if command.startswith("tensor") else ["-c", "load m.c"]
    Path("m.c").write_text("int memset_(void) { return 1; }\n", encoding="utf-8")
    assert len(refused(["session", BOARD, *load, "-c", command], capsys)) < 400


@pytest.mark.parametrize("body", BODIES)
def test_whatever_a_users_python_does_is_named(body: str, tmp_path: Path) -> None:
    path = tmp_path / "scorer.py"
    path.write_text(SCORER.replace("{body}", body), encoding="utf-8")
    with pytest.raises(McusimError, match="scorer") as caught:
        scorer_of(f"{path}:f")([{"macs": 1}])
    one_line(caught.value)
    layer = layers_of(graph_of_shape("CONV_2D", {"in_h": 4, "in_w": 4, "in_c": 4, "out_c": 4, "kernel_h": 3,
                                                 "kernel_w": 3}, "SAME"), load_machine(BOARD))[0]  # fmt: skip
    python = SCORER.replace("def f(network)", "def source(config, shape)").replace("{body}", body)
    made = open_template(template(tmp_path / "mine", python))
    space = made.space(layer.geometry)
    with pytest.raises(McusimError, match=r"k\.py") as caught:
        made.source(layer.geometry, space, space.config(0))
    one_line(caught.value)


def one_line(error: McusimError) -> None:
    text = str(error)
    assert "\n" not in text and len(text) < 500 and text.encode()


def test_a_template_that_ends_the_process_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = template(tmp_path / "mine", "raise SystemExit(0)\n")
    assert "SystemExit" in refused(["tune", str(folder), SHAPE, "--trials", "2", "-j", "1"], capsys)


def test_warm_trials_of_a_shape_with_text_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "warm.jsonl"
    tune = ["tune", "conv2d-direct", SHAPE, "--trials", "2", "-j", "1", "--machine", BOARD]
    assert main([*tune, "--log", str(log)]) == 0
    text = log.read_text(encoding="utf-8")
    for value in ('"seconds"', "-1", "1e99", "null", "true", DIGITS):
        log.write_text(text.replace('"out_h": 4', f'"out_h": {value}'), encoding="utf-8")
        new = tmp_path / "new.jsonl"
        refused([*tune, "--tuner", "model", "--warm", str(log), "--log", str(new)], capsys)


class Dice:
    """Hostile words, by seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.makers: list[Callable[[], str]] = [
            lambda: str(self.random.choice((0, 1, -1, 2**31, 2**63, 10**19, 10**40))),
            lambda: self.random.choice(["0x", "٣²", "é�", "%s", "{}", "[", "a=b", "=", "random=", "region=", "limit="]),
            lambda: self.random.choice(("nan", "inf", "1e999f", "-0.0", "1.5f", "0x", "0b1", "1_0", "--", "'", "\\")),
            lambda: "x".join(str(self.random.choice((0, 1, 3, 70000, 10**17))) for _ in range(self.sides())),
            lambda: self.random.choice(TYPES),
            lambda: f"{self.random.choice(('random', 'limit', 'region', 'data', 'flags', 'include'))}={self.word()}",
            lambda: self.random.choice(("a", "b", "half.npy", "pipe.npy", ".", "/dev/zero", "", "~", "m.c", "\0")),
            lambda: "9" * self.random.choice((18, 19, 400, 5000)),
        ]

    def sides(self) -> int:
        return self.random.choice((1, 2, 40))

    def word(self) -> str:
        return self.random.choice(self.makers)()

    def line(self) -> str:
        names = "tensor tensor tensor call call show free save unload lazy restore snapshot"
        name = self.random.choice(names.split())
        first = [self.random.choice(("a", "b", "add"))] * (self.random.random() < 0.7)
        return " ".join([name, *first, *(self.word() for _ in range(self.random.randrange(4)))])


def test_random_lines_of_a_session_are_answered_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.npy")
    np.save("whole.npy", np.arange(4, dtype=np.int8))
    data, ends = Path("whole.npy").read_bytes(), set()
    device = session(BOARD)
    shell = SessionShell(device, lambda text: None)
    for seed in range(sample_size(500, 25)):
        dice = Dice(seed)
        place = dice.random.randrange(len(data))
        Path("half.npy").write_bytes(data[:place] + bytes([dice.random.randrange(256)]) + data[place + 1 :])
        try:
            shell.onecmd(dice.line())
            ends.add("answered")
        except McusimError as error:
            one_line(error)
            ends.add("refused")
    assert ends == {"answered", "refused"}


def test_random_texts_are_no_logs_and_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    head = json.dumps({"format": STATS_LOG.format, "networks": 5}) + "\n"
    for seed in range(sample_size(500, 25)):
        dice = random.Random(seed)
        text = "".join(dice.choice('{}[]":,\n 0a\ud7ffé') for _ in range(dice.randrange(1, 60)))
        path.write_text(dice.choice(("", head)) + text, encoding="utf-8")
        before = path.read_bytes()
        try:
            with RecordLog(path, STATS_LOG, {"networks": 5}):
                lost = before[path.stat().st_size :]
        except McusimError as error:
            one_line(error)
            assert path.read_bytes() == before
            continue
        assert b"\n" not in lost and (lost[:1] in (b"", b"{"))
