"""Translated code is kept by content: what changes code changes the fingerprint, what does not leaves it."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from mcusim.native.fingerprint import fingerprint

SOURCE = '''
from __future__ import annotations
from typing import Annotated
from mcusim.native.functions import native
from mcusim.native.structs import POINTER, Struct, Words

class Inner(Struct):
    first: int
    second: int

class Outer(Struct):
    spare: int
    inner: Annotated[Inner, POINTER]

LIMIT = 7

@native
def callee(n: int) -> int:
    return n + 1

@native
def function(outer: Outer, n: int) -> int:
    """What it does."""
    if n > LIMIT:
        return callee(n)
    return outer.inner.second
'''


def of(source: str) -> str:
    module = sys.modules["made"] = ModuleType("made")
    try:
        exec(compile(source, "made", "exec", dont_inherit=True), vars(module))
        return fingerprint(module.function)
    finally:
        del sys.modules["made"]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("What it does.", "It does\n    more.", True),
        ("LIMIT = 7", "LIMIT = 3 + 4  # a comment", True),
        ("return n + 1", "return n + 2", True),
        ("LIMIT = 7", "LIMIT = 8", False),
        ("n > LIMIT", "n >= LIMIT", False),
        ("first: int\n", "first: Annotated[Words, 2]\n", False),
        ("callee(n: int) -> int", "callee(n: int) -> None", False),
        ("inner.second", "inner.first", False),
        ("Annotated[Inner, POINTER]", "Inner", False),
    ],
)
def test_a_fingerprint_is_of_what_makes_the_code(old: str, new: str, same: bool) -> None:
    assert old in SOURCE
    assert (of(SOURCE) == of(SOURCE.replace(old, new))) is same
