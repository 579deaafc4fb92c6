"""The pages of runs by name, for ``--page``: ``page.py`` of each folder of ``report``, ``*_page.py`` of this one, where
they have a ``PAGE``.

Not modelled: the pages of memory plans, sweeps and validations, which are made of other data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol

from mcusim import report
from mcusim.errors import UsageError
from mcusim.report import html

if TYPE_CHECKING:
    from mcusim.results import Result


class _ResultRows(Protocol):
    """Results in a table."""

    @property
    def rows(self) -> Sequence[Result]: ...


class _TwoRuns(Protocol):
    """One experiment under both fidelities."""

    @property
    def replay(self) -> Result: ...
    @property
    def emulate(self) -> Result: ...


@dataclass(frozen=True)
class RunPage:
    """One page: its ``name``, what it ``shows`` in a few words, and the function from results to HTML.

    ``several``: it takes more than one result; the others take the first alone.
    """

    name: str
    shows: str
    write: Callable[[Sequence[Result]], str]
    several: bool = False


@cache
def run_pages() -> Mapping[str, RunPage]:
    """All pages of runs by name, in alphabetical order."""
    folders = [module.name for module in iter_modules(report.__path__) if module.ispkg]
    nouns = [f"{name}.page" for name in folders if find_spec(f"{report.__name__}.{name}.page") and name != "html"]
    more = [f"html.{module.name}" for module in iter_modules(html.__path__) if module.name.endswith("_page")]
    result = (getattr(import_module(f"{report.__name__}.{name}"), "PAGE", None) for name in [*nouns, *more])
    return {page.name: page for page in sorted((page for page in result if page), key=lambda page: page.name)}


def check_page(name: str | None, results: int) -> None:
    """Raise UsageError for a name that no page has, or a page that does not take that many ``results``."""
    if name is None:
        return
    pages = run_pages()
    if name not in pages:
        known = "; ".join(f"{page.name}: {page.shows}" for page in pages.values())
        raise UsageError(f"--page {name[:80]!r}: there is no such page ({known})")
    if results > 1 and not pages[name].several:
        raise UsageError(f"--page {name} shows one run; --fidelity both makes two")


def page_html(name: str | None, results: Sequence[Result]) -> str:
    """The page of that name; by default ``run`` of one result and ``compare`` of several. Raises UsageError."""
    check_page(name, len(results))
    return run_pages()[name or ("run" if len(results) == 1 else "compare")].write(results)


def result_page(result: Result) -> str:
    """The page of one run."""
    return page_html(None, [result])


def both_page(runs: _TwoRuns) -> str:
    """The page of one experiment under both fidelities."""
    return page_html("compare", [runs.replay, runs.emulate])


def rows_page(rows: _ResultRows) -> str:
    """The page of a comparison."""
    return page_html("compare", rows.rows)
