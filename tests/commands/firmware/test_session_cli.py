"""``mcusim session``: typed commands, from options and from standard input."""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.errors import McusimError
from mcusim.sessions.session import session
from mcusim.sessions.shell import HELP, SessionShell
from tests.sessions.test_object_file import compiled, needs_compiler
from tests.sessions.test_session import DOT
from tests.support.cases import sample_size

MACHINE = "stm32f746g-disco"
ROUND = """\
tensor a 100 int8 random=1      # a comment
tensor b 10x10 int8 3 region=sdram
call dot a b 100 0 0 0
snapshot before
lazy on
call fill a 100
call dot a b 100 0 0 0
lazy off
show a
restore before
show a
free b
heap
traffic
output
modules
help call
unload a.o
reset
heap
"""


@pytest.fixture
def object_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of :data:`DOT`; from here on there is no compiler."""
    path = compiled(tmp_path, "cortex-m7", "-O2", source=DOT)
    monkeypatch.setenv("PATH", "")
    return path


@needs_compiler
def test_a_round_of_commands(
    object_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = np.random.default_rng(1).integers(0, 256, (100, 1), np.uint8).view(np.int8).reshape(100)
    for arguments in ([], ["--json", "-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO(ROUND))
        assert main(["session", MACHINE, str(object_file), *arguments]) == 0
        text = capsys.readouterr().out
    answers = json.loads(text)["answers"]
    assert [answer["command"] for answer in answers] == [line.split()[0] for line in ROUND.splitlines()]
    called, queued = answers[2], answers[7]["calls"]
    assert called["signed"] == 3 * int(a.astype(int).sum()) and sum(called["causes"].values()) == called["cycles"]
    filled = (3 * np.arange(100)).astype(np.int8)
    assert [call["function"] for call in queued] == ["fill", "dot"]
    assert queued[1]["signed"] == 3 * int(filled.astype(int).sum())
    assert answers[8]["values"] == filled.tolist() and answers[10]["values"] == a.tolist()
    assert answers[12]["regions"]["sram1"]["used"] > answers[-1]["regions"]["sram1"]["used"] > 0
    assert answers[13]["round_trips"] > 9 and {*answers[13]["seconds"]} == {"jtag", "swd", "uart", "usb"}


@needs_compiler
@pytest.mark.parametrize(
    ("commands", "status", "text"),
    [
        (["cal dot"], 2, 'no command "cal": did you mean call?'),
        (["call dot 1 2 x"], 2, '"x" is no value'),
        (["call dott"], 2, 'no module has a function "dott"; did you mean dot, counter?'),
        (["call fault 0xf0000000"], 1, "no memory (fault+0x"),
        (["tensor x 4 int8", "call endless x limit=1000"], 1, "took more instructions than it may"),
        (["tensor x 4000000 int8"], 2, "no room for 4,000,000 B in sram1"),
        (["tensor x 4x-1"], 2, "tensor NAME"),
        (["tensor x 4 int8 300"], 2, "'300' is no int8"),
        (["tensor x no.npy"], 2, "no.npy: No such file"),
        (["load no.c"], 2, "'no.c': no such file"),
        (["restore"], 2, 'no snapshot "snapshot"; there are none'),
        (["unload b.o"], 2, 'no module "b.o"; there are a.o'),
        (["show x"], 2, 'no tensor "x"; there are none'),
        (['tensor "x'], 2, "No closing quotation"),
        (["lazy on", "tensor a 4 int8 1", "call fault 0xf0000000", "quit"], 1, "fault: "),
    ],
)
def test_errors_are_one_line_and_end_it(
    commands: list[str], status: int, text: str, object_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for command in commands for word in ("-c", command)]
    assert main(["session", MACHINE, str(object_file), *words, "-c", "output"]) == status
    error = capsys.readouterr().err
    assert text in error and error.startswith("error: ") and error.count("\n") == 1


@needs_compiler
def test_without_a_compiler_its_package_is_named(object_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["session", MACHINE, str(object_file.with_suffix(".c"))]) == 2
    assert "a.c needs arm-none-eabi-gcc (Debian: apt-get install gcc-arm-none-eabi)" in capsys.readouterr().err


@needs_compiler
def test_a_terminal_goes_on_after_an_error_and_completes(object_file: Path, tmp_path: Path) -> None:
    said: list[str] = []
    device = session(MACHINE)
    device.load(object_file)
    shell = SessionShell(device, said.append, interactive=True)
    for line in ("call fault 0xf0000000", "", "tensor here 3 int16 -5", "show here", f"save here {tmp_path}/x.npy"):
        assert not shell.onecmd(line)
    assert said[0].startswith("error: fault: ") and "-5 -5 -5" in said[2]
    assert np.load(tmp_path / "x.npy").tolist() == [-5, -5, -5]
    shell.onecmd(f"save here {tmp_path}/x.npy")
    assert "exists" in said[-1] and shell.onecmd("quit")
    assert shell.completenames("un") == ["unload "]
    assert shell.completedefault("h", "show h", 5, 6) == ["here"]
    assert "dot" in shell.completedefault("d", "call d", 5, 6)
    assert shell.completedefault(f"{tmp_path}/a.o", "load x", 5, 6) == [f"{tmp_path}/a.o"]


@needs_compiler
def test_lines_of_nonsense_are_one_error_each(object_file: Path, tmp_path: Path) -> None:
    """Commands with wrong words in any number: an answer or an error, and nothing else."""
    dice, device = random.Random(2), session(MACHINE)
    device.load(object_file)
    words = [
        "a",
        "dot",
        "int8",
        "1x2",
        "-1",
        "1e999",
        "nan",
        "region=x",
        "random=z",
        "=",
        "\0",
        "x" * 500,
        "limit=0",
        "é",
    ]
    for _ in range(sample_size(3000, 300)):
        shell = SessionShell(device, lambda text: None)
        line = " ".join([dice.choice([*HELP]), *(dice.choice(words) for _ in range(dice.randrange(5)))])
        try:
            done = shell.onecmd(line)
            assert done or [answer["command"] for answer in shell.answers] == [line.split(" ")[0]]
        except McusimError as error:
            assert str(error) and not shell.answers
    shell = SessionShell(device, lambda text: None)
    for line in ("reset", f"load {object_file}", "tensor a 9 int8 2", "call dot a a 9 0 0 0"):
        shell.onecmd(line)
    assert shell.answers[-1]["signed"] == 36
