"""Two saved runs operator by operator."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.results import Result, to_json
from mcusim.results.saved.fail_if import parse_limit
from mcusim.results.saved.run_difference import RunDifference, compared
from mcusim.results.saved.saved_run import SavedRun, read_run, saved_run
from mcusim.run_config.settings import as_list, require_type

__all__ = ["diff"]

_WANTED = (str, Path, Result), "a Result or the path of a JSON file that `mcusim run --json` wrote"


def diff(
    first: str | Path | Result, second: str | Path | Result, *, fail_if: str | Iterable[str] | None = None
) -> RunDifference:
    """What ``second`` takes more than ``first``, in total and operator by operator, and why.

    Each is a result, or a file that ``mcusim run --json`` or :meth:`Result.save_json` wrote. Operators are matched by
    :func:`mcusim.results.saved.run_difference.matched`. ``fail_if`` are limits such as ``"latency +5 %"``
    (:func:`mcusim.results.saved.fail_if.parse_limit`); those that are exceeded are in ``RunDifference.exceeded``.

    Raises InputError for a file that is not the JSON of a run, UsageError for a limit that cannot be read. Not
    modelled: blame, as :func:`mcusim.results.difference.explain` says.
    """
    texts = [] if fail_if is None else as_list("fail_if", fail_if, ((str,), "a text such as 'latency +5 %'"))
    limits = [parse_limit(text) for text in texts]
    return compared(_run("first", first), _run("second", second), limits)


def _run(argument: str, value: str | Path | Result) -> SavedRun:
    require_type(argument, value, _WANTED)
    if isinstance(value, Result):
        return saved_run(to_json(value), f"{value.model} on {value.machine.name}, {value.policy}")
    if not str(value):
        raise UsageError(f"{argument} is empty: name a JSON file that `mcusim run --json` wrote")
    return read_run(value)
