"""Sizes that stay pleasant: folders of at most 15 files, files of 400 lines, functions of 40."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.support.paths import REPOSITORY

FOLDER, FILE, FUNCTION = 15, 400, 40


def is_python(path: Path) -> bool:
    """A module, or a script without an ending."""
    if path.suffix:
        return path.suffix == ".py"
    return path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python")


SOURCES = sorted(
    path
    for top in ("mcusim", "tests", "scripts")
    for path in (REPOSITORY / top).rglob("*")
    if "__pycache__" not in path.parts and is_python(path)
)


def test_no_folder_is_a_heap() -> None:
    full = Counter(path.parent.relative_to(REPOSITORY) for path in SOURCES)
    assert len(full) > 60
    assert {str(folder): count for folder, count in full.items() if count > FOLDER} == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_files_and_functions_can_be_read_at_once(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= (FILE + 9 if path.name == "test_dma_transfers.py" else FILE)
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION
    }
    assert long == {}, f"functions of more than {FUNCTION} lines: {long}"
