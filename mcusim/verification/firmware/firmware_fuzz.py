"""The same firmware under the disturbances of many seeds: every one has to do what the undisturbed run did.

Not modelled: what :mod:`mcusim.verification.firmware.firmware_disturbance` does not model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from mcusim.processes import MOST_PROCESSES, cores, deaf, pool
from mcusim.verification.firmware.firmware_verification import FirmwareOutcome, FirmwareSeed, FirmwareVerification

SEEDS_EACH = 8  # at least, unless a number of processes is asked for
QUEUED = 4  # seeds for each process


class Runnable(Protocol):
    """A firmware that any process can run."""

    def run(
        self, seed: int | None = None, progress: Callable[[int, float], object] | None = None, limit: int | None = None
    ) -> FirmwareOutcome:
        """The outcome of a run; with a ``seed``, its timing disturbed."""


def with_seeds(
    result: FirmwareVerification,
    case: Runnable,
    seeds: Sequence[int],
    limit: int,
    compared: bool,
    processes: int | None = None,
    tick: Callable[[object], object] | None = None,
) -> FirmwareVerification:
    """``result`` of the undisturbed run with the outcomes of ``seeds``, each with ``limit`` instructions at most.

    A finding that several runs show is listed once, with the first seed. Ctrl-C leaves the seeds that are done.
    ``compared``: whether end, output and memory have to be the same. In ``processes`` processes, by default as many as
    there are cores and some seeds for each.
    """
    reference = result.run if compared else None
    count = min(processes or min(cores(), len(seeds) // SEEDS_EACH), len(seeds), MOST_PROCESSES)
    findings = list(result.findings)
    known = {
        (firmware_finding.rule, firmware_finding.source, firmware_finding.variable) for firmware_finding in findings
    }
    failed, done, interrupted = [], 0, False
    try:
        for outcome in _outcomes(case, seeds, reference, limit, count):
            done += 1
            for finding in outcome.findings:
                key = finding.rule, finding.source, finding.variable
                if key not in known:
                    known.add(key)
                    findings.append(replace(finding, seed=outcome.seed))
            if outcome.failed:
                failed.append(outcome)
            if tick is not None:
                tick(outcome)
    except KeyboardInterrupt:
        interrupted = True
    return replace(result, findings=findings, seeds=seeds[:done], failed=failed, interrupted=interrupted)


def _outcomes(
    case: Runnable, seeds: Sequence[int], reference: FirmwareOutcome | None, limit: int, count: int
) -> Iterator[FirmwareSeed]:
    if count <= 1:
        yield from (_outcome(case, reference, limit, seed) for seed in seeds)
        return
    with pool(count, "the fuzzing", _prepare, (case, reference, limit)) as processes:
        with deaf():  # the first seeds start the processes
            queued = deque(processes.submit(_prepared, seed) for seed in seeds[:count])
        for seed in seeds[count:]:
            queued.append(processes.submit(_prepared, seed))
            if len(queued) > QUEUED * count:
                yield queued.popleft().result()
        while queued:
            yield queued.popleft().result()


_shared: list[tuple[Runnable, FirmwareOutcome | None, int]] = []  # of a process that fuzzes


def _prepare(case: Runnable, reference: FirmwareOutcome | None, limit: int) -> None:
    _shared.append((case, reference, limit))


def _prepared(seed: int) -> FirmwareSeed:
    return _outcome(*_shared[0], seed)


def _outcome(case: Runnable, reference: FirmwareOutcome | None, limit: int, seed: int) -> FirmwareSeed:
    outcome = case.run(seed, limit=limit)
    if outcome.ended == "interrupted":
        raise KeyboardInterrupt
    difference = None if reference is None or outcome.fault else outcome.difference(reference)
    return FirmwareSeed(seed, difference, outcome.fault, outcome.findings)
