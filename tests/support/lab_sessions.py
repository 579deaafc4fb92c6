"""Labs that are done by a test instead of a student."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcusim.labs import Session
from mcusim.labs.grader import Grader
from mcusim.labs.lab import Arrange, Ask, Compare, Design, Explore, Lab, Question, Write


def right_answer(question: Question, grader: Grader) -> str:
    rules = grader.rules(question)
    match question:
        case Ask():
            return str(rules.right)
        case Arrange():
            assert isinstance(rules.right, tuple)
            return " ".join(map(str, rules.right))
        case Write():
            return question.answer
        case Design():
            best = next(one.values for one in rules.settings if one.goal == rules.best and not one.missed)
            return "; ".join(f"{name}={value}" for name, value in zip(question.knobs, best, strict=True))
    return str(question.right)


def session(lab: Lab, answer: Callable[[str], str | None]) -> tuple[Session, str]:
    """A session that asks ``answer`` for each line, by the id of the step; None ends it. And all that was printed."""
    printed: list[str] = []
    steps = iter([s for s in lab.steps if hasattr(s, "id") and not isinstance(s, Compare)])
    current: list[Any] = [next(steps)]
    explored: set[str] = set()

    def read(prompt: str) -> str:
        while current[0].id in made.predictions or current[0].id in {*explored, *(one["id"] for one in made.answers)}:
            current[0] = next(steps)
        text = answer(current[0].id)
        if isinstance(current[0], Explore) and text == "done":
            explored.add(current[0].id)
        if text is None:
            raise EOFError
        printed.append(f"{prompt}{text}")
        assert len(printed) < 2000, f"{current[0].id} asks for ever"
        return text

    made = Session(lab, read, printed.append)
    made.run()
    return made, "\n".join(printed)
