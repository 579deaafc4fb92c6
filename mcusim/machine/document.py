"""From a machine name or path to one raw tree: reading, size and encoding limits, ``extends``."""

from __future__ import annotations

from pathlib import Path

from mcusim.errors import MachineError
from mcusim.machine.catalog import locate
from mcusim.machine.toml_file import LARGEST_FILE, read_toml
from mcusim.machine.tree import Branch, Leaf, grow, merge, problem

__all__ = ["LARGEST_FILE", "read_document"]

_LONGEST_CHAIN = 16
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
    return merge(Branch(kept, base.file, base.line), tree)


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
    return grow(raw, shown, lines)
