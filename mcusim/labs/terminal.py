"""A lab at a terminal: it asks, runs, shows and judges, step by step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from mcusim.errors import UsageError
from mcusim.labs.figures import Figures, command, shown
from mcusim.labs.judge import Judge
from mcusim.labs.lab import Ask, Choose, Compare, Lab, LabPart, LabRun, LabTable, Predict, Question, Step
from mcusim.labs.teacher_page import terminal, wrapped

__all__ = ["LEAVE", "WIDTH", "Session"]

WIDTH = 78
LEAVE = "q"
_KEYS = (
    "An answer is a number, or a calculation such as 148.6 / 67.4. ? gives a hint, t the last table, q ends the lab."
)


class Left(Exception):
    """The student ended the lab."""


@dataclass
class Session:
    """``read`` gives the student's next line to a prompt and raises EOFError when there is none; ``say`` shows a text;
    ``busy`` is entered while something is simulated. Texts and tables are at most ``width`` columns wide."""

    lab: Lab
    read: Callable[[str], str]
    say: Callable[[str], None]
    busy: Callable[[str], AbstractContextManager[object]] = lambda _: nullcontext()
    width: int = WIDTH
    predictions: dict[str, float] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)
    _last: str = ""
    _shown: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.figures = Figures(self.lab)
        self.judge = Judge(self.figures)

    @property
    def finished(self) -> bool:
        """Whether every question was asked."""
        return len(self.answers) == len(self.lab.questions)

    def run(self) -> bool:
        """The whole lab; False when the student left it. Raises UsageError when the answers end before the lab."""
        lab = self.lab
        self._heading(lab.title, "=")
        self.say(
            f"{terminal(lab.text, self.width)}\n\n{self._wrapped(f'It takes about {lab.minutes} minutes. {_KEYS}')}"
        )
        try:
            for number, part in enumerate(lab.parts, 1):
                self._part(number, part)
        except Left:
            self.say(f"\n{self.score()}")
            return False
        self._heading("Results", "-")
        self.say(f"{self.score()}\n\n{terminal(lab.after, self.width)}\n")
        return True

    def score(self) -> str:
        """Predictions next to results, and how many answers were right at once, with hints, or not."""
        rows = [
            f"  {_prediction(self.lab, id)}: {shown(value)}, it was {shown(self._shown[id])}"
            for id, value in self.predictions.items()
            if id in self._shown
        ]
        first = sum(one["right"] and one["tries"] == 1 and not one["hints"] for one in self.answers)
        right = sum(one["right"] for one in self.answers)
        shares = f"{first} right at once, {right - first} later, {len(self.answers) - right} with the solution shown"
        counted = f"{len(self.answers)} of {len(self.lab.questions)} questions: {shares}."
        return "\n".join([*(["Your predictions", *rows, ""] if rows else []), self._wrapped(counted)])

    def to_json(self) -> dict[str, Any]:
        """What was predicted, and how each question was answered."""
        predictions = {
            id: {"predicted": value, "simulated": self._shown.get(id)} for id, value in self.predictions.items()
        }
        return {"lab": self.lab.name, "finished": self.finished, "predictions": predictions, "answers": self.answers}

    def _heading(self, title: str, line: str) -> None:
        self.say(f"\n{title}\n{line * len(title)}\n")

    def _part(self, number: int, part: LabPart) -> None:
        self._heading(f"Part {number} of {len(self.lab.parts)}: {part.title}", "-")
        self.say(terminal(part.text, self.width))
        for step in part.steps:
            self._step(step)

    def _step(self, step: Step) -> None:
        match step:
            case Predict():
                self._predict(step)
            case LabRun():
                self.say(f"\n{step.name}:  $ {command(self.lab, step)}")
                with self.busy(f"simulating {self.lab.model}"):
                    self.figures.result(step.name)
            case LabTable():
                self._last = self.figures.table(step.runs, self.width)
                self.say(f"\n{self._last}")
            case Compare():
                self._compare(step)
            case Ask() | Choose():
                self._question(step)

    def _predict(self, step: Predict) -> None:
        self.say("\n" + self._wrapped(f"Predict. {step.text}"))
        while True:
            text = self._line(step.unit, step.id)
            if text in ("?", "hint"):
                self.say(
                    self._wrapped(
                        "There is no hint to a prediction: any number that you can give a reason for will do."
                    )
                )
                continue
            try:
                self.predictions[step.id] = self.judge.predicted(step, text)
                return
            except UsageError as error:
                self.say(self._wrapped(f"{error}."))

    def _compare(self, step: Compare) -> None:
        given, found = self.predictions[step.id], self.figures.value(step.value)
        self._shown[step.id] = found
        unit = next(s.unit for s in self.lab.steps if isinstance(s, Predict) and s.id == step.id)
        self.say("\n" + self._wrapped(f"Compare. You predicted {shown(given)} {unit}; it is {shown(found)} {unit}."))

    def _question(self, question: Question) -> None:
        self.say("\n" + self._wrapped(f"{'Explain' if isinstance(question, Choose) else 'Question'}. {question.text}"))
        unit = ""
        if isinstance(question, Choose):
            for place, choice in enumerate(question.choices, 1):
                self.say(self._wrapped(choice.text, f"  {place}  ", "     "))
        else:
            unit = question.unit
        tries = hints = 0
        while True:
            text = self._line(unit, question.id)
            if text in ("?", "hint"):
                self.say(self._wrapped(self.judge.hint(question, hints)))
                hints += 1
                continue
            verdict = self.judge.verdict(question, text, tries)
            self.say(self._wrapped(verdict.says))
            tries += verdict.counts
            if verdict.over:
                self.answers.append({"id": question.id, "right": verdict.right, "tries": tries, "hints": hints})
                return

    def _line(self, unit: str, id: str) -> str:
        """The next line that is an answer or asks for a hint."""
        while True:
            try:
                text = self.read(f"[{unit}] > " if unit else "> ").strip()
            except EOFError:
                raise UsageError(f"the answers end before '{id}', and the lab with them") from None
            if text in (LEAVE, "quit", "exit"):
                raise Left
            if text in ("t", "table"):
                self.say(self._last or "There is no table yet.")
            elif text:
                return text

    def _wrapped(self, text: str, first: str = "", rest: str = "") -> str:
        return wrapped(text, self.width, first, rest)


def _prediction(lab: Lab, id: str) -> str:
    return next(f"{id} ({s.unit})" for s in lab.steps if isinstance(s, Predict) and s.id == id)
