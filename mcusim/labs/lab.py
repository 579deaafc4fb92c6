"""A lab as data: parts, each a few steps of predicting, running, comparing and explaining."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mcusim.sweeps.expressions import Expression

__all__ = [
    "Ask",
    "Choice",
    "Choose",
    "Compare",
    "Lab",
    "LabPart",
    "LabRun",
    "LabTable",
    "Mistake",
    "Predict",
    "Question",
    "Step",
]


@dataclass(frozen=True, slots=True)
class Predict:
    """A number to guess before a run, between ``low`` and ``high``; no guess is wrong."""

    id: str
    text: str
    unit: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LabRun:
    """A simulation of the lab's model: ``name`` is what its figures are called by; ``options`` are those of
    :func:`~mcusim.api.simulate.simulate`."""

    name: str
    machine: str
    policy: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabTable:
    """The figures of ``runs`` side by side."""

    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """The prediction ``id`` next to the result it was about."""

    id: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong number that is worth a hint of its own."""

    value: Expression
    hint: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question for a number: right within ``within`` percent of ``answer``. ``hints`` come one after the other."""

    id: str
    text: str
    unit: str
    answer: Expression
    hints: tuple[str, ...]
    within: float = 2.0
    mistakes: tuple[Mistake, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers to choose from; a wrong one has a hint."""

    text: str
    right: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Choose:
    """A question with answers to choose from. ``holds`` is what has to be true of the runs for the right one to be."""

    id: str
    text: str
    choices: tuple[Choice, ...]
    why: str
    holds: Expression

    @property
    def right(self) -> int:
        """The number of the right choice, from 1 on."""
        return next(n for n, choice in enumerate(self.choices, 1) if choice.right)


Question = Ask | Choose
Step = Predict | LabRun | LabTable | Compare | Ask | Choose


@dataclass(frozen=True, slots=True)
class LabPart:
    title: str
    text: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Lab:
    """``text``, ``after`` and ``teacher`` are paragraphs, lists (``- ``) and blocks indented by four spaces."""

    name: str
    title: str
    minutes: int
    model: str
    needs: str
    aims: tuple[str, ...]
    text: str
    parts: tuple[LabPart, ...]
    after: str
    teacher: str

    @property
    def steps(self) -> Iterator[Step]:
        """All steps, in order."""
        for part in self.parts:
            yield from part.steps

    @property
    def runs(self) -> dict[str, LabRun]:
        """All runs by name, in order."""
        return {step.name: step for step in self.steps if isinstance(step, LabRun)}

    @property
    def questions(self) -> list[Question]:
        """All questions that have right answers, in order."""
        return [step for step in self.steps if isinstance(step, Ask | Choose)]
