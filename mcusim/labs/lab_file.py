"""The labs that ship with mcusim: ``mcusim/labs/NAME.toml``.

A step is what its first key says: ``predict``, ``run``, ``table``, ``compare``, ``ask`` or ``choose``. Expressions are
those of :mod:`mcusim.sweeps.expressions` over figures of the runs before them, such as ``external.latency_ms``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from mcusim.errors import UsageError
from mcusim.labs.figures import FIGURES
from mcusim.labs.lab import Ask, Choice, Choose, Compare, Lab, LabPart, LabRun, LabTable, Mistake, Predict, Step
from mcusim.sweeps.expressions import Expression, parse
from mcusim.units import quoted

__all__ = ["lab_names", "lab_of", "read_lab"]

_KINDS = ("predict", "run", "table", "compare", "ask", "choose")


def _folder() -> Path:
    return Path(str(files("mcusim"))) / "labs"


def lab_names() -> tuple[str, ...]:
    """The labs there are, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def read_lab(name: str) -> Lab:
    """The lab ``name``. Raises UsageError for one that does not exist."""
    names = lab_names()
    if name not in names:
        close = get_close_matches(name[:80], names, n=1)
        hint = f', did you mean "{close[0]}"' if close else ""
        raise UsageError(f"no lab {quoted(name)}{hint}; there are {', '.join(names)}")
    return lab_of(name, tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8")))


def lab_of(name: str, raw: Mapping[str, Any]) -> Lab:
    """The lab of a parsed TOML document.

    Raises TypeError, KeyError or UsageError for keys, ids, runs and figures that do not exist, or not yet. A lab is
    part of mcusim and no file of a user: the errors are for whoever writes one.
    """
    reader = _LabReader()
    parts = tuple(LabPart(p["title"], p["text"], tuple(map(reader.step, p["step"]))) for p in raw["part"])
    texts = {key: str(raw[key]) for key in ("title", "model", "needs", "text")}
    after = {key: str(raw["after"][key]) for key in ("text", "teacher")}
    return Lab(
        name=name,
        minutes=int(raw["minutes"]),
        aims=tuple(raw["aims"]),
        parts=parts,
        after=after["text"],
        teacher=after["teacher"],
        **texts,
    )


class _LabReader:
    """Remembers what steps before have named."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.predictions: list[str] = []
        self.ids: set[str] = set()

    def step(self, raw: Mapping[str, Any]) -> Step:
        kind = next((kind for kind in _KINDS if kind in raw), None)
        if kind is None:
            raise KeyError(f"a step of {', '.join(raw)}: it needs one of {', '.join(_KINDS)}")
        table = {key: value for key, value in raw.items() if key != kind}
        found: Step = getattr(self, f"_{kind}")(raw[kind], **table)
        return found

    def _predict(self, text: str, id: str, **limits: Any) -> Predict:
        self.predictions.append(self._new(id))
        return Predict(id, text, **limits)

    def _run(self, name: str, machine: str, policy: str, **options: str) -> LabRun:
        self.runs.append(self._new(name))
        return LabRun(name, machine, policy, options)

    def _table(self, runs: Iterable[str]) -> LabTable:
        unknown = set(runs) - set(self.runs)
        if unknown:
            raise KeyError(f"a table of {', '.join(sorted(unknown))}, which did not run before")
        return LabTable(tuple(runs))

    def _compare(self, id: str, **value: str) -> Compare:
        if id not in self.predictions:
            raise KeyError(f"{id} was not predicted before")
        return Compare(id, self._expression(value["with"]))

    def _ask(
        self, text: str, id: str, answer: str, hints: Iterable[str], mistakes: Iterable[Any] = (), **rest: Any
    ) -> Ask:
        wrong = tuple(Mistake(self._expression(m["value"]), m["hint"]) for m in mistakes)
        return Ask(self._new(id), text, answer=self._expression(answer), hints=tuple(hints), mistakes=wrong, **rest)

    def _choose(self, text: str, id: str, holds: str, choice: Iterable[Mapping[str, Any]], **rest: Any) -> Choose:
        choices = tuple(Choice(**one) for one in choice)
        if [bool(one.hint) for one in choices] != [not one.right for one in choices] or sum(
            one.right for one in choices
        ) != 1:
            raise KeyError(f"{id}: one choice is right, and every other has a hint")
        return Choose(self._new(id), text, choices, holds=self._expression(holds), **rest)

    def _new(self, id: str) -> str:
        if id in self.ids:
            raise KeyError(f"{id} is there twice")
        self.ids.add(id)
        return id

    def _expression(self, text: str) -> Expression:
        return parse(text, [f"{run}.{figure}" for run in self.runs for figure in FIGURES])
