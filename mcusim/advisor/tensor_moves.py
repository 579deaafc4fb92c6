"""Which tensors are worth on-chip RAM and flash: by the cycles that runs waited for them, for the bytes they take.

Not modelled: that data in one memory makes accesses to other data in it slower; the search replays what is proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mcusim.model.graph import Graph
from mcusim.plan import takers
from mcusim.plan.allocators.greedy import ArenaBlock, align_up, plan_arena
from mcusim.plan.arena import ALIGN
from mcusim.plan.liveness.lifetimes import lifetimes
from mcusim.plan.operand_roles import tensor_roles
from mcusim.plan.options import IN_PLACE, PERSISTENT, SRAM_BUDGET, TENSOR_REGIONS
from mcusim.plan.overlay.on_chip import ON_CHIP
from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plan.pools import data_pools, largest_region
from mcusim.program import program_graph
from mcusim.results import Result
from mcusim.results.plan_advice import Decisions, TriedPlan

SHARES = (12, 14, 13, 11, 10, 8, 6, 4, 2, 0)  # sixteenths of on-chip RAM for tensors: buffers for copies need some
FROM_FLASH = 0.15  # of the waits for a constant in SDRAM those that it has in flash; assumed, to rank alone
STACK = 4096  # bytes of the first on-chip memory that are left to it
_KEPT = ("multiplier", "shift", "other")  # roles of the interpreter's data
_TRIES = 12


@dataclass
class TensorWaits:
    """Cycles that the core waited for each tensor while it was in SDRAM."""

    tensors: Counter[int] = field(default_factory=Counter)

    def learn(self, graph: Graph, result: Result) -> None:
        """From a run; what it has elsewhere keeps what it was known to wait."""
        assert result.run is not None and result.request is not None and result.request.program is not None
        executed, seen, memory = program_graph(result.request.program, graph), Counter[int](), result.machine.memory
        for wait in result.run.waits:
            region = memory.get(wait.region)
            if region is not None and region.kind == "sdram" and wait.role not in _KEPT:
                tensors = _tensors(executed, wait.operator, wait.role)
                for tensor in tensors:
                    seen[tensor] += wait.cycles // len(tensors)
        for tensor, cycles in seen.items():
            self.tensors[tensor] = max(self.tensors[tensor], cycles)


def _tensors(graph: Graph, operator: int, role: str) -> list[int]:
    """Those that an operator reads or writes in ``role``; a transfer's is ``input``."""
    op = graph.operators[operator]
    if role == "output":
        return [t for t in op.outputs if graph.tensors[t].bytes]
    return [t for name, t in tensor_roles(graph, op) if name == role or (role == "input" and name == "input0")]


@dataclass(frozen=True)
class DataItem:
    """``tensors`` of ``bytes`` together, alive at steps ``first`` to ``last``; ``saved``: cycles if they are here."""

    tensors: tuple[int, ...]
    bytes: int
    first: int
    last: int
    saved: float

    @property
    def density(self) -> float:
        """Cycles saved by a byte and a step."""
        return self.saved / (max(1, self.bytes) * (self.last - self.first + 1))


def choose_items(items: Sequence[DataItem], capacity: int) -> tuple[DataItem, ...]:
    """Those of ``items`` that are to be in ``capacity`` bytes, in their order."""
    room = capacity
    for _ in range(_TRIES):
        chosen = _within(items, room)
        over = plan_arena([ArenaBlock(i.bytes, i.first, i.last) for i in chosen], ALIGN).bytes - capacity
        if over <= 0:
            return chosen
        room -= over
    return ()


def _within(items: Sequence[DataItem], room: int) -> tuple[DataItem, ...]:
    """By falling density, as long as no step has more than ``room`` bytes."""
    used, chosen = np.zeros(max((item.last for item in items), default=0) + 1, np.int64), set[int]()
    for i in sorted(range(len(items)), key=lambda i: (-items[i].density, -items[i].bytes, i)):
        item, size = items[i], align_up(items[i].bytes, ALIGN)
        lived = used[item.first : item.last + 1]
        if item.saved > 0 and int(lived.max()) + size <= room:
            lived += size
            chosen.add(i)
    return tuple(item for i, item in enumerate(items) if i in chosen)


