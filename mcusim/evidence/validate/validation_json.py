"""Published measurements beside simulated figures as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mcusim.evidence.published.validation_result import Validation

__all__ = ["validation_json"]


def validation_json(validation: Validation) -> dict[str, Any]:
    """``rows`` as :class:`~mcusim.evidence.published.validation_result.ValidationRow`, with their ``error``;
    ``summary`` as :class:`~mcusim.evidence.published.validation_result.Statistics`; ``runs``, all figures of each run
    by the command that repeats it.

    Errors are in percent of the measurement. ``simulated``, ``error`` and ``confidence`` are null where ``reason`` says
    why there is no run.
    """
    return {
        "rows": [{**asdict(row), "error": row.error} for row in validation.rows],
        "summary": [asdict(one) for one in validation.summary],
        "runs": {run: dict(figures) for run, figures in validation.figures.items()},
    }
