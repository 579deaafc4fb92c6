"""Operator types are spelled where they are defined and where their names are data; elsewhere a trait is asked.

``op.type == "MEAN"`` in a planner is a fact about MEAN that the next operator of its kind will lack.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mcusim.model.operators import ACTIVATIONS, OPERATORS
from tests.support.imports import FILES, PACKAGE, nodes

# the entries; the file format's own rules; networks built by name
ALLOWED = ("model/operators.py", "model/operators/", "model/tflite/", "model/zoo/")


def spelled(nodes: Iterable[ast.AST]) -> list[tuple[int, str]]:
    """Line and name of every text among ``nodes`` that is the name of an operator."""
    constants = [node for node in nodes if isinstance(node, ast.Constant)]
    return sorted((node.lineno, str(node.value)) for node in constants if node.value in OPERATORS)


def advice(name: str) -> str:
    """The traits of ``name`` that a check for it can ask for instead."""
    traits = OPERATORS[name].traits
    given = [part for part in traits.__slots__ if getattr(traits, part) is True]
    return f"ask op.traits or geometry.traits ({', '.join(given) or 'it has none: add one'}) of mcusim.model.operators"


def test_no_other_file_spells_an_operator() -> None:
    wrong = [
        f"{path}:{line}: '{name}': {advice(name)}"
        for path in FILES
        if not str(path.relative_to(PACKAGE)).startswith(ALLOWED)
        for line, name in spelled(nodes(path))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_rule_finds_names_and_says_what_to_ask() -> None:
    source = '"""ADD"""\nkinds = {"PAD": 1, "ADDED": 2}\nfound = op.type in (\n    "MEAN",\n)\n'
    assert spelled(ast.walk(ast.parse(source))) == [(1, "ADD"), (2, "PAD"), (4, "MEAN")]
    assert "(reduces)" in advice("MEAN") and "(pads, partitionable)" in advice("PAD")
    assert "add one" in advice("RESIZE_BILINEAR")
    assert set(ACTIVATIONS) & set(OPERATORS) == {"RELU", "RELU6", "RELU_N1_TO_1", "TANH"}
