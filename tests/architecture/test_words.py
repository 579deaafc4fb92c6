"""Names are the field's terms: words that say nothing are counted, package by package, and their number only falls.

`row` of a table or an SDRAM and `left` as a side are free, so neither is counted.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.imports import FILES, PACKAGE, parsed

WORDS = frozenset({"found", "one", "at", "place", "told", "tell", "said", "beside", "given"})
MOST = 15  # in 1,000 lines
SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.ListComp | ast.SetComp | ast.DictComp
CEILINGS = {
    "api": 18, "codegen": 7, "commands": 21, "cpu": 35, "emulator": 32, "engine": 6, "evidence": 14,
    "image": 20, "kernels": 37, "labs": 21,
    "machine": 12, "mcusim": 4, "measurements": 2, "memory": 13, "model": 8, "nas_search": 11, "native": 2, "plan": 59,
    "program": 3,
    "report": 34, "results": 15, "run_config": 8, "runtime": 9, "sessions": 9, "soc": 56, "sweeps": 30, "tuning": 10,
    "verification": 81,
}  # fmt: skip


def names_in(node: ast.AST) -> Iterator[str]:
    """What ``node`` gives a name to: functions, arguments, variables once a scope, attributes."""
    variables = set[str]()
    for child in ast.iter_child_nodes(node):
        yield from _names(child, variables)


def _names(node: ast.AST, variables: set[str]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    if isinstance(node, ast.arg):
        yield node.arg
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in variables:
        variables.add(node.id)
        yield node.id
    if isinstance(node, SCOPES | ast.GeneratorExp):
        yield from names_in(node)
        return
    for child in ast.iter_child_nodes(node):
        yield from _names(child, variables)


def counted() -> tuple[Counter[str], int]:
    """Words of names by package, and all lines."""
    words, lines = Counter[str](), 0
    for path in FILES:
        inside = path.relative_to(PACKAGE).with_suffix("")
        lines += path.read_bytes().count(b"\n")
        for name in (inside.name, *names_in(parsed(path))):
            words[inside.parts[0] if len(inside.parts) > 1 else "mcusim"] += len(WORDS & {*name.split("_")})
    return words, lines


def test_words_that_say_nothing_get_fewer() -> None:
    words, lines = counted()
    more = {name: f"{count}, at most {CEILINGS.get(name, 0)}" for name, count in words.items()
            if count > CEILINGS.get(name, 0)}  # fmt: skip
    assert not more, f"names with {', '.join(sorted(WORDS))} in them: {more}"
    fewer = {name: words[name] for name, most in CEILINGS.items() if words[name] < most}
    assert not fewer, f"they are fewer: write into CEILINGS {fewer}"
    assert sum(words.values()) < MOST * lines / 1000


def test_counting_sees_each_name_once_a_scope(tmp_path: Path) -> None:
    source = """
def place_of(given, *, one):
    found = at = 1
    found = [found for found in given]
    self.said = lambda told: told
class Beside:
    tell: int
"""
    assert sorted(names_in(ast.parse(source))) == sorted(
        ["place_of", "given", "one", "found", "at", "found", "said", "told", "Beside", "tell"]
    )
