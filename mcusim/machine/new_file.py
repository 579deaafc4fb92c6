"""A machine file that says all of a machine, with comments, for a user to change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from mcusim.machine.description import Figure, Machine
from mcusim.machine.document import Branch, Leaf, join
from mcusim.text import printable

_HEAD = """\
# A copy of {name} ({title}) to change.
#
# Look at it with `mcusim machines {file}`, use it with `--machine {file}`.
# A figure is a value or {{ value, basis, source }}; basis and source of a table hold for its plain figures.
# basis: datasheet (a document says so), measured (seen on hardware), calibrated (fitted to published results of the
# board that this is a copy of), assumed (neither). Change basis and source with the value. A line that begins with
# "# key =" is a default: take the # away to change it. docs/pages/reference/machine-file.md has every key.
"""
_TABLES = {
    "core": "isa is the core's pipeline; clock its frequency while inferences run",
    "regulator": "settings of the core's voltage regulator, and the clocks that each allows",
    "bus": "between core, DMA and memories; its clock is what hclk counts",
    "cache.instruction": 'size "0 B" switches it off',
    "cache.data": 'size "0 B" switches it off',
    "memory": "one table for each region: its device, where it is, how large, and what an access takes",
    "dma": "one table for each controller: streams that work at a time, bytes of a beat, what a beat takes",
    "power": "what the whole board draws; the currents of memories and DMA are added while these work",
    "power.energy_per_byte": "energy for a byte that crosses the pins of a region",
    "peripherals": "what a program reads from register blocks, in `mcusim emulate`",
}


def machine_toml(machine: Machine, file: str) -> str:
    """The text of a machine file, to be called ``file``, that is read as ``machine``, but for its name, which is the
    file's, and where its figures are written. Raises ValueError for a machine that was not read from a file."""
    tree = machine._raw
    if not isinstance(tree, Branch):
        raise ValueError(f"{machine.name} was not read from a file")
    text = _HEAD.format(name=machine.name, title=machine.title, file=file)
    if machine.part:
        text += f"\npart = {_text(machine.part)}\n"
    return text + "".join(f"{line}\n" for line in _table(tree, "", machine.figures))


def _table(branch: Branch, path: str, figures: Mapping[str, Figure]) -> Iterator[str]:
    """The keys of a table, its defaults as comments, then the tables in it."""
    leaves = {key: node for key, node in branch.items.items() if isinstance(node, Leaf) and join(path, key) in figures}
    absent = [figure for figure in figures.values() if figure.key.rpartition(".")[0] == path and figure.line == 0]
    absent = [figure for figure in absent if figure.key.rpartition(".")[2] not in branch.items]
    about = _TABLES.get(path)
    if about or leaves or absent:
        yield ""
    if about:
        yield f"# {about}"
    if leaves or (path and (absent or not branch.items)):
        yield f"[{path}]"
    for key, leaf in leaves.items():
        yield f"{key} = {_figure(figures[join(path, key)], leaf)}"
    for figure in absent if path else ():
        yield f"# {figure.key.rpartition('.')[2]} = {_plain(figure)}  # {' '.join(printable(figure.source).split())}"
    for key, node in branch.items.items():
        if isinstance(node, Branch):
            yield from _table(node, join(path, key), figures)


def _figure(figure: Figure, leaf: Leaf) -> str:
    if leaf.typed:  # "true" and "5" are texts of a command line
        value = _plain(figure)
    else:
        value = _text(leaf.value) if isinstance(leaf.value, str) else figure.text
    return f'{{ value = {value}, basis = "{figure.basis}", source = {_text(figure.source)} }}'


def _text(value: str) -> str:
    """A text as TOML has it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(figure: Figure) -> str:
    """A figure's text as a file would have it."""
    plain = figure.text.startswith(("[", "0x")) or figure.text in ("true", "false") or figure.text.isdigit()
    return figure.text if plain else f'"{figure.text}"'
