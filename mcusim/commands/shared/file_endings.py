"""Endings of the files that commands write: what a file's name says is what it has.

Pictures, pages and tables have endings that other programs go by; other names are taken as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mcusim.errors import UsageError

_PAGE = "a page", (".html", ".htm")
_FORMATS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "--html": _PAGE,
    "--film": _PAGE,
    "--handout": _PAGE,
    "--vcd": ("a value change dump", (".vcd",)),
    "--perfetto": ("a Chrome trace", (".json", ".gz")),
}
_OUTPUTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sweep": ("a table", (".parquet",)),
    "lab collect": ("a table of grades", (".csv",)),
    "calibrate": ("a machine", (".toml",)),
    "export": ("a model", (".tflite",)),
    "memory": ("a model", (".tflite",)),
    "reorder": ("a model", (".tflite",)),
    "plan": ("a program", (".jsonl", ".json")),
}
_KNOWN = (".html", ".htm", ".svg", ".png", ".jpg", ".pdf", ".csv", ".tsv", ".xls", ".xlsx", ".parquet")


def require_endings(command: str, parameters: Iterable[Any], values: Mapping[str, Any]) -> None:
    """Raise UsageError for a file that ``command`` is to write under the name of another format; ``parameters`` are its
    options, ``values`` theirs by name."""
    for parameter in parameters:
        value = values.get(parameter.name)
        flag = next((flag for flag in parameter.opts if flag.startswith("--")), "")
        wanted = _OUTPUTS.get(command) if flag == "--output" else _FORMATS.get(flag)
        if wanted is None or not isinstance(value, str | Path):
            continue
        what, endings = wanted
        path = Path(value)
        ending = path.suffix.lower()
        if ending in _KNOWN and ending not in endings:
            name = path.with_suffix(endings[0])
            raise UsageError(f"{flag} {path}: {what} is written as {endings[0]}; name it {name}")
