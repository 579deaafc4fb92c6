"""Which tests are exhaustive: the list names tests that exist, and how it is chosen from measured times."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

from tests.support.exhaustive import exhaustive
from tests.support.paths import REPOSITORY

SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "benchmarks" / "mark_exhaustive"))
FILES = sorted({name.partition("::")[0] for name in exhaustive()})


def functions(path: str) -> set[str]:
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("path", FILES)
def test_the_list_names_tests_that_exist_and_not_all_of_a_file(path: str) -> None:
    named = {name.partition("::")[2] for name in exhaustive() if name.startswith(f"{path}::")}
    assert {name.partition("[")[0] for name in named} <= functions(path)
    assert functions(path) - named, "the default run has no test of this file"


def junit(path: Path, *cases: tuple[str, str, float]) -> Path:
    """A file with these tests: class name, name and processor time."""
    rows = (
        f'<testcase classname="{file}" name="{name}" time="99">'
        f'<properties><property name="cpu" value="{seconds}"/></properties></testcase>'
        for file, name, seconds in cases
    )
    path.write_text(f"<testsuites><testsuite>{''.join(rows)}</testsuite></testsuites>", encoding="utf-8")
    return path


def test_the_cheapest_fill_the_budget_and_every_file_keeps_one(tmp_path: Path) -> None:
    one = junit(tmp_path / "1.xml", ("tests.a", "x[1]", 1), ("tests.a", "x[2]", 2), ("tests.a", "y", 3))
    two = junit(tmp_path / "2.xml", ("tests.b", "z", 9), ("tests.a", "y", 4))
    seconds = SCRIPT["measured"]([one, two])
    assert seconds == {"tests/a.py::x[1]": 1, "tests/a.py::x[2]": 2, "tests/a.py::y": 4, "tests/b.py::z": 9}
    assert SCRIPT["exhaustive"](seconds, 16) == set()
    assert SCRIPT["exhaustive"](seconds, 15) == {"tests/a.py::y"}
    assert SCRIPT["exhaustive"](seconds, 0) == {"tests/a.py::x[2]", "tests/a.py::y"}


def test_a_function_with_all_its_parameters_is_one_line() -> None:
    everything = ["a::x[1]", "a::x[2]", "a::y[1]", "a::y[2]", "a::z"]
    assert SCRIPT["shortened"]({"a::x[1]", "a::x[2]", "a::y[2]"}, everything) == ["a::x", "a::y[2]"]
