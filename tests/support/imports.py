"""Who imports whom in the package, read from the sources: inside functions, for types and by strings too."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path

import mcusim

PACKAGE = Path(mcusim.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax of a file, read once by all the rules of one process."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of them."""
    return tuple(ast.walk(parsed(path)))


STRING = re.compile(r"(mcusim(?:\.\w+)+)(?::[\w.]+)?")  # "mcusim.report.run.table", "mcusim.report.run.table:run_table"


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules of the package that a file imports: at its top, inside functions, under ``if TYPE_CHECKING``, and
    those that a text of it names."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and (name := STRING.fullmatch(node.value)):
            found.add(name[1])
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module or "" for name in whole}
    return frozenset(name for name in found if name in MODULES and name != module_of(path))


def circles(edges: Mapping[str, Set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (Tarjan), each sorted; none when there is no circle."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found
