"""What a lab's file says of itself: names that are there, expressions that can be read, set-ups that there are.

Not modelled: what simulations say; :mod:`mcusim.labs.lab_check` runs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from keyword import iskeyword
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from mcusim.errors import InputError, UsageError
from mcusim.labs.draw import placeholders
from mcusim.labs.figures import FIGURES, LabSimulation, is_program, known_names, machine_keys
from mcusim.labs.lab import (
    Arrange,
    Ask,
    Choose,
    Compare,
    Design,
    Explore,
    Knobs,
    LabQuestion,
    LabRun,
    LabTable,
    Predict,
    SetUp,
    Step,
    Watch,
)
from mcusim.labs.texts import BRACES, text_fields
from mcusim.run_config.film_window import FilmWindow
from mcusim.sweeps.expressions import parse

Place = tuple[str | int, ...]
Problem = tuple[Place, str]
_STEP: TypeAdapter[Any] = TypeAdapter(Step)
_RUN = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_ID = re.compile("[A-Za-z_][A-Za-z0-9_-]*")


def statements(raw: Mapping[str, Any], folder: Path | None) -> Iterator[Problem]:
    """All that is wrong with a document whose parameters have one value each, as far as it can be read."""
    yield from _braces(raw, ())
    yield from ((("figures",), text) for text in _unknown_figures(raw.get("figures", ())))
    reader = _Statements(raw, folder)
    yield from reader.texts({key: value for key, value in raw.items() if key not in ("part", "after")})
    for number, part in _tables(raw.get("part")):
        for path, rule in reader.texts({key: value for key, value in part.items() if key != "step"}):
            yield ("part", number, *path), rule
        for index, step in _tables(part.get("step")):
            for path, rule in (*reader.texts(step), *reader.step(step)):
                yield ("part", number, "step", index, *path), rule
    yield from ((("after", *path), rule) for path, rule in reader.texts(raw.get("after")))


def _tables(value: object) -> Iterator[tuple[int, Any]]:
    """The tables of a list, with their places."""
    yield from (
        (n, fields) for n, fields in enumerate(value if isinstance(value, list) else ()) if isinstance(fields, dict)
    )


def _braces(value: Any, place: Place) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _braces(below, (*place, key))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _braces(below, (*place, number))
    elif isinstance(value, str):
        yield from ((place, f"there is no parameter {name[:40]!r}") for name in placeholders(value))


def _unknown_figures(names: object) -> Iterator[str]:
    for name in names if isinstance(names, Sequence) and not isinstance(names, str) else ():
        if name not in FIGURES:
            yield f"there is no figure {str(name)[:40]!r}; there are {', '.join(FIGURES)}"


class _Statements:
    """Remembers what steps before have named."""

    def __init__(self, raw: Mapping[str, Any], folder: Path | None) -> None:
        self.raw, self.model, self.folder = raw, str(raw.get("model", "")), folder
        self.runs: list[str] = []
        self.predictions: list[str] = []
        self.ids: set[str] = set()

    @cached_property
    def keys(self) -> list[str]:
        """Keys of the machines of all runs, which are known before they ran."""
        keys: list[str] = []
        for _, part in _tables(self.raw.get("part")):
            for _, step in _tables(part.get("step")):
                with suppress(ValidationError, InputError):
                    keys += machine_keys([LabRun.model_validate(step)], self.folder)
        return keys

    def texts(self, table: Any) -> Iterator[Problem]:
        """Expressions in the braces of texts."""
        for path, text in text_fields(table):
            for match in BRACES.finditer(text):
                if not _ID.fullmatch(match[1]):  # the name of a parameter is none
                    yield from self._expression(path, match[1].strip(), keys=self.keys)

    def step(self, raw: Any) -> Iterator[Problem]:
        try:
            step = _STEP.validate_python(raw)
        except ValidationError:  # named already; what it is called is there for the others
            named = raw if isinstance(raw, dict) else {}
            self.runs += [str(named[key]) for key in ("run",) if key in named]
            self.predictions += [str(named["id"])] if "predict" in named and "id" in named else []
            self.ids |= {str(named[key]) for key in ("run", "id") if key in named}
            return
        yield from self._named(step)
        if isinstance(step, SetUp):
            yield from self._set_up(step)
        match step:
            case Predict():
                self.predictions.append(step.id)
                if not step.low < step.high:
                    yield ("low",), f"must be below high, {step.high:g}"
            case LabRun():
                self.runs.append(step.run)
            case LabTable():
                yield from ((("table",), f"{n[:40]!r} did not run before") for n in step.table if n not in self.runs)
                yield from ((("figures",), text) for text in _unknown_figures(step.figures))
            case Compare():
                if step.compare not in self.predictions:
                    yield ("compare",), f"{step.compare[:40]!r} was not predicted before"
                yield from self._expression(("with",), step.value)
            case Watch():
                try:
                    FilmWindow.parse(step.window)
                except InputError as error:
                    yield ("window",), str(error)
            case Explore():
                yield from ((("figures",), text) for text in _unknown_figures(step.figures))
            case LabQuestion():
                yield from self._question(step)

    def _named(self, step: Any) -> Iterator[Problem]:
        key = "run" if isinstance(step, LabRun) else "id"
        if isinstance(step, LabTable | Compare | Watch):
            return
        name, form = getattr(step, key), _RUN if isinstance(step, SetUp) else _ID
        if not form.fullmatch(name):
            yield (key,), f"{name[:40]!r}: letters and digits, so that expressions can have it"
        if isinstance(step, LabRun) and (iskeyword(name) or name in ("lab", "mcusim", "answer")):
            yield (key,), f"{name[:40]!r} has a meaning in a notebook; call the run otherwise"
        if name in self.ids:
            yield (key,), f"{name[:40]!r} is there twice"
        self.ids.add(name)

    def _question(self, step: Any) -> Iterator[Problem]:
        match step:
            case Ask():
                yield from self._expression(("answer",), step.answer)
                for number, mistake in enumerate(step.mistakes):
                    yield from self._expression(("mistakes", number, "value"), mistake.value)
            case Choose():
                yield from self._expression(("holds",), step.holds)
            case Arrange():
                for number, item in enumerate(step.items):
                    yield from self._expression(("items", number, "value"), item.value)
            case Design():
                yield from self._expression(("goal", "value"), step.goal.value, step)
                for number, requirement in enumerate(step.require):
                    yield from self._expression(("require", number, "that"), requirement.that, step)
                yield from ((("figures",), text) for text in _unknown_figures(step.figures))

    def _expression(
        self, path: Place, text: str, own: Design | None = None, keys: Sequence[str] = ()
    ) -> Iterator[Problem]:
        names, knobs = ([own.id], [*own.knobs]) if own else ([], [])
        try:
            parse(text, [*known_names([*self.runs, *names]), *knobs, *keys])
        except UsageError as error:
            yield path, str(error).replace("no column", "no figure of a run before")

    def _set_up(self, step: SetUp) -> Iterator[Problem]:
        set_ups = [step.of(setting) for setting in step.settings] if isinstance(step, Knobs) else [step]
        seen: dict[str, str] = {}
        for set_up in set_ups:
            key, why = _usable(LabSimulation.of(self.model, set_up, self.folder))
            if why:
                seen.setdefault(why, key)
        yield from (((key,), why) for why, key in seen.items())


@lru_cache(maxsize=1024)
def _usable(simulation: LabSimulation) -> tuple[str, str]:
    """What of a set-up cannot be, and why; two empty texts for one that can be simulated."""
    from mcusim.api.simulate import changed
    from mcusim.run_config.settings import settings, split

    tried = "model"
    try:
        _known_model(simulation.model)
        tried = "machine"
        changed(simulation.machine, {})
        tried = "set"
        changed(simulation.machine, simulation.overrides)
        if is_program(simulation.model):
            return "", ""
        tried = "policy"
        settings(simulation.policy)
        tried = "options" if simulation.kernels is None else "kernels"
        settings(simulation.policy, simulation.kernels, *split(dict(simulation.options)))
    except InputError as error:
        return tried, str(error)
    except TypeError as error:  # an option that does not exist
        return tried, str(error).replace("got an unexpected keyword argument", "there is no option")
    return "", ""


def _known_model(name: str) -> None:
    from mcusim.model import load_model
    from mcusim.model.zoo import parse_name
    from mcusim.program import read_program

    if is_program(name):
        read_program(name)
    elif parse_name(name) is None:
        cast(Any, load_model)(name)
