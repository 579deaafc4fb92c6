"""Judges a student's answers: right or wrong, and the hint that is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose, isfinite

from mcusim.errors import UsageError
from mcusim.labs.figures import Figures, shown
from mcusim.labs.lab import Ask, Choice, Choose, Predict, Question
from mcusim.sweeps.expressions import parse

__all__ = ["AnswerVerdict", "Judge", "number"]

_UNITS: Mapping[str, Mapping[str, float]] = {
    "%": {"%": 1, "percent": 1},
    "times": {"times": 1, "fold": 1, "x": 1, "×": 1},
    "ms": {"ms": 1, "milliseconds": 1, "s": 1e3, "seconds": 1e3, "us": 1e-3, "µs": 1e-3},
    "B": {"b": 1, "bytes": 1, "kib": 1024},
}
_THOUSANDS = re.compile(r"(?<![\d.])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_UNIT = re.compile(r"(.*?[\d.)])\s*([^\d\s.,()*/+-][^\d()]*)$")
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """``counts``: whether it was a try, and not something that could not be read. ``over``: the answer was given."""

    right: bool
    says: str
    counts: bool = True
    over: bool = False


def number(text: str, unit: str) -> float:
    """``text`` in ``unit``: a number or a calculation (``148.6 / 67.4``), with thousands separated or not.

    Raises UsageError that says what is not understood.
    """
    plain = _THOUSANDS.sub(lambda found: found[1].replace(",", ""), text.strip().lstrip("~≈ "))
    factor = 1.0
    found = _UNIT.match(plain)
    if found:
        plain, named = found[1], found[2].strip().rstrip(".")
        known = _UNITS.get(unit, {unit: 1})
        meant = next((one for one in (named.lower(), f"{named.lower()}s") if one in known), None)  # 1 byte, 9 tile
        if meant is None:
            raise UsageError(f"{named[:40]!r} is not what is asked for; the answer is in {unit}")
        factor = known[meant]
    plain = re.sub(r"(?<=\d),(?=\d)", ".", plain)  # a decimal comma
    try:
        value = parse(plain, ())({})
    except UsageError:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise UsageError(f"{text.strip()[:40]!r} is not a number; type one in {unit}, or a calculation such as 3 * 4.5")
    return value * factor


class Judge:
    """Judges answers by the figures of the lab's own runs, which do not depend on what a student did."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures

    def predicted(self, step: Predict, text: str) -> float:
        """The prediction as a number. Raises UsageError for one that is none, or outside of what can be."""
        value = number(text, step.unit)
        if not step.low <= value <= step.high:
            raise UsageError(f"{shown(value)} {step.unit} cannot be: guess from {step.low:g} to {step.high:g}")
        return value

    def verdict(self, question: Question, text: str, tries: int) -> AnswerVerdict:
        """What ``text`` is worth after ``tries`` wrong ones; the last one that is allowed ends with the solution."""
        try:
            wrong = self._wrong(question, text, tries)
        except UsageError as error:
            return AnswerVerdict(False, f"{error}.", counts=False)
        if wrong is None:
            return AnswerVerdict(True, " ".join(["Right.", *self._exactly(question), question.why]).strip(), over=True)
        if tries >= allowed(question):
            return AnswerVerdict(False, f"{wrong} {self.solution(question)}", over=True)
        return AnswerVerdict(False, wrong)

    def hint(self, question: Question, number: int) -> str:
        """The hint number ``number`` from 0 on, the last one again after that."""
        if isinstance(question, Choose):
            return "Look at the tables: which of the answers do the numbers contradict?"
        return question.hints[min(number, len(question.hints) - 1)]

    def solution(self, question: Question) -> str:
        """The right answer, how it is found, and why it is so."""
        if isinstance(question, Choose):
            return f"It is {question.right}: {question.choices[question.right - 1].text}. {question.why}"
        answer = question.answer
        value = f"{shown(self.figures.value(answer))} {question.unit}"
        return f"It is {answer.text} = {self.figures.worked(answer)} = {value}. {question.why}".strip()

    def _wrong(self, question: Question, text: str, tries: int) -> str | None:
        """What to say to a wrong answer, None for a right one. Raises UsageError for what is no answer."""
        if isinstance(question, Choose):
            chosen = _chosen(question, text)
            return None if chosen.right else f"No. {chosen.hint}"
        given, right = number(text, question.unit), self.figures.value(question.answer)
        near = question.within / 100
        if isclose(given, right, rel_tol=near + _ROUNDING, abs_tol=_ROUNDING):
            return None
        for mistake in question.mistakes:
            if isclose(given, self.figures.value(mistake.value), rel_tol=max(near, 0.002)):
                return f"Not yet. {mistake.hint}"
        diagnosed = _diagnosed(given, right, question, max(near, 0.002))
        if diagnosed and _THOUSANDS.search(text):
            diagnosed += f" A comma before three digits is read as one between thousands, so this was {shown(given)}."
        direction = "too low" if given < right else "too high"
        return diagnosed or f"Not yet: {shown(given)} is {direction}. {self.hint(question, tries)}"

    def _exactly(self, question: Question) -> list[str]:
        if isinstance(question, Choose):
            return []
        value = self.figures.value(question.answer)
        return [f"{'It is' if isinstance(value, int) else 'To four digits:'} {shown(value)} {question.unit}."]


def allowed(question: Question) -> int:
    """How many wrong answers get a hint; the next one gets the solution."""
    return len(question.choices) - 2 if isinstance(question, Choose) else len(question.hints)


def _chosen(question: Choose, text: str) -> Choice:
    try:
        place = int(text.strip().rstrip(".)"))
    except ValueError:
        place = 0
    if not 1 <= place <= len(question.choices):
        raise UsageError(
            f"{text.strip()[:40]!r} is none of the answers; type a number from 1 to {len(question.choices)}"
        )
    return question.choices[place - 1]


def _diagnosed(given: float, right: float, question: Ask, near: float) -> str | None:
    """Mistakes that any question can meet with."""
    if isclose(given, -right, rel_tol=near):
        return "Not yet: the number is right, its sign is not."
    if question.unit == "%" and isclose(given, right / 100, rel_tol=near):
        return "Not yet: that is the fraction. In percent it is 100 times as much."
    for factor in (1000, 1024):
        if isclose(given, right * factor, rel_tol=near) or isclose(given, right / factor, rel_tol=near):
            return f"Not yet: that is off by a factor of {factor}. The question asks for {question.unit}."
    return None
