"""The result of verifying a program: findings, and how its outputs compare with those of other runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from mcusim.display import Displayed, SavedAsJson
from mcusim.machine.description import Machine
from mcusim.program.program import Program
from mcusim.verification.findings import Finding
from mcusim.verification.sanitizer.observation import Observation

KERNEL_FAULT = "kernel-fault"


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """The first value that differs: of output ``tensor`` of ``operator``, in ``tile``; ``row``, ``column`` and
    ``channel`` of NHWC. ``count`` of the tensor's ``bytes`` differ."""

    operator: int
    type: str
    tensor: int
    tile: int
    tiles: int
    row: int
    column: int
    channel: int
    value: float
    expected: float
    count: int
    bytes: int

    def text(self) -> str:
        """One line."""
        tile = f", tile {self.tile + 1} of {self.tiles}" if self.tiles > 1 else ""
        where = f"row {self.row}, column {self.column}, channel {self.channel}"
        values = f"{self.value:g} instead of {self.expected:g}"
        kind = f"operator {self.operator} {self.type}"
        return f"{kind}{tile}: {where}: {values}; {self.count:,} of {self.bytes:,} B differ"

    def to_json(self) -> dict[str, Any]:
        """All fields; a value that is no number is a text."""
        return {**asdict(self), "value": _number(self.value), "expected": _number(self.expected)}


def _number(value: float) -> float | int | str:
    if not isfinite(value):
        return str(value)
    return int(value) if value == int(value) else value


@dataclass(frozen=True, slots=True)
class Agreement:
    """``other``: whose outputs these were compared with, ``difference`` the first one; ``note``: why they were not.
    ``tolerance``: of floats, times the largest of a tensor; 0: byte for byte."""

    other: str
    difference: OutputDifference | None = None
    note: str | None = None
    tolerance: float = 0.0

    @property
    def equal(self) -> bool | None:
        """None when there was nothing to compare with."""
        return None if self.note is not None else self.difference is None

    def to_json(self) -> dict[str, Any]:
        """``with`` whom; ``equal``, null when not compared, which ``note`` then explains; the first ``difference``,
        ``tolerance`` of floats, times the largest of a tensor."""
        difference = None if self.difference is None else self.difference.to_json()
        answer = {"with": self.other, "equal": self.equal, "difference": difference, "note": self.note}
        return answer | ({"tolerance": self.tolerance} if self.tolerance else {})


@dataclass(frozen=True, slots=True)
class SeedOutcome:
    """The outcome of ``seed``: the first ``difference`` from the undisturbed run, a kernel's ``fault``, or neither.

    What the sanitizer ``observed`` besides is not a failure by itself: it is a finding, even if the outputs are right.
    """

    seed: int
    difference: OutputDifference | None = None
    fault: str | None = None
    observed: tuple[Observation, ...] = ()

    @property
    def failed(self) -> bool:
        return self.difference is not None or self.fault is not None

    def text(self) -> str:
        """What went wrong, in one line."""
        texts = [self.difference.text() if self.difference else "", self.fault or ""]
        return "; ".join(filter(None, texts))

    def to_json(self) -> dict[str, Any]:
        """``seed``, ``difference``, ``fault``, and the ``rules`` of what the sanitizer saw."""
        difference = None if self.difference is None else self.difference.to_json()
        rules = list(dict.fromkeys(observation.finding.rule for observation in self.observed))
        return {"seed": self.seed, "difference": difference, "fault": self.fault, "rules": rules}


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """The seeds that were run, and the outcomes of those that failed."""

    seeds: Sequence[int]
    failed: Sequence[SeedOutcome] = ()

    def to_json(self) -> dict[str, Any]:
        return {"seeds": list(self.seeds), "failed": [outcome.to_json() for outcome in self.failed]}


@dataclass(frozen=True, slots=True)
class Found:
    """A finding and who found it: ``proof``, ``sanitizer`` or, a kernel's fault, ``run``; ``seed``: of a fuzzed run."""

    found_by: str
    what: Finding | Observation
    seed: int | None = None

    @property
    def finding(self) -> Finding:
        return self.what.finding if isinstance(self.what, Observation) else self.what

    def to_json(self) -> dict[str, Any]:
        """``found_by``, ``seed`` if there is one, and all that the finding or the observation has."""
        seed = {} if self.seed is None else {"seed": self.seed}
        return {"found_by": self.found_by, **seed, **self.what.to_json()}


@dataclass(frozen=True)
class Verification(Displayed, SavedAsJson):
    """``findings`` of the proof, then of the runs; ``notes``: what was not done, and why.

    ``ran``: what the run was, None when there was none; ``untiled``, ``litert``, ``fuzzed`` are None when not done.
    """

    program: Program
    machine: Machine
    findings: Sequence[Found] = ()
    notes: Sequence[str] = ()
    ran: Mapping[str, Any] | None = None
    untiled: Agreement | None = None
    litert: Agreement | None = None
    fuzzed: Fuzzed | None = None

    @property
    def wrong(self) -> list[str]:
        """What is wrong with the program, in a few words each; nothing when it is clean."""
        count = len(self.findings)
        wrong = [f"{count} finding{'s' if count > 1 else ''}"] if count else []
        if any(agreement is not None and agreement.difference for agreement in (self.untiled, self.litert)):
            wrong.append("the outputs differ")
        if self.fuzzed is not None and self.fuzzed.failed:
            seeds = ", ".join(str(outcome.seed) for outcome in self.fuzzed.failed[:5])
            more = len(self.fuzzed.failed) - 5
            wrong.append(f"seed{'s' if ',' in seeds else ''} {seeds}{f' and {more} more' if more > 0 else ''} failed")
        return wrong

    def to_json(self) -> dict[str, Any]:
        """What ``mcusim verify --json`` writes."""
        header = self.program.header
        agreements = {"untiled": self.untiled, "litert": self.litert}
        compared = {name: agreement.to_json() for name, agreement in agreements.items() if agreement is not None}
        return {
            "machine": self.machine.name,
            "model": header.model,
            "policy": header.policy,
            "tasks": len(self.program.tasks),
            "findings": [finding.to_json() for finding in self.findings],
            "notes": list(self.notes),
            "run": None if self.ran is None else dict(self.ran),
            "equivalence": compared or None,
            "fuzz": None if self.fuzzed is None else self.fuzzed.to_json(),
        }

    def _line(self) -> str:
        outcome = ", ".join(self.wrong) or "clean"
        return f"{self.program.header.model[:60]} on {self.machine.name[:60]}: {outcome}"
