"""``load_machine`` and ``replace``: a raw tree becomes a checked, frozen :class:`Machine`."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from mcusim.errors import MachineError
from mcusim.machine.catalog import config_directory, locate
from mcusim.machine.clock_rules import Following, movable, moved_currents
from mcusim.machine.currents import Clocks, Currents
from mcusim.machine.description import Machine
from mcusim.machine.document import Branch, Leaf, Node, inherited, join, problem, read_document, show, with_leaf
from mcusim.machine.reader import Reader, Readings, nearest, no_more
from mcusim.machine.rules import broken
from mcusim.machine.schema import MACHINE, OBSOLETE

_BY_USER = "set by the user"
_OPTIONAL = ("name", "title", "part", "core.force_clock", "core.regulator", "core.external_clock")


def load_machine(name_or_path: str | Path, overrides: Mapping[str, object] | None = None) -> Machine:
    """A shipped machine by name or a machine file by path, with ``overrides`` (dotted key -> value) applied.

    An override is the value the file would have or its text as typed (``"30 ns"``, ``"5"``, ``"true"``), and passes
    the same checks. Raises MachineError naming file, line, key, value and the rule that is broken.

    A file that extends another removes a region or a DMA controller by ``false`` (``[memory] qspi = false``), and a
    cache by a size of ``"0 B"``. Not modelled: an alias has the attribute of its region.
    """
    path, _ = locate(name_or_path)
    shipped = path.parent == config_directory() and isinstance(name_or_path, str)
    machine = load_shipped(path.stem) if shipped else _read(name_or_path)
    return replace_all(machine, overrides) if overrides else machine


@cache
def load_shipped(name: str) -> Machine:
    """The machine that ships under that name, read once. Raises MachineError as :func:`load_machine` does."""
    return _read(name)


def _read(name_or_path: str | Path) -> Machine:
    """A file by itself; of one that extends another, what follows the clocks that it changes is moved as for a user."""
    tree, path = read_document(name_or_path)
    parent = tree.items.get("extends")
    if not isinstance(parent, Leaf):
        return _checked(*_read_tree(tree, str(path), {}))
    base_path, _ = locate(str(parent.value), relative_to=path.parent)
    shipped = base_path.parent == config_directory()
    base = load_shipped(base_path.stem) if shipped else _read(base_path)
    own = set(_keys(tree, tree.file))
    machine = _followed(_as_in(base, tree, own, inherits=True), str(path), {}, base, own)
    return dataclasses.replace(machine, _file=None)


def _keys(tree: Branch, file: str, path: str = "") -> Iterator[str]:
    """The keys that were written in ``file`` itself."""
    for name, node in tree.items.items():
        if isinstance(node, Branch):
            yield from _keys(node, file, join(path, name))
        elif node.file == file:
            yield join(path, name)


def replace(machine: Machine, key: str, value: object) -> Machine:
    """``machine`` with the dotted ``key`` changed; see :meth:`Machine.replace`. Raises MachineError."""
    return replace_all(machine, {key: value})


def replace_all(machine: Machine, changes: Mapping[str, object]) -> Machine:
    """``machine`` with several keys changed at once, checked only when all are, and what follows a changed clock moved
    (:mod:`mcusim.machine.clock_rules`): ``moved`` of the result lists it. A value that is not the user's is a Leaf with
    its basis and source. Raises MachineError."""
    tree = machine._raw
    if not isinstance(tree, Branch):
        raise MachineError(f"{machine.name}: was not read from a file, so it has no keys to set")
    file, texts = machine._file or machine, dict(machine.changes)
    tree = _as_in(file, tree, texts.keys())  # what follows is found anew from what the file says
    for key, value in changes.items():
        by_user = Leaf(value, f"{tree.file} ({_BY_USER})", 0, source=_BY_USER, typed=isinstance(value, str))
        leaf = value if isinstance(value, Leaf) else by_user
        _require_key(machine, key, leaf.value)
        texts[key] = str(leaf.value).lower() if isinstance(leaf.value, bool) else str(leaf.value)
        tree = with_leaf(tree, tuple(key.split(".")), leaf)
    return _followed(tree, machine.path, texts, file, texts.keys())


def _as_in(file: Machine, tree: Branch, pinned: Collection[str], inherits: bool = False) -> Branch:
    """``tree``, which may inherit from ``file``, with what may follow a clock as ``file`` has it, but for keys that are
    ``pinned``, and regions that it removes."""
    for key in movable(file):
        leaf = _leaf(file._raw, key)
        if leaf is not None and key not in pinned and _leaf(tree, key) is not None:
            leaf = inherited(leaf, file.name) if inherits else leaf
            tree = with_leaf(tree, tuple(key.split(".")), leaf)
    return tree


def _leaf(tree: Branch, key: str) -> Leaf | None:
    node: Node | None = tree
    for part in key.split("."):
        node = node.items.get(part) if isinstance(node, Branch) else None
    return node if isinstance(node, Leaf) else None


def _followed(tree: Branch, path: str, texts: Mapping[str, str], file: Machine, pinned: Collection[str]) -> Machine:
    """The machine of ``tree`` with what follows its clocks, where ``pinned`` were set in what ``file`` says."""
    readings = file._readings if tree.file == file._raw.file else None  # a default is said to be of its file
    machine, reader = _read_tree(tree, path, texts, file, readings)
    following = Following(file, machine, pinned)
    moved = following.moved()
    for move in moved:
        if _leaf(tree, move.key) is not None:
            value = int(move.after) if move.after.isdigit() else move.after
            leaf = Leaf(value, f"{tree.file} (follows the clock)", 0, move.basis, f"{move.source}: {move.rule}")
            tree = with_leaf(tree, tuple(move.key.split(".")), leaf)
    if moved:
        machine, reader = _read_tree(tree, path, texts, file, machine._readings)
    all_moved = (*moved, *moved_currents(file, machine))
    return _checked(
        dataclasses.replace(machine, moved=all_moved, stayed=following.stayed(), _file=file), reader, following.problems
    )


def require_value(machine: Machine, key: str, value: object) -> None:
    """Raise MachineError unless ``value`` is one that ``key`` can have, whatever the rest of the machine is."""
    _require_key(machine, key, value)
    leaf = Leaf(value, f"{machine.name}.toml", 0, typed=isinstance(value, str))
    Reader(with_leaf(machine._raw, tuple(key.split(".")), leaf), readings=machine._readings).read(MACHINE)


def _checked(machine: Machine, reader: Reader, problems: Iterable[tuple[str, str]] = ()) -> Machine:
    """``machine``, when it breaks no rule; an unreachable clock is one after a core beyond its limit."""
    breaches = list(broken(machine))
    for key, rule in breaches or problems:
        reader.broken(key, rule)
    reader.check()
    return machine


def _read_tree(
    tree: Branch,
    path: str,
    changes: Mapping[str, str],
    file: Machine | None = None,
    readings: Readings | None = None,
) -> tuple[Machine, Reader]:
    """The machine of a tree, and the reader for what is wrong between its keys, which is not checked here; ``file`` is
    the machine before ``changes``, ``readings`` those of its file."""
    reader = Reader(tree, OBSOLETE, readings)
    parts = reader.read(MACHINE)
    regions = sorted(parts["memory"].values(), key=lambda region: (region.base, region.name))
    regulator = tuple(sorted(parts["regulator"].values(), key=lambda setting: setting.max_clock))
    clocks = Clocks.of(parts["core"].clock, parts["bus"].clock, parts["memory"])
    own = parts["core"] if file is None else file.core
    table = Currents(parts["power"], regulator, parts["core"].regulator, (own.clock, own.regulator))
    followed = {figure.key: figure for figure in table.restated(clocks, reader.figures)}
    machine = Machine(
        name=parts["name"],
        title=parts["title"],
        part=parts["part"],
        core=parts["core"],
        bus=parts["bus"],
        instruction_cache=parts["cache"]["instruction"],
        data_cache=parts["cache"]["data"],
        memory={region.name: region for region in regions},
        dma=parts["dma"],
        power=table.power(clocks),
        regulator=regulator,
        peripherals=parts["peripherals"],
        figures={**reader.figures, **followed},
        path=path,
        changes=dict(sorted(changes.items())),
        _raw=tree,
        _replace=replace,
        _readings=reader.readings,
    )
    for key, rule in table.broken():
        reader.broken(key, rule)
    return machine, reader


def has_key(machine: Machine, key: str) -> bool:
    """Whether ``key`` can be set."""
    return key in machine.figures or key in _OPTIONAL


def _require_key(machine: Machine, key: str, value: object) -> None:
    if has_key(machine, key):
        return
    if rule := no_more(key, OBSOLETE):
        raise problem(Leaf(value, machine.name, 0), key, rule)
    inside = [known for known in machine.figures if known.startswith(f"{key}.")]
    if inside:
        raise MachineError(f"{key} = {show(value)}: is a table of {machine.name}; its keys are {', '.join(inside)}")
    hint = nearest(key, machine.figures) or f'; "mcusim machines {machine.name}" lists all keys'
    raise problem(Leaf(value, machine.name, 0), key[:80], f"{machine.name} has no such key{hint}")
