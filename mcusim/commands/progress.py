"""What a waiting user sees on standard error, when that is a terminal; nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["bar", "spinner"]


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[object], None] | None]:
    """A progress bar over ``total`` steps; yields the function to call at each, or None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda _: progress.advance(task)


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """A spinner for work without steps: the first run after an installation compiles native code for some seconds."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
