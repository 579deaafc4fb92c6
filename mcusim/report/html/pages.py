"""The pages of runs by name, for ``--page``: ``page.py`` of each folder of ``report``, ``*_page.py`` of this one, where
they have a ``PAGE``.

Not modelled: the pages of memory plans, sweeps and validations, which are made of other data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol

from mcusim import report
from mcusim.errors import UsageError
from mcusim.plug_ins import PlugIn, guarded, installed, is_path, load_named, remember
from mcusim.report import html

if TYPE_CHECKING:
    from mcusim.results import Result


_KIND = "page"


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


def find_page(name: str) -> RunPage:
    """The page of that name, of a file by its path, or of an installed package. Raises UsageError."""
    pages = run_pages()
    if name in pages:
        return pages[name]
    points = installed(_KIND)
    if is_path(name) or name in points:
        value, plug_in = load_named(_KIND, name)
        page = getattr(value, "PAGE", None) if is_path(name) else value
        return _outside(page, name if is_path(name) else plug_in.file, plug_in)
    known = "; ".join([*(f"{page.name}: {page.shows}" for page in pages.values()), *points])
    raise UsageError(f"--page {name[:80]!r}: there is no such page ({known})")


def _outside(page: object, shown: str, plug_in: PlugIn) -> RunPage:
    """A page from outside the package, whose function may do anything."""
    if not isinstance(page, RunPage):
        raise UsageError(f"{shown}: has no PAGE that is a mcusim.report.html.pages.RunPage")
    remember([plug_in])

    def write(results: Sequence[Result]) -> str:
        with guarded(_KIND, page.name, plug_in.file):
            text: object = page.write(results)
        if not isinstance(text, str):
            raise UsageError(f"{shown}: page {page.name} returns a {type(text).__name__}, not a text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{shown}: page {page.name} returns what is no text of Unicode: {error.reason}") from None
        return text

    return replace(page, write=write)


def check_page(name: str | None, results: int) -> None:
    """Raise UsageError for a name that no page has, or a page that does not take that many ``results``."""
    if name is None:
        return
    page = find_page(name)
    if results > 1 and not page.several:
        raise UsageError(f"--page {name} shows one run; --fidelity both makes two")


def page_html(name: str | None, results: Sequence[Result]) -> str:
    """The page of that name; by default ``run`` of one result and ``compare`` of several. Raises UsageError."""
    check_page(name, len(results))
    return find_page(name or ("run" if len(results) == 1 else "compare")).write(results)


def result_page(result: Result) -> str:
    """The page of one run."""
    return page_html(None, [result])


def both_page(runs: _TwoRuns) -> str:
    """The page of one experiment under both fidelities."""
    return page_html("compare", [runs.replay, runs.emulate])


def rows_page(rows: _ResultRows) -> str:
    """The page of a comparison."""
    return page_html("compare", rows.rows)
