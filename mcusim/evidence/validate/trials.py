"""Programs that are not part of the project and were tried outside it: what was measured, what the emulated core makes.

The trials are ``trials.toml`` in this folder, which says of each what was compiled, how it was run, and the source of
the measured figures. They were used in no fit. Not modelled: the trial itself; no test repeats it, since neither the
programs nor what builds them are here, and a figure stays as it was found until somebody tries again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from mcusim.measurements.published.validation_result import Trial, TrialRow

_TITLE = "Programs tried"
_HEAD = "They are not part of the project, were used in no fit, and no test repeats them."


@cache
def trials() -> tuple[Trial, ...]:
    """All of them, in the order of the file."""
    data = tomllib.loads(files("mcusim.evidence.validate").joinpath("trials.toml").read_text(encoding="utf-8"))
    return tuple(
        Trial(**{key: table[key] for key in ("name", "machine", "unit", "tried", "source")}, rows=_rows(table["rows"]))
        for table in data["trial"]
    )


def _rows(rows: list[list[object]]) -> tuple[TrialRow, ...]:
    return tuple(TrialRow(str(name), float(str(measured)), float(str(simulated))) for name, measured, simulated in rows)


def trials_of(source: str | None, board: str | None) -> tuple[Trial, ...]:
    """Those whose source and machine have these texts in them, in any case."""
    return tuple(
        trial
        for trial in trials()
        if (source or "").casefold() in trial.source.casefold() and (board or "").casefold() in trial.machine.casefold()
    )


def trials_json(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """``trials`` as plain data, each row with its ``error`` in percent."""
    return [{**asdict(trial), "rows": [{**asdict(row), "error": row.error} for row in trial.rows]} for trial in trials]


def trials_summary(trials: Sequence[Trial]) -> list[str]:
    """A line each: what ``mcusim validate`` prints of ``trials``; nothing without any."""
    from mcusim.text import columns, percent

    if not trials:
        return []
    rows = [["programs tried", "machine", "rows", "bias", "worst"]]
    rows += [
        [trial.name, trial.machine, str(len(trial.rows)), percent(trial.bias), percent(trial.worst)] for trial in trials
    ]
    return ["Programs that are no part of mcusim; --ledger and --json have each figure", *columns(rows, left=2), ""]


def trials_table(width: int) -> Iterator[str]:
    """The lines that ``mcusim validate --ledger`` prints, ``width`` columns wide."""
    from textwrap import wrap

    from mcusim.text import columns

    yield from wrap(f"{_TITLE}. {_HEAD}", width)
    for trial in trials():
        yield from ("", *wrap(f"{trial.name} on {trial.machine}: {trial.tried}. Measured: {trial.source}", width))
        rows = [[f"in {trial.unit}", "measured", "simulated", "error"]]
        rows += [[r.name, f"{r.measured:,g}", f"{r.simulated:,g}", f"{r.error:+.1f} %"] for r in trial.rows]
        yield from columns(rows, left=1)
        yield f"  {trial.summary}"


def trials_markdown() -> Iterator[str]:
    """The lines of the section in the ledger's page."""
    yield from (f"## {_TITLE}", "", _HEAD)
    for trial in trials():
        yield from ("", f"### {trial.name}", "", f"{trial.machine}. {trial.tried}. Measured: {trial.source}.", "")
        yield from (f"| | measured ({trial.unit}) | simulated | error |", "|---|---|---|---|")
        for row in trial.rows:
            yield f"| {row.name} | {row.measured:,g} | {row.simulated:,g} | {row.error:+.1f} % |"
        yield from ("", f"{trial.summary[0].upper()}{trial.summary[1:]}.")
