"""A lab at a terminal: it asks, runs, shows and judges, step by step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcusim.errors import UsageError
from mcusim.labs.chain import chain_begin, chained
from mcusim.labs.figures import Figures, command, figures_table, shown
from mcusim.labs.grader import DONE, AnswerVerdict, Grader, hints_of, knob_values, solution, whole_numbers, worth
from mcusim.labs.lab import (
    Ask,
    Compare,
    Explore,
    Lab,
    LabPart,
    LabQuestion,
    LabRun,
    LabTable,
    Predict,
    Question,
    Step,
    Watch,
)
from mcusim.labs.teacher_page import NAMES, terminal, wrapped

WIDTH = 78
LEAVE = "q"
_KEYS = (
    "An answer is a number, or a calculation such as 148.6 / 67.4. ? gives a hint, t the last table, q ends the lab."
    " A hint or a wrong answer costs a quarter of a question's points."
)


class Left(Exception):
    """The student ended the lab."""


@dataclass
class Session:
    """``read`` gives the student's next line to a prompt and raises EOFError when there is none; ``say`` shows a text;
    ``busy`` is entered while something is simulated. Texts and tables are at most ``width`` columns wide. ``folder``:
    what the lab's paths are relative to."""

    lab: Lab
    read: Callable[[str], str]
    say: Callable[[str], None]
    busy: Callable[[str], AbstractContextManager[object]] = lambda _: nullcontext()
    width: int = WIDTH
    folder: Path | None = None
    predictions: dict[str, float] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    _last: str = ""
    _compared: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.figures = Figures(self.lab, self.folder)
        self.grader = Grader(self.figures)

    @property
    def finished(self) -> bool:
        """Whether every question was asked."""
        return len(self.answers) == len(self.lab.questions)

    def run(self) -> bool:
        """The whole lab; False when the student left it. Raises UsageError when the answers end before the lab."""
        lab = self.lab
        self._heading(lab.title, "=")
        about = self._wrapped(f"It takes about {lab.minutes} minutes. {_KEYS}")
        self.say(f"{terminal(self.figures.text(lab.text), self.width)}\n\n{about}")
        try:
            for number, part in enumerate(lab.parts, 1):
                self._part(number, part)
        except Left:
            self.say(f"\n{self.score()}")
            return False
        self._heading("Results", "-")
        self.say(f"{self.score()}\n\n{terminal(self.figures.text(lab.after.text), self.width)}\n")
        return True

    def score(self) -> str:
        """Predictions next to results, how many answers were right at once, with hints, or not, and the points."""
        rows = [
            f"  {_prediction(self.lab, id)}: {shown(value)}, it was {shown(self._compared[id])}"
            for id, value in self.predictions.items()
            if id in self._compared
        ]
        first = sum(answer["right"] and len(answer["typed"]) == 1 and not answer["hints"] for answer in self.answers)
        right = sum(answer["right"] for answer in self.answers)
        shares = f"{first} right at once, {right - first} later, {len(self.answers) - right} with the solution shown"
        counted = f"{len(self.answers)} of {len(self.lab.questions)} questions: {shares}."
        counted += f" {self.points:g} of {self.lab.points:g} points."
        return "\n".join([*(["Your predictions", *rows, ""] if rows else []), self._wrapped(counted)])

    @property
    def points(self) -> float:
        return round(sum(float(answer["points"]) for answer in self.answers), 2)

    def to_json(self) -> dict[str, Any]:
        """The file to hand in: ``lab version student seed started ended finished points of``, then ``predictions`` by
        id (``predicted``, ``simulated``), ``answers[{id typed right points hints hashes}]`` and ``seal``; ``typed`` has
        all that was typed and is an answer, ``hints`` how many were asked for. Times are UTC; hashes are those of
        :mod:`mcusim.labs.chain`."""
        lab = self.lab
        predictions = {
            id: {"predicted": value, "simulated": self._compared.get(id)} for id, value in self.predictions.items()
        }
        about = {"lab": lab.name, "version": lab.version, "student": lab.student, "seed": lab.seed}
        times = {"started": self.started, "ended": _now(), "finished": self.finished}
        given = [(answer["id"], answer["typed"], answer["hints"]) for answer in self.answers]
        hashes, seal = chained(chain_begin(lab.name, lab.version, lab.seed), given)
        return {
            **about,
            **times,
            "points": self.points,
            "of": lab.points,
            "predictions": predictions,
            "answers": [{**answer, "hashes": own} for answer, own in zip(self.answers, hashes, strict=True)],
            "seal": seal,
        }

    def _heading(self, title: str, line: str) -> None:
        self.say(f"\n{title}\n{line * len(title)}\n")

    def _part(self, number: int, part: LabPart) -> None:
        self._heading(f"Part {number} of {len(self.lab.parts)}: {part.title}", "-")
        self.say(terminal(self.figures.text(part.text), self.width))
        for step in part.steps:
            self._step(self.figures.filled(step))

    def _step(self, step: Step) -> None:
        match step:
            case Predict():
                self._predict(step)
            case LabRun():
                self.say(f"\n{step.run}:{_broken(command(self.lab, step), self.width)}")
                with self.busy(f"simulating {step.model or self.lab.model}"):
                    self.figures.run(step.run)
            case LabTable():
                self._last = self.figures.table(step.runs, step.figures, self.width)
                self.say(f"\n{self._last}")
            case Compare():
                self._compare(step)
            case Watch():
                self.say("\n" + self._wrapped(f"Watch. {step.text} Run this in another terminal, then open film.html:"))
                self.say(_broken(command(self.lab, step), self.width).lstrip("\n"))
            case Explore():
                self._explore(step)
            case LabQuestion():
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
                self.predictions[step.id] = self.grader.predicted(step, text)
                return
            except UsageError as error:
                self.say(self._wrapped(f"{error}."))

    def _compare(self, step: Compare) -> None:
        given, value = self.predictions[step.id], self.figures.value(step.value)
        self._compared[step.id] = value
        unit = next(s.unit for s in self.lab.steps if isinstance(s, Predict) and s.id == step.id)
        self.say("\n" + self._wrapped(f"Compare. You predicted {shown(given)} {unit}; it is {shown(value)} {unit}."))

    def _explore(self, step: Explore) -> None:
        """Runs of the settings that are typed, side by side with the ones before, until the student goes on."""
        self.say("\n" + self._wrapped(f"Explore. {step.text}"))
        self._knobs(step.texts)
        tried: dict[str, Any] = {}
        while True:
            text = self._line(DONE, step.id)
            if text == DONE:
                return
            try:
                values = knob_values(step.texts, text)
            except UsageError as error:
                self.say(self._wrapped(f"{error}; {DONE} goes on."))
                continue
            chosen = next(setting for setting in step.settings if step.called(setting) == values)
            with self.busy("simulating"):
                tried[", ".join(values)] = self.figures.of(step.of(chosen))
            shown_ = dict([*tried.items()][-4:])
            self._last = figures_table(shown_, step.figures or self.lab.figures, self.width)
            self.say(f"\n{self._last}")

    def _knobs(self, knobs: dict[str, tuple[str, ...]]) -> None:
        for name, values in knobs.items():
            listed = "   ".join(f"{index}  {value}" for index, value in enumerate(values, 1))
            listed = f"one of {', '.join(values)}" if whole_numbers(values) else listed
            self.say(self._wrapped(listed, f"  {name}:  ", "      "))
        example = ", ".join(values[0] if whole_numbers(values) else "1" for values in knobs.values())
        self.say(self._wrapped(f"Type one for each ({example}); {DONE} goes on.", "  ", "  "))

    def _question(self, question: Question) -> None:
        self.say("\n" + self._wrapped(f"{NAMES.get(question.kind, 'Question')}. {question.text}"))
        with self.busy("working out what is right"):
            rules = self.grader.rules(question)
        listed = [item.text for item in (*getattr(question, "choice", ()), *getattr(question, "items", ()))]
        for index, text in enumerate(listed, 1):
            self.say(self._wrapped(text, f"  {index}  ", "     "))
        if rules.knobs:
            self._knobs(dict(rules.knobs))
        unit = question.unit if isinstance(question, Ask) else ""
        typed, hints, seen, wrong, best = list[str](), 0, 0, 0, AnswerVerdict(False, "")
        while True:
            text = self._line(unit, question.id)
            if text in ("?", "hint"):
                self.say(self._wrapped(self.grader.hint(question, seen)))
                hints += seen < hints_of(rules)  # one that was shown before is for nothing
                seen += 1
                continue
            if text == DONE and rules.knobs:
                verdict = AnswerVerdict(best.right, solution(rules), counts=False, over=True, share=best.share)
            else:
                verdict = self.grader.verdict(question, text, wrong, seen)
                seen += verdict.hinted
                typed += [text] * verdict.counts
                wrong += verdict.counts and not verdict.right
            self.say(self._paragraphs(verdict.says))
            best = max(best, verdict, key=lambda verdict: (verdict.right, verdict.share))
            if verdict.over or (rules.knobs and len(typed) > rules.allowed):
                if not verdict.over:
                    self.say(self._wrapped(solution(rules)))
                points = worth(rules, best, wrong, hints)
                self.answers.append(
                    {"id": question.id, "typed": typed, "right": best.right, "points": points, "hints": hints}
                )
                return

    def _paragraphs(self, text: str) -> str:
        """Tables as they are, the last paragraph wrapped."""
        *tables, last = text.split("\n\n")
        return "\n\n".join([*tables, self._wrapped(last)])

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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _broken(text: str, width: int) -> str:
    """A command, over several lines where it is long, as a shell takes it."""
    words, lines = text.split(" --"), [""]
    for index, word in enumerate(words):
        more = f" --{word}" if index else f"  $ {word}"
        if index and len(lines[-1]) + len(more) > width - 2:
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += more
    return ("\n" if len(lines) > 1 else "") + "\n".join(lines)


def _prediction(lab: Lab, id: str) -> str:
    return next(f"{id} ({s.unit})" for s in lab.steps if isinstance(s, Predict) and s.id == id)
