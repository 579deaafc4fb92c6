"""The log of a tuning: a record for each trial in the order of proposal (:mod:`mcusim.record_log`).

Not modelled: two tunings that write one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mcusim.record_log import LogKind
from mcusim.tuning.config_space import KnobValue
from mcusim.tuning.trial import TrialResult


class TrialRecord(BaseModel):
    """One trial: ``trial`` counts a task's, from 0; ``predicted`` are the cycles that a cost model expected;
    ``seconds`` is the host's time, the one figure that changes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    task: str
    trial: int = Field(ge=0)
    config: dict[str, int | str]
    result: Literal["ok", "compile_error", "fault", "wrong_output", "does_not_fit", "timeout"]
    cycles: float | None = None
    causes: dict[str, float] = {}
    text: str = ""
    predicted: float | None = None
    seconds: float = 0.0

    @property
    def best_of(self) -> float:
        """Cycles to compare by: without a right output they are endless."""
        return self.cycles if self.cycles is not None else float("inf")

    @classmethod
    def of(
        cls, task: str, trial: int, config: Mapping[str, KnobValue], measured: TrialResult, predicted: float | None
    ) -> TrialRecord:
        """The record of a trial."""
        return cls(
            task=task, trial=trial, config=dict(config), result=measured.result, cycles=measured.cycles,
            causes=dict(measured.causes), text=measured.text, predicted=predicted, seconds=round(measured.seconds, 3),
        )  # fmt: skip


TUNING_LOG = LogKind("mcusim-tuning", "mcusim tune", "another tuning", "trial", TrialRecord)
