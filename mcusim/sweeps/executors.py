"""Who computes the points: this process, processes of this computer, or (:mod:`.cluster`) a Dask cluster.

A process that dies costs nothing but time: what it had is done again, point by point, and a point that ends its process
twice is a row that says so.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

from mcusim.errors import UsageError
from mcusim.processes import deaf, pool
from mcusim.sweeps.point import Batch, Done, Work, failed, perform

__all__ = ["AHEAD", "DIED", "Runner", "local"]

AHEAD = 3  # batches that wait for each process, so that none is idle
DIED = "the process that ran it died, twice: perhaps for want of memory"


class Runner(Protocol):
    """Computes batches; yields the rows of each as it ends."""

    def __call__(self, work: Work, batches: Sequence[Batch]) -> Generator[list[Done]]: ...


def local(jobs: int) -> Runner:
    """``jobs`` processes of this computer; one is this process."""

    def run(work: Work, batches: Sequence[Batch]) -> Generator[list[Done]]:
        return _shared(work, batches, jobs) if jobs > 1 and len(batches) > 1 else _alone(work, batches)

    return run


def _alone(work: Work, batches: Sequence[Batch]) -> Generator[list[Done]]:
    for batch in batches:
        for point in batch:
            yield perform(work, (point,))


def _shared(work: Work, batches: Sequence[Batch], count: int) -> Generator[list[Done]]:
    rest = iter(batches)
    while True:
        lost: list[Batch] = []
        yield from _until_one_dies(work, rest, count, lost)
        if not lost:
            return
        yield from _one_by_one(work, lost)


def _until_one_dies(work: Work, rest: Iterator[Batch], count: int, lost: list[Batch]) -> Generator[list[Done]]:
    """Share out ``rest``; when a process dies ``lost`` has the batches that were under way."""
    waiting: dict[Future[list[Done]], Batch] = {}
    with pool(count, "the sweep") as processes:
        while not lost:
            with deaf():
                while len(waiting) < AHEAD * count and not lost and (batch := next(rest, None)) is not None:
                    try:
                        waiting[processes.submit(perform, work, batch)] = batch
                    except BrokenProcessPool:
                        lost.append(batch)
            if not waiting:
                break
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                batch = waiting.pop(future)
                try:
                    found = future.result()
                except BrokenProcessPool:
                    lost.append(batch)
                else:
                    yield found
        lost.extend(waiting.values())


def _one_by_one(work: Work, lost: Sequence[Batch]) -> Generator[list[Done]]:
    """The points of ``lost`` in a process of their own each time that one dies. Raises UsageError when it cannot start:
    then no point is to blame."""
    points = [point for batch in lost for point in batch]
    while points:
        with pool(1, "the sweep") as processes:
            with deaf():
                started = processes.submit(perform, work, ())
            try:
                started.result()
            except BrokenProcessPool:
                rule = "a script that calls it has to be importable (if __name__ == '__main__':)"
                raise UsageError(f"the processes of the sweep die when they start; {rule}, or try --jobs 1") from None
            while points:
                key, _ = points[0]
                try:
                    found = processes.submit(perform, work, (points[0],)).result()
                except BrokenProcessPool:
                    yield [(key, failed(DIED))]
                    del points[0]
                    break
                yield found
                del points[0]
