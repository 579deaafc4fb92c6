"""Reads a raw tree by a schema into typed values, and records where every figure comes from."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, cast

from mcusim.errors import MachineError, UnitError
from mcusim.machine.description import Figure
from mcusim.machine.document import Branch, Leaf, Node, join, problem
from mcusim.machine.field_types import Default, Each, Field, RejectedError, Scope, Spec, Table, shown
from mcusim.units import Duration

Asked = str | tuple[str, str]
"""A key of a scope, or the key of a figure and that word."""


def nearest(key: str, known: Iterable[str]) -> str:
    """``, did you mean "..."`` for the closest of ``known`` whatever its case, or nothing."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key[:80].lower(), by_lower, n=1)
    return f', did you mean "{by_lower[close[0]]}"' if close else ""


def no_more(path: str, obsolete: Mapping[str, str]) -> str:
    """What to do about ``path`` if it is a key of an older version, else nothing."""
    return next((text for pattern, text in obsolete.items() if fnmatchcase(path, pattern)), "")


@dataclass(frozen=True, eq=False, slots=True)
class TableReading:
    """A table that was read: its node, what its defaults asked of tables before it (keys, or keys of figures), what it
    became, and the figures and nodes in it."""

    node: Branch
    asked: Mapping[Asked, object]
    result: Any
    figures: Mapping[str, Figure]
    nodes: Mapping[str, Node]


KEPT_READINGS = 8  # of one table: what a sweep's axes make of it in turn


class Readings:
    """Tables of a file, and of what was made of that file by changing keys, as they were last read."""

    def __init__(self) -> None:
        self._by_path: dict[str, tuple[TableReading, ...]] = {}

    def add(self, path: str, reading: TableReading) -> None:
        """The newest of the table at ``path``."""
        self._by_path[path] = (reading, *self._by_path.get(path, ()))[:KEPT_READINGS]

    def of(self, path: str, node: Branch) -> Iterator[TableReading]:
        """Those of the table at ``path`` that were written as ``node`` is."""
        return (reading for reading in self._by_path.get(path, ()) if same_text(reading.node, node))


def same_text(first: Node, second: Node) -> bool:
    """Whether two nodes say the same, and were written in the same place; ``1`` is neither ``1.0`` nor ``true``."""
    if first is second:
        return True
    if isinstance(first, Leaf):
        alike = isinstance(second, Leaf) and type(first.value) is type(second.value) and first == second
        return alike and not isinstance(first.value, list | dict)
    if isinstance(second, Leaf) or (first.file, first.line) != (second.file, second.line):
        return False
    return [*first.items] == [*second.items] and all(map(same_text, first.items.values(), second.items.values()))


class OuterScope(Mapping[str, Any]):
    """What was read before a key: the keys of its table, ``own``, then those around it, of which it keeps what was
    ``asked``."""

    def __init__(self, own: Mapping[str, Any], outer: Scope) -> None:
        self.own, self.outer, self.asked = own, outer, dict[Asked, object]()

    def __getitem__(self, key: str) -> Any:
        if key in self.own:
            return self.own[key]
        self.asked[key] = value = self.outer[key]
        return value

    def ask_figure(self, key: str, figure: Figure | None) -> None:
        """A default is as well founded as the figure of ``key``, wherever that is."""
        self.asked[key, "figure"] = figure
        if isinstance(self.outer, OuterScope):
            self.outer.ask_figure(key, figure)

    def __iter__(self) -> Iterator[str]:
        return iter({**self.outer, **self.own})

    def __len__(self) -> int:
        return len({**self.outer, **self.own})


MISSING = object()  # in place of a value that could not be read
MOST_PROBLEMS = 50


