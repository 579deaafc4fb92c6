"""What a waiting user sees on standard error, when that is a terminal; nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic
from typing import Any

from mcusim.native.compile_progress import on_compile
from mcusim.text import printable

NATIVE = "compiling native code, once after installation"
QUICK = 2.0  # seconds: a shorter run shows nothing
BAR_COLUMNS = 50  # columns that a bar, its numbers and the time left take


_renames: list[Callable[[str | None], object]] = []  # of what is on the terminal, the latest last


@contextmanager
def _renamed(rename: Callable[[str | None], object]) -> Iterator[None]:
    """What is on the terminal in this block: ``rename`` gives it another name, None its own."""
    _renames.append(rename)
    try:
        yield
    finally:
        _renames.remove(rename)


class _CompilingNotice:
    """Says that native code is being compiled: in the bar or spinner that is there, else in one of its own; where
    standard error is no terminal in one line, once."""

    def __init__(self) -> None:
        self._count = 0
        self._status: Any = None

    def __call__(self, name: str | None) -> None:
        if name is None:
            self._ended()
            return
        self._count += 1
        if not sys.stderr.isatty():
            if self._count == 1:
                print(f"{NATIVE} …", file=sys.stderr, flush=True)
            return
        text = f"{NATIVE}: {name}"
        if _renames:
            _renames[-1](text)
        else:
            from rich.console import Console

            self._status = Console(stderr=True).status(text)
            self._status.start()

    def _ended(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
        elif _renames:
            _renames[-1](None)


@contextmanager
def native_code() -> Iterator[None]:
    """A command that may compile native code: the user sees that it does."""
    on_compile(_CompilingNotice(), lambda text: print(text, file=sys.stderr))
    try:
        yield
    finally:
        on_compile(None)


def _short(what: str) -> str:
    """``what`` with its middle left out where a terminal has no room for all of it next to a bar."""
    from rich.console import Console

    what, room = printable(what), max(Console(stderr=True).width - BAR_COLUMNS, 20)
    return what if len(what) <= room else f"{what[:9]}…{what[len(what) + 10 - room :]}"


@contextmanager
def bar(what: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
    """A bar that pulses until the function that it yields is called with how much is done, and of how much (0: nobody
    knows). It shows the time left and how many ``unit`` are done a second, without one per cent; what was done at the
    first call counts for neither."""
    if not sys.stderr.isatty():
        yield lambda _done, _count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    amount = MofNCompleteColumn() if unit else TextColumn("{task.percentage:>3.0f} %")
    columns = TextColumn("{task.description}", markup=False), BarColumn(20), amount, TextColumn("{task.fields[pace]}")
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(_short(what), total=None, pace="")
        first: list[tuple[int, float]] = []

        def step(done: int, count: int) -> None:
            if not first:
                first.append((done, monotonic()))
            new, seconds = done - first[0][0], monotonic() - first[0][1]
            pace = [f"{_rate(new / seconds)} {unit}/s"] if unit and new and seconds else []
            pace += [f"{_clock((count - done) * seconds / new)} left"] if new and count else []
            progress.update(task, completed=done, total=count or None, pace=", ".join(pace))

        with _renamed(lambda text: progress.update(task, description=text or _short(what))):
            yield step


@contextmanager
def bar_of_steps(what: str, unit: str, total: int = 0) -> Iterator[Callable[[object], None]]:
    """:func:`bar` over ``total`` steps (0: nobody knows); yields the function to call at each."""
    with bar(what, unit) as step:
        numbers = count()
        step(next(numbers), total)
        yield lambda _: step(next(numbers), total)


def _rate(rate: float) -> str:
    return f"{rate:.2g}" if rate < 10 else f"{rate:,.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """A spinner for work without steps."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    what = printable(what).replace("[", "\\[")
    with Console(stderr=True).status(what) as status, _renamed(lambda text: status.update(text or what)):
        yield


class Counter:
    """Instructions and simulated time of a program that runs for over two seconds: a bar over ``total`` instructions,
    without a total a spinner. Nothing when standard error is no terminal. ``line_is_open``: the program's output ends
    within a line of the terminal, which a bar there would wipe out."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total, self._began = what, total, monotonic()
        self._shown = what
        self._bars: Any = None
        self.line_is_open = False

    def step(self, instructions: int, seconds: float) -> None:
        """Show how far the program has come."""
        if self.line_is_open or not sys.stderr.isatty() or monotonic() - self._began < QUICK:
            return
        self._bars = self._bars or self._build()
        self._bars.start()
        self._bars.update(self._bars.task_ids[0], completed=instructions, time=f"{seconds:.3f} s")

    def rename(self, stage: str) -> None:
        """Another run of the same program begins."""
        self.clear()
        self._bars, self._shown = None, f"{self._what}: {stage}"

    def clear(self) -> None:
        """Remove it from the terminal; the next step shows it again."""
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
        bars.add_task(_short(self._shown), total=self._total, time="0.000 s")
        return bars


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Counter]:
    """A :class:`Counter` that is gone from the terminal afterwards."""
    counter = Counter(what, total)
    try:
        yield counter
    finally:
        counter.clear()
