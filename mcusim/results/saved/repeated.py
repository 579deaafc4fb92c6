"""The JSON of a run against that of the same run done again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from mcusim.display import Displayed
from mcusim.errors import InputError
from mcusim.files import read_guarded, utf8_text
from mcusim.results.saved.saved_run import LARGEST_FILE, no_constant, saved_run

MADE = "made"  # what says where a file comes from, which nothing compares
NEAR = 1e-9  # of a figure that is no whole number: libraries round differently
_TOO_LARGE = "; no run is that large"
_CUT = 40  # characters of a value


@dataclass(frozen=True, slots=True)
class Repeated(Displayed):
    """``differences``: name and both values, as texts; ``compared`` figures are in both files. ``before`` and ``after``
    are the versions of mcusim."""

    compared: int
    differences: tuple[tuple[str, str, str], ...]
    before: str
    after: str

    @property
    def equal(self) -> bool:
        """Whether no figure differs."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """``equal``, ``compared``, ``versions`` and ``differences[]``: ``name before after``."""
        rows = [dict(zip(("name", "before", "after"), row, strict=True)) for row in self.differences]
        return {
            "equal": self.equal,
            "compared": self.compared,
            "versions": {"before": self.before, "after": self.after},
            "differences": rows,
        }


def read_document(path: Path) -> dict[str, Any]:
    """The JSON of a run. Raises InputError for a file that is missing, larger than 16 MiB, or something else."""
    shown = str(path)[:200]
    text = utf8_text(read_guarded(path, LARGEST_FILE, InputError, shown=shown, too_large=_TOO_LARGE), InputError, shown)
    try:
        document = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise InputError(f"{shown}: not JSON") from None
    if isinstance(document, dict) and {"replay", "emulate", MADE} <= document.keys():
        return document
    saved_run(document, shown)  # says what it is instead
    assert isinstance(document, dict)
    return document


def repeated(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> Repeated:
    """All that both have, but for ``made``: whole numbers and texts have to be equal, other numbers to 1e-9.

    Raises InputError where the model or the machine is another one.
    """
    own, new = (_made(document) for document in (before, after))
    for what in ("model", "machine"):
        was, now = (made.get(f"{what}_sha256") for made in (own, new))
        if isinstance(was, str) and isinstance(now, str) and was != now:
            raise InputError(f"{name}: its {what} is another one: sha256 {was[:16]}..., here {now[:16]}...")
    before_files, now_files = (made.get("plug_ins") or [] for made in (own, new))
    if not isinstance(before_files, list) or not all(isinstance(each, dict) for each in before_files):
        raise InputError(f"{name}: made.plug_ins is no list of plug-ins")
    for plug_in in before_files:
        if plug_in not in now_files:
            raise InputError(f"{name}: its {plug_in.get('kind')} {plug_in.get('name')} is another file now")
    left = [{key: value for key, value in document.items() if key != MADE} for document in (before, after)]
    pairs = list(_pairs("", *left))
    names = (before.get("model"), after.get("model"))  # of the same model in another file
    differences = tuple(
        (path, _shown(old), _shown(now)) for path, old, now in pairs if not _equal(old, now) and (old, now) != names
    )
    return Repeated(len(pairs), differences, _version(own), _version(new))


def _version(made: Mapping[str, Any]) -> str:
    commit = made.get("commit")
    return f"{made.get('version')}{f' ({str(commit)[:12]})' if commit else ''}"


def _made(document: Mapping[str, Any]) -> Mapping[str, Any]:
    made = document.get(MADE)
    return made if isinstance(made, Mapping) else {}


def _pairs(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Leaves by their paths. A key that one alone has is of another version; lists of other lengths are leaves."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (key for key in old if key in new):
            yield from _pairs(f"{path}.{key}" if path else key, old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _pairs(f"{path}[{number}]", a, b)
    else:
        yield path, old, new


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, float) or isinstance(new, float):
        numbers = isinstance(old, int | float) and isinstance(new, int | float)
        return numbers and isclose(old, new, rel_tol=NEAR)
    return type(old) is type(new) and old == new


def _shown(value: Any) -> str:
    text = f"{len(value)} items" if isinstance(value, list | dict) else json.dumps(value)
    return text if len(text) <= _CUT else f"{text[:_CUT]}..."
