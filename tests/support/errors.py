"""The one error that a command ends with."""

from __future__ import annotations

import pytest


def error_of(message: str) -> str:
    """The line of the error in all that standard error got; only one that ends with a colon has a list below it."""
    first, *listed = [line for line in message.splitlines() if not line.startswith("compiling native code")]
    assert first.startswith("error: "), message
    assert first.endswith(":") == bool(listed) and all(line.startswith("  ") for line in listed), message
    return first


def one_error(capsys: pytest.CaptureFixture[str]) -> str:
    """As :func:`error_of`, of a command that has printed nothing else."""
    captured = capsys.readouterr()
    assert captured.out == ""
    return error_of(captured.err)
