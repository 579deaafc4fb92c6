"""The published rows compared with figures: from runs, or as they ship with mcusim.

Not modelled: how far off each may be (:mod:`mcusim.measurements.interval`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from mcusim.errors import UsageError
from mcusim.measurements.published.runs import Published, PublishedRun, published
from mcusim.measurements.published.validation_result import ValidationRow
from mcusim.plan.policies.tinyops import VARIANT
from mcusim.run_config.settings import NameArg, require_type

STORED = (
    "validation.json"  # the figures that ship, in this folder: by command, as scripts/evidence/validation wrote them
)
FIGURES = {  # the figure of a published quantity, and how many of its units one of the published unit is
    ("latency", "ms"): ("latency_ms", 1.0),
    ("supply_current", "mA"): ("supply_current_ma", 1.0),
    ("energy", "mJ"): ("energy_mj", 1.0),
    ("energy", "uJ"): ("energy_mj", 1e-3),
    ("arena", "KB"): ("arena_bytes", 1e3),
    ("peak_activations", "KB"): ("peak_bytes", 1e3),
    ("peak_activations", "B"): ("peak_bytes", 1.0),
    ("access", "HCLK"): ("cycles_per_access", 1.0),
    ("copy", "ms"): ("copy_ms", 1.0),
    ("dma", "cycles"): ("cycles_per_access", 1.0),
    ("macs", "M"): ("macs", 1e6),
    ("file_size", "MB"): ("file_bytes", 1e6),
}


@dataclass(frozen=True)
class StoredOutcome:
    """``figures`` by name, or why there are none."""

    figures: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None


def selected(source: str | None, board: str | None) -> list[Published]:
    """The rows whose source and board have these texts in them, in any case. Raises UsageError when none has."""
    rows = list(published())
    for column, wanted in (("source", source), ("board", board)):
        if wanted is None:
            continue
        require_type(column, wanted, NameArg)
        kept = [
            published_row
            for published_row in rows
            if wanted and wanted.casefold() in published_row.row[column].casefold()
        ]
        if not kept:
            known = dict.fromkeys(published_row.row[column] for published_row in rows if published_row.row[column])
            raise UsageError(f"--{column} {wanted[:80]!r} is part of none of: {', '.join(known)}")
        rows = kept
    return rows


def with_outcomes(
    rows: Sequence[Published], outcomes: Mapping[PublishedRun, StoredOutcome]
) -> tuple[ValidationRow, ...]:
    """``rows`` with what their runs gave, without an interval."""
    return tuple(
        _row(published_row, outcomes.get(published_row.run) or StoredOutcome(reason=published_row.run.cannot))
        for published_row in rows
    )


def stored_outcomes() -> dict[PublishedRun, StoredOutcome]:
    """What ships with mcusim, for every run that can be done."""
    text = files("mcusim.measurements.published").joinpath(STORED).read_text(encoding="utf-8")
    figures: Mapping[str, Mapping[str, float]] = json.loads(text)
    nothing = StoredOutcome(reason="no figures of it ship; scripts/evidence/validation writes them")
    runs = (published_row.run for published_row in published() if published_row.run.cannot is None)
    return {run: StoredOutcome(figures[run.command]) if run.command in figures else nothing for run in runs}


@cache
def stored_rows() -> tuple[ValidationRow, ...]:
    """All rows compared with the figures that ship."""
    return with_outcomes(published(), stored_outcomes())


def _row(published_row: Published, outcome: StoredOutcome) -> ValidationRow:
    row, run = published_row.row, published_row.run
    figure, factor = FIGURES[row["quantity"], row["unit"]]
    simulated = outcome.figures.get(figure)
    return ValidationRow(
        source=row["source"],
        table=", ".join(published_row.tables),
        board=row["board"],
        model=row["model"],
        engine=row["engine"],
        build=row["kernels"],
        placement=row["placement"],
        quantity=row["quantity"],
        unit=row["unit"],
        use=published_row.use,
        measured=float(row["value"]),
        simulated=None if simulated is None else simulated / factor,
        kernels=run.kernels,
        fidelity=run.fidelity,
        machine=run.machine,
        policy=run.policy,
        variant=dict(run.options).get(VARIANT.name, ""),
        run=run.command,
        why=run.why,
        reason=outcome.reason,
    )
