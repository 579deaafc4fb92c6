"""The core of a program that was recorded from a firmware: work of known cycles and traffic, no kernels."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from mcusim.engine.contention import Activity
from mcusim.engine.core_model import transfer_alone, waiting_accesses
from mcusim.engine.recorded.retiming import Retiming
from mcusim.machine.description import Dma, Machine
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import CAUSE, MemorySystem
from mcusim.program.program import FIRMWARE, Compute, Transfer, Work

if TYPE_CHECKING:
    from mcusim.engine.run import Traffic
    from mcusim.engine.system import Cycles, System


class RecordedCore:
    """Work takes its cycles, and waits as :class:`Retiming` says. Not modelled: what that does not model."""

    def __init__(self, machine: Machine) -> None:
        self.memory = MemorySystem(machine)
        self._retiming = Retiming(machine)

    def run(self, task: Compute | Work, system: System) -> Generator[Any, Any, Cycles]:
        """Occupy the core as the recording says, longer where transfers are at the same memories."""
        assert isinstance(task, Work)
        demand = self._retiming.demand(task)
        system.count(task, demand)
        system.waits.recorded(task, demand)
        cycles = {"compute": task.cycles, "maintenance": task.maintenance}
        for name, asked in demand.items():
            cause = CAUSE[system.machine.memory[name].kind]
            cycles[cause] = cycles.get(cause, 0) + round(asked.stall / TICK)
        waiting = waiting_accesses(demand, system.machine)
        cycles["bus"] = yield from system.arbiter.perform(Activity(sum(cycles.values()), demand, waiting=waiting))
        return cycles

    def transfer(self, task: Transfer, dma: Dma, system: System) -> Generator[Any, Any, None]:
        """Time the transfer as if alone, then let what runs at the same time slow it down on average."""
        yield from transfer_alone(self.memory, task, dma, system)

    def kernel(self, task: Compute) -> str:
        """Recorded programs call no kernels."""
        return ""

    def traffic(self, system: System) -> dict[str, Traffic]:
        """As the activities counted it."""
        return dict(sorted(system.traffic.items()))

    def counted(self) -> dict[str, int]:
        """Nothing: caches and branches were counted in the firmware's own run."""
        return {}

    def assumptions(self) -> list[str]:
        """What a recording rests on."""
        return [
            f"{FIRMWARE}: the core's cycles and what got past the caches are as recorded; waits for memory change as"
            " those of regular patterns of accesses do",
            f"{FIRMWARE}: handlers of other interrupts than a transfer's, and waits for a time, are part of the work"
            " around them",
        ]
