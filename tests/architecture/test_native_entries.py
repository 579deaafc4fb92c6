"""What Python calls of native code is in its stored objects: else each process would compile it again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mcusim.native import build
from mcusim.native.declarations import COMPILED
from tests.support.imports import MODULES, nodes, parsed


def names_in(node: ast.AST, module: str, natives: set[str], imported: dict[str, str]) -> Iterator[str]:
    """The dotted names that Python code reads below ``node``; native functions are left out."""
    if isinstance(node, ast.FunctionDef) and f"{module}.{node.name}" in natives:
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield imported.get(node.id, f"{module}.{node.id}")
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield f"{imported.get(node.value.id)}.{node.attr}"
    for child in ast.iter_child_nodes(node):
        yield from names_in(child, module, natives, imported)


def test_what_python_calls_is_exported() -> None:
    build.import_all()
    natives = {function.symbol for function in COMPILED if function.symbol.startswith("mcusim.")}
    folders = {symbol.rpartition(".")[0] for symbol in natives}
    read: set[str] = set()
    for module, path in MODULES.items():
        tree = parsed(path)
        imports = [node for node in nodes(path) if isinstance(node, ast.ImportFrom)]
        imported = {name.asname or name.name: f"{node.module}.{name.name}" for node in imports for name in node.names}
        if module not in folders and not folders.intersection([*imported.values(), *(node.module for node in imports)]):
            continue
        read |= natives.intersection(names_in(tree, module, natives, imported))
    assert len(read) > 40 and read - build.entries() == set(), "add these to FROM_PYTHON in native/build.py"
    assert set(build.FROM_PYTHON) <= natives
