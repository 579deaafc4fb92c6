"""How many cases of a family of tests the default run has; with ``--all-cases`` (by hand) it has all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Case = TypeVar("Case")
Other = TypeVar("Other")
Test = TypeVar("Test", bound=Callable[..., Any])
ALL = bool(os.environ.get("MCUSIM_ALL_CASES"))  # set by tests/conftest.py before any test is imported


def few(most: int) -> Callable[[Test], Test]:
    """Decorator of a test that the default run has with so many of its sets of parameters, evenly spread."""

    def keep(test: Test) -> Test:
        test.most_cases = most  # type: ignore[attr-defined]
        return test

    return keep


only_with_all_cases = few(0)
"""Decorator of a test that another one stands for in the default run."""


def sampled(cases: Iterable[Case], most: int) -> list[Case]:
    """At most ``most`` of ``cases``, evenly spread, the first among them; in their order."""
    every = list(cases)
    if ALL or len(every) <= most:
        return every
    return [every[i * len(every) // most] for i in range(most)]


def in_turn(first: Iterable[Case], second: Iterable[Other]) -> list[tuple[Case, Other]]:
    """Each of ``first`` with one of ``second``, in turn; with all cases each with each."""
    ours, others = list(first), list(second)
    if ALL:
        return [(one, other) for one in ours for other in others]
    return [(one, others[i % len(others)]) for i, one in enumerate(ours)]


def sample_size(of_all: int, few: int) -> int:
    """How many seeds or examples: ``few`` by default."""
    return of_all if ALL else few
