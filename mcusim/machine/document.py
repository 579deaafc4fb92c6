"""Machine files as raw trees, whose leaves remember file, line, basis and source; ``extends`` is resolved here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcusim.errors import MachineError
from mcusim.machine.catalog import locate
from mcusim.machine.description import Basis
from mcusim.machine.toml_file import LARGEST_FILE, read_toml
from mcusim.plug_ins import is_path
from mcusim.units import quoted

__all__ = [
    "LARGEST_FILE",
    "NO_SOURCE",
    "Branch",
    "Leaf",
    "Node",
    "grow",
    "inherited",
    "join",
    "merge",
    "problem",
    "read_document",
    "show",
    "show_address",
    "with_leaf",
]

NO_SOURCE = "no source given"
_BASES = ("datasheet", "measured", "calibrated", "assumed")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value. ``typed``: it came as text from a command line, not from TOML."""

    value: Any
    file: str
    line: int
    basis: Basis = "assumed"
    source: str = NO_SOURCE
    typed: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """One table; ``line`` 0 when it is not written in any file."""

    items: Mapping[str, Branch | Leaf]
    file: str
    line: int


Node = Branch | Leaf


def join(path: str, key: str) -> str:
    """The dotted path of ``key`` in the table ``path``."""
    return f"{path}.{key}" if path else key


def show(value: object) -> str:
    """A value as it would be written in a machine file, cut to a readable length."""
    if isinstance(value, list):
        inner = ["[...]" if isinstance(item, list) else show(item) for item in value[:6]]
        return f"[{', '.join(inner + ['...'] * (len(value) > 6))}]"
    return "a table" if isinstance(value, dict) else quoted(value)


def show_address(address: int) -> str:
    """``0x2000_0000``."""
    return f"0x{address >> 16:04X}_{address & 0xFFFF:04X}"


def problem(node: Node, path: str, rule: str, value: str = "") -> MachineError:
    """The error for a rule that ``node`` breaks: file, line, key, value (as ``value`` writes it), rule."""
    where = f"{node.file}:{node.line}" if node.line else node.file
    if isinstance(node, Leaf) or value:
        what = f"{path} = {value or show(node.value if isinstance(node, Leaf) else None)}"
    else:
        what = f"[{path}]" if path else "the file"
    return MachineError(f"{where}: {what}: {rule}")


def grow(raw: Mapping[str, Any], file: str, lines: Mapping[str, int]) -> Branch:
    """The tree of one parsed file; ``lines`` gives the line of every dotted key. Raises MachineError."""
    return _branch(raw, "", Branch({}, file, 0), lines, Leaf(None, file, 0))


def _branch(raw: Mapping[str, Any], path: str, at: Branch, lines: Mapping[str, int], inherited: Leaf) -> Branch:
    if path.count(".") >= _DEEPEST:
        raise problem(at, path[:80], f"tables are nested deeper than {_DEEPEST}")
    origin = _origin(raw, path, at, inherited)
    items: dict[str, Node] = {}
    for key, value in raw.items():
        if key in ("basis", "source") and path:
            continue
        full = join(path, key)
        line = lines.get(full, at.line)
        if not _KEY.fullmatch(key):
            raise problem(Branch({}, at.file, line), full[:80], "a key has 1 to 64 letters, digits, _ and - only")
        items[key] = _node(value, full, replace(at, line=line), lines, origin)
    return replace(at, items=items)


def _node(value: Any, path: str, at: Branch, lines: Mapping[str, int], origin: Leaf) -> Node:
    if not isinstance(value, dict):
        return replace(origin, value=value, line=at.line)
    if "value" not in value:
        return _branch(value, path, at, lines, origin)
    extra = [key for key in value if key not in ("value", "basis", "source")]
    if extra:
        raise problem(at, path, f'unknown key "{extra[0][:60]}" next to value: a figure has value, basis and source')
    if isinstance(value["value"], dict):
        raise problem(at, path, "value must not be a table")
    return replace(_origin(value, path, at, origin), value=value["value"], line=at.line)


def _origin(raw: Mapping[str, Any], path: str, at: Branch, inherited: Leaf) -> Leaf:
    """Basis and source stated here, else inherited; one stated alone does not borrow the other from above."""
    if not path or not ("basis" in raw or "source" in raw):
        return inherited
    basis, source = raw.get("basis", "assumed"), raw.get("source", NO_SOURCE)
    if basis not in _BASES:
        raise problem(Leaf(basis, at.file, at.line), join(path, "basis"), f"must be one of {', '.join(_BASES)}")
    if not isinstance(source, str) or not source.strip():
        raise problem(Leaf(source, at.file, at.line), join(path, "source"), "must be a text that names a document")
    return Leaf(None, at.file, at.line, basis, source)


