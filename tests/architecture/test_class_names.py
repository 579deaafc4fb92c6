"""A class name means one thing in the whole package: a search finds one definition."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import mcusim
from tests.support.imports import nodes

PACKAGE = Path(mcusim.__file__).parent


@cache
def class_homes() -> dict[str, list[str]]:
    """Where each class is defined, nested ones included: ``file:line`` by name."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return homes


def test_public_class_names_are_unique() -> None:
    homes = class_homes()
    assert len(homes) > 300
    twice = {name: found for name, found in homes.items() if not name.startswith("_") and len(found) > 1}
    assert twice == {}


def test_no_private_class_has_the_name_of_a_public_one() -> None:
    homes = class_homes()
    clashes = {name: homes[name] + homes[name[1:]] for name in homes if name.startswith("_") and name[1:] in homes}
    assert clashes == {}
