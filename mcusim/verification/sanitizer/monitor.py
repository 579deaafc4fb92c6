"""The sanitizer at work in a run: what the engine tells it, and what it has to say.

Not modelled: what its parts leave out (:mod:`~mcusim.verification.sanitizer.sanitizer`,
:mod:`~mcusim.verification.sanitizer.diagnosis`, :mod:`~mcusim.verification.sanitizer.false_sharing`).
"""

from __future__ import annotations

from functools import cached_property

from mcusim.cpu.emulator import Emulator
from mcusim.cpu.image.image import Image
from mcusim.errors import SanitizerHalt, UsageError
from mcusim.program.program import Program, Span
from mcusim.verification.findings import Finding
from mcusim.verification.sanitizer.diagnosis import Explainer
from mcusim.verification.sanitizer.false_sharing import shared_edges
from mcusim.verification.sanitizer.observation import Observed
from mcusim.verification.sanitizer.sanitizer import Sanitizer

__all__ = ["MODES", "Watch", "watch"]

MODES = ("off", "report", "halt")


class Watch(Sanitizer):
    """A sanitizer that explains itself; ``halt``: :meth:`check` raises SanitizerHalt at the first note."""

    def __init__(
        self, program: Program, emulator: Emulator, image: Image, stack: Span, inputs: list[Span], halt: bool
    ) -> None:
        super().__init__(program, emulator, stack, inputs, halt)
        self._program, self._machine, self._image, self._stops = program, emulator.machine, image, halt

    def check(self) -> None:
        """Raise SanitizerHalt if there is a note and the run is to stop at it."""
        if self._stops and (noted := self.notes):
            raise SanitizerHalt(self._explainer().explained(noted[0]))

    def _explainer(self) -> Explainer:
        """Made when it is asked for: one that was kept would keep the emulator's memory until the next collection."""
        cache = self._machine.data_cache
        return Explainer(self._program, self, self._image, cache.line if cache is not None and cache.size else 0)

    @property
    def observed(self) -> list[Observed]:
        """What was seen so far, in order; then lines that are shared at buffer edges and did nothing in this run."""
        explainer = self._explainer()
        seen = explainer.all()
        lines = {one.line for one in seen if one.finding.rule == "shared-line"}
        return seen + [explainer.unseen(found) for found in self._edges if found.low not in lines]

    @cached_property
    def _edges(self) -> list[Finding]:
        return shared_edges(self._program, self._machine)


def watch(
    mode: str, program: Program, emulator: Emulator, image: Image, stack: Span, inputs: list[Span]
) -> Watch | None:
    """The sanitizer of ``mode`` (``off``, ``report`` or ``halt``), None for ``off``. Raises UsageError for another."""
    if mode not in MODES:
        raise UsageError(f"sanitize = {mode[:80]!r}: must be one of {', '.join(MODES)}")
    return None if mode == "off" else Watch(program, emulator, image, stack, inputs, mode == "halt")
