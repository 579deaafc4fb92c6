"""A lab as data: parts, each a few steps of predicting, running, comparing and explaining.

Classes are the tables of a lab's file (:mod:`mcusim.labs.lab_file`), checked for types by pydantic. Expressions are
those of :mod:`mcusim.sweeps.expressions` over figures of the runs before them, such as ``external.latency_ms``, and
over the lab's parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from mcusim.labs.draw import MOST_DRAWS

Option = str | int | float | bool
Text = Annotated[str, Field(min_length=1)]
MOST_SETTINGS = 96  # of all knobs together


class LabTableModel(BaseModel):
    """A table of a lab's file: no other keys, no other types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Predict(LabTableModel):
    """A number to guess before a run, between ``low`` and ``high``; no guess is wrong."""

    kind: ClassVar[str] = "predict"
    predict: Text
    id: Text
    unit: str
    low: float
    high: float

    @property
    def text(self) -> str:
        return self.predict


class SetUp(LabTableModel):
    """What is simulated: ``options`` are those of :func:`~mcusim.api.simulate.simulate`, ``set`` changes keys of the
    machine; ``model`` where it is not the lab's, which may be a program (``.jsonl``), played as it is; ``kernels``
    where they are not the usual ones. ``verify``: it is verified instead (:func:`~mcusim.verify`)."""

    machine: Text
    policy: Text = "internal"
    model: Text | None = None
    kernels: Text | None = None
    options: Mapping[str, Option] = Field(default_factory=dict)
    set: Mapping[str, Option] = Field(default_factory=dict)
    verify: bool = False


class LabRun(SetUp):
    """A simulation; ``run`` is what its figures are called by."""

    kind: ClassVar[str] = "run"
    run: Text

    @property
    def name(self) -> str:
        return self.run


class LabTable(LabTableModel):
    """The ``figures`` of runs side by side; without ``figures`` those of the lab."""

    kind: ClassVar[str] = "table"
    table: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]
    figures: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        return self.table


class Compare(LabTableModel):
    """The prediction ``compare`` next to the result it was about, ``value``, in the file ``with``."""

    kind: ClassVar[str] = "compare"
    compare: Text
    value: Annotated[Text, Field(alias="with")]

    @property
    def id(self) -> str:
        return self.compare


class Watch(SetUp):
    """A film of a run to look at, of a ``window`` of time; ``watch`` says what to look for, ``sees`` which kinds of
    events (:data:`~mcusim.results.film.FILM_EVENTS`) have to be in it."""

    kind: ClassVar[str] = "watch"
    watch: Text
    window: Text
    sees: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]

    @property
    def text(self) -> str:
        return self.watch


class LabQuestion(LabTableModel):
    """What questions have: an ``id``, ``points``, ``hints`` that come one after the other, and ``why`` it is so."""

    id: Text
    points: Annotated[float, Field(gt=0, le=100)] = 1
    hints: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    why: str = ""


class Mistake(LabTableModel):
    """A wrong number that is worth a hint of its own; ``name`` is what a teacher's table calls it."""

    value: Text
    hint: Text
    name: str = ""


class Ask(LabQuestion):
    """A question for a number: right within ``within`` percent of ``answer``."""

    kind: ClassVar[str] = "ask"
    ask: Text
    unit: str
    answer: Text
    within: Annotated[float, Field(ge=0, le=100)] = 2.0
    mistakes: Annotated[tuple[Mistake, ...], Field(strict=False)] = ()
    hints: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]

    @property
    def text(self) -> str:
        return self.ask


class Choice(LabTableModel):
    """One of the answers to choose from; a wrong one has a hint."""

    text: Text
    right: bool = False
    hint: str = ""


class Choose(LabQuestion):
    """A question with answers to choose from. ``holds`` is what has to be true of the runs for the right one to be."""

    kind: ClassVar[str] = "choose"
    choose: Text
    choice: Annotated[tuple[Choice, ...], Field(min_length=2, max_length=9, strict=False)]
    holds: Text
    why: Text

    @model_validator(mode="after")
    def _one_is_right(self) -> Self:
        if sum(choice.right for choice in self.choice) != 1:
            raise ValueError("exactly one choice has to be right")
        if any(bool(choice.hint) is choice.right for choice in self.choice):
            raise ValueError("every choice but the right one has a hint")
        return self

    @property
    def text(self) -> str:
        return self.choose

    @property
    def choices(self) -> tuple[Choice, ...]:
        return self.choice

    @property
    def right(self) -> int:
        """The number of the right choice, from 1 on."""
        return next(n for n, choice in enumerate(self.choice, 1) if choice.right)