def merge(base: Branch, over: Branch, path: str = "") -> Branch:
    """``base`` with every leaf of ``over`` on top, table by table; ``false`` for a region or controller removes it."""
    items: dict[str, Node] = dict(base.items)
    for key, node in over.items.items():
        below = items.get(key)
        if path in _REMOVABLE and isinstance(node, Leaf) and node.value is False:
            if not isinstance(below, Branch):
                known = ", ".join(name for name, item in base.items.items() if isinstance(item, Branch))
                raise problem(node, join(path, key), f"removes what is not there; below it are {known}")
            del items[key]
        elif isinstance(below, Branch) and isinstance(node, Branch):
            items[key] = merge(below, node, join(path, key))
        else:
            items[key] = node
    return Branch(items, over.file, over.line)


def with_leaf(branch: Branch, path: tuple[str, ...], leaf: Leaf) -> Branch:
    """``branch`` with ``leaf`` at ``path``, tables on the way added."""
    head, *rest = path
    if not rest:
        return replace(branch, items={**branch.items, head: leaf})
    child = branch.items.get(head)
    child = child if isinstance(child, Branch) else Branch({}, branch.file, 0)
    return replace(branch, items={**branch.items, head: with_leaf(child, tuple(rest), leaf)})


_LONGEST_CHAIN = 16
_REMOVABLE = ("memory", "dma")
_NOT_INHERITED = ("name", "title")


def read_document(name_or_path: str | Path) -> tuple[Branch, Path]:
    """The merged tree of a machine file and everything it extends, and the file's path. Raises MachineError."""
    path, shown = locate(name_or_path)
    return _read_chain(path, shown, ()), path


def _read_chain(path: Path, shown: str, above: tuple[Path, ...]) -> Branch:
    tree = _read_file(path, shown)
    tree = _with_name(tree, path)
    parent = tree.items.get("extends")
    if parent is None:
        return tree
    if not isinstance(parent, Leaf) or not isinstance(parent.value, str):
        raise problem(parent, "extends", "must be the name of a shipped machine or a path, in quotes")
    chain = (*above, path.resolve())
    if len(chain) > _LONGEST_CHAIN:
        raise problem(parent, "extends", f"more than {_LONGEST_CHAIN} files extend each other")
    try:
        base_path, base_shown = locate(parent.value, relative_to=path.parent)
    except MachineError as error:
        raise problem(parent, "extends", str(error)) from None
    if _resolved(base_path, parent) in chain:
        raise problem(parent, "extends", "the files extend each other in a circle")
    base = _read_chain(base_path, base_shown, chain)
    kept = {key: node for key, node in base.items.items() if key not in _NOT_INHERITED}
    board = str(getattr(base.items["name"], "value", base_shown))
    items = {key: _inherited(node, board) for key, node in kept.items()}
    return merge(_without_figures(Branch(items, base.file, base.line), tree), tree)


def inherited(leaf: Leaf, board: str) -> Leaf:
    """What was measured on ``board``, or fitted to it, is assumed of a machine that extends it."""
    if leaf.basis not in ("measured", "calibrated"):
        return leaf
    return replace(leaf, basis="assumed", source=f"inherited from {board}, {leaf.basis} there: {leaf.source}")


def _inherited(node: Node, board: str) -> Node:
    if isinstance(node, Leaf):
        return inherited(node, board)
    return replace(node, items={key: _inherited(item, board) for key, item in node.items.items()})


def _without_figures(base: Branch, over: Branch) -> Branch:
    """``base`` without the energy of the regions that ``over`` removes."""
    memory, power = over.items.get("memory"), base.items.get("power")
    energy = power.items.get("energy_per_byte") if isinstance(power, Branch) else None
    if not isinstance(memory, Branch) or not isinstance(power, Branch) or not isinstance(energy, Branch):
        return base
    gone = {name for name, node in memory.items.items() if isinstance(node, Leaf) and node.value is False}
    left = {name: node for name, node in energy.items.items() if name not in gone}
    power = replace(power, items={**power.items, "energy_per_byte": replace(energy, items=left)})
    return replace(base, items={**base.items, "power": power})


def _resolved(path: Path, parent: Leaf) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError) as error:
        raise problem(parent, "extends", f"cannot be read: {error}") from None


def _with_name(tree: Branch, path: Path) -> Branch:
    """A file that does not say is called by its file name; ``title`` falls back to ``name``."""
    name = tree.items.get("name", Leaf(path.stem, tree.file, 0))
    return Branch({"name": name, "title": name, **tree.items}, tree.file, tree.line)


def _read_file(path: Path, shown: str) -> Branch:
    raw, lines = read_toml(path, shown, "machine", MachineError)
    return _with_files(grow(raw, shown, lines), path.parent)


def _with_files(tree: Branch, folder: Path) -> Branch:
    """A file that a key names is relative to the one that names it."""
    for table, key in (("cache", "replacement"), ("peripherals", "kind")):
        branch = tree.items.get(table)
        for name, item in branch.items.items() if isinstance(branch, Branch) else ():
            leaf = item.items.get(key) if isinstance(item, Branch) else None
            if isinstance(leaf, Leaf) and isinstance(leaf.value, str) and is_path(leaf.value):
                leaf = replace(leaf, value=str((folder / leaf.value).absolute()))
                tree = with_leaf(tree, (table, name, key), leaf)
    return tree
