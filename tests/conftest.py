"""What holds for every test: byte code is kept, and processor time is measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Any

import pytest

# tests start some hundred interpreters: each would compile the package anew
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_START = pytest.StashKey[float]()


def _processor_seconds() -> float:
    """User and system time of this process and of the children it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    item.stash[_START] = _processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    if call.when == "teardown":  # the property "cpu" of a junit file: seconds of set-up, test and teardown
        item.user_properties.append(("cpu", f"{_processor_seconds() - item.stash[_START]:.3f}"))
    return (yield)
