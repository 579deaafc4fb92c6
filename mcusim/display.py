"""How objects look in a terminal and in a notebook, and the files that they are saved to.

What makes a table, a page or JSON of an object lies above the object's own package: the presenter, which
:mod:`mcusim` names and which is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

Kind = Literal["html", "json", "perfetto", "program"]

LONGEST = 180  # characters of a representation
_VALUE = 40  # of one value in it


class Presenter(Protocol):
    """What makes texts and files of objects: :mod:`mcusim.presentation`."""

    def notebook_html(self, shown: object, /) -> str: ...

    def save(self, shown: object, path: str | Path, kind: Kind, force: bool = False, /) -> None: ...


_presenter: list[Callable[[], Presenter]] = []


def present_with(load: Callable[[], Presenter]) -> None:
    """Name what loads the presenter of all objects."""
    _presenter[:] = [load]


def save(shown: object, path: str | Path, kind: Kind, force: bool = False) -> None:
    """Write the page, the JSON, the trace or the program of ``shown``; raises UsageError where it has none."""
    _presenter[0]().save(shown, path, kind, force)


def one_line(result: object) -> str:
    """``Name(field=value, ...)`` on one line of less than 200 characters: texts are cut, of a collection its size is
    written, of another object its name or its class."""
    named: list[str] = []
    members = [field.name for field in fields(result) if field.repr] if is_dataclass(result) else []
    for name in members:
        value = getattr(result, name)
        if value is None or (isinstance(value, Sized) and not len(value)):
            continue
        text = f"{name}={_short(value)}"
        if sum(len(text) + 2 for text in named) + len(text) > LONGEST - 60:
            named.append("...")
            break
        named.append(text)
    return f"{type(result).__name__}({', '.join(named)})"[:LONGEST]


def _short(value: object) -> str:
    if isinstance(value, bool | float):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() < 100 else "a large number"
    if isinstance(value, str | Path):
        text = repr(str(value)[:_VALUE])
        return text if len(str(value)) <= _VALUE else f"{text[:-1]}...'"
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} B"
    if isinstance(value, Sized):
        return f"{len(value)} {'keys' if isinstance(value, Mapping) else 'items'}"
    name = getattr(value, "name", None)
    return _short(name) if isinstance(name, str) else type(value).__name__


class Displayed:
    """A class whose objects are one line in a terminal and a table or text in a notebook.

    ``_line`` is what the line says after the name; by default the fields of a dataclass.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__repr__ = Displayed.__repr__  # type: ignore[method-assign]  # in the class itself: dataclass keeps it

    def _line(self) -> str:
        return ""

    def __repr__(self) -> str:
        text = self._line()
        if not text:
            return one_line(self)
        plain = "".join(c if c.isprintable() else "?" for c in text)
        line = f"<{type(self).__name__} {plain}"
        return f"{line[:LONGEST]}{'...' if len(line) > LONGEST else ''}>"

    def _repr_html_(self) -> str:
        return _presenter[0]().notebook_html(self)


class SavedAsJson:
    """A class whose objects can be saved as JSON."""

    __slots__ = ()

    def save_json(self, path: str | Path, force: bool = False) -> None:
        """Write what the command writes with ``--json``; raises UsageError for a file that exists unless ``force``."""
        save(self, path, "json", force)


class SavedAsPage:
    """A class whose objects have a page."""

    __slots__ = ()

    def save_html(self, path: str | Path, force: bool = False) -> None:
        """Write the page of ``--html``, one file that loads nothing; raises UsageError for a file that exists unless
        ``force``."""
        save(self, path, "html", force)


class SavedAsTrace:
    """A class whose objects can be looked at over time."""

    __slots__ = ()

    def save_perfetto(self, path: str | Path, force: bool = False) -> None:
        """Write the trace of ``--perfetto``, for ui.perfetto.dev; raises UsageError for a file that exists unless
        ``force``, and for a result without a run."""
        save(self, path, "perfetto", force)
