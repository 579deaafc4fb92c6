"""A lab as a Jupyter notebook (nbformat 4.5) with cells to fill in or with the solution; they call ``Book``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError
from mcusim.labs.figures import Figures, command, figures_of, figures_table, python_call, shown
from mcusim.labs.grader import Grader, hint, judged, knob_values
from mcusim.labs.lab import (
    Arrange,
    Ask,
    Choose,
    Compare,
    Design,
    Explore,
    Lab,
    LabQuestion,
    LabRun,
    LabTable,
    Predict,
    Question,
    Step,
    Watch,
    Write,
)
from mcusim.labs.lab_file import open_file

if TYPE_CHECKING:
    from mcusim.results import Result


def open_lab(name: str, seed: int = 0) -> Book:
    """The lab ``name``, or that of a file, for a notebook. Raises UsageError for one that does not exist."""
    file = open_file(name)
    return Book(file.lab(seed), file.folder)


class Book:
    """Prints what a terminal session would say; answers may be given again and again."""

    def __init__(self, lab: Lab, folder: Path | None = None) -> None:
        self.lab = lab
        self.figures = Figures(lab, folder)
        self._grader = Grader(self.figures)
        self._predicted: dict[str, float] = {}
        self._tries: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()  # hints

    def predict(self, id: str, value: float | str | None) -> None:
        """Note a prediction, or say why it is none. Raises UsageError for an unknown id."""
        step = next((s for s in self.lab.steps if isinstance(s, Predict) and s.id == id), None)
        if step is None:
            raise UsageError(f"lab {self.lab.name} has no prediction '{id}'")
        if value is None:
            print(f"Write a number instead of None ({step.unit}).")
            return
        try:
            self._predicted[id] = self._grader.predicted(step, str(value))
        except UsageError as error:
            print(f"{error}.")
            return
        print(f"Noted: {shown(self._predicted[id])} {step.unit}.")

    def compare(self, id: str) -> None:
        """The prediction next to the simulated result. Raises UsageError for an unknown id."""
        step = next((s for s in self.lab.steps if isinstance(s, Compare) and s.id == id), None)
        if step is None:
            raise UsageError(f"lab {self.lab.name} compares nothing called '{id}'")
        subject = f"You predicted {shown(self._predicted[id])}; it" if id in self._predicted else "It"
        print(f"{subject} is {shown(self.figures.value(step.value))}.")

    def table(self, *figures: str, **results: Result) -> None:
        """The figures of results side by side, named as the arguments are; all that the lab shows, or ``figures``."""
        entries = {name: figures_of(result) for name, result in results.items()}
        print(figures_table(entries, figures or self.lab.figures))

    def explore(self, id: str, *settings: str) -> None:
        """The figures of settings side by side, each a text with a value, or its number, for each knob.

        Raises UsageError for a setting or an id that is none.
        """
        step = next((s for s in self.lab.steps if isinstance(s, Explore) and s.id == id), None)
        if step is None:
            raise UsageError(f"lab {self.lab.name} has nothing to explore called '{id}'")
        entries = {}
        for text in settings:
            values = knob_values(step.texts, text)
            chosen = next(setting for setting in step.settings if step.called(setting) == values)
            entries[", ".join(values)] = self.figures.of(step.of(chosen))
        print(figures_table(entries, step.figures or self.lab.figures) if entries else "Write settings behind the id.")

    def check(self, id: str, answer: float | str | None) -> bool:
        """Whether ``answer`` is right, with a hint when it is not. Raises UsageError for an unknown id."""
        question = self._question(id)
        if answer is None:
            print("Write your answer instead of None, and run the cell again.")
            return False
        verdict = judged(self._grader.rules(question), str(answer), self._tries[id], self._seen[id])
        self._tries[id] += verdict.counts and not verdict.right
        self._seen[id] += verdict.hinted
        print(verdict.says)
        return verdict.right

    def hint(self, id: str) -> None:
        """The next hint to a question. Raises UsageError for an unknown id."""
        question = self._question(id)
        print(hint(self._grader.rules(question), self._seen[id]))
        self._seen[id] += 1

    def value(self, expression: str) -> float:
        """An expression over figures of the lab's runs: ``external.latency_ms / internal.latency_ms``.

        Raises UsageError for an unknown figure.
        """
        return self.figures.value(expression)

    def _question(self, id: str) -> Question:
        result = next((question for question in self.lab.questions if question.id == id), None)
        if result is None:
            raise UsageError(f"lab {self.lab.name} has no question '{id}'")
        return result


def notebook(lab: Lab, solved: bool = False, folder: Path | None = None, path: str | None = None) -> str:
    """The notebook's file; ``solved`` fills in what a student writes. Equal labs give equal text. ``path``: of a lab of
    one's own, which the notebook opens; its paths are relative to ``folder``."""
    cells = []
    for index, (kind, source) in enumerate(_cells(lab, Grader(Figures(lab, folder)), solved, path)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"{lab.name[:40]}-{index:03d}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append({**cell, "source": source.strip("\n").splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cells(lab: Lab, grader: Grader, solved: bool, path: str | None) -> Iterator[tuple[str, str]]:
    figures, solving = grader.figures, grader if solved else None
    name, seed = path or lab.name, f", seed={lab.seed}" if lab.seed else ""
    aims = "\n".join(f"- {aim}" for aim in lab.aims)
    about = f"About {lab.minutes} minutes. You will learn to\n\n{aims}"
    yield "markdown", f"# {lab.title}\n{figures.text(lab.text)}\n{about}"
    yield "code", f'import mcusim\nfrom mcusim.labs import open_lab\n\nlab = open_lab("{name}"{seed})'
    for number, part in enumerate(lab.parts, 1):
        yield "markdown", f"## Part {number}: {part.title}\n{figures.text(part.text)}"
        for step in part.steps:
            yield from _step(lab, figures.filled(step), solving)
    yield "markdown", f"## Go on\n{figures.text(lab.after.text)}"


def _step(lab: Lab, step: Step, grader: Grader | None) -> Iterator[tuple[str, str]]:
    match step:
        case Predict():
            yield "markdown", f"**Predict.** {step.text} ({step.unit})"
            yield "code", f'lab.predict("{step.id}", {_between(step) if grader else None})'
        case LabRun():
            yield "code", f"{step.name} = {python_call(lab, step)}  # {command(lab, step)}"
        case LabTable():
            chosen = [*(f'"{name}"' for name in step.figures), *(f"{run}={run}" for run in step.runs)]
            yield "code", f"lab.table({', '.join(chosen)})"
        case Compare():
            yield "code", f'lab.compare("{step.id}")'
        case Watch():
            yield "markdown", f"**Watch.** {step.text} The cell writes film.html; open it in a browser."
            yield "code", f'{python_call(lab, step)}.film.save_html("film.html", force=True)'
        case Explore():
            yield "markdown", f"**Explore.** {step.text}\n\n{_knobs(step)}"
            first = "; ".join(texts[0] for texts in step.texts.values())
            yield "code", f'lab.explore("{step.id}", "{first}")'
        case LabQuestion():
            yield from _question(step, grader)


def _between(step: Predict) -> float:
    return step.low if step.low > 0 else step.high


def _knobs(step: Explore | Design) -> str:
    lines = (
        f"- {name}: " + ", ".join(f"{n} {value}" for n, value in enumerate(values, 1))
        for name, values in step.texts.items()
    )
    return "\n".join(lines)


def _question(step: Question, grader: Grader | None) -> Iterator[tuple[str, str]]:
    asked = f"**{'Explain' if isinstance(step, Ask | Choose) else step.kind.capitalize()}.** {step.text}"
    match step:
        case Ask():
            asked += f" ({step.unit})"
        case Choose():
            asked += "\n\n" + "\n".join(f"{index}. {choice.text}" for index, choice in enumerate(step.choices, 1))
        case Arrange():
            asked += "\n\n" + "\n".join(f"{index}. {item.text}" for index, item in enumerate(step.items, 1))
        case Design():
            asked += "\n\n" + _knobs(step)
    yield "markdown", asked
    answer = None if grader is None else _answer(step, grader)
    yield "code", f'answer = {answer}\nlab.check("{step.id}", answer)  # lab.hint("{step.id}")'


def _answer(step: Question, grader: Grader) -> str:
    """The right answer as a cell has it."""
    match step:
        case Ask():
            quoted = repr(step.answer) if '"' in step.answer else f'"{step.answer}"'
            return f"lab.value({quoted})"
        case Choose():
            return str(step.right)
        case Arrange():
            right = grader.rules(step).right
            assert isinstance(right, tuple)  # of this kind
            return repr(" ".join(map(str, right)))
        case Design():
            rules = grader.rules(step)
            best = next(setting for setting in rules.settings if setting.goal == rules.best and not setting.missed)
            return repr("; ".join(f"{name}={value}" for name, value in zip(step.knobs, best.values, strict=True)))
        case Write():
            return repr(step.answer)
