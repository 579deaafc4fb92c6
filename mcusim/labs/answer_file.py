"""Answer files that students hand in, read as from strangers: what is wrong is said, nothing in them is obeyed.

What was typed is judged again: points that a file claims are not taken from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.labs.chain import chain_begin, chained
from mcusim.labs.draw import MOST_SEED, seed_of
from mcusim.machine.document import show
from mcusim.validation_errors import rule_of

LARGEST = 1 << 20
_DEEPEST = "is nested too deep"


class AnswerModel(BaseModel):
    """A part of an answer file: no other types; other keys are left alone."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class GivenAnswer(AnswerModel):
    """``typed`` has all that was an answer, the last one last; ``hints``: how many were asked for; ``hashes``: of each
    try (:mod:`mcusim.labs.chain`), None in the file of an older version."""

    id: Annotated[str, Field(min_length=1, max_length=80)]
    typed: Annotated[tuple[Annotated[str, Field(max_length=4000)], ...], Field(max_length=100, strict=False)]
    hints: Annotated[int, Field(ge=0, le=1000)] = 0
    hashes: Annotated[tuple[Annotated[str, Field(max_length=16)], ...], Field(max_length=100, strict=False)] | None = (
        None
    )


class GivenPrediction(AnswerModel):
    predicted: Annotated[float, Field(allow_inf_nan=False)]
    simulated: Annotated[float, Field(allow_inf_nan=False)] | None = None


class AnswerFile(AnswerModel):
    """What ``mcusim lab --json`` and a lab's page write (:meth:`~mcusim.labs.terminal.Session.to_json`)."""

    lab: Annotated[str, Field(min_length=1, max_length=80)]
    version: int
    student: Annotated[str, Field(max_length=80)] | None
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)]
    started: Annotated[str, Field(max_length=40)]
    ended: Annotated[str, Field(max_length=40)]
    finished: bool
    points: Annotated[float, Field(allow_inf_nan=False)]
    answers: Annotated[tuple[GivenAnswer, ...], Field(max_length=200, strict=False)]
    seal: Annotated[str, Field(max_length=16)] | None = None
    predictions: Annotated[Mapping[str, GivenPrediction], Field(max_length=200)] = Field(default_factory=dict)

    @property
    def minutes(self) -> float | None:
        """From the start to the end; None where these are no times."""
        try:
            passed = datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.started)
        except (ValueError, TypeError):  # one of them with a zone, the other without
            return None
        return passed.total_seconds() / 60

    @property
    def tampered(self) -> str:
        """Where the hashes say that something was cut out or changed; empty for nowhere, or a file without them."""
        if self.seal is None and all(item.hashes is None for item in self.answers):
            return ""
        given = [(item.id, item.typed, item.hints) for item in self.answers]
        hashes, seal = chained(chain_begin(self.lab, self.version, self.seed), given)
        for answer, own in zip(self.answers, hashes, strict=True):
            if list(answer.hashes or ()) != own:
                return f"at {show(answer.id)[:80]} or before it"
        return "" if seal == self.seal else "at its end"

    def disagreements(self) -> list[str]:
        """What the file says of itself that cannot be."""
        disagreements = []
        if self.student is not None:
            try:
                own = seed_of(self.student)
            except UsageError:
                return ["student: a name or number of 1 to 80 characters"]
            if own != self.seed:
                disagreements.append(f"seed = {self.seed}: that of {show(self.student)} is {own}")
        ids = [answer.id for answer in self.answers]
        disagreements += [f"answers: {show(id)} is there twice" for id in dict.fromkeys(ids) if ids.count(id) > 1]
        return disagreements


def read_answer_file(path: Path) -> AnswerFile:
    """The answer file at ``path``. Raises UsageError that names the file and what is wrong first, and how much more."""
    data = read_guarded(path, LARGEST, UsageError, too_large=", the most an answer file may have")
    try:
        raw = json.loads(utf8_text(data, UsageError, path))
    except ValueError as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{path}{line}: is not JSON, and so no answer file") from None
    except RecursionError:
        raise UsageError(f"{path}: {_DEEPEST}") from None
    try:
        answer_file = AnswerFile.model_validate(raw)
    except ValidationError as error:
        rules = [_rule(error) for error in error.errors()]
        more = f", and {len(rules) - 1} more" if len(rules) > 1 else ""
        raise UsageError(f"{path}: {rules[0]}{more}") from None
    wrong = answer_file.disagreements()
    if wrong:
        raise UsageError(f"{path}: {'; '.join(wrong)}")
    return answer_file


def _rule(error: Any) -> str:
    key = ".".join(str(item) for item in error["loc"])[:80] or "the file"
    value = error["input"]
    plain = isinstance(value, str | int | float | bool) and error["type"] != "missing"
    return f"{key}{f' = {show(value)}' if plain else ''}: {rule_of(error)}"
