"""The bar of a sweep: how much is done, how fast, and the time left, of what this run does itself."""

from __future__ import annotations

import io
import re
import sys

import pytest

from mcusim.commands.shared import progress


class Terminal(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, *steps: tuple[float, int, int]) -> str:
    """What the bar says after ``steps``: seconds, points done, all points."""
    terminal, clock = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress.bar("sweeping", "points") as step:
        for clock[0], done, count in steps:
            step(done, count)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    return [line for line in re.split(r"[\r\n]+", plain) if "sweeping" in line][-1].rstrip()


def test_what_the_journal_had_counts_for_neither_rate_nor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, (5, 600, 1000), (25, 700, 1000))
    assert text.startswith("sweeping")
    assert text.endswith(" 700/1000 5 points/s, 1:00 left")


@pytest.mark.parametrize(
    ("seconds", "done", "count", "wanted"),
    [
        (4, 1, 6000, "0.25 points/s, 6:39:56 left"),
        (2, 300, 96_000, "150 points/s, 10:38 left"),
        (2, 3000, 100_000, "1,500 points/s, 1:05 left"),
        (60, 99_990, 100_000, "1,666 points/s, 0:00 left"),
    ],
)
def test_rates_are_plain_numbers(
    monkeypatch: pytest.MonkeyPatch, seconds: float, done: int, count: int, wanted: str
) -> None:
    assert shown(monkeypatch, (0, 0, count), (seconds, done, count)).endswith(f" {wanted}")


def test_before_the_first_point_there_is_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, (0, 0, 8)).endswith(" 0/8")
    assert shown(monkeypatch, (0, 8, 8)).endswith(" 8/8")
