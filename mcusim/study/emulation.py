"""One program on one model's data, to be run again and again: undisturbed, or with what a seed disturbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.errors import KernelFault
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.program import Program, Task

if TYPE_CHECKING:
    from mcusim.engine.disturb import Disturbance
    from mcusim.engine.run import Run
    from mcusim.kernels.registry import KernelSet

__all__ = ["Emulation", "Outcome", "Outputs"]

Array = np.ndarray[Any, Any]
Outputs = dict[int, list[Array]]  # by operator, as they were when it was done


@dataclass(frozen=True)
class Outcome:
    """What came of a run: every operator's outputs up to its end, which is a ``fault`` where ``run`` is None."""

    outputs: Outputs
    run: Run | None = None
    fault: KernelFault | None = None


@dataclass(frozen=True)
class Emulation:
    """``program`` of ``graph`` on ``machine`` with ``kernels`` and ``inputs``; picklable, so that any process runs it.

    ``code``, ``overhead`` and ``most_instructions`` are those of :class:`~mcusim.engine.emulated.Options`.
    """

    program: Program
    machine: Machine
    graph: Graph
    kernels: KernelSet
    inputs: Sequence[Array]
    code: str | None = None
    overhead: int | None = None
    most_instructions: int | None = None

    def run(self, disturb: Disturbance | None = None, progress: Callable[[Task], object] | None = None) -> Outcome:
        """Run it once. Raises ProgramError, UsageError, UnsupportedError, DoesNotFit; a fault is an outcome."""
        from mcusim.engine.emulated import EmulatedCore, Options
        from mcusim.engine.execute import play
        from mcusim.plan import check_program

        outputs: Outputs = {}
        options = Options(self.code, self.overhead, self.most_instructions, observe=outputs.__setitem__)
        check_program(self.program, self.machine)
        core = EmulatedCore(self.program, self.machine, self.graph, self.kernels, self.inputs, options)
        try:
            run = play(self.program, self.machine, core, self.kernels.name, "emulate", progress, disturb)
        except KernelFault as fault:
            return Outcome(outputs, fault=fault)
        return Outcome(outputs, run)
