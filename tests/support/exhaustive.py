"""The list of tests that only ``scripts/test-all`` runs: ``tests/exhaustive.txt``."""

from __future__ import annotations

from tests.support.paths import REPOSITORY

LIST = REPOSITORY / "tests" / "exhaustive.txt"


def exhaustive() -> frozenset[str]:
    """Ids of tests: ``file::function`` for all its parameters, ``file::function[parameters]`` for one set of them."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
