"""A lab as a folder that any web server or a USB stick serves: every run that it can reach is made beforehand.

``index.html`` has the lab with each combination of its parameters, figures and rules in it, and judges answers by
``lab_judge.js``, which does with the same data what :mod:`mcusim.labs.grader` does. Films are pages of their own.

Not modelled: a student who reads the file's source finds the answers in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcusim.errors import UsageError
from mcusim.labs.figures import Figures, command, figures_rows, setups, shown
from mcusim.labs.grader import Grader
from mcusim.labs.lab import (
    Arrange,
    Ask,
    Choose,
    Compare,
    Explore,
    Lab,
    LabQuestion,
    LabRun,
    LabTable,
    Predict,
    Question,
    Step,
    Watch,
)  # fmt: skip
from mcusim.labs.lab_file import LabFile
from mcusim.labs.teacher_page import NAMES, html, inline
from mcusim.report.html.film_page import film_page
from mcusim.report.html.page import page

SCRIPTS, STYLES = ("lab_judge.js", "lab.js"), ("lab.css",)
LARGEST = 100_000_000  # bytes of a folder


@dataclass(frozen=True, slots=True)
class LabExport:
    """The folder of the lab in ``file``; ``films`` False: without them."""

    file: LabFile
    films: bool = True

    def count(self) -> int:
        """How many runs it takes."""
        return sum(len(setups(lab)) for lab in self.file.draws())

    def files(self, progress: Callable[[int, int], object] = lambda done, of: None) -> dict[str, str]:
        """Texts by names of files. ``progress`` is called with how many runs were made and how many there are.

        Raises UsageError for a file that is no lab, and for a folder of more than 100 MB.
        """
        films: dict[Any, tuple[str, str]] = {}
        labs, several, done = self.file.draws(), self.count(), 0
        draws = []
        for lab in labs:
            figures = Figures(lab, self.file.folder)
            for setup in setups(lab):
                figures.of(setup)
                done += 1
                progress(done, several)
            draws.append(_LabDraw(lab, Grader(figures), films if self.films else None).to_json())
        files = {"index.html": self._index(labs[0], draws), **dict(films.values())}
        size = sum(len(text.encode()) for text in files.values())
        if size > LARGEST:
            raise UsageError(f"{self.file.shown}: the folder would have {size / 1e6:.0f} MB; try --no-films")
        return files

    def _index(self, lab: Lab, draws: list[dict[str, Any]]) -> str:
        about = {
            "lab": self.file.name,
            **{name: getattr(lab, name) for name in ("version", "title", "minutes")},
            "needs": inline(lab.needs),
            "aims": [inline(aim) for aim in lab.aims],
            "of": lab.points,
            "questions": len(lab.questions),
            "parameters": self.file.raw.get("parameters", {}),
            "draws": draws,
        }
        whole = json.dumps(about, sort_keys=True, allow_nan=False)
        about["digest"] = hashlib.sha256(whole.encode()).hexdigest()[:12]  # answers to another lab are not this one's
        data = json.dumps(about, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        for character in "<>&":  # they occur inside strings only
            data = data.replace(character, f"\\u{ord(character):04x}")
        section = f'<div class="lab"><script type="application/json">{data}</script></div>'
        without = "<noscript><p>This lab needs JavaScript, and no network.</p></noscript>"
        return page(lab.title, [without, section], SCRIPTS, STYLES)


@dataclass(frozen=True, slots=True)
class _LabDraw:
    """A lab with one value of each parameter, as the page has it. ``films`` collects pages by what they are of."""

    lab: Lab
    grader: Grader
    films: dict[Any, tuple[str, str]] | None

    def to_json(self) -> dict[str, Any]:
        parts = [
            {"title": part.title, "text": self._html(part.text), "steps": [self._step(step) for step in part.steps]}
            for part in self.lab.parts
        ]
        return {"text": self._html(self.lab.text), "parts": parts, "after": self._html(self.lab.after.text)}

    def _html(self, text: str) -> str:
        return html(self.grader.figures.text(text))

    def _step(self, step: Step) -> dict[str, Any]:
        own = self._own(self.grader.figures.filled(step))
        return {"kind": step.kind, **({"id": step.id} if hasattr(step, "id") else {}), **own}

    def _own(self, step: Step) -> dict[str, Any]:
        figures = self.grader.figures
        match step:
            case Predict():
                bounds = {"low": step.low, "high": step.high, "lowest": f"{step.low:g}", "highest": f"{step.high:g}"}
                return {"text": html(step.text), "unit": step.unit, **bounds}
            case LabRun():
                return {"run": step.run, "command": command(self.lab, step)}
            case LabTable():
                entries = {name: figures.run(name) for name in step.runs}
                return {"rows": figures_rows(entries, step.figures or self.lab.figures)}
            case Compare():
                asked = next(s for s in self.lab.steps if isinstance(s, Predict) and s.id == step.id)
                value = figures.value(step.value)
                return {"unit": asked.unit, "value": value, "shown": shown(value)}
            case Watch():
                return {"text": html(step.text), "command": command(self.lab, step), "film": self._film(step)}
            case Explore():
                return self._explored(step)
            case LabQuestion():
                return self._question(step)
        raise TypeError(step)

    def _film(self, step: Watch) -> str | None:
        if self.films is None:
            return None
        simulation = self.grader.figures.simulation(step)
        if (simulation, step.window) not in self.films:
            film = simulation.result(film=step.window).film
            assert film is not None  # it was asked for
            self.films[simulation, step.window] = f"film-{len(self.films) + 1}.html", film_page(film)
        return self.films[simulation, step.window][0]

    def _explored(self, step: Explore) -> dict[str, Any]:
        """Of each setting a column of figures; all of them have the same rows."""
        figures, names = self.grader.figures, step.figures or self.lab.figures
        entries = {"\n".join(step.called(setting)): figures.of(step.of(setting)) for setting in step.settings}
        head, *rows = figures_rows(entries, names)
        columns = {name: [row[index] for row in rows] for index, name in enumerate(head) if index}
        return {
            "text": html(step.text), "knobs": step.texts, "labels": [row[0] for row in rows], "settings": columns,
        }  # fmt: skip

    def _question(self, step: Question) -> dict[str, Any]:
        listed: Mapping[str, Any] = {}
        if isinstance(step, Choose | Arrange):
            listed = {"listed": [item.text for item in (step.choices if isinstance(step, Choose) else step.items)]}
        unit = {"unit": step.unit} if isinstance(step, Ask) else {}
        name = NAMES.get(step.kind, "Question")
        return {"text": html(step.text), "name": name, **unit, **listed, "rules": self.grader.rules(step).to_json()}
