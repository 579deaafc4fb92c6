"""One program on one model's data, to be run again and again: undisturbed, or with what a seed disturbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.errors import KernelFault, SanitizerHalt
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.program.program import Compute, Program, Task

if TYPE_CHECKING:
    from mcusim.engine.disturbance import Disturbance
    from mcusim.engine.run import Run
    from mcusim.kernels.kernel_set import KernelSet
    from mcusim.verification.sanitizer.observation import Observation

Array = np.ndarray[Any, Any]
Outputs = dict[int, list[Array]]  # by operator, as they were when it was done


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: every operator's outputs up to its end, and what the sanitizer ``observed``.

    A run that did not end is None: by the ``fault``, or halted by the sanitizer at the last thing that it observed.
    """

    outputs: Outputs
    run: Run | None = None
    fault: KernelFault | None = None
    observed: tuple[Observation, ...] = ()


@dataclass(frozen=True)
class Emulation:
    """``program`` of ``graph`` on ``machine`` with ``kernels`` and ``inputs``; picklable, so that any process runs it.

    ``code``, ``overhead`` and ``most_instructions`` are those of :class:`~mcusim.engine.emulated_core.Options`;
    ``sanitize`` is ``off``, ``report`` or ``halt`` (stop at the first byte read that another should have written).
    """

    program: Program
    machine: Machine
    graph: Graph
    kernels: KernelSet
    inputs: Sequence[Array]
    code: str | None = None
    overhead: int | None = None
    most_instructions: int | None = None
    sanitize: str = "off"

    def run(
        self,
        warm: int | None = None,
        disturb: Disturbance | None = None,
        progress: Callable[[Task], object] | None = None,
    ) -> Outcome:
        """Run it once, ``warm`` as that option. Raises ProgramError, UsageError, UnsupportedError, DoesNotFit; a fault
        or a halt is an outcome."""
        from mcusim.engine.emulated_core import EmulatedCore, Options
        from mcusim.engine.execute import run_program
        from mcusim.program import check_program
        from mcusim.verification.sanitizer.monitor import make_monitor

        outputs: Outputs = {}
        options = Options(
            self.code,
            self.overhead,
            self.most_instructions,
            observe=outputs.__setitem__,
            observer=make_monitor(self.sanitize),
            warm=warm,
        )
        check_program(self.program, self.machine)
        core = EmulatedCore(self.program, self.machine, self.graph, self.kernels, self.inputs, options)
        try:
            run = run_program(self.program, self.machine, core, self.kernels.name, "emulate", progress, disturb)
        except KernelFault as fault:
            return Outcome(outputs, fault=fault, observed=tuple(core.observed))
        except SanitizerHalt as halt:
            return Outcome(outputs, observed=(halt.observed,))
        return Outcome(outputs, run, observed=tuple(core.observed))


@dataclass
class MacProgress:
    """Turns tasks into MACs done, a tile its share of its operator's; ``report`` gets them, and all of ``runs``."""

    program: Program
    report: Callable[[int, int], object]
    runs: int = 1
    done: float = 0.0

    def __call__(self, task: Task) -> None:
        if not isinstance(task, Compute):
            return
        infos = self.program.header.operators
        self.done += max(1, infos[task.operator].macs) / task.tiles
        self.report(round(self.done), self.runs * sum(max(1, info.macs) for info in infos))
