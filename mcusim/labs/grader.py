"""Judges a student's answers: right or wrong, the hint that is given, and what it is worth.

What is right is worked out once, as plain data (:class:`Rules`): judging an answer needs no simulation, and a page
does the same with the same data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isclose, isfinite
from typing import Any

from mcusim.errors import UsageError
from mcusim.labs.figures import DesignTry, Figures, Values, figures_table, shown
from mcusim.labs.lab import Arrange, Ask, Choose, Design, Option, Predict, Question, Write
from mcusim.sweeps.expressions import parse

_UNITS: Mapping[str, Mapping[str, float]] = {
    "%": {"%": 1, "percent": 1},
    "times": {"times": 1, "fold": 1, "x": 1, "×": 1},
    "ms": {"ms": 1, "milliseconds": 1, "s": 1e3, "seconds": 1e3, "us": 1e-3, "µs": 1e-3},
    "B": {"b": 1, "bytes": 1, "kib": 1024},
}
_THOUSANDS = re.compile(r"(?<![\d.])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_UNIT = re.compile(r"(.*?[\d.)])\s*([^\d\s.,()*/+-][^\d()]*)$")
_NO_ARITHMETIC = re.compile(r"""["'<>=!\[\]{}]|\b(?:if|and|or|not|in)\b""")  # of what expressions have
_ROUNDING = 1e-9
_COST = 0.25  # of its points, for each wrong answer and each hint
DONE = "done"  # hands a design in


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """``counts``: whether it was a try, and not something that could not be read. ``over``: nothing more is asked.
    ``share`` of the points that the answer is worth; ``mistake``: the name of a wrong one that is known. ``hinted``: it
    has the next hint in it, which need not be asked for any more."""

    right: bool
    says: str
    counts: bool = True
    over: bool = False
    share: float = 1.0
    mistake: str = ""
    hinted: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a design's knobs as texts: its ``goal``, None where it does not run, also as it is ``shown``; the
    hint of the first requirement that it misses; and its figures as a table."""

    values: tuple[str, ...]
    goal: float | None
    missed: str
    table: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """How answers to a question are judged; what another kind has is empty.

    ``right``: the number, the place of the choice, or the places of the items in order. ``near`` is a fraction.
    ``wrong``: wrong numbers or places with what to say, and a name. ``solution``: without the places, which are an
    order's own; ``named``: its items with their values. ``knobs`` have texts of values."""

    id: str
    kind: str
    unit: str = ""
    right: float | int | tuple[int, ...] | None = None
    near: float = 0.0
    wrong: tuple[tuple[float, str, str], ...] = ()
    hints: tuple[str, ...] = ()
    why: str = ""
    solution: str = ""
    named: tuple[str, ...] = ()
    exactly: str = ""
    count: int = 0
    allowed: int = 0
    points: float = 0.0
    knobs: Mapping[str, tuple[str, ...]] | None = None
    settings: tuple[Setting, ...] = ()
    best: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def number(text: str, unit: str) -> float:
    """``text`` in ``unit``: a number or a calculation (``148.6 / 67.4``), with thousands separated or not.

    Raises UsageError that says what is not understood.
    """
    plain = _THOUSANDS.sub(lambda found: found[1].replace(",", ""), text.strip().lstrip("~≈ "))
    factor = 1.0
    match = _UNIT.match(plain)
    if match:
        plain, named = match[1], match[2].strip().rstrip(".")
        known = _UNITS.get(unit, {unit: 1})
        meant = next((item for item in (named.lower(), f"{named.lower()}s") if item in known), None)  # 1 byte, 9 tile
        if meant is None:
            raise UsageError(f"{named[:40]!r} is not what is asked for; the answer is in {unit}")
        factor = known[meant]
    plain = re.sub(r"(?<=\d),(?=\d)", ".", plain)  # a decimal comma
    try:
        value = None if _NO_ARITHMETIC.search(plain) else parse(plain, ())({})
    except UsageError:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise UsageError(f"{text.strip()[:40]!r} is not a number; type one in {unit}, or a calculation such as 3 * 4.5")
    return float(value * factor)


def worth(rules: Rules, verdict: AnswerVerdict, wrong: int, hints: int) -> float:
    """Points of an answer after ``wrong`` other ones and ``hints``: each costs a quarter, the last hint once."""
    if not verdict.right:
        return 0.0
    hints = min(hints, hints_of(rules))
    return round(rules.points * verdict.share * max(0.0, 1 - _COST * (wrong + hints)), 2)


