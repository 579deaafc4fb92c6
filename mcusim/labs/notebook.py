"""A lab as a Jupyter notebook (nbformat 4.5) with cells to fill in or with the solution; they call ``Book``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError
from mcusim.labs.figures import FIGURES, Figures, command, figures_table, python_call, shown
from mcusim.labs.judge import Judge
from mcusim.labs.lab import Ask, Choose, Compare, Lab, LabRun, LabTable, Predict, Question, Step
from mcusim.labs.lab_file import read_lab
from mcusim.sweeps.expressions import parse

if TYPE_CHECKING:
    from mcusim.results import Result

__all__ = ["Book", "notebook", "open_lab"]


def open_lab(name: str) -> Book:
    """The lab ``name`` for a notebook. Raises UsageError for one that does not exist."""
    return Book(read_lab(name))


class Book:
    """Prints what a terminal session would say; answers may be given again and again."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.figures = Figures(lab)
        self._judge = Judge(self.figures)
        self._predicted: dict[str, float] = {}
        self._tries: Counter[str] = Counter()

    def predict(self, id: str, value: float | str | None) -> None:
        """Note a prediction, or say why it is none. Raises UsageError for an unknown id."""
        step = next((s for s in self.lab.steps if isinstance(s, Predict) and s.id == id), None)
        if step is None:
            raise UsageError(f"lab {self.lab.name} has no prediction '{id}'")
        if value is None:
            print(f"Write a number instead of None ({step.unit}).")
            return
        try:
            self._predicted[id] = self._judge.predicted(step, str(value))
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

    def table(self, **results: Result) -> None:
        """The figures of results side by side, named as the arguments are."""
        print(figures_table(results))

    def check(self, id: str, answer: float | str | None) -> bool:
        """Whether ``answer`` is right, with a hint when it is not. Raises UsageError for an unknown id."""
        question = self._question(id)
        if answer is None:
            print("Write your answer instead of None, and run the cell again.")
            return False
        verdict = self._judge.verdict(question, str(answer), self._tries[id])
        self._tries[id] += verdict.counts and not verdict.right
        print(verdict.says)
        return verdict.right

    def hint(self, id: str) -> None:
        """The next hint to a question. Raises UsageError for an unknown id."""
        question = self._question(id)
        print(self._judge.hint(question, self._tries[id]))
        self._tries[id] += 1

    def value(self, expression: str) -> float:
        """An expression over figures of the lab's runs: ``external.latency_ms / internal.latency_ms``.

        Raises UsageError for an unknown figure.
        """
        return self.figures.value(parse(expression, [f"{run}.{name}" for run in self.lab.runs for name in FIGURES]))

    def _question(self, id: str) -> Question:
        found = next((question for question in self.lab.questions if question.id == id), None)
        if found is None:
            raise UsageError(f"lab {self.lab.name} has no question '{id}'")
        return found


def notebook(lab: Lab, solved: bool = False) -> str:
    """The notebook's file; ``solved`` fills in what a student writes. Equal labs give equal text."""
    cells = []
    for place, (kind, source) in enumerate(_cells(lab, solved)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"{lab.name[:40]}-{place:03d}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append({**cell, "source": source.strip("\n").splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    found = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _cells(lab: Lab, solved: bool) -> Iterator[tuple[str, str]]:
    aims = "\n".join(f"- {aim}" for aim in lab.aims)
    yield "markdown", f"# {lab.title}\n{lab.text}\nAbout {lab.minutes} minutes. You will learn to\n\n{aims}"
    yield "code", f'import mcusim\nfrom mcusim.labs import open_lab\n\nlab = open_lab("{lab.name}")'
    for number, part in enumerate(lab.parts, 1):
        yield "markdown", f"## Part {number}: {part.title}\n{part.text}"
        for step in part.steps:
            yield from _step(lab, step, solved)
    yield "markdown", f"## Go on\n{lab.after}"


def _step(lab: Lab, step: Step, solved: bool) -> Iterator[tuple[str, str]]:
    match step:
        case Predict():
            yield "markdown", f"**Predict.** {step.text} ({step.unit})"
            yield "code", f'lab.predict("{step.id}", {_between(step) if solved else None})'
        case LabRun():
            yield "code", f"{step.name} = {python_call(lab, step)}  # {command(lab, step)}"
        case LabTable():
            yield "code", f"lab.table({', '.join(f'{run}={run}' for run in step.runs)})"
        case Compare():
            yield "code", f'lab.compare("{step.id}")'
        case Ask() | Choose():
            yield from _question(step, solved)


def _between(step: Predict) -> float:
    return step.low if step.low > 0 else step.high


def _question(step: Question, solved: bool) -> Iterator[tuple[str, str]]:
    if isinstance(step, Choose):
        choices = "\n".join(f"{place}. {choice.text}" for place, choice in enumerate(step.choices, 1))
        asked, answer = f"**Explain.** {step.text}\n\n{choices}", str(step.right)
    else:
        asked, answer = f"**Explain.** {step.text} ({step.unit})", f'lab.value("{step.answer.text}")'
    yield "markdown", asked
    yield "code", f'answer = {answer if solved else None}\nlab.check("{step.id}", answer)  # lab.hint("{step.id}")'
