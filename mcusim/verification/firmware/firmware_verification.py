"""The result of watching a firmware run: its findings, how it ended, and what disturbed timing changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcusim.display import Displayed, SavedAsJson
from mcusim.machine.description import Machine
from mcusim.verification.firmware.finding import FirmwareFinding, Place

Bytes = tuple[int, bytes]  # first address, contents
_TIMES = re.compile(r"\b(cycles?|ticks?|ns|us|µs|ms|s|seconds?|time|took|latency|fps)\b", re.IGNORECASE)


def _lines(output: bytes) -> list[str]:
    """The printed lines without those that name a time."""
    return [line for line in output.decode("utf-8", "backslashreplace").splitlines() if not _TIMES.search(line)]


@dataclass(frozen=True)
class FirmwareOutcome:
    """One run: how it ``ended`` (a kind of stop) and with which ``status``, the text of a ``fault`` and its ``place``.

    ``memory``: the bytes that transfers read or wrote, as they were at the end, and ``names`` of the variables there.
    ``remarks``: what register blocks do not answer as the program may expect.
    """

    ended: str
    status: int
    fault: str | None
    cycles: int
    instructions: int
    transfers: int
    findings: tuple[FirmwareFinding, ...]
    output: bytes
    memory: tuple[Bytes, ...] = field(repr=False)
    names: tuple[str, ...] = ()
    lost: int = 0
    place: Place | None = None
    remarks: tuple[str, ...] = ()

    def difference(self, other: FirmwareOutcome) -> str | None:
        """What is first found to differ from ``other``, an undisturbed run; printed lines that name a time may."""
        if (self.ended, self.status) != (other.ended, other.status):
            return f"ended by {self.ended} {self.status} instead of {other.ended} {other.status}"
        printed, wanted_lines = _lines(self.output), _lines(other.output)
        if printed != wanted_lines:
            for found_line, line in zip(printed, wanted_lines, strict=False):
                if found_line != line:
                    return f"printed {found_line[:60]!r} instead of {line[:60]!r}"
            return f"printed {len(printed)} lines instead of {len(wanted_lines)}"
        own = dict(self.memory)
        for (low, wanted), name in zip(other.memory, other.names, strict=True):
            data = own.get(low, b"")[: len(wanted)]
            different = [i for i, (a, b) in enumerate(zip(data, wanted, strict=False)) if a != b]
            if data != wanted:
                first = different[0] if different else len(data)
                return f"{len(different) or len(wanted):,} B of memory differ, first at {low + first:#010x} in {name}"
        return None


@dataclass(frozen=True)
class FirmwareSeed:
    """The outcome of ``seed``: a ``difference`` from the undisturbed run or a ``fault``, and its findings."""

    seed: int
    difference: str | None = None
    fault: str | None = None
    findings: tuple[FirmwareFinding, ...] = ()

    @property
    def failed(self) -> bool:
        return self.difference is not None or self.fault is not None

    def text(self) -> str:
        """What went wrong, in one line."""
        return "; ".join(filter(None, (self.fault, self.difference)))

    def to_json(self) -> dict[str, Any]:
        rules = list(dict.fromkeys(finding.rule for finding in self.findings))
        return {"seed": self.seed, "difference": self.difference, "fault": self.fault, "rules": rules}


@dataclass(frozen=True)
class FirmwareVerification(Displayed, SavedAsJson):
    """``findings`` of the undisturbed run, then those that only a seed showed; ``notes``: what was not seen, and why.

    ``missed``: the place of ``until`` that the run did not come to. ``seeds`` are those that were run, ``failed`` the
    outcomes with a difference or a fault. ``interrupted``: Ctrl-C ended the run, or left seeds out.
    """

    image: str
    machine: Machine
    run: FirmwareOutcome
    findings: Sequence[FirmwareFinding]
    notes: Sequence[str] = ()
    missed: str | None = None
    seeds: Sequence[int] = ()
    failed: Sequence[FirmwareSeed] = ()
    interrupted: bool = False

    @property
    def wrong(self) -> list[str]:
        """What is wrong with the firmware, in a few words each; nothing when it is clean."""
        count = len(self.findings)
        wrong = [f"{count} finding{'s' if count > 1 else ''}"] if count else []
        if self.run.fault is not None:
            wrong.append("the run ended by a fault")
        elif self.missed is not None:
            wrong.append(f"the run did not come to {self.missed}")
        if self.failed:
            seeds = ", ".join(str(seed.seed) for seed in self.failed[:5])
            more = len(self.failed) - 5
            wrong.append(f"seed{'s' if ',' in seeds else ''} {seeds}{f' and {more} more' if more > 0 else ''} failed")
        return wrong

    def to_json(self) -> dict[str, Any]:
        """What ``mcusim verify --json`` writes for a firmware."""
        run = self.run
        place = None if run.place is None else run.place.to_json()
        ended = {"kind": run.ended, "status": run.status, "fault": run.fault, "place": place, "missed": self.missed}
        counts = {"cycles": run.cycles, "instructions": run.instructions, "transfers": run.transfers}
        fuzz = {"seeds": list(self.seeds), "failed": [seed.to_json() for seed in self.failed]} if self.seeds else None
        return {
            "firmware": self.image,
            "machine": self.machine.name,
            "findings": [finding.to_json() for finding in self.findings],
            "notes": list(self.notes),
            "interrupted": self.interrupted,
            "run": {**ended, **counts},
            "fuzz": fuzz,
        }

    def _line(self) -> str:
        return f"{self.image[:60]} on {self.machine.name[:60]}: {', '.join(self.wrong) or 'clean'}"
