"""State is reached by the fields of structs, and native functions take few parameters: what belongs together is a
struct."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.support.imports import FILES, PACKAGE, nodes, parsed

MOST_PARAMETERS = 5
NATIVE = {"native", "inlined", "shared"}
NUMBERS = {"FIRST_LINE", "NMI", "HARD_FAULT", "SVCALL", "PENDSV", "SYSTICK"}  # of exceptions: they index arrays


SOURCES = [path for path in FILES if path.relative_to(PACKAGE).parts[0] != "native"]


def layouts(tree: ast.Module) -> set[str]:
    """What the modules of layouts are called in a file."""
    aliases = (alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names)
    return {alias.asname or alias.name for alias in aliases if "layout" in alias.name}


def _added(index: ast.expr | None) -> Iterator[ast.Attribute]:
    """The attributes that an index is, or adds up; where a slice begins."""
    if isinstance(index, ast.Attribute):
        yield index
    elif isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
        yield from _added(index.left)
        yield from _added(index.right)
    elif isinstance(index, ast.Slice):
        yield from _added(index.lower)


def constants(tree: ast.Module, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Those of layouts in subscripts: ``x[L.Z]``, ``x[y + L.Z]``, ``x[L.Z : ...]``; the ``nodes`` of ``tree``."""
    modules = layouts(tree)
    for node in nodes:
        for name in _added(node.slice) if isinstance(node, ast.Subscript) else ():
            if isinstance(name.value, ast.Name) and name.value.id in modules and name.attr not in NUMBERS:
                yield f"{node.lineno}: {ast.unparse(node)}"


def test_no_subscript_is_a_constant_of_a_layout() -> None:
    hits = {str(path): [*constants(parsed(path), nodes(path))] for path in SOURCES}
    assert not {path: lines for path, lines in hits.items() if lines}


def test_a_slot_of_an_array_is_seen() -> None:
    source = "from a import state_layout as L\ns[L.NOW] = t[q + L.FLAGS] = u[L.A : L.B]\ns.now[i] = x.priority[L.NMI]\n"
    tree = ast.parse(source)
    assert len([*constants(tree, ast.walk(tree))]) == 3


def long_signatures(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Native functions with more than so many parameters."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > MOST_PARAMETERS:
            decorators = (name for part in node.decorator_list for name in ast.walk(part))
            if any(isinstance(name, ast.Name) and name.id in NATIVE for name in decorators):
                yield f"{node.lineno}: {node.name}"


def test_native_functions_take_few_parameters() -> None:
    hits = {str(path): [*long_signatures(nodes(path))] for path in SOURCES}
    assert not {path: lines for path, lines in hits.items() if lines}
