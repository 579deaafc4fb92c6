"""The same program under the disturbances of many seeds: every one of them has to give the same outputs.

The seeds are shared out among processes; what comes of each depends on the seed alone, so the number of processes
changes nothing. Left out: what :mod:`mcusim.engine.disturb` leaves out.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from threading import Thread, current_thread, main_thread
from typing import Any

from mcusim.engine.disturb import Disturbance
from mcusim.errors import UsageError
from mcusim.report.verification import SeedOutcome
from mcusim.study.emulation import Emulation, Outputs
from mcusim.study.equivalence import first_difference

__all__ = ["fuzz"]

MOST_PROCESSES = 32  # each of them holds an emulator
SEEDS_EACH = 3  # at least, unless a number of processes is asked for
QUEUED = 4  # seeds for each process


def fuzz(
    emulation: Emulation,
    seeds: Sequence[int],
    reference: Outputs,
    processes: int | None = None,
    progress: Callable[[object], object] | None = None,
) -> list[SeedOutcome]:
    """Run ``emulation`` under the disturbances of each of ``seeds``, which also make memory and cache as a second
    inference finds them, and compare its outputs with those of an undisturbed run.

    In ``processes`` processes, by default as many as there are cores and a few seeds for each; they are started anew
    (``spawn``), so a script that calls this has to be importable (``if __name__ == "__main__":``). ``progress`` is
    called with each outcome.
    Returns the outcomes in the order of the seeds. Raises what a run raises, UsageError when a process dies.
    """
    wanted = processes or min(_cores(), len(seeds) // SEEDS_EACH)
    count = min(wanted, len(seeds), MOST_PROCESSES)
    found = []
    with _outcomes(emulation, seeds, reference, count) as outcomes:
        for outcome in outcomes:
            found.append(outcome)
            if progress is not None:
                progress(outcome)
    return found


def _cores() -> int:
    """Those that this process may use, where the system says."""
    allowed: Any = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


@contextmanager
def _outcomes(
    emulation: Emulation, seeds: Sequence[int], reference: Outputs, count: int
) -> Iterator[Iterator[SeedOutcome]]:
    """The outcomes as they come; whatever ends this early ends the processes too."""
    if count <= 1:
        yield (_outcome(emulation, reference, seed) for seed in seeds)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(count, get_context("spawn"), _prepare, (emulation, reference))
    try:
        with _deaf():  # the first seeds start the processes
            first = [pool.submit(_prepared, seed) for seed in seeds[:count]]
        yield _mapped(pool, first, seeds)
    except BaseException as reason:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - others:
            process.terminate()
        if isinstance(reason, BrokenProcessPool):
            raise UsageError("a process of the fuzzing was killed, perhaps for want of memory") from None
        raise
    pool.shutdown()


def _mapped(
    pool: ProcessPoolExecutor, first: Sequence[Future[SeedOutcome]], seeds: Sequence[int]
) -> Iterator[SeedOutcome]:
    """The outcomes in order, of the ``first`` seeds and of the others, of which only a few are queued at a time."""
    queued = deque(first)
    for seed in seeds[len(first) :]:
        queued.append(pool.submit(_prepared, seed))
        if len(queued) > QUEUED * len(first):
            yield queued.popleft().result()
    while queued:
        yield queued.popleft().result()


@contextmanager
def _deaf() -> Iterator[None]:
    """What starts here never hears Ctrl-C, which is for this process: it does when this is over, unless it was started
    deaf itself (``nohup``)."""
    resource_tracker.ensure_running()  # which would let it through when it starts
    heard: list[int] = []
    # the thread that hears it, whichever one the system tells
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


_shared: list[tuple[Emulation, Outputs]] = []  # of a process that fuzzes: what all of its seeds run


def _prepare(emulation: Emulation, reference: Outputs) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    _shared.append((emulation, reference))


def _end_with_parent() -> None:
    """A process of the fuzzing does not outlive who started it, however that ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _prepared(seed: int) -> SeedOutcome:
    return _outcome(*_shared[0], seed)


def _outcome(emulation: Emulation, reference: Outputs, seed: int) -> SeedOutcome:
    outcome = emulation.run(seed, Disturbance(seed))
    difference = first_difference(emulation.program, emulation.graph, outcome.outputs, reference)
    return SeedOutcome(seed, difference, None if outcome.fault is None else str(outcome.fault), outcome.observed)
