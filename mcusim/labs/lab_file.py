"""A lab's file: ``mcusim/labs/NAME.toml``, or one of a user's own.

A step is what its first key says: ``predict``, ``run``, ``table``, ``compare``, ``explore``, ``ask``, ``choose``,
``order``, ``write`` or ``design`` (:mod:`mcusim.labs.lab` has the keys of each). ``{name}`` in a text is the student's
value of the parameter ``name``. Paths are relative to the file. All that is wrong is named at once, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mcusim.errors import UsageError
from mcusim.labs.draw import drawn, draws, seed_of
from mcusim.labs.lab import KINDS, Lab
from mcusim.labs.statements import statements
from mcusim.machine.document import show
from mcusim.machine.toml_file import read_toml
from mcusim.plug_ins import installed, load_installed, package_of
from mcusim.units import quoted
from mcusim.validation_errors import rule_of

COMMANDS = ("check", "export", "collect")  # no lab may have these names
_KIND = "lab"
_NAME = re.compile("[a-z][a-z0-9-]{0,39}")
Lines = Mapping[str, int]
Place = tuple[str | int, ...]


def _folder() -> Path:
    return Path(str(files("mcusim"))) / "labs"


def shipped_names() -> tuple[str, ...]:
    """The labs that ship, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def lab_names() -> tuple[str, ...]:
    """The labs that ship, sorted, then those of installed packages (entry points ``mcusim.labs``). Raises UsageError
    where one of these has the name of one that ships."""
    shipped, points = shipped_names(), installed(_KIND)
    for name in points.keys() & set(shipped):
        raise UsageError(f"lab {name!r} of {package_of(points[name])} has the name of one that ships: rename it")
    return (*shipped, *points)


@dataclass(frozen=True)
class LabFile:
    """A lab as it is written: ``raw`` is the document, ``lines`` its keys' lines. ``folder``: of one's own lab, what
    its paths are relative to."""

    name: str
    shown: str
    raw: Mapping[str, Any]
    lines: Lines
    folder: Path | None = None

    def lab(self, seed: int = 0, student: str | None = None) -> Lab:
        """The lab that a student has. Raises UsageError with all that is wrong."""
        self.require()
        return self._valid(drawn(self.raw, seed)).model_copy(update={"seed": seed, "student": student})

    def _valid(self, document: dict[str, Any]) -> Lab:
        return Lab.model_validate(document).model_copy(update={"name": self.name})

    @property
    def title(self) -> str:
        """As it is written, whether the rest is right or not."""
        return str(self.raw.get("title"))

    @property
    def own_path(self) -> str | None:
        """The path of a lab of one's own, None for one that ships."""
        return None if self.folder is None else self.shown

    @property
    def minutes(self) -> object:
        """As it is written, whether the rest is right or not."""
        return self.raw.get("minutes")

    def draws(self) -> list[Lab]:
        """The lab with each combination of its parameters."""
        self.require()
        return [self._valid(draw) for draw in draws(self.raw)]

    def require(self) -> None:
        """Raise UsageError with all that is wrong."""
        texts = self.errors
        if texts:
            count = f"{len(texts)} thing{'s' if len(texts) > 1 else ''}"
            raise UsageError.of_lines(f"{self.shown} is not a lab yet, {count} to repair", texts)

    @cached_property
    def errors(self) -> list[str]:
        """All that is wrong, each with its place; without a simulation."""
        texts = [] if _NAME.fullmatch(self.name) else [f"{self.shown}: a name is like my-lab: letters, digits and -"]
        if self.name in COMMANDS:
            texts.append(f"{self.shown}: `mcusim lab {self.name}` is a command; call the file otherwise")
        try:
            Lab.model_validate({**self.raw, "name": self.name})
        except ValidationError as error:
            wrong = [error for error in error.errors() if not _follows(error)]
            texts += [self.place(_path(item["loc"]), _rule(item), item) for item in wrong]
        seen: dict[str, None] = {}
        for document in draws(self.raw):
            seen |= {} if texts else dict.fromkeys(self._wrong_with(document))
            for path, rule in statements(document, self.folder):
                seen.setdefault(self.place(path, rule))
        return sorted([*texts, *seen], key=_line)

    def _wrong_with(self, document: dict[str, Any]) -> list[str]:
        """What is wrong once the parameters have values: of a form that was right as it is written."""
        try:
            self._valid(document)
        except ValidationError as error:
            values = ", ".join(f"{name} = {several[0]}" for name, several in document.get("parameters", {}).items())
            return [
                f"{self.place(_path(error['loc']), _rule(error), error)} (with {values[:120]})"
                for error in error.errors()[:1]
            ]
        return []

    def place(self, path: Place, rule: str, error: Any = None) -> str:
        """``file:line: key = value: rule``."""
        line = next((self.lines[key] for key in _keys(path) if key in self.lines), None)
        where = f"{self.shown}:{line}" if line else self.shown
        key = ".".join(str(item) for item in path if not isinstance(item, int)) or "the lab"
        value = error.get("input") if error is not None and error["type"] != "missing" else None
        what = f"{key} = {show(value)}" if isinstance(value, str | int | float | bool) else key
        return f"{where}: {what}: {rule}"


