"""A function can be read at once: at most 40 lines. Lengths of files and folders are printed by scripts/check."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.imports import PACKAGE, parsed
from tests.support.paths import REPOSITORY

FUNCTION = 40


def is_python(path: Path) -> bool:
    """A module, or a script without an ending."""
    if path.suffix:
        return path.suffix == ".py"
    return path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python")


def functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Those of a syntax tree, also one inside another; expressions have none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, name, ()) if not isinstance(node, ast.expr) else ():
            yield from functions(inner)


def test_functions_can_be_read_at_once() -> None:
    sources = [
        path
        for top in ("mcusim", "tests", "scripts")
        for path in (REPOSITORY / top).rglob("*")
        if "__pycache__" not in path.parts and is_python(path)
    ]
    assert len(sources) > 900
    long = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in sources
        for node in functions(parsed(path) if PACKAGE in path.parents else ast.parse(path.read_bytes()))
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION
    ]
    assert not long, "\n".join(long)
