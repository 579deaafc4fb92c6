"""Reads a raw tree by a schema into typed values, and records where every figure comes from."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from mcusim.errors import MachineError, UnitError
from mcusim.machine.description import Figure
from mcusim.machine.document import Branch, Leaf, Node, join, problem
from mcusim.machine.field_types import Default, Each, Field, RejectedError, Scope, Spec, Table, shown

__all__ = ["Reader", "nearest", "no_more"]


def nearest(key: str, known: Iterable[str]) -> str:
    """``, did you mean "..."`` for the closest of ``known`` whatever its case, or nothing."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key[:80].lower(), by_lower, n=1)
    return f', did you mean "{by_lower[close[0]]}"' if close else ""


def no_more(path: str, obsolete: Mapping[str, str]) -> str:
    """What to do about ``path`` if it is a key of an older version, else nothing."""
    return next((text for pattern, text in obsolete.items() if fnmatchcase(path, pattern)), "")


class Reader:
    """One reading of one tree; ``figures`` and ``nodes`` fill while it reads.

    ``obsolete``: keys of older versions, and what to do about each.
    """

    def __init__(self, root: Branch, obsolete: Mapping[str, str] | None = None) -> None:
        self.root, self.obsolete = root, obsolete or {}
        self.figures: dict[str, Figure] = {}
        self.nodes: dict[str, Node] = {}

    def problem(self, path: str, rule: str) -> MachineError:
        """The error for a rule broken by the value at ``path`` (or by the table around it)."""
        around = path
        while around and around not in self.nodes:
            around = around.rpartition(".")[0]
        figure = self.figures.get(path)
        value = figure.text if figure else ""
        return problem(self.nodes.get(around, self.root), path, rule, value)

    def read(self, table: Table) -> Any:
        """The whole tree by the top-level ``table``."""
        return table.build("", self._fields(self.root, "", table, {}))

    def _fields(self, branch: Branch, path: str, table: Table, scope: Scope) -> dict[str, Any]:
        for key in branch.items:
            if key not in table.fields and not table.partial:
                where, full = f"[{path}]" if path else "a machine", join(path, key)
                unknown = f"unknown key{nearest(key, table.fields)}: {where} has {', '.join(table.fields)}"
                raise problem(branch.items[key], full, no_more(full, self.obsolete) or unknown)
        own: dict[str, Any] = {}
        for key, spec in table.fields.items():
            own[key] = self._item(branch, key, join(path, key), spec, {**scope, **own})
        return own

    def _item(self, branch: Branch, key: str, path: str, spec: Spec, scope: Scope) -> Any:
        node = branch.items.get(key)
        if node is not None:
            self.nodes[path] = node
        if isinstance(spec, Field):
            return self._field(branch, path, node, spec, scope)
        if node is None:
            if spec.absent == "none":
                return None
            if spec.absent == "error":
                raise problem(branch, path.rpartition(".")[0], f"the table [{path}] is missing")
            node = Branch({}, branch.file, branch.line)
        if isinstance(node, Leaf):
            raise problem(node, path, "must be a table")
        if isinstance(spec, Each):
            for name, item in node.items.items():
                self._key(spec, name, item, join(path, name))
            return {
                name: self._item(node, name, join(path, name), spec.choose(item), scope)
                for name, item in node.items.items()
            }
        return spec.build(key, self._fields(node, path, spec, scope))

    def _key(self, spec: Each, name: str, node: Node, path: str) -> None:
        try:
            if spec.key is not None:
                spec.key(name)
        except RejectedError as error:
            raise problem(node, path, str(error)) from None

    def _field(self, branch: Branch, path: str, node: Node | None, field: Field, scope: Scope) -> Any:
        if node is None:
            if field.default is None:
                table, _, key = path.rpartition(".")
                raise problem(branch, table, f"the key {key} is missing")
            return self._default(path, field, field.default, scope)
        if isinstance(node, Branch):
            raise problem(node, path, "must be one value, not a table")
        value = field.typed(node.value) if node.typed and isinstance(node.value, str) else node.value
        try:
            result = field.parse(value)
        except (RejectedError, UnitError) as error:
            raise problem(node, path, str(error)) from None
        if field.is_figure:
            text = shown(value, field)
            self.figures[path] = Figure(path, text, node.basis, node.source, node.file, node.line)
        return result

    def _default(self, path: str, field: Field, default: Default, scope: Scope) -> Any:
        value = default.value(scope)
        if field.is_figure:
            text = default.text(value) if default.text else shown(value, field)
            basis, source = default.basis, f"default: {default.why}"
            like = self.figures.get(join(path.rpartition(".")[0], default.like)) or self.figures.get(default.like)
            if like:
                basis, source = like.basis, f"{like.source.partition(' (default: ')[0]} (default: {default.why})"
            self.figures[path] = Figure(path, text, basis, source, self.root.file, 0)
        return value