class Grader:
    """Grades answers by the figures of the lab's own runs, which do not depend on what a student did."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self._rules: dict[str, Rules] = {}

    def predicted(self, step: Predict, text: str) -> float:
        """The prediction as a number. Raises UsageError for one that is none, or outside of what can be."""
        value = number(text, step.unit)
        if not step.low <= value <= step.high:
            raise UsageError(f"{shown(value)} {step.unit} cannot be: guess from {step.low:g} to {step.high:g}")
        return value

    def rules(self, question: Question, progress: Callable[[], object] | None = None) -> Rules:
        """What is right; ``progress`` is called after each setting of a design is simulated."""
        if question.id not in self._rules:
            self._rules[question.id] = _rules(self.figures.filled(question), self.figures, progress)
        return self._rules[question.id]

    def verdict(self, question: Question, text: str, tries: int, seen: int | None = None) -> AnswerVerdict:
        """What ``text`` is worth after ``tries`` wrong ones; the last one that is allowed ends with the solution."""
        return judged(self.rules(question), text, tries, seen)

    def hint(self, question: Question, number: int) -> str:
        """The hint number ``number`` from 0 on, the last one again after that."""
        return hint(self.rules(question), number)

    def solution(self, question: Question) -> str:
        """The right answer, how it is found, and why it is so."""
        return solution(self.rules(question))


def judged(rules: Rules, text: str, tries: int, seen: int | None = None) -> AnswerVerdict:
    """What ``text`` is worth after ``tries`` wrong ones, when ``seen`` hints have been shown (None: as many)."""
    try:
        return _JUDGES[rules.kind](rules, text.strip(), tries, tries if seen is None else seen)
    except UsageError as error:
        return AnswerVerdict(False, f"{error}.", counts=False)


def solution(rules: Rules) -> str:
    """The right answer, how it is found, and why it is so."""
    if rules.kind == Choose.kind:
        return f"It is {rules.right}: {rules.solution}"
    if isinstance(rules.right, tuple):
        named = "; ".join(rules.named[index - 1] for index in rules.right)
        return f"It is {' '.join(map(str, rules.right))}: {named}. {rules.solution}".strip()
    return rules.solution


def hint(rules: Rules, number: int) -> str:
    """The hint number ``number`` from 0 on, the last one again after that."""
    if not rules.hints:
        return {
            Choose.kind: "Look at the tables: which of the answers do the numbers contradict?",
            Write.kind: "There is no wrong answer: write what the numbers tell you, and why.",
        }.get(rules.kind, "Look at the figures of what you tried.")
    return rules.hints[min(number, len(rules.hints) - 1)]


def _wrong(rules: Rules, says: str, tries: int, mistake: str = "") -> AnswerVerdict:
    if tries >= rules.allowed:
        return AnswerVerdict(False, f"{says} {solution(rules)}", over=True, mistake=mistake)
    return AnswerVerdict(False, says, mistake=mistake)


def _hinted(rules: Rules, says: str, tries: int, seen: int) -> AnswerVerdict:
    """A wrong answer that nothing else is known of: with the next hint that was not shown yet."""
    if tries >= rules.allowed or seen >= len(rules.hints):
        return _wrong(rules, says, tries)
    return AnswerVerdict(False, f"{says} {rules.hints[seen]}", hinted=True)


def hints_of(rules: Rules) -> int:
    """How many hints can be asked for; what a question without its own says is one."""
    return max(1, len(rules.hints))


def _right(rules: Rules) -> AnswerVerdict:
    return AnswerVerdict(True, " ".join(filter(None, ("Right.", rules.exactly, rules.why))), over=True)


def _number(rules: Rules, text: str, tries: int, seen: int) -> AnswerVerdict:
    given, right = number(text, rules.unit), rules.right
    assert isinstance(right, int | float)  # of this kind
    if isclose(given, right, rel_tol=rules.near + _ROUNDING, abs_tol=_ROUNDING):
        return _right(rules)
    close = max(rules.near, 0.002)
    if _THOUSANDS.search(text) and isclose(given, right * 1000, rel_tol=close):
        read = f"A comma before three digits is read as one between thousands, so this was {shown(given)}."
        return AnswerVerdict(False, f"{read} Write a decimal number with a point.", counts=False)
    for value, says, name in rules.wrong:
        if isclose(given, value, rel_tol=close):
            return _wrong(rules, f"Not yet. {says}", tries, name)
    if diagnosed := _diagnosed(given, right, rules.unit, close):
        return _wrong(rules, diagnosed, tries)
    direction = "too low" if given < right else "too high"
    return _hinted(rules, f"Not yet: {shown(given)} is {direction}.", tries, seen)


def _diagnosed(given: float, right: float, unit: str, near: float) -> str | None:
    """Mistakes that any question can meet with."""
    if isclose(given, -right, rel_tol=near):
        return "Not yet: the number is right, its sign is not."
    if unit == "%" and isclose(given, right / 100, rel_tol=near):
        return "Not yet: that is the fraction. In percent it is 100 times as much."
    for factor in (1000, 1024):
        if isclose(given, right * factor, rel_tol=near) or isclose(given, right / factor, rel_tol=near):
            return f"Not yet: that is off by a factor of {factor}. The question asks for {unit}."
    return None


def _place(text: str, count: int) -> int:
    """A whole number from 1 to ``count``."""
    plain = text.rstrip(".)")
    index = int(plain) if re.fullmatch("[0-9]{1,3}", plain, re.ASCII) else 0
    if not 1 <= index <= count:
        raise UsageError(f"{text[:40]!r} is none of the answers; type a number from 1 to {count}")
    return index


def _choice(rules: Rules, text: str, tries: int, seen: int) -> AnswerVerdict:
    index = _place(text, rules.count)
    if index == rules.right:
        return _right(rules)
    _, says, name = next(entry for entry in rules.wrong if entry[0] == index)
    return _wrong(rules, f"No. {says}", tries, name)


def _order(rules: Rules, text: str, tries: int, seen: int) -> AnswerVerdict:
    places = [_place(word, rules.count) for word in re.split(r"[\s,;<>]+", text) if word]
    if sorted(places) != list(range(1, rules.count + 1)):
        raise UsageError(f"type each number from 1 to {rules.count} once, in order: {' '.join('312'[: rules.count])}")
    assert isinstance(rules.right, tuple)  # of this kind
    if tuple(places) == rules.right:
        return _right(rules)
    if tuple(reversed(places)) == rules.right:
        return _wrong(rules, "Not yet: that is the other way round.", tries, "the other way round")
    misplaced = next(i for i, (a, b) in enumerate(zip(places, rules.right, strict=True), 1) if a != b)
    return _hinted(rules, f"Not yet: from place {misplaced} on it is another.", tries, seen)


def _text(rules: Rules, text: str, tries: int, seen: int) -> AnswerVerdict:
    if len(text.split()) < rules.count:
        raise UsageError(f"write at least {rules.count} words")
    return AnswerVerdict(True, f"Noted. Compare with this: {rules.solution}", over=True)


def _design(rules: Rules, text: str, tries: int, seen: int) -> AnswerVerdict:
    setting = _setting(rules, text)
    if setting.goal is None or setting.missed:
        return _wrong(rules, f"{setting.table}\n\nThat does not do. {setting.missed}", tries, "requirement")
    assert rules.best is not None  # a lab without a setting that does is refused
    share = 1.0 if setting.goal <= rules.best * (1 + rules.near) else rules.best / setting.goal
    good = f"{setting.table}\n\nThat does, with {setting.shown} {rules.unit}"
    if share == 1.0:
        return AnswerVerdict(True, f"{good}: the best there is. {rules.why}".rstrip(), over=True)
    says = f"{good}: {100 * share:.0f} % of the best that is known. Try to improve it, or take it as it is."
    return AnswerVerdict(True, says, share=share)


def _setting(rules: Rules, text: str) -> Setting:
    chosen = knob_values(rules.knobs or {}, text)
    return next(setting for setting in rules.settings if setting.values == chosen)


def whole_numbers(values: tuple[str, ...]) -> bool:
    """Whether all of a knob's values are such, so that a number can be mistaken for the place of one."""
    return all(re.fullmatch("[0-9]{1,3}", value, re.ASCII) for value in values)


