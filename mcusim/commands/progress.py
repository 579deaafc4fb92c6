"""What a waiting user sees on standard error, when that is a terminal; nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

__all__ = ["bar", "counting", "spinner"]

QUICK = 2.0  # seconds: a shorter run shows nothing


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


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """For runs over two seconds a bar over ``total`` instructions, without a total a spinner; yields the function to
    call with instructions and cycles so far."""
    if not sys.stderr.isatty():
        yield lambda instructions, cycles: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shape = [SpinnerColumn()] if total is None else [BarColumn(), TextColumn("{task.percentage:>3.0f} %")]
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        *shape,
        TextColumn("{task.completed:,.0f} instructions, {task.fields[cycles]:,} cycles"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bars.add_task(what, total=total, cycles=0)
    began = monotonic()

    def step(instructions: int, cycles: int) -> None:
        if monotonic() - began >= QUICK:
            bars.start()
            bars.update(task, completed=instructions, cycles=cycles)

    try:
        yield step
    finally:
        bars.stop()
