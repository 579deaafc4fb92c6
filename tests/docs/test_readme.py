"""The README: short, with the two commands that .ci/run and the documentation rely on."""

from __future__ import annotations

import doctest

import mcusim
from tests.support.paths import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_it_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_the_two_commands_are_on_one_line_each() -> None:
    commands = [
        line for line in README.splitlines() if line.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    ]
    assert [command.rpartition("&& ")[2].split()[0] for command in commands] == [".venv/bin/mcusim", ".venv/bin/pytest"]


def test_the_examples_of_the_package_run() -> None:
    failed, tried = doctest.testmod(mcusim)
    assert (failed, tried) == (0, 3)
