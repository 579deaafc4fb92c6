"""The memory plan of a model, and the costs of moving buffers together, as data for tables, JSON and plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.allocators import OFFLINE, BufferMove, Placed
from mcusim.plan.allocators.greedy import align_up
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.timeline import Timeline
from mcusim.plan.options import RUNTIME
from mcusim.plan.ordering import Ordering
from mcusim.plan.patch_figures import PatchFigures
from mcusim.plan.pools import Pool
from mcusim.plan.static_array import StaticArray
from mcusim.plan.verdict import MemoryVerdict
from mcusim.results.advice import LimitCheck
from mcusim.results.energy import Energy
from mcusim.results.flash import FlashUse

if TYPE_CHECKING:
    from mcusim.engine.run import Traffic
    from mcusim.machine.description import Machine

Copy = Literal["words", "bytes"]
COPIES: tuple[Copy, ...] = get_args(Copy)


@dataclass(frozen=True)
class Defragmentation(Displayed):
    """``moves`` of buffers on ``machine``, whose offset 0 was address ``base``, in the memory named ``memory``.

    ``cycles_by_move`` is in the order of the moves; ``by_cause`` (``compute flash sram sdram qspi``) sums to
    ``cycles`` as they do. ``traffic``: bytes that crossed each region's own pins, the code's included.
    """

    machine: Machine = field(repr=False)
    copy: Copy
    base: int
    memory: str
    moves: tuple[BufferMove, ...] = field(repr=False)
    cycles_by_move: tuple[int, ...] = field(repr=False)
    by_cause: Mapping[str, int]
    traffic: Mapping[str, Traffic]
    energy: Energy
    assumptions: tuple[str, ...] = field(default=(), repr=False)

    @property
    def cycles(self) -> int:
        """Core cycles of all moves together."""
        return sum(self.cycles_by_move)

    @property
    def bytes(self) -> int:
        """Bytes moved, padding left out."""
        return sum(move.bytes for move in self.moves)

    @property
    def seconds(self) -> float:
        """Time at the core's clock."""
        return self.cycles / self.machine.core.clock

    @property
    def energy_mj(self) -> float:
        """Energy that the supply delivers meanwhile, in mJ."""
        return self.energy.energy_mj


@dataclass(frozen=True)
class Planned(Displayed):
    """One order of a graph's operators: lifetimes of tensors, and where each allocator puts them.

    ``placed``: by the name of the allocator, all on the blocks of ``timeline`` in its order of residents.
    """

    timeline: Timeline
    accounting: Accounting
    placed: dict[str, Placed]


@dataclass(frozen=True)
class MemoryPlan(Displayed, SavedAsJson, SavedAsPage):
    """``before``: the operators as stored, each tensor in bytes of its own; ``after``: as asked for.

    ``runtime`` executes the model. ``allocator`` is the one that was asked for. ``ordering`` is None for the order as
    stored. ``room`` is where the arena goes in ``machine``, ``defragmentation`` what moving tensors costs there, by
    several ways to copy. ``tflm_head``: bytes of the head of TFLM's arena in that order, with these offsets unless its
    own planner finds them; None where TFLM has no such plan. ``kernels``: whose scratch buffers and data the
    ``verdict`` on the machine counts; ``counted`` is the arena with those scratch buffers, after the residents.
    ``array``: all that a compiled runtime has in RAM, with columns by the rule ``im2col``; None for an interpreter.
    ``patches``: what those that ``graph`` is cut into need and cost; None for none. ``in_ram`` is the verdict on the
    data alone, ``flash`` what flash keeps on the machine (None where operators are not known); ``limits`` are those of
    the user, as checked.
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
    kernels: str | None = None
    counted: Placed | None = None
    verdict: MemoryVerdict | None = None
    runtime: str = RUNTIME.default
    array: StaticArray | None = None
    im2col: str | None = None
    patches: PatchFigures | None = None
    in_ram: MemoryVerdict | None = None
    flash: FlashUse | None = None
    limits: tuple[LimitCheck, ...] = ()

    @property
    def on_chip(self) -> int | None:
        """Bytes of on-chip RAM that the data need; None without a machine."""
        if self.in_ram is None or self.machine is None:
            return None
        regions = self.machine.memory
        return sum(
            bytes
            for part, bytes in self.in_ram.parts.items()
            if regions[self.in_ram.memory_of.get(part, self.in_ram.region).split("+")[0]].kind in ("sram", "tcm")
        )

    @property
    def placed(self) -> Placed:
        """What the chosen allocator made of the order asked for."""
        return self.after.placed[self.allocator]

    @property
    def addresses(self) -> Placed:
        """Where the chosen allocator puts the residents; for a machine, with kernels' scratch buffers among them."""
        if self.counted is None or self.counted.moves or self.placed.moves:
            return self.placed
        blocks = self.after.timeline.blocks
        places = self.counted.places[: len(blocks)]
        end = max((at[-1][1] + block.bytes for at, block in zip(places, blocks, strict=True)), default=0)
        return replace(self.placed, places=places, bytes=align_up(end, self.placed.align))

    @property
    def stored(self) -> Placed | None:
        """What the plan inside the file needs in the order as stored; None for a file without one."""
        return self.before.placed.get(OFFLINE)

    @property
    def keeps_stored(self) -> bool:
        """Are the offsets those of the plan inside the file."""
        given, timeline = self.graph.offline_plan, self.after.timeline
        if OFFLINE not in self.after.placed or given is None or self.addresses.moves:
            return False
        offsets = {
            t: at
            for resident, at in zip(timeline.residents, self.addresses.offsets, strict=True)
            for t in resident.tensors
        }
        return all(given[t] in (-1, at) for t, at in offsets.items())

    @property
    def read_bytes(self) -> int:
        """Bytes of TFLM's arena for the tensors of the file as it was read, or of a compiled runtime's own."""
        return (self.stored or self.before.placed.get("greedy") or self.before.placed[self.allocator]).bytes

    @property
    def changed(self) -> bool:
        """Whether ``after`` differs from ``before``."""
        return self.before.timeline != self.after.timeline

    @property
    def fits(self) -> bool:
        """Does what the verdict counts (without one: the arena) fit into the machine; True without a machine."""
        if self.verdict is not None:
            return self.verdict.fits
        return self.room is None or self.placed.bytes <= self.room.size

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the price of moving tensors depends on, without repetitions."""
        return tuple(
            dict.fromkeys(line for defragmentation in self.defragmentation for line in defragmentation.assumptions)
        )

    def _line(self) -> str:
        order = "as stored" if self.ordering is None else "optimal order"
        return f"{self.graph.name[:60]}: {self.allocator}, {order}: {self.placed.bytes:,} B of arena, fits: {self.fits}"
