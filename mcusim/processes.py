"""Work that is distributed to processes, which end with the one that started them, however that ended.

Not modelled: what a process printed, and what it had done when it was killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from numbers import Integral
from threading import Thread, current_thread, main_thread
from typing import Any

from mcusim.errors import UsageError
from mcusim.plug_ins import PlugIn, all_known, remember

MOST_PROCESSES = 32  # each of them holds an emulator
SWALLOWED = 3  # times that a user's code may go on when its time is over


def cores() -> int:
    """Those that this process may use, where the system says."""
    allowed: Any = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def processes(jobs: object, usual: int = MOST_PROCESSES) -> int:
    """How many share the work: ``jobs``, or one a core but ``usual`` at most. Raises UsageError."""
    if jobs is None:
        return min(cores(), usual)
    if isinstance(jobs, bool) or not isinstance(jobs, Integral) or not 1 <= int(jobs) <= MOST_PROCESSES:
        raise UsageError(f"jobs = {repr(jobs)[:80]}: must be a whole number from 1 to {MOST_PROCESSES}, or None")
    return int(jobs)


@contextmanager
def pool(
    count: int, what: str, prepare: Callable[..., object] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """``count`` processes for ``what``, each of which calls ``prepare(*arguments)`` first.

    They are started afresh (``spawn``) by the first tasks, which are submitted inside :func:`deaf`. Whatever ends the
    block early ends the processes too. Raises UsageError, which names ``what``, when a process dies.
    """
    others = set(active_children())
    processes = ProcessPoolExecutor(count, get_context("spawn"), _begin, (all_known(), prepare, arguments))
    try:
        yield processes
    except BaseException as reason:
        processes.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - others:
            process.terminate()
        if isinstance(reason, BrokenProcessPool):
            raise UsageError(f"a process of {what} was killed, perhaps out of memory") from None
        raise
    processes.shutdown()


@contextmanager
def deaf() -> Iterator[None]:
    """What starts here never hears Ctrl-C, which is for this process: it does when this is over, unless it was started
    deaf itself (``nohup``)."""
    resource_tracker.ensure_running()  # which would let it through when it starts
    heard: list[int] = []
    # the thread that hears it, whichever one the system chooses
    ours = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number)) if ours else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if ours:
            signal.signal(signal.SIGINT, handler)
    if heard:
        raise KeyboardInterrupt


def _begin(plug_ins: Sequence[PlugIn], prepare: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    remember(plug_ins)
    Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


def _end_with_parent() -> None:
    """A process does not outlive who started it, however that ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class TooLongError(BaseException):
    """No error of the code's own, which it might handle."""


@contextmanager
def cpu_limited(seconds: float) -> Iterator[None]:
    """Raise TooLongError where a user's code does not end within ``seconds`` of the processor; only in a main thread,
    as workers and commands are."""

    with _limited(seconds, signal.ITIMER_VIRTUAL, signal.SIGVTALRM):
        yield


@contextmanager
def time_limited(seconds: float) -> Iterator[None]:
    """:func:`cpu_limited` by the clock on the wall: waiting counts."""
    with _limited(seconds, signal.ITIMER_REAL, signal.SIGALRM):
        yield


@contextmanager
def _limited(seconds: float, timer: int, number: signal.Signals) -> Iterator[None]:
    late_calls: list[int] = []

    def late(signal_number: int, _: object) -> None:
        late_calls.append(signal_number)
        if len(late_calls) > SWALLOWED:
            print("a user's code does not end, and handles every error that would end it", file=sys.__stderr__)
            os._exit(2)
        raise TooLongError

    try:
        before = signal.signal(number, late)
    except ValueError:  # not the main thread
        yield
        return
    signal.setitimer(timer, seconds, seconds)
    try:
        yield
        if late_calls:
            raise TooLongError
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
