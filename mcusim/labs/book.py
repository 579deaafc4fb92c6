"""A lab in a notebook: the same questions and hints, called from cells."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mcusim.errors import UsageError
from mcusim.labs.figures import FIGURES, Figures, figures_table, shown
from mcusim.labs.judge import Judge
from mcusim.labs.lab import Compare, Lab, Predict, Question
from mcusim.labs.lab_file import read_lab
from mcusim.sweeps.expressions import parse

if TYPE_CHECKING:
    from mcusim.results import Result

__all__ = ["Book", "open_lab"]


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
        """The prediction beside what was simulated. Raises UsageError for an unknown id."""
        step = next((s for s in self.lab.steps if isinstance(s, Compare) and s.id == id), None)
        if step is None:
            raise UsageError(f"lab {self.lab.name} compares nothing called '{id}'")
        said = f"You predicted {shown(self._predicted[id])}; it" if id in self._predicted else "It"
        print(f"{said} is {shown(self.figures.value(step.value))}.")

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