class Item(LabTableModel):
    """Something to put in order by ``value``, which the runs say."""

    text: Text
    value: Text


class Arrange(LabQuestion):
    """A question for an order of ``items``, the smallest value first, or with ``falling`` the largest."""

    kind: ClassVar[str] = "order"
    order: Text
    items: Annotated[tuple[Item, ...], Field(min_length=2, max_length=9, strict=False)]
    falling: bool = False
    hints: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]

    @property
    def text(self) -> str:
        return self.order


class Write(LabQuestion):
    """A question for a text of ``words`` words at least, which a teacher reads; then ``answer`` is shown to compare."""

    kind: ClassVar[str] = "write"
    write: Text
    answer: Text
    words: Annotated[int, Field(ge=1, le=500)] = 5

    @property
    def text(self) -> str:
        return self.write


class Knobs(SetUp):
    """A set-up whose ``knobs``, options or keys of the machine, have one of a few values each, the first by default.
    ``names``: what values are called, in their order, where it is not what they are."""

    knobs: Mapping[str, Annotated[tuple[Option, ...], Field(min_length=1, max_length=24, strict=False)]]
    names: Mapping[str, Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        count = 1
        for name, values in self.knobs.items():
            count *= len(values)
            if len(set(map(str, values))) < len(values):
                raise ValueError(f"knob {name[:40]} has a value twice")
        for name, texts in self.names.items():
            if len(set(texts)) != len(self.knobs.get(name, ())) or any(re.search(r"[,;=]", text) for text in texts):
                raise ValueError(f"names of {name[:40]}: a text for each value of that knob, without , ; and =")
        if not self.knobs:
            raise ValueError("there is no knob: name options or keys of the machine with their values")
        if count > MOST_SETTINGS:
            raise ValueError(f"the knobs have {count:,} settings together: at most {MOST_SETTINGS} can be simulated")
        return self

    @property
    def settings(self) -> tuple[tuple[Option, ...], ...]:
        """Every setting, a value of each knob."""
        return tuple(product(*self.knobs.values()))

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """What the values of each knob are called."""
        return {name: self.names.get(name, tuple(map(str, values))) for name, values in self.knobs.items()}

    def called(self, setting: tuple[Option, ...]) -> tuple[str, ...]:
        """The texts of a setting's values."""
        pairs = zip(self.knobs.values(), self.texts.values(), setting, strict=True)
        return tuple(texts[values.index(value)] for values, texts, value in pairs)

    def of(self, setting: tuple[Option, ...]) -> SetUp:
        """The set-up with these values; a name with a dot is a key of the machine."""
        options, keys = dict(self.options), dict(self.set)
        own = {name: getattr(self, name) for name in ("machine", "policy", "model", "kernels")}
        for name, value in zip(self.knobs, setting, strict=True):
            if name in own:
                own[name] = str(value)
            else:
                (keys if "." in name else options)[name] = value
        return SetUp(**own, options=options, set=keys, verify=self.verify)


class Explore(Knobs):
    """Runs with knobs that a student turns as often as wanted; ``figures`` are shown of each."""

    kind: ClassVar[str] = "explore"
    explore: Text
    id: Text
    figures: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @property
    def text(self) -> str:
        return self.explore


class Requirement(LabTableModel):
    """What has to be true of a design, and what to say when it is not."""

    that: Text
    hint: Text


class Goal(LabTableModel):
    """What a design is scored by: ``value``, which is to be as small as can be."""

    value: Text
    unit: str


class Design(LabQuestion, Knobs):
    """A question for a setting of knobs that meets ``require``; what it is worth is the best ``goal`` of all settings
    over its own, and everything within ``within`` percent of the best."""

    kind: ClassVar[str] = "design"
    design: Text
    goal: Goal
    require: Annotated[tuple[Requirement, ...], Field(strict=False)] = ()
    figures: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    within: Annotated[float, Field(ge=0, le=100)] = 2.0
    tries: Annotated[int, Field(ge=1, le=20)] = 6

    @property
    def text(self) -> str:
        return self.design


STEPS: tuple[type[LabTableModel], ...] = (
    Predict, LabRun, LabTable, Compare, Watch, Explore, Ask, Choose, Arrange, Write, Design,
)  # fmt: skip
KINDS = tuple(str(step.kind) for step in STEPS)  # type: ignore[attr-defined]


def _kind(raw: Any) -> str | None:
    """The key that says what a step is."""
    if isinstance(raw, dict):
        return next((kind for kind in KINDS if kind in raw), None)
    return getattr(raw, "kind", None)


Question = Ask | Choose | Arrange | Write | Design
Step = Annotated[
    Annotated[Predict, Tag("predict")]
    | Annotated[LabRun, Tag("run")]
    | Annotated[LabTable, Tag("table")]
    | Annotated[Compare, Tag("compare")]
    | Annotated[Watch, Tag("watch")]
    | Annotated[Explore, Tag("explore")]
    | Annotated[Ask, Tag("ask")]
    | Annotated[Choose, Tag("choose")]
    | Annotated[Arrange, Tag("order")]
    | Annotated[Write, Tag("write")]
    | Annotated[Design, Tag("design")],
    Discriminator(_kind),
]


class LabPart(LabTableModel):
    title: Text
    text: Text
    step: Annotated[tuple[Step, ...], Field(min_length=1, strict=False)]

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.step


class After(LabTableModel):
    """The end: a ``text`` for students, and what a ``teacher`` reads."""

    text: Text
    teacher: Text


class LabConstant(LabTableModel):
    """A number of the lab's texts that no run gives, as it is printed, and where it comes from."""

    value: Text
    source: Text


class Lab(LabTableModel):
    """``text``, ``after`` and the parts' texts are paragraphs, lists (``- ``) and blocks indented by four spaces.

    ``parameters``: the values of which each student has one; ``constants``: numbers with a source. ``figures``: rows
    of tables. ``seed`` is the one that it was drawn with, 0 for the lab as it is written, for ``student``.
    """

    name: str = ""
    seed: int = 0
    student: str | None = None
    title: Text
    minutes: Annotated[int, Field(ge=1, le=600)]
    version: Annotated[int, Field(ge=1)] = 1
    model: Text
    needs: Text
    aims: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]
    text: Text
    figures: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    parameters: Mapping[str, Annotated[tuple[Option, ...], Field(min_length=1, max_length=16, strict=False)]] = Field(
        default_factory=dict
    )
    constants: Mapping[str, LabConstant] = Field(default_factory=dict)
    part: Annotated[tuple[LabPart, ...], Field(min_length=1, strict=False)]
    after: After

    @model_validator(mode="after")
    def _few_draws(self) -> Self:
        count = 1
        for values in self.parameters.values():
            count *= len(values)
        if count > MOST_DRAWS:
            raise ValueError(f"the parameters have {count:,} draws together: at most {MOST_DRAWS} can be checked")
        return self

    @property
    def parts(self) -> tuple[LabPart, ...]:
        return self.part

    @property
    def values(self) -> dict[str, Option]:
        """The parameters' values: of a lab that was drawn each has one."""
        return {name: values[0] for name, values in self.parameters.items()}

    @property
    def steps(self) -> Iterator[Step]:
        """All steps, in order."""
        for part in self.part:
            yield from part.step

    @property
    def runs(self) -> dict[str, LabRun]:
        """All runs by name, in order."""
        return {step.run: step for step in self.steps if isinstance(step, LabRun)}

    @property
    def questions(self) -> list[Question]:
        """All questions, in order."""
        return [step for step in self.steps if isinstance(step, LabQuestion)]

    @property
    def answered(self) -> list[Predict | Question]:
        """All steps that a student types something to, but for runs with knobs."""
        return [step for step in self.steps if isinstance(step, Predict | LabQuestion)]

    @property
    def points(self) -> float:
        """All there are; texts, which a teacher reads, have none here."""
        return sum(question.points for question in self.questions if not isinstance(question, Write))
