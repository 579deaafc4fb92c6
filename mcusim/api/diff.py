"""Two saved runs operator by operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.results import Result, to_json
from mcusim.results.energy import Energy
from mcusim.results.measurement.interval import Ratios
from mcusim.results.saved.fail_if import parse_limit
from mcusim.results.saved.run_difference import RunDifference, compared
from mcusim.results.saved.saved_run import SavedRun, read_run, saved_run
from mcusim.run_config.settings import as_list, require_type

_WANTED = (str, Path, Result), "a Result or the path of a JSON file that `mcusim run --json` wrote"


def diff(
    first: str | Path | Result, second: str | Path | Result, *, fail_if: str | Iterable[str] | None = None
) -> RunDifference:
    """What ``second`` takes more than ``first``, in total and operator by operator, and why.

    Each is a result, or a file that ``mcusim run --json`` or :meth:`Result.save_json` wrote. Operators are matched by
    :func:`mcusim.results.saved.run_difference.matched`. ``fail_if`` are limits such as ``"latency +5 %"``
    (:func:`mcusim.results.saved.fail_if.parse_limit`); those that are exceeded are in ``RunDifference.exceeded``.

    The result has the intervals of the ratios too. Raises InputError for a file that is not the JSON of a run,
    UsageError for a limit that cannot be read. Not modelled: blame, as :func:`mcusim.results.difference.explain` says;
    ratios of files that mcusim wrote before it had intervals.
    """
    texts = [] if fail_if is None else as_list("fail_if", fail_if, ((str,), "a text such as 'latency +5 %'"))
    limits = [parse_limit(text) for text in texts]
    difference = compared(_run("first", first), _run("second", second), limits)
    return replace(difference, ratios=_ratios(difference))


def _ratios(difference: RunDifference) -> Ratios | None:
    """Of the second over the first; None of files that mcusim wrote before it had intervals."""
    from mcusim.measurements.interval.intervals import ratios

    sides = [(run.situation, _energy_of(run)) for run in (difference.second, difference.first)]
    second, first = ((features, energy) if features and energy else None for features, energy in sides)
    return None if first is None or second is None else ratios(second, first)


def _energy_of(run: SavedRun) -> Energy | None:
    latency, joules, current = (run.figures.get(name) for name in ("latency", "energy", "current"))
    if latency is None or joules is None:
        return None
    return Energy(latency, joules, current or 0.0)


def _run(argument: str, value: str | Path | Result) -> SavedRun:
    require_type(argument, value, _WANTED)
    if isinstance(value, Result):
        return saved_run(to_json(value), f"{value.model} on {value.machine.name}, {value.policy}")
    if not str(value):
        raise UsageError(f"{argument} is empty: name a JSON file that `mcusim run --json` wrote")
    return read_run(value)
