"""The machine file that a calibration writes: what it extends, and the fitted figures with their source.

Not modelled: a machine that was not read from a file has nothing to extend.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.evidence.calibrate.calibration import Fitted
from mcusim.evidence.calibrate.parameters import OVERHEAD
from mcusim.machine.catalog import machine_names
from mcusim.machine.description import Machine

_LONGEST = 200  # characters of a text in a machine file


def machine_text(machine: Machine, fitted: Sequence[Fitted], measurements: str, rows: int, output: Path | None) -> str:
    """A TOML text that extends ``machine``, by name if it is shipped, else by its path relative to ``output``.

    Every fitted figure has basis ``calibrated`` and names the CSV. An interpreter's overhead is not a figure of a
    machine and is written in a comment.
    """
    source = f"{measurements}, least squares over {rows} rows (mcusim calibrate)"
    lines = [
        f"# {machine.name} with figures fitted to {_plain(measurements)} by mcusim calibrate; all others are its own.",
        f"extends = {_quoted(parent_of(machine, output))}",
        f"title = {_quoted(f'{machine.title}, calibrated'[:_LONGEST])}",
    ]
    tables: dict[str, list[str]] = {}
    for figure in fitted:
        table, _, key = figure.key.rpartition(".")
        if figure.key == OVERHEAD:
            lines.insert(1, f"# Interpreter: {figure.value:.0f} cycles an operator, with --operator-overhead.")
            continue
        value = figure.text if not figure.unit else _quoted(figure.text)
        entry = f'{key} = {{ value = {value}, basis = "calibrated", source = {_quoted(source)} }}'
        tables.setdefault(table, []).append(entry)
    for table, entries in tables.items():
        lines += ["", f"[{table}]", *entries]
    return "\n".join(lines) + "\n"


def parent_of(machine: Machine, output: Path | None) -> str:
    """What ``extends`` says: a shipped name, or a path relative to ``output``; UsageError where neither can be."""
    path = Path(machine.path)
    if machine.name in machine_names() and path == _shipped(machine.name):
        return machine.name
    if not machine.path:
        raise UsageError(f"{machine.name} was not read from a file: there is nothing to extend")
    folder = Path.cwd() if output is None else output.parent
    relative = os.path.relpath(path.absolute(), folder.absolute())
    text = min(relative if "/" in relative else f"./{relative}", str(path.absolute()), key=len)
    if len(text) > _LONGEST or not text.isprintable():
        raise UsageError(
            f"{_plain(text[:80])}: a machine file can extend only a path of at most {_LONGEST} printable characters;"
            " move or rename it"
        )
    return text


def _shipped(name: str) -> Path:
    from mcusim.machine.catalog import locate

    return locate(name)[0]


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    return json.dumps(_plain(text), ensure_ascii=False).replace("\x7f", "\\u007F")


def _plain(text: str) -> str:
    """What no text file can hold, and line ends, as escapes."""
    encoded = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in encoded)
