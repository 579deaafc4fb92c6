"""What the page of ``mcusim validate`` has besides networks: accesses to memory, DMA, and programs that were tried.

None of it has an interval, and none counts in the errors of latency and energy.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.evidence.validate.table import ran
from mcusim.measurements.published.validation_result import Trial, ValidationRow
from mcusim.report.html.page import plain, table
from mcusim.text import percent, rounded

MEMORY = ("access", "copy", "dma")  # quantities of this section
_TITLES = {
    "access": "SDRAM, an access",
    "copy": "SDRAM, a copy",
    "dma": "DMA, a word, byte or burst",
}


def memory_section(rows: Sequence[ValidationRow]) -> str:
    """A table a run's rows, under their source and what was done in place of it; empty without rows that were run."""
    groups: dict[tuple[str, str, str], list[ValidationRow]] = {}
    for row in rows:
        if row.quantity in _TITLES and row.simulated is not None:
            where = f"{row.source}, {row.table}: {row.board}, {row.placement}"
            groups.setdefault((row.quantity, where, f"{ran(row)}: {row.why}"), []).append(row)
    parts = []
    for (quantity, where, why), own in groups.items():
        head = [f"{_TITLES[quantity]}, {plain(own[0].unit)}", "use", "measured", "simulated", "error"]
        lines = table(head, [_line(row) for row in own], left=2)
        parts.append(f"<p><b>{plain(where)}</b><br><span class=dim>{plain(why)}</span></p>{lines}")
    return f"<h2>Memory and DMA</h2>{''.join(parts)}" if parts else ""


def _line(row: ValidationRow) -> list[str]:
    return [plain(row.model), row.use, rounded(row.measured), rounded(row.simulated), percent(row.error)]


def trials_section(trials: Sequence[Trial]) -> str:
    """A table a trial, under what was tried and what measured it; empty without trials."""
    parts = []
    for trial in trials:
        rows = [
            [plain(row.name), f"{row.measured:,g}", f"{row.simulated:,g}", percent(row.error)] for row in trial.rows
        ]
        text = (
            f"{trial.machine}: {trial.tried}. Measured: {trial.source}. {trial.summary[0].upper()}{trial.summary[1:]}."
        )
        head = [f"in {plain(trial.unit)}", "measured", "simulated", "error"]
        parts.append(f"<p><b>{plain(trial.name)}</b><br><span class=dim>{plain(text)}</span></p>{table(head, rows)}")
    note = "<p>Not part of the project, used in no fit, and no run repeats them.</p>"
    return f"<h2>Programs tried</h2>{note}{''.join(parts)}" if parts else ""
