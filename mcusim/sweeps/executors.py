"""Where the points of a sweep are computed: in this process, in processes of this computer, or on a Dask cluster.

A process that dies costs nothing but time: its points are computed again, one by one, and a point that ends its process
twice becomes a row that says so. Dask gives the tasks of a worker that died to another one, and gives up a task that
ends worker after worker (``distributed.scheduler.allowed-failures``); its points are then tried one by one in the same
way.

Dask's workers need the same version of mcusim, and the files of models, machines and kernels that do not ship at the
same paths. A worker computes one point at a time, however many threads it has: start it with ``--nthreads 1``.

Not modelled: clusters behind a gateway or with TLS, whose clients need more than an address.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol

from mcusim.errors import UsageError
from mcusim.processes import deaf, pool
from mcusim.sweeps.point import Batch, Done, SharedWork, failed, perform

AHEAD = 3  # batches that wait for each process, so that none is idle
DIED = "the process that ran it died, twice: perhaps out of memory"


class Runner(Protocol):
    """Computes batches; yields the rows of each as it ends."""

    def __call__(self, work: SharedWork, batches: Sequence[Batch]) -> Generator[list[Done]]: ...


def local(jobs: int) -> Runner:
    """``jobs`` processes of this computer; one is this process."""

    def run(work: SharedWork, batches: Sequence[Batch]) -> Generator[list[Done]]:
        return _shared(work, batches, jobs) if jobs > 1 and len(batches) > 1 else _alone(work, batches)

    return run


def _alone(work: SharedWork, batches: Sequence[Batch]) -> Generator[list[Done]]:
    for batch in batches:
        for point in batch:
            yield perform(work, (point,))


def _shared(work: SharedWork, batches: Sequence[Batch], count: int) -> Generator[list[Done]]:
    rest = iter(batches)
    while True:
        lost: list[Batch] = []
        yield from _until_one_dies(work, rest, count, lost)
        if not lost:
            return
        yield from _one_by_one(work, lost)


def _until_one_dies(work: SharedWork, rest: Iterator[Batch], count: int, lost: list[Batch]) -> Generator[list[Done]]:
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
                    result = future.result()
                except BrokenProcessPool:
                    lost.append(batch)
                else:
                    yield result
        lost.extend(waiting.values())


def _one_by_one(work: SharedWork, lost: Sequence[Batch]) -> Generator[list[Done]]:
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
                    result = processes.submit(perform, work, (points[0],)).result()
                except BrokenProcessPool:
                    yield [(key, failed(DIED))]
                    del points[0]
                    break
                yield result
                del points[0]


PATIENCE = 15  # seconds until the scheduler has answered, and until it has a worker


def cluster(address: str) -> Runner:
    """The workers of the scheduler at ``address`` (``tcp://host:8786``).

    The runner raises UsageError when there is no cluster, or it goes away.
    """

    def run(work: SharedWork, batches: Sequence[Batch]) -> Generator[list[Done]]:
        with dask_client(address) as client:
            yield from _performed(client, address, work, list(batches))

    return run


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """A client of the scheduler at ``address``. Raises UsageError where there is none, or it has no worker."""
    try:
        from distributed import Client

        connect: Any = Client  # Dask is typed in part
    except ImportError:
        raise UsageError('--dask needs the package "distributed": pip install "mcusim[dask]"') from None
    with _quiet():
        try:
            client = connect(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError) as error:
            text = " ".join(str(error).split())[:200] or type(error).__name__
            raise UsageError(f"no Dask scheduler at {address[:80]!r}: {text}") from None
        try:
            _require_worker(client, address)
            yield client
        finally:
            client.close(timeout=5)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask reports every connection that ends, which are those of workers that died and of our own."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _performed(client: Any, address: str, work: SharedWork, rest: list[Batch]) -> Generator[list[Done]]:
    from distributed import CancelledError

    try:
        yield from _as_they_end(client, work, rest)
    except (CancelledError, OSError) as error:
        raise UsageError(f"the Dask cluster at {address} went away: {error}") from None


def _as_they_end(client: Any, work: SharedWork, rest: list[Batch]) -> Generator[list[Done]]:
    from distributed import KilledWorker

    rest.reverse()
    under_way: dict[Any, Batch] = {}
    finished = _finished(client)
    while rest or under_way:
        while rest and len(under_way) < AHEAD * max(1, len(client.nthreads())):
            batch = rest.pop()
            future = client.submit(perform, work, batch, pure=False)
            under_way[future] = batch
            finished.add(future)
        future = next(finished)
        batch = under_way.pop(future)
        try:
            yield future.result()
        except KilledWorker:
            if len(batch) == 1:
                yield [(batch[0][0], failed(DIED))]
            rest.extend((point,) for point in batch[::-1] if len(batch) > 1)


def _finished(client: Any) -> Any:
    """Futures that are added to it, as they end."""
    from distributed import as_completed

    futures: Any = as_completed
    with client.as_current():
        return futures()


def _require_worker(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except (OSError, TimeoutError):
        raise UsageError(f"the Dask cluster at {address} has no worker: start one with `dask worker`") from None
