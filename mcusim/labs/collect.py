"""A class's answer files, judged again and put together: points, times, hints, typical mistakes.

Not modelled: whether a student has done it alone; a lab's files have its answers in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcusim.errors import UsageError
from mcusim.labs.answer_file import AnswerFile, GivenAnswer, read_answer_file
from mcusim.labs.figures import Figures
from mcusim.labs.grader import AnswerVerdict, Grader, Rules, judged, worth
from mcusim.labs.lab import Lab, Question, Write
from mcusim.labs.lab_file import LabFile, open_file
from mcusim.machine.document import show


@dataclass(frozen=True, slots=True)
class QuestionGrade:
    """``mistakes``: names of the known wrong answers that were given; ``last`` what was typed last."""

    id: str
    right: bool
    points: float
    wrong: int
    hints: int
    mistakes: tuple[str, ...]
    last: str
    graded: bool = True  # False: a text, which a teacher reads


@dataclass(frozen=True, slots=True)
class Grade:
    """What a file is worth; ``note`` where it claims something else; ``ended`` as it says."""

    file: str
    lab: str
    student: str | None
    seed: int
    finished: bool
    minutes: float | None
    points: float
    of: float
    questions: tuple[QuestionGrade, ...]
    note: str = ""
    ended: str = ""

    @property
    def hints(self) -> int:
        return sum(question.hints for question in self.questions)

    @property
    def wrong(self) -> int:
        return sum(question.wrong for question in self.questions)

    def to_json(self) -> dict[str, Any]:
        """All of it, the questions as ``{id right points wrong hints mistakes}``."""
        own = {name: getattr(self, name) for name in ("file", "lab", "student", "seed", "finished", "minutes")}
        questions = [
            {
                "id": question.id, "right": question.right, "points": question.points if question.graded else None,
                "wrong": question.wrong,
                "hints": question.hints,
                "mistakes": list(question.mistakes),
            }
            for question in self.questions
        ]  # fmt: skip
        counts = {"points": self.points, "of": self.of, "hints": self.hints, "wrong": self.wrong}
        return {**own, **counts, "questions": questions, "note": self.note}


@dataclass(frozen=True, slots=True)
class CollectedLabs:
    """``grades`` in the order of the files, one for each student and lab; ``refused`` what is wrong with others,
    ``repeated`` those of students who have handed in another one that ended later; ``labs`` by name as written."""

    grades: tuple[Grade, ...]
    refused: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    labs: Mapping[str, Lab] = field(default_factory=dict)

    def of_lab(self, name: str) -> list[Grade]:
        return [grade for grade in self.grades if grade.lab == name]

    def mistakes(self, lab: str, id: str) -> list[tuple[str, int]]:
        """Known mistakes at a question and how many students made them, the most frequent first."""
        made = Counter(
            name
            for grade in self.of_lab(lab)
            for question in grade.questions
            if question.id == id
            for name in {*question.mistakes}
        )
        return sorted(made.items(), key=lambda pair: (-pair[1], pair[0]))

    def to_json(self) -> dict[str, Any]:
        """``grades``; ``labs`` by name with ``questions[{id asked right points mistakes[{name students}]}]``, of those
        who came to it; ``refused`` and ``repeated``. A text, which a teacher reads, has null points."""
        labs = {name: {"questions": [self._question(lab, q) for q in lab.questions]} for name, lab in self.labs.items()}
        others = {"refused": list(self.refused), "repeated": list(self.repeated)}
        return {"grades": [grade.to_json() for grade in self.grades], "labs": labs, **others}

    def _question(self, lab: Lab, question: Question) -> dict[str, Any]:
        grades = self.given(lab.name, question.id)
        return {
            "id": question.id,
            "asked": len(grades),
            "right": sum(grade.right for grade in grades),
            "points": round(sum(grade.points for grade in grades), 2),
            "of": 0.0 if isinstance(question, Write) else question.points * len(grades),
            "mistakes": [{"name": name, "students": count} for name, count in self.mistakes(lab.name, question.id)],
        }

    def given(self, lab: str, id: str) -> list[QuestionGrade]:
        """What students of ``lab`` answered to a question."""
        return [question for grade in self.of_lab(lab) for question in grade.questions if question.id == id]


def collect(
    paths: Sequence[Path], own: Iterable[LabFile] = (), progress: Callable[[int, int], object] = lambda done, of: None
) -> CollectedLabs:
    """Judge the answer files at ``paths``, of labs that ship and of the user's ``own``.

    A file that is none, or of another version, seed or lab, is refused and the others are judged. ``progress`` is
    called with how many files were judged and how many there are.
    """
    class_ = _Class({file.name: file for file in own})
    grades, refused = [], []
    for done, path in enumerate(paths, 1):
        try:
            grades.append(class_.grade(path))
        except UsageError as error:
            refused.append(" ".join(str(error).split()))
        progress(done, len(paths))
    labs = {grade.lab: class_.files[grade.lab].lab() for grade in grades}
    counted, repeated = _once(grades)
    return CollectedLabs(tuple(counted), tuple(refused), tuple(repeated), labs)


def _once(grades: Sequence[Grade]) -> tuple[list[Grade], list[str]]:
    """Of each student and lab the file that ended last, and what is said of the others; who has no name is nobody's
    double."""
    last: dict[tuple[str, int], Grade] = {}
    for grade in grades:
        other = last.get((grade.lab, grade.seed))
        if grade.student is not None and (other is None or other.ended <= grade.ended):
            last[grade.lab, grade.seed] = grade
    counted = [grade for grade in grades if grade.student is None or last[grade.lab, grade.seed] is grade]
    repeated = [
        f"{grade.file}: {show(grade.student)} has handed in lab {grade.lab} twice;"
        f" {last[grade.lab, grade.seed].file}, which"
        " ended last, counts"
        for grade in grades
        if not any(grade is other for other in counted)
    ]
    return counted, repeated


class _Class:
    """Labs that were opened, and the rules of each seed that has come."""

    def __init__(self, files: dict[str, LabFile]) -> None:
        self.files = files
        self._rules: dict[tuple[str, int], dict[str, Rules]] = {}

    def grade(self, path: Path) -> Grade:
        """Raises UsageError for a file that cannot be judged."""
        answer_file = read_answer_file(path)
        lab = self._lab(path, answer_file)
        rules = self._rules_of(lab)
        unknown = next((answer.id for answer in answer_file.answers if answer.id not in rules), None)
        if unknown is not None:
            raise UsageError(f"{path}: answers: lab {lab.name} has no question {unknown[:40]!r}")
        questions = tuple(_graded(rules[answer.id], answer) for answer in answer_file.answers)
        points = round(sum(question.points for question in questions), 2)
        notes = []
        if abs(points - answer_file.points) > 0.011:
            notes.append(f"the file claims {answer_file.points:g} points; what was typed is worth {points:g}")
        if where := answer_file.tampered:
            notes.append(f"something was cut out or changed {where}: its tries do not follow from each other")
        finished = len(questions) == len(rules)
        minutes = answer_file.minutes
        if minutes is not None and not 0 <= minutes < 60 * 24 * 366:
            notes.append("its times cannot be")
            minutes = None
        return Grade(
            str(path), lab.name, answer_file.student, answer_file.seed, finished, minutes, points, lab.points,
            questions,
            "; ".join(notes), answer_file.ended,
        )  # fmt: skip

    def _lab(self, path: Path, given: AnswerFile) -> Lab:
        if given.lab not in self.files:
            if "/" in given.lab or given.lab.endswith(".toml"):
                raise UsageError(f"{path}: lab = {given.lab[:40]!r} is no name of a lab")
            try:
                self.files[given.lab] = open_file(given.lab)
            except UsageError as error:
                raise UsageError(f"{path}: {error}; --lab names one of your own") from None
        lab = self.files[given.lab].lab(given.seed, given.student)
        if lab.version != given.version:
            raise UsageError(f"{path}: version = {given.version}: lab {lab.name} has version {lab.version} here")
        return lab

    def _rules_of(self, lab: Lab) -> dict[str, Rules]:
        key = lab.name, lab.seed
        if key not in self._rules:
            grader = Grader(Figures(lab, self.files[lab.name].folder))
            self._rules[key] = {question.id: grader.rules(question) for question in lab.questions}
        return self._rules[key]


def _graded(rules: Rules, given: GivenAnswer) -> QuestionGrade:
    """As a session judges: answers one after the other, until nothing more is asked."""
    best, wrong, mistakes = AnswerVerdict(False, ""), 0, []
    for text in given.typed:
        verdict = judged(rules, text, wrong)
        if not verdict.counts:
            continue
        if not verdict.right:
            wrong += 1
            mistakes += [verdict.mistake] if verdict.mistake else []
        best = max(best, verdict, key=lambda verdict: (verdict.right, verdict.share))
        if verdict.over:
            break
    points = worth(rules, best, wrong, given.hints)
    last = given.typed[-1] if given.typed else ""
    graded = rules.kind != Write.kind
    return QuestionGrade(given.id, best.right, points, wrong, given.hints, tuple(mistakes), last, graded)
