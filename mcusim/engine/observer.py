"""Observers of a program on the emulated core: the calls that the engine makes while it runs.

An observer reads; the run takes the same cycles and computes the same with it as without. The sanitizer
(:mod:`mcusim.verification.sanitizer.monitor`) is one; a class of one's own overrides what it needs:

    class Tracer(Observer):
        def __init__(self, setup: RunSetup) -> None:
            self.begun: list[tuple[int, int]] = []

        def starts(self, task: Compute, cycle: int) -> None:
            self.begun.append((task.id, cycle))

    core = EmulatedCore(program, machine, graph, kernels, inputs, Options(observer=Tracer))

Not modelled: maintenance tasks and single accesses, which no call announces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator
    from mcusim.image.image import Image
    from mcusim.program.program import Compute, Program, Span, Transfer


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What is about to run: ``inputs`` are where the application writes the graph's inputs."""

    program: Program
    emulator: Emulator
    image: Image
    stack: Span
    inputs: Sequence[Span]


class Observer(Protocol):
    """Called by the engine; ``cycle`` is the engine's time in core cycles. Each method does nothing by default."""

    def unstored(self, address: int, size: int) -> None:
        """Before the start: what the application wrote to these bytes is in the data cache alone."""

    def starts(self, task: Compute, cycle: int) -> None:
        """The core comes to ``task``, its first call not yet made."""

    def begins(self, task: Transfer, cycle: int) -> tuple[int, int]:
        """The first beat of ``task`` comes. Returns its number among the writers and the host address of the writers
        that its source should have (16 bit a byte), or zeros: its bytes are not to be compared."""
        return 0, 0

    def check(self) -> None:
        """A call returned or a transfer moved its last byte: raises what is to stop the run."""

    def ends(self, task: Compute | Transfer, cycle: int) -> None:
        """``task`` is done."""

    @property
    def observed(self) -> list[Any]:
        """What it has found so far."""
        return []


MakeObserver = Callable[[RunSetup], Observer]
