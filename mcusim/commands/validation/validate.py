"""``mcusim validate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import Output, check_outputs, fail, write_bytes
from mcusim.commands.shared.progress import bar
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.measurements.published.validation_result import Validation

Models = Annotated[
    str | None,
    option("DIR", "Folder of the model files that do not ship. Default: that of MCUSIM_MODELS.", names="--models"),
]
Jobs = Annotated[
    int | None, option("N", "Processes. Default: one a core, at most 8.", names="--jobs -j", min=1, max=32)
]
Ledger = Annotated[bool, flag("--ledger", "What is modelled, what is not, and which tests pin it; nothing is run.")]


@grouped
def validate(
    source: Annotated[str | None, option("TEXT", "The publications that have TEXT in their name.")] = None,
    board: Annotated[str | None, option("TEXT", "The boards that have TEXT in their name.")] = None,
    models: Models = None,
    jobs: Jobs = None,
    no_cache: Annotated[bool, flag("--no-cache", "Do every run again, and keep nothing.")] = False,
    stored: Annotated[bool, flag("--stored", "The figures that ship with mcusim; nothing is run.")] = False,
    ledger: Ledger = False,
    html: Annotated[Path | None, option("FILE", "A page: how far off, every run in a table, plots.")] = None,
    *,
    written: Written,
) -> int:
    """Compare every published measurement with the run that is closest to its experiment.

    Rows that machine figures were fitted to (calibrate) and rows not used in any fit (validate) are counted apart. Rows
    that cannot be run here are listed with the reason. Results are kept in the user's cache (XDG_CACHE_HOME) until
    something that they depend on changes. Exit status 1: nothing could be run.

    \b
    Examples:
      mcusim validate
      mcusim validate --source TinyOps --html validation.html
      mcusim validate --board l4r5 --models models --json rows.json
      mcusim validate --stored
      mcusim validate --ledger
    """
    output, force = written.to(), written.force
    check_outputs([html] if html is not None else [], written.json, [], force)
    runs = {"--models": models, "--jobs": jobs, "--no-cache": no_cache or None}
    if ledger:
        _refuse("--ledger", {"--source": source, "--board": board, "--stored": stored or None, "--html": html, **runs})
        from mcusim.evidence.validate.ledger import ledger_json, ledger_table

        output.emit(ledger_table, ledger_json)
        return 0
    if stored:
        _refuse("--stored", runs)
        return _report(_stored(source, board), output, html, force)
    return _report(_run(source, board, models, jobs, no_cache), output, html, force)


def _report(validation: Validation, output: Output, html: Path | None, force: bool) -> int:
    """Write and print it; returns the exit status."""
    from mcusim.evidence.validate.table import validation_json, validation_table

    if html is not None:
        from mcusim.evidence.validate.page import validation_html

        write_bytes(html, validation_html(validation).encode(), force)
    output.emit(lambda: validation_table(validation), lambda: validation_json(validation))
    if validation.figures:
        return 0
    fail(f"none of {len(validation.rows)} rows was run; the first: {validation.rows[0].reason}")
    return 1


def _run(source: str | None, board: str | None, models: str | None, jobs: int | None, no_cache: bool) -> Validation:
    with bar("validating") as step:
        from mcusim.evidence.validate.validate import validate as find

        return find(source, board, models, jobs, cache=not no_cache, progress=step)


def _stored(source: str | None, board: str | None) -> Validation:
    from mcusim.evidence.validate.validate import stored_validation

    return stored_validation(source, board)


def _refuse(option: str, given: Mapping[str, object]) -> None:
    """Raise UsageError for what has no effect together with ``option``."""
    named = next((name for name, value in given.items() if value is not None), None)
    if named:
        raise UsageError(f"{option} runs nothing; {named} has no effect with it")
