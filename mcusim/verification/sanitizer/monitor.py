"""The sanitizer as an observer of a run: it receives the engine's calls and reports observations.

Not modelled: what its parts do not model (:mod:`~mcusim.verification.sanitizer.sanitizer`,
:mod:`~mcusim.verification.sanitizer.explanations`, :mod:`~mcusim.verification.sanitizer.false_sharing`).
"""

from __future__ import annotations

from functools import cached_property, partial

from mcusim.engine.observer import MakeObserver, RunSetup
from mcusim.errors import SanitizerHalt, UsageError
from mcusim.verification.findings import Finding
from mcusim.verification.sanitizer.explanations import Diagnosis
from mcusim.verification.sanitizer.false_sharing import shared_edges
from mcusim.verification.sanitizer.observation import Observation
from mcusim.verification.sanitizer.sanitizer import Sanitizer

MODES = ("off", "report", "halt")


class Monitor(Sanitizer):
    """An observer of the engine that explains violations; ``halt``: :meth:`check` raises SanitizerHalt at the first."""

    def __init__(self, setup: RunSetup, halt: bool) -> None:
        super().__init__(setup.program, setup.emulator, setup.stack, setup.inputs, halt)
        self._program, self._image, self._stops = setup.program, setup.image, halt
        self._machine = setup.emulator.machine

    def check(self) -> None:
        """Raise SanitizerHalt if there is a violation and the run is to stop at it."""
        if self._stops and (violations := self.violations):
            raise SanitizerHalt(self._diagnosis().explained(violations[0]))

    def _diagnosis(self) -> Diagnosis:
        """Made when it is asked for: one that was kept would keep the emulator's memory until the next collection."""
        cache = self._machine.data_cache
        return Diagnosis(self._program, self, self._image, cache.line if cache is not None and cache.size else 0)

    @property
    def observed(self) -> list[Observation]:
        """What was seen so far, in order; then lines that are shared at buffer edges and did nothing in this run."""
        diagnosis = self._diagnosis()
        seen = diagnosis.all()
        lines = {observation.line for observation in seen if observation.finding.rule == "shared-line"}
        return seen + [diagnosis.unseen(edge) for edge in self._edges if edge.low not in lines]

    @cached_property
    def _edges(self) -> list[Finding]:
        return shared_edges(self._program, self._machine)


def make_monitor(mode: str) -> MakeObserver | None:
    """What makes the monitor of a run for ``mode`` (``off``, ``report`` or ``halt``), None for ``off``.

    Raises UsageError for another mode.
    """
    if mode not in MODES:
        raise UsageError(f"sanitize = {mode[:80]!r}: must be one of {', '.join(MODES)}")
    return None if mode == "off" else partial(Monitor, halt=mode == "halt")
