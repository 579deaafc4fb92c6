"""``mcusim validate``: every published measurement compared with the run that is closest to its experiment.

Not modelled: what the runs do not model, and whether a publication's binary was built like ours (``why`` of each row).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mcusim.evidence.validate.cache import OutcomeCache, cache_folder
from mcusim.evidence.validate.models import FoundModel, find, models_folder
from mcusim.evidence.validate.trials import trials_of
from mcusim.evidence.validate.validation_runs import perform
from mcusim.measurements.interval.coverage import coverage, row_intervals
from mcusim.measurements.interval.published_errors import PublishedError, published_errors, stored_errors
from mcusim.measurements.published.runs import Published, PublishedRun
from mcusim.measurements.published.stored import StoredOutcome, selected, stored_outcomes, with_outcomes
from mcusim.measurements.published.validation_result import Validation
from mcusim.processes import deaf, pool, processes
from mcusim.run_config.settings import require_type

USUAL = 8  # processes at most by default: each takes about 300 MB
Progress = Callable[[int, int], object]


def validate(
    source: str | None = None,
    board: str | None = None,
    models: str | Path | None = None,
    jobs: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> Validation:
    """Run what reproduces the published rows: all, or those whose source and board have the given texts in them.

    ``models`` is the folder of the model files that do not ship (default: MCUSIM_MODELS). ``jobs`` processes share the
    runs, by default as many as there are cores, at most eight; they are started afresh (``spawn``), so a script that
    calls this has to be importable (``if __name__ == "__main__":``). With ``cache`` a run is done again only when
    something that it depends on has changed (:mod:`mcusim.evidence.validate.cache`). ``progress`` is called with the
    runs done and all there are.

    A row whose model is not here, or whose run does not work, has its reason. Raises UsageError for arguments that
    cannot be used, and when a process dies.
    """
    rows = selected(source, board)
    require_type("models", models, ((str, Path, type(None)), "a folder or None"))
    folder, count = models_folder(models), processes(jobs, USUAL)
    entries = {run: find(run, folder) for run in _order(rows)}
    path = cache_folder() if cache else None
    kept = None if path is None else OutcomeCache(path)
    outcomes = _known(entries, kept)
    waiting = {run: model for run, model in entries.items() if run not in outcomes}
    if progress is not None:
        progress(len(outcomes), len(entries))
    with closing(_performed(waiting, count)) as performed:
        for done, (run, outcome) in enumerate(performed, len(outcomes) + 1):
            outcomes[run] = outcome
            if kept is not None:
                kept.put(run, entries[run].sha256, outcome)
            if progress is not None:
                progress(done, len(entries))
    return replace(_assembled(rows, outcomes), trials=trials_of(source, board))


def _known(models: Mapping[PublishedRun, FoundModel], kept: OutcomeCache | None) -> dict[PublishedRun, StoredOutcome]:
    """What need not be run: it was, or its model is not here."""
    outcomes = {}
    for run, model in models.items():
        known = kept.get(run, model.sha256) if kept is not None and model.reason is None else None
        if known is not None or model.reason is not None:
            outcomes[run] = known or StoredOutcome(reason=model.reason)
    return outcomes


def stored_validation(source: str | None = None, board: str | None = None) -> Validation:
    """The same from the figures that ship with mcusim, without running anything. Raises UsageError as :func:`validate`.

    They are as old as this version of mcusim, and those of all model files.
    """
    return replace(_assembled(selected(source, board), stored_outcomes()), trials=trials_of(source, board))


def _assembled(rows: Sequence[Published], outcomes: Mapping[PublishedRun, StoredOutcome]) -> Validation:
    validation_rows = with_outcomes(rows, outcomes)
    runs = dict.fromkeys(
        published_row.run for published_row in rows
    )  # in an order that does not depend on which of them ended first
    figures = {run.command: outcomes[run].figures for run in runs if run in outcomes and outcomes[run].figures}
    errors = published_errors(validation_rows, figures)
    more = _others(errors)
    ends = row_intervals(errors, more)
    return Validation(
        tuple(replace(row, interval=ends.get(row)) for row in validation_rows), figures, coverage(errors, more)
    )


def _others(errors: Sequence[PublishedError]) -> list[PublishedError]:
    """From the figures that ship, those of rows that were not asked for or not run."""
    known = {replace(error.row, simulated=None) for error in errors}
    return [stored_error for stored_error in stored_errors() if replace(stored_error.row, simulated=None) not in known]


def _order(rows: Sequence[Published]) -> list[PublishedRun]:
    """Each run once, in the order in which they are started: that of the file."""
    runs = dict.fromkeys(published_row.run for published_row in rows if published_row.run.cannot is None)
    return sorted(runs, key=lambda run: run.place)


def _performed(waiting: Mapping[PublishedRun, FoundModel], jobs: int) -> Generator[tuple[PublishedRun, StoredOutcome]]:
    """Each run with its outcome, as they end."""
    count = min(jobs, len(waiting))
    if count <= 1:
        for run, model in waiting.items():
            yield run, perform(run, model.model)
        return
    with pool(count, "the validation") as workers:
        with deaf():  # the first runs start the processes
            futures: dict[Future[StoredOutcome], PublishedRun] = {
                workers.submit(perform, run, model.model): run for run, model in waiting.items()
            }
        for future in as_completed(futures):
            yield futures[future], future.result()