def _keys(path: Place) -> list[str]:
    """Dotted keys of a place and of all that it is in, the longest first."""
    return [".".join(map(str, path[:end])) for end in range(len(path), 0, -1)]


def _path(place: Place) -> Place:
    """Without the kind of a step, which pydantic adds."""
    return tuple(item for i, item in enumerate(place) if not (item in KINDS and i and isinstance(place[i - 1], int)))


def _line(text: str) -> int:
    match = re.search(r":([0-9]+): ", text)
    return int(match[1]) if match else 0


def _follows(error: Any) -> bool:
    """Whether it is said of a list alone because of what is in it."""
    return bool(error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"])


def _rule(error: Any) -> str:
    if error["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return f"a step is what one of its keys says: {', '.join(KINDS)}"
    return rule_of(error)


def open_file(name: str) -> LabFile:
    """A lab that ships, by its name, or one of a user's own, by its path. Raises UsageError for neither."""
    if name in shipped_names():
        return _shipped(name)
    if name.endswith(".toml") or "/" in name or "\\" in name:
        path = Path(name)
        raw, lines = read_toml(path, name, "lab", UsageError)
        return LabFile(path.stem, name, raw, lines, path.parent)
    names = lab_names()
    if name in names:
        return _installed(name)
    close = get_close_matches(name[:80], names, n=1)
    hint = f', did you mean "{close[0]}"' if close else ""
    raise UsageError(f"no lab {quoted(name)}{hint}; there are {', '.join(names)}, and a path like ./my.toml works")


@lru_cache(maxsize=32)
def _shipped(name: str) -> LabFile:
    raw, lines = read_toml(_folder() / f"{name}.toml", f"{name}.toml", "lab", UsageError)
    return LabFile(name, f"{name}.toml", raw, lines)


def _installed(name: str) -> LabFile:
    """Of an entry point that names the path of a lab's file."""
    point = installed(_KIND)[name]
    value, file, _ = load_installed(_KIND, point)
    if not isinstance(value, str | Path):
        raise UsageError(f"{file}: lab {name} of {package_of(point)} is no path of a lab's file")
    path = Path(value)
    raw, lines = read_toml(path, str(path), "lab", UsageError)
    return LabFile(name, str(path), raw, lines, path.parent)


def read_lab(name: str, seed: int = 0, student: str | None = None) -> Lab:
    """The lab ``name``, or that of a file, for a seed; of a ``student`` it is :func:`~mcusim.labs.draw.seed_of` them.

    Raises UsageError for one that does not exist, with all that is wrong in a file.
    """
    return open_file(name).lab(seed_of(student) if student else seed, student)
