"""The same program under the disturbances of many seeds: every one of them has to give the same outputs.

The seeds are shared out among processes; what comes of each depends on the seed alone, so the number of processes
changes nothing. Not modelled: what :mod:`mcusim.engine.disturbance` does not model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager

from mcusim.engine.disturbance import Disturbance
from mcusim.processes import MOST_PROCESSES, cores, deaf, pool
from mcusim.verification.equivalence import first_difference
from mcusim.verification.verification import SeedOutcome
from mcusim.verification.verified_emulation import Emulation, Outputs

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

    In ``processes`` processes, by default as many as there are cores and a few seeds for each; they are started afresh
    (``spawn``), so a script that calls this has to be importable (``if __name__ == "__main__":``). ``progress`` is
    called with each outcome.
    Returns the outcomes in the order of the seeds. Raises what a run raises, UsageError when a process dies.
    """
    wanted = processes or min(cores(), len(seeds) // SEEDS_EACH)
    count = min(wanted, len(seeds), MOST_PROCESSES)
    seed_outcomes = []
    with _outcomes(emulation, seeds, reference, count) as outcomes:
        for outcome in outcomes:
            seed_outcomes.append(outcome)
            if progress is not None:
                progress(outcome)
    return seed_outcomes


@contextmanager
def _outcomes(
    emulation: Emulation, seeds: Sequence[int], reference: Outputs, count: int
) -> Iterator[Iterator[SeedOutcome]]:
    """The outcomes as they come; whatever ends this early ends the processes too."""
    if count <= 1:
        yield (_outcome(emulation, reference, seed) for seed in seeds)
        return
    with pool(count, "the fuzzing", _prepare, (emulation, reference)) as processes:
        with deaf():  # the first seeds start the processes
            first = [processes.submit(_prepared, seed) for seed in seeds[:count]]
        yield _mapped(processes, first, seeds)


def _mapped(
    processes: ProcessPoolExecutor, first: Sequence[Future[SeedOutcome]], seeds: Sequence[int]
) -> Iterator[SeedOutcome]:
    """The outcomes in order, of the ``first`` seeds and of the others, of which only a few are queued at a time."""
    queued = deque(first)
    for seed in seeds[len(first) :]:
        queued.append(processes.submit(_prepared, seed))
        if len(queued) > QUEUED * len(first):
            yield queued.popleft().result()
    while queued:
        yield queued.popleft().result()


_shared: list[tuple[Emulation, Outputs]] = []  # of a process that fuzzes: what all of its seeds run


def _prepare(emulation: Emulation, reference: Outputs) -> None:
    _shared.append((emulation, reference))


def _prepared(seed: int) -> SeedOutcome:
    return _outcome(*_shared[0], seed)


def _outcome(emulation: Emulation, reference: Outputs, seed: int) -> SeedOutcome:
    outcome = emulation.run(seed, Disturbance(seed))
    difference = first_difference(emulation.program, emulation.graph, outcome.outputs, reference)
    return SeedOutcome(seed, difference, None if outcome.fault is None else str(outcome.fault), outcome.observed)
