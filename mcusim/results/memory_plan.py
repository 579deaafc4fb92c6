"""What ``mcusim memory`` found out, for its table, its JSON and its pictures."""

from __future__ import annotations

from dataclasses import dataclass

from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.allocators import Placed
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.timeline import Timeline
from mcusim.plan.ordering import Ordering
from mcusim.plan.pools import Pool
from mcusim.results.defragmentation import Defragmentation

__all__ = ["MemoryPlan", "Planned"]


@dataclass(frozen=True)
class Planned:
    """One order of a graph's operators: who lives when, and where each allocator puts it.

    ``placed``: by the name of the allocator, all on the blocks of ``timeline`` in its order of residents.
    """

    timeline: Timeline
    accounting: Accounting
    placed: dict[str, Placed]


@dataclass(frozen=True)
class MemoryPlan:
    """``before``: the operators as stored, each tensor in bytes of its own; ``after``: as asked for.

    ``allocator`` is the one that was asked for. ``ordering`` is None for the order as stored. ``room`` is where the
    arena goes in ``machine``, ``defragmentation`` what moving tensors costs there, by several ways to copy.
    ``tflm_head``: bytes of the head of TFLM's arena in that order, with these offsets unless its own planner finds
    them; None where TFLM has no such plan.
    """

    graph: Graph
    before: Planned
    after: Planned
    allocator: str
    ordering: Ordering | None
    machine: Machine | None = None
    room: Pool | None = None
    defragmentation: tuple[Defragmentation, ...] = ()
    tflm_head: int | None = None

    @property
    def placed(self) -> Placed:
        """What the chosen allocator made of the order asked for."""
        return self.after.placed[self.allocator]

    @property
    def changed(self) -> bool:
        """Is ``after`` another picture than ``before``."""
        return self.before.timeline != self.after.timeline

    @property
    def fits(self) -> bool:
        """Does the chosen allocator's arena fit into the machine's memory; True without a machine."""
        return self.room is None or self.placed.bytes <= self.room.size

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the price of moving tensors rests on, without repetitions."""
        return tuple(dict.fromkeys(line for one in self.defragmentation for line in one.assumptions))
