"""One function called for many arguments: in this process, in processes of this computer, or on a Dask cluster.

Results come in the order of what was asked for, so that they are the same for any number of processes. The function is
one of a module, its argument and result can be pickled. Not modelled: a process that dies, which ends the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from mcusim.errors import UsageError
from mcusim.processes import deaf, pool, processes
from mcusim.sweeps.executors import dask_client

FEW = 4  # calls that are not worth to start processes
A = TypeVar("A")
R = TypeVar("R")


class OrderedWork:
    """``jobs`` processes (None: one a core) or the cluster ``dask``, opened by the first work that is worth it;
    ``what`` is the work's name in errors. Raises UsageError for both, and for a cluster that is not there."""

    def __init__(self, jobs: int | None, dask: str | None, what: str) -> None:
        if dask is not None and jobs is not None:
            raise UsageError("--jobs has no effect with --dask; the cluster has its own workers")
        self._count, self._dask, self._what = processes(jobs), dask, what
        self._open = ExitStack()
        self._submit: Callable[..., Any] | None = None

    def __enter__(self) -> OrderedWork:
        if self._dask is not None:
            self._submit = self._opened()
        return self

    def __exit__(self, *reason: Any) -> None:
        self._open.__exit__(*reason)

    def map(self, call: Callable[[A], R], arguments: Sequence[A], few: int = FEW, apart: bool = False) -> Iterator[R]:
        """The results, each as soon as it and all before it are there. Processes are not started for less than ``few``
        arguments; ``apart``: always, for a user's code, which may end its process."""
        few = few if self._submit is None else 2
        if self._dask is None and not apart and (self._count == 1 or len(arguments) < few):
            yield from map(call, arguments)
            return
        if self._submit is None:
            self._submit = self._opened()
        with deaf():
            futures = [self._submit(call, argument) for argument in arguments]
        for future in futures:
            yield self._result(future)

    def _opened(self) -> Callable[..., Any]:
        if self._dask is None:
            submit: Callable[..., Any] = self._open.enter_context(pool(self._count, self._what)).submit
            return submit
        client = self._open.enter_context(dask_client(self._dask))
        return lambda call, argument: client.submit(call, argument, pure=False)

    def _result(self, future: Any) -> Any:
        if self._dask is None:
            return future.result()
        from distributed import CancelledError, KilledWorker

        try:
            return future.result()
        except (CancelledError, KilledWorker, OSError) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise UsageError(f"{self._what} on the cluster {self._dask}: {reason}") from None
