"""What the page of ``mcusim validate`` has besides networks: accesses to memory, DMA, and programs that were tried.

None of it has an interval, and none counts in the errors of latency and energy.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.evidence.published.validation_result import Trial, ValidationRow
from mcusim.evidence.validate.table import ran
from mcusim.report.html.page import plain, table
from mcusim.text import percent, rounded

__all__ = ["MEMORY", "memory_section", "trials_section"]

MEMORY = ("access", "copy", "dma")  # quantities of this section
_TITLES = {
    "access": "SDRAM, an access",
    "copy": "SDRAM, a copy",
    "dma": "DMA, a word, byte or burst",
}


def memory_section(rows: Sequence[ValidationRow]) -> str:
    """A table a quantity of :data:`MEMORY`; empty without rows that were run."""
    parts = []
    for quantity, title in _TITLES.items():
        own = [row for row in rows if row.quantity == quantity and row.simulated is not None]
        if own:
            head = [f"{title}, {plain(own[0].unit)}", "board", "source", "use", "run", "measured", "simulated", "error"]
            parts.append(table(head, [_line(row) for row in own], left=5))
    return f"<h2>Memory and DMA</h2>{''.join(parts)}" if parts else ""


def _line(row: ValidationRow) -> list[str]:
    run = f"{plain(ran(row))}<br><span class=dim>{plain(row.why)}</span>"
    texts = [plain(f"{row.model}; {row.placement}"), plain(row.board), plain(f"{row.source}, {row.table}"), row.use]
    return [*texts, run, rounded(row.measured), rounded(row.simulated), percent(row.error)]


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
        parts.append(f"<h3>{plain(trial.name)}</h3><p class=dim>{plain(text)}</p>{table(head, rows)}")
    note = "<p>Not part of the project; nothing was fitted to them, and no run repeats them.</p>"
    return f"<h2>Programs tried</h2>{note}{''.join(parts)}" if parts else ""