def knob_values(knobs: Mapping[str, tuple[str, ...]], text: str) -> tuple[str, ...]:
    """The values that a text names: for each knob the number of its value, or the value itself, also as ``knob=value``;
    values that are whole numbers are only named themselves. Raises UsageError."""
    words = [text] if len(knobs) == 1 else re.split(r"[,;]" if re.search(r"[,;]", text) else r"\s+", text)
    words = [word.strip() for word in words if word.strip()]
    if len(words) != len(knobs):
        example = ", ".join(values[0] if whole_numbers(values) else "1" for values in knobs.values())
        raise UsageError(f"type one for each of {', '.join(knobs)}: {example}")
    chosen = []
    for word, (name, values) in zip(words, knobs.items(), strict=True):
        _, named, plain = (part.strip() for part in word.rpartition("="))
        if (
            not named
            and not whole_numbers(values)
            and re.fullmatch("[0-9]{1,2}", plain, re.ASCII)
            and 1 <= int(plain) <= len(values)
        ):
            plain = values[int(plain) - 1]
        if plain not in values:
            wanted = f"one of {', '.join(values)}" if whole_numbers(values) else f"a number from 1 to {len(values)}"
            raise UsageError(f"{name}: {plain[:40]!r} is none of its values; type {wanted}")
        chosen.append(plain)
    return tuple(chosen)