def tensor_moves(graph: Graph, plan: TriedPlan, waits: TensorWaits, most_sram: int | None) -> Iterator[Decisions]:
    """``plan`` with the tensors on chip that are worth it, for several shares of the on-chip RAM between them and the
    buffers, and constants in flash as far as there is room; ``most_sram``: the limit on on-chip RAM in bytes."""
    result = plan.result
    if result is None or result.run is None or result.request is None or result.request.program is None:
        return
    settings = result.request.settings
    if settings.policy not in takers(TENSOR_REGIONS.name):
        return
    executed = program_graph(result.request.program, graph)
    shares_bytes = bool(settings.options[IN_PLACE]) and settings.options.runtime.array is None
    items = _Items.of(executed, waits, shares_bytes)
    dropped = (ON_CHIP.flag, SRAM_BUDGET.flag)
    others = {name: value for name, value in plan.decisions.items() if name not in dropped}
    whole = data_pools(result.machine)[0].size - STACK
    budget = whole if most_sram is None else min(whole, most_sram)
    for share in SHARES:
        rooms = _rooms(result, settings.options[PERSISTENT], budget * share // 16, most_sram is None)
        if regions := items.placed(rooms, _flash(result)):
            chosen = {SRAM_BUDGET.flag: f"{budget} B", TENSOR_REGIONS.flag: TENSOR_REGIONS.to_cli(regions)}
            yield {**others, **chosen, BUFFER_SIZES.flag: "largest"}


@dataclass(frozen=True)
class _Items:
    """What may be on chip, and in flash."""

    activations: tuple[DataItem, ...]
    constants: tuple[DataItem, ...]

    @classmethod
    def of(cls, graph: Graph, waits: TensorWaits, overlaid: bool) -> _Items:
        last = len(graph.operators) - 1
        lives = [((life.tensor, *life.shared), life) for life in lifetimes(graph, in_place=overlaid)]
        activations = (
            DataItem(tensors, life.bytes, life.first, life.last, float(sum(waits.tensors[t] for t in tensors)))
            for tensors, life in lives
        )
        read = {t for op in graph.operators for t in op.inputs if t >= 0}
        constants = (
            DataItem((t.index,), t.bytes, 0, last, float(waits.tensors[t.index]))
            for t in graph.tensors
            if t.constant and t.bytes and t.index in read
        )
        return cls(tuple(activations), tuple(constants))

    def placed(self, rooms: dict[str, int], flash: tuple[str, int]) -> tuple[tuple[int, str], ...]:
        """Regions by tensor: ``rooms`` are bytes by region on chip, ``flash`` a region and what is free there."""
        regions: dict[int, str] = {}
        flat, (name, free) = [replace(item, last=0) for item in self.constants], flash
        _taken(regions, name, flat, free)
        in_flash, regions = {*regions}, {}
        todo = [*self.activations]
        for item in self.constants:
            todo.append(replace(item, saved=item.saved * (FROM_FLASH if item.tensors[0] in in_flash else 1.0)))
        for region, room in rooms.items():
            todo = _taken(regions, region, todo, room)
        _taken(regions, name, [item for item in flat if item.tensors[0] not in regions], free)
        return tuple(sorted(regions.items()))


def _taken(regions: dict[int, str], region: str, items: Sequence[DataItem], room: int) -> list[DataItem]:
    """Add to ``regions`` what goes to ``region``; the items that do not."""
    chosen = {item.tensors for item in choose_items(items, room)} if room > 0 else set()
    regions.update({t: region for tensors in chosen for t in tensors})
    return [item for item in items if item.tensors not in chosen]


def _rooms(result: Result, persistent: str | None, first: int, every: bool) -> dict[str, int]:
    """Bytes for tensors on chip by region, those first that have no buffers, if ``every`` memory is to be used;
    ``first`` in that of the buffers. What is persistent is there already."""
    assert result.run is not None
    pools, kept = data_pools(result.machine), result.run.header.memory.runtime
    rooms = {pool: pool.size - ALIGN * (pool.base == 0) for pool in pools[1:]} if every else {}
    rooms[pools[0]] = first
    return {(names := pool.name.split("+"))[0]: room - kept * (persistent in names) for pool, room in rooms.items()}


def _flash(result: Result) -> tuple[str, int]:
    """The largest flash, and its bytes that nothing but weights needs."""
    region = largest_region(result.machine, "flash")
    if region is None or result.flash is None:
        return "", 0
    others = (part.bytes for part in result.flash.parts if part.region == region.name and part.name != "weights")
    return region.name, region.size - sum(others)
