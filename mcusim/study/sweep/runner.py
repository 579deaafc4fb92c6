"""Who computes the points: this process, processes of this computer, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from mcusim.study.processes import deaf, pool
from mcusim.study.sweep.point import Batch, Done, Work, perform

__all__ = ["Runner", "local"]

AHEAD = 3  # batches that wait for each process, so that none is idle


class Runner(Protocol):
    """Computes batches; yields the rows of each as it ends."""

    def __call__(self, work: Work, batches: Sequence[Batch]) -> Generator[list[Done]]: ...


def local(jobs: int) -> Runner:
    """``jobs`` processes of this computer; one is this process."""

    def run(work: Work, batches: Sequence[Batch]) -> Generator[list[Done]]:
        count = min(jobs, len(batches))
        return _shared(work, batches, count) if count > 1 else _alone(work, batches)

    return run


def _alone(work: Work, batches: Sequence[Batch]) -> Generator[list[Done]]:
    for batch in batches:
        yield perform(work, batch)


def _shared(work: Work, batches: Sequence[Batch], count: int) -> Generator[list[Done]]:
    with pool(count, "the sweep") as processes:
        waiting: set[Future[list[Done]]] = set()
        rest = iter(batches)
        while True:
            with deaf():
                while len(waiting) < AHEAD * count and (batch := next(rest, None)) is not None:
                    waiting.add(processes.submit(perform, work, batch))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
