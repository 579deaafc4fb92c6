"""What a user sees while native code is compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.cases import few
from tests.support.other_processes import LONGEST_WAIT

CODE = """
from mcusim.commands.shared.progress import {shown}, native_code
from mcusim.native.compile_progress import compiling
import time
with native_code(), {shown}({arguments}):
    for name in ("walk", "fetch"):
        with compiling(name):
            time.sleep(0.5)
    time.sleep(0.5)
with compiling("unheard"):
    pass
print("done")
"""
ONCE = "compiling native code, once after installation"


def on_a_terminal(code: str) -> str:
    terminal, other = os.openpty()
    environment = {**os.environ, "COLUMNS": "140", "TERM": "xterm"}
    with subprocess.Popen([sys.executable, "-c", code], stderr=other, stdout=other, env=environment) as process:
        os.close(other)
        seen = b""
        while chunk := _read(terminal):
            seen += chunk
    os.close(terminal)
    assert process.returncode == 0, seen.decode()
    return seen.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@few(1)
@pytest.mark.parametrize(
    ("shown", "arguments"),
    [
        ("bar_of_steps", "'simulating', 'rows', 3"),
        ("spinner", "'planning'"),
        ("bar", "'verifying'"),
        ("counting", "'a.elf', None"),
    ],
)
def test_compiling_is_shown_in_what_is_on_the_terminal(shown: str, arguments: str) -> None:
    seen = on_a_terminal(CODE.format(shown=shown, arguments=arguments))
    assert f"{ONCE}: walk" in seen
    assert f"{ONCE}: fetch" in seen
    assert "unheard" not in seen
    behind = seen.rpartition("fetch")[2]
    assert "done" in behind
    if shown != "counting":  # which shows nothing before the first instruction
        assert arguments.split("'")[1] in behind, "the name of the work is back"


def test_without_a_terminal_it_is_one_line() -> None:
    code = CODE.format(shown="bar", arguments="'simulating'")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONGEST_WAIT
    )
    assert done.stderr == f"{ONCE} …\n"
    assert done.stdout == "done\n"
