"""What a waiting user sees on standard error, when that is a terminal; nothing otherwise."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

__all__ = ["Counter", "bar", "bar_with_eta", "bar_with_rate", "counting", "counting_bar", "spinner", "spinner_with_bar"]

QUICK = 2.0  # seconds: a shorter run shows nothing
BESIDE = 50  # columns that a bar, its numbers and the time left take


def _short(what: str) -> str:
    """``what`` with its middle left out where a terminal has no room for all of it next to a bar."""
    from rich.console import Console

    room = max(Console(stderr=True).width - BESIDE, 20)
    return what if len(what) <= room else f"{what[:9]}…{what[len(what) + 10 - room :]}"


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[object], None] | None]:
    """A progress bar over ``total`` steps; yields the function to call at each, or None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(_short(what), total=total)
        yield lambda _: progress.advance(task)


@contextmanager
def bar_with_rate(what: str, total: int, unit: str) -> Iterator[Callable[[object], None] | None]:
    """:func:`bar` with the count, the time left and how many ``unit`` are done a second."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    began = monotonic()
    found = [TextColumn("{task.description}", markup=False), BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn()]
    rate = TextColumn("{task.fields[rate]}")
    with Progress(*found, rate, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(_short(what), total=total, rate="")
        done = 0

        def step(_: object) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, rate=f"{_rate(done / (monotonic() - began))} {unit}/s")

        yield step


@contextmanager
def bar_with_eta(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with the count, the time left and how many ``unit`` are done a second; yields the function to call with how
    much is done, and of how much. What was done at the first call counts for neither."""
    if not sys.stderr.isatty():
        yield lambda _done, _count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    found = [TextColumn("{task.description}", markup=False), BarColumn(20), MofNCompleteColumn()]
    pace = TextColumn("{task.fields[pace]}")
    with Progress(*found, pace, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(_short(what), total=None, pace="")
        first: list[tuple[int, float]] = []

        def step(done: int, count: int) -> None:
            if not first:
                first.append((done, monotonic()))
            new, seconds = done - first[0][0], monotonic() - first[0][1]
            left = f", {_clock((count - done) * seconds / new)} left" if new else ""
            rate = f"{_rate(new / seconds)} {unit}/s{left}" if new and seconds else ""
            progress.update(task, completed=done, total=count, pace=rate)

        yield step


def _rate(rate: float) -> str:
    return f"{rate:.2g}" if rate < 10 else f"{rate:,.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


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
def counting_bar(what: str, unit: str) -> Iterator[Callable[[object], None] | None]:
    """A spinner for steps whose number is not known, with the count so far; yields the function to call at each."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    done = 0
    with Console(stderr=True).status(what) as status:

        def step(_: object) -> None:
            nonlocal done
            done += 1
            status.update(f"{what}: {done} {unit}")

        yield step


@contextmanager
def spinner_with_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar that pulses until the first step says how much is done, and of how much; yields the function for that."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    named = _short(what).replace("[", "\\[")
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(named, total=None)

        def wait() -> None:
            progress.update(task, description=f"{named}: compiling the emulator, at its first start only")

        def step(done: int, total: int) -> None:
            compiling.cancel()
            progress.update(task, completed=done, total=total, description=named)

        compiling = threading.Timer(2 * QUICK, wait)
        compiling.daemon = True
        compiling.start()
        try:
            yield step
        finally:
            compiling.cancel()


class Counter:
    """Instructions and simulated time of a program that runs for over two seconds: a bar over ``total`` instructions,
    without a total a spinner; before the first instruction, that native code is being compiled. Nothing when standard
    error is no terminal. ``line_is_open``: the program's output ends within a line of the terminal, which a bar there
    would wipe out."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total, self._began = what, total, monotonic()
        self._bars: Any = None
        self._status: Any = None
        self._lock = threading.Lock()
        self._compiling = threading.Timer(QUICK, self._wait)
        self._compiling.daemon = True
        self.line_is_open = False
        if sys.stderr.isatty():
            self._compiling.start()

    def _wait(self) -> None:
        """Nothing has run yet: the first start after an installation or an upgrade compiles for some time."""
        from rich.console import Console

        with self._lock:
            if not self._compiling.finished.is_set():
                self._status = Console(stderr=True).status("compiling the emulator, at its first start only")
                self._status.start()

    def _running(self) -> None:
        self._compiling.cancel()
        with self._lock:
            if self._status is not None:
                self._status.stop()
                self._status = None

    def step(self, instructions: int, seconds: float) -> None:
        """Show how far the program has come."""
        self._running()
        if self.line_is_open or not sys.stderr.isatty() or monotonic() - self._began < QUICK:
            return
        self._bars = self._bars or self._build()
        self._bars.start()
        self._bars.update(self._bars.task_ids[0], completed=instructions, time=f"{seconds:.3f} s")

    def clear(self) -> None:
        """Remove it from the terminal; the next step shows it again."""
        self._running()
        if self._bars is not None:
            self._bars.stop()

    def _build(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        known = [BarColumn(20), TextColumn("{task.percentage:>3.0f} %")]
        bars = Progress(
            TextColumn("{task.description}", markup=False),
            *([SpinnerColumn()] if self._total is None else known),
            TextColumn("{task.completed:,.0f} instructions, {task.fields[time]} simulated"),
            console=Console(stderr=True),
            transient=True,
        )
        bars.add_task(_short(self._what), total=self._total, time="0.000 s")
        return bars


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Counter]:
    """A :class:`Counter` that is gone from the terminal afterwards."""
    counter = Counter(what, total)
    try:
        yield counter
    finally:
        counter.clear()