_JUDGES: Mapping[str, Callable[[Rules, str, int, int], AnswerVerdict]] = {
    Ask.kind: _number, Choose.kind: _choice, Arrange.kind: _order, Write.kind: _text, Design.kind: _design,
}  # fmt: skip


def _rules(question: Question, figures: Figures, progress: Callable[[], object] | None) -> Rules:
    common: dict[str, Any] = {
        "id": question.id, "kind": question.kind, "hints": question.hints, "why": question.why,
        "points": question.points,
    }  # fmt: skip
    match question:
        case Ask():
            return Rules(**common, **_of_number(question, figures))
        case Choose():
            right = next(choice for choice in question.choices if choice.right)
            wrong = tuple((n, c.hint, c.text) for n, c in enumerate(question.choices, 1) if not c.right)
            text, count = f"{right.text}. {question.why}", len(question.choices)
            return Rules(**common, right=question.right, wrong=wrong, solution=text, count=count, allowed=count - 2)
        case Arrange():
            return Rules(**common, **_of_order(question, figures))
        case Write():
            return Rules(**{**common, "points": 0.0}, solution=question.answer, count=question.words)
        case Design():
            return Rules(**common, **_of_design(question, figures, progress))


def _of_number(question: Ask, figures: Figures) -> dict[str, Any]:
    right, unit = figures.value(question.answer), question.unit
    value = f"{shown(right)} {unit}".strip()
    worked = " = ".join(dict.fromkeys([question.answer, figures.worked(question.answer), value]))
    solution = f"It is {worked}. {question.why}"
    return {
        "unit": unit,
        "right": right,
        "near": question.within / 100,
        "wrong": tuple(
            (figures.value(mistake.value), mistake.hint, mistake.name or mistake.value) for mistake in question.mistakes
        ),
        "exactly": f"{'It is' if float(right).is_integer() else 'To four digits:'} {value}.",
        "solution": solution.strip(),
        "allowed": len(question.hints),
    }


def _of_order(question: Arrange, figures: Figures) -> dict[str, Any]:
    values = [figures.value(item.value) for item in question.items]
    places = sorted(range(1, len(values) + 1), key=lambda place: values[place - 1], reverse=question.falling)
    return {
        "right": tuple(places),
        "count": len(values),
        "named": tuple(f"{item.text} ({shown(value)})" for item, value in zip(question.items, values, strict=True)),
        "solution": question.why,
        "allowed": len(question.hints),
    }


def _of_design(question: Design, figures: Figures, progress: Callable[[], object] | None) -> dict[str, Any]:
    settings = []
    for chosen in question.settings:
        settings.append(_tried(question, figures, chosen))
        if progress is not None:
            progress()
    good = [setting for setting in settings if setting.goal is not None and not setting.missed]
    best = min(good, key=lambda setting: setting.goal or 0.0, default=None)
    named = "" if best is None else ", ".join(f"{n} {v}" for n, v in zip(question.knobs, best.values, strict=True))
    value = "" if best is None else f" with {shown(best.goal or 0.0)} {question.goal.unit}"
    return {
        "unit": question.goal.unit,
        "near": question.within / 100,
        "knobs": question.texts,
        "settings": tuple(settings),
        "best": None if best is None else best.goal,
        "solution": f"The best is {named}{value}. {question.why}".strip(),
        "allowed": question.tries - 1,
    }


def _tried(question: Design, figures: Figures, chosen: tuple[Option, ...]) -> Setting:
    values: Values = figures.of(question.of(chosen))
    tried = DesignTry(question.id, dict(zip(question.knobs, chosen, strict=True)), values)
    texts = question.called(chosen)
    table = figures_table({"yours": values}, question.figures or figures.lab.figures)
    if values["latency_ms"] is None:
        return Setting(texts, None, "It does not fit.", table)
    missed = next(
        (requirement.hint for requirement in question.require if figures.asked(requirement.that, tried) is not True), ""
    )
    goal = figures.value(question.goal.value, tried)
    return Setting(texts, goal, missed, table, shown(goal))