class Reader:
    """One reading of one tree; ``figures``, ``nodes`` and ``readings`` fill while it reads.

    ``obsolete``: keys of older versions, and what to do about each. All that is wrong is found before it is raised.
    ``readings``: of trees of the same file, whose tables are not read again where this one has the same.
    """

    def __init__(
        self,
        root: Branch,
        obsolete: Mapping[str, str] | None = None,
        readings: Readings | None = None,
    ) -> None:
        self.root, self.obsolete, self.readings = root, obsolete or {}, readings or Readings()
        self.problems: list[str] = []
        self.figures: dict[str, Figure] = {}
        self.nodes: dict[str, Node] = {}

    def broken(self, path: str, rule: str) -> None:
        """Note a rule that the value at ``path`` (or the table around it) breaks."""
        around = path
        while around and around not in self.nodes:
            around = around.rpartition(".")[0]
        figure = self.figures.get(path)
        value = figure.text if figure else ""
        self.problems.append(str(problem(self.nodes.get(around, self.root), path, rule, value)))

    def read(self, table: Table) -> Any:
        """The whole tree by the top-level ``table``. Raises MachineError with all that is missing or wrong."""
        fields = self._fields(self.root, "", table, OuterScope({}, {}))
        self.check()
        return table.build("", fields)

    def check(self) -> None:
        """Raise what was found wrong, if anything: one problem as it is, several with a line each."""
        texts = list(dict.fromkeys(self.problems))
        if len(texts) > 1:
            more = [f"and {len(texts) - MOST_PROBLEMS} more"] if len(texts) > MOST_PROBLEMS else []
            raise MachineError.of_lines(
                f"{self.root.file}: {len(texts)} keys are missing or wrong", [*texts[:MOST_PROBLEMS], *more]
            )
        if texts:
            raise MachineError(texts[0])

    def _wrong(self, node: Node, path: str, rule: str) -> object:
        self.problems.append(str(problem(node, path, rule)))
        return MISSING

    def _table(self, node: Branch, path: str, spec: Table, scope: OuterScope) -> Any:
        """What a table becomes; as before, when it is the same one and what its defaults ask for is the same."""
        earlier = next((past for past in self.readings.of(path, node) if self._holds(past.asked, scope)), None)
        if earlier is not None:
            for key, value in earlier.asked.items():  # whoever is around it depends on that too
                scope.ask_figure(key[0], cast(Any, value)) if isinstance(key, tuple) else scope[key]
            self.figures |= earlier.figures
            self.nodes |= earlier.nodes
            return earlier.result
        figures, nodes, problems = len(self.figures), len(self.nodes), len(self.problems)
        inner = OuterScope({}, scope)
        values = self._fields(node, path, spec, inner)
        if any(value is MISSING for value in values.values()):
            return MISSING
        result = spec.build(path.rpartition(".")[2], values)
        if len(self.problems) == problems:
            new = dict(islice(self.figures.items(), figures, None)), dict(islice(self.nodes.items(), nodes, None))
            self.readings.add(path, TableReading(node, inner.asked, result, *new))
        return result

    def _holds(self, asked: Mapping[Asked, object], scope: Scope) -> bool:
        return all(
            (self.figures.get(key[0]) if isinstance(key, tuple) else scope.get(key, MISSING)) == value
            for key, value in asked.items()
        )

    def _fields(self, branch: Branch, path: str, table: Table, scope: OuterScope) -> dict[str, Any]:
        for key in branch.items:
            if key not in table.fields and not table.partial:
                where, full = f"[{path}]" if path else "a machine", join(path, key)
                unknown = f"unknown key{nearest(key, table.fields)}: {where} has {', '.join(table.fields)}"
                self._wrong(branch.items[key], full, no_more(full, self.obsolete) or unknown)
        scope.own = own = dict[str, Any]()
        for key, spec in table.fields.items():
            own[key] = self._item(branch, key, join(path, key), spec, scope)
        return own

    def _item(self, branch: Branch, key: str, path: str, spec: Spec, scope: OuterScope) -> Any:
        node = branch.items.get(key)
        if node is not None:
            self.nodes[path] = node
        if isinstance(spec, Field):
            return self._field(branch, path, node, spec, scope)
        if node is None:
            if spec.absent == "none":
                return None
            if spec.absent == "error":
                self._wrong(branch, path.rpartition(".")[0], f"the table [{path}] is missing")
            node = Branch({}, branch.file, 0)
        if isinstance(node, Leaf):
            return self._wrong(node, path, "must be a table")
        if isinstance(spec, Each):
            named = {name: item for name, item in node.items.items() if self._key(spec, name, item, join(path, name))}
            fields = {
                name: self._item(node, name, join(path, name), spec.choose(item), scope) for name, item in named.items()
            }
            return MISSING if len(named) < len(node.items) or MISSING in fields.values() else fields
        return self._table(node, path, spec, scope)

    def _key(self, spec: Each, name: str, node: Node, path: str) -> bool:
        try:
            if spec.key is not None:
                spec.key(name)
        except RejectedError as error:
            self._wrong(node, path, str(error))
            return False
        return True

    def _field(self, branch: Branch, path: str, node: Node | None, field: Field, scope: OuterScope) -> Any:
        if node is None:
            return self._absent(branch, path, field, scope)
        if isinstance(node, Branch):
            return self._wrong(node, path, "must be one value, not a table")
        value = field.typed(node.value) if node.typed and isinstance(node.value, str) else node.value
        try:
            result = field.parse(value)
        except (RejectedError, UnitError) as error:
            return self._wrong(node, path, str(error))
        if field.is_figure:
            text = shown(value, field)
            self.figures[path] = Figure(path, text, node.basis, node.source, node.file, node.line)
        return result

    def _absent(self, branch: Branch, path: str, field: Field, scope: OuterScope) -> Any:
        """The default of a key that the file leaves out."""
        table, _, key = path.rpartition(".")
        if field.default is None:
            return self._wrong(branch, table, f"the key {key} is missing: {field.wanted}")
        try:
            return self._default(path, field, field.default, scope)
        except RejectedError as error:
            return self._wrong(branch, table, f"the key {key} is missing: {field.wanted}; {error}")
        except (AttributeError, KeyError, TypeError):  # what it follows from is missing
            return MISSING

    def _default(self, path: str, field: Field, default: Default, scope: OuterScope) -> Any:
        value = default.value(scope)
        if value is MISSING or not default.why:  # of a key that is optional there is nothing to say
            return value
        if field.is_figure:
            basis, source = default.basis, f"default: {default.why}"
            like = self.figures.get(join(path.rpartition(".")[0], default.like))
            if like is None:
                like = self.figures.get(default.like)
                scope.ask_figure(default.like, like)
            if like:
                basis, source = like.basis, f"{like.source.partition(' (default: ')[0]} (default: {default.why})"
            same = like if isinstance(value, Duration) else None  # the other key's length, in its own unit
            text = default.text(value) if default.text else same.text if same else shown(value, field)
            self.figures[path] = Figure(path, text, basis, source, self.root.file, 0)
        return value
