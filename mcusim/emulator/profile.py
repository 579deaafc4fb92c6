"""Where the cycles went: by cause, region, function, source line and call.

Every tick the core spent is charged to one instruction: its issue, the stalls of its own access, for a block's first
instruction the fetch, for its last the branch. Entries into exceptions, returns from them and sleep belong to none.
The parts sum to the whole.

Not modelled: the cycles of a block that broke off (in a fault, at an exit) are those of its first instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mcusim.cpu.hooks.block_tables import CodeBlock
from mcusim.cpu.state_layout import BlockRecord, CoreState
from mcusim.cpu.system.interrupts import ExceptionCount
from mcusim.memory.state_layout import TICK

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator


@dataclass(slots=True)
class InstructionCost:
    """One address: times issued, cycles in all, of these waiting for data, for code, and for the pipeline."""

    issued: int = 0
    cycles: float = 0.0
    data: float = 0.0
    fetch: float = 0.0
    pipeline: float = 0.0


@dataclass(frozen=True, slots=True)
class CallCost:
    """A call site and its callee (addresses): calls, cycles and instructions between call and return, or now."""

    site: int
    callee: int
    calls: int
    cycles: float
    issued: int


@dataclass(frozen=True)
class CycleProfile:
    """``causes`` sums to ``cycles``; ``instructions`` by address."""

    cycles: float
    issued: int
    causes: dict[str, float]
    instructions: dict[int, InstructionCost]
    calls: tuple[CallCost, ...]
    branches: dict[str, int]
    counters: dict[str, int]
    regions: dict[str, dict[str, int]]  # of MemorySystem.by_region: those that were used
    stack_used: int
    blocks: int
    unforeseen: int
    text: dict[int, str] = field(repr=False)
    exceptions: tuple[ExceptionCount, ...] = ()  # those that were taken, by number
    depths: dict[int, int] = field(default_factory=dict)  # how often so many handlers were active when one began
    # frames on tasks' stacks: address, and the lowest address stored to
    # frames on tasks' stacks: address, and the lowest address stored to
    frames: dict[int, int] = field(default_factory=dict, repr=False)
    apart: dict[str, float] = field(default_factory=dict)  # cycles that no instruction has: of exceptions, asleep


def profile(emulator: Emulator, stack_top: int = 0) -> CycleProfile:
    """What the emulator has counted so far. ``stack_top``: where the stack began, for its high-water mark."""
    costs: dict[int, InstructionCost] = defaultdict(InstructionCost)
    text: dict[int, str] = {}
    for block in emulator.tables.known:
        _block(block, emulator.tables.blocks.records[block.index], costs)
        text.update((i.address, i.text) for i in block.instructions)
    for block, issued in emulator.tables.broken:
        for instruction in block.instructions[:issued]:
            costs[instruction.address].issued += 1
    _accesses(emulator, costs)
    low = emulator.state.stack_low
    return CycleProfile(
        cycles=emulator.memory.state.now / TICK,
        issued=emulator.instructions,
        causes=cycle_causes(emulator),
        instructions=dict(sorted(costs.items())),
        calls=tuple(_calls(emulator)),
        branches=emulator.branch_counts(),
        counters=emulator.memory.counters(),
        regions={name: row for name, row in emulator.memory.by_region().items() if any(row.values())},
        stack_used=max(0, stack_top - low) if stack_top else 0,
        blocks=len(emulator.tables.known),
        unforeseen=emulator.unforeseen,
        text=text,
        exceptions=tuple(emulator.interrupts.counts()),
        depths=dict(sorted(emulator.interrupts.log.depths.items())),
        frames=dict(emulator.interrupts.log.stacks),
        apart={name: cycles for name, cycles in _apart(emulator.state).items() if cycles},
    )


def cycle_causes(emulator: Emulator) -> dict[str, float]:
    """Cycles by cause that the emulator has counted so far, those that are none left out."""
    causes: dict[str, float] = defaultdict(float)
    known = emulator.tables.known
    records = emulator.tables.block_records
    for index in np.flatnonzero(records["runs"]).tolist():
        timing, runs = known[index].timing, int(records["runs"][index])
        causes["issue"] += timing.cycles * runs  # a cycle for each issue of one or two, and the stalls
        for stall in timing.stalls:
            causes[stall.cause] += stall.cycles * runs
            causes["issue"] -= stall.cycles * runs
    fetch, branch, carry, shared, prefetch = (int(records[part].sum()) / TICK for part in _PARTS)
    causes["issue"] -= shared
    for cause, cycles in (("fetch", fetch), ("branch", branch), ("latency", carry), ("alignment", prefetch)):
        causes[cause] += cycles
    accesses = emulator.tables.access_records
    causes["data"] += int(accesses["stall"].sum()) / TICK
    several = accesses["size"] == 0  # an instruction of several cycles, not an access
    causes["multi-cycle"] += int(accesses["penalty"][several].sum()) / TICK
    causes["load/store unit"] += int(accesses["penalty"][~several].sum()) / TICK
    state = emulator.state
    maintenance = state.maintenance_ticks / TICK
    causes["cache maintenance"] = maintenance
    causes["load/store unit"] -= maintenance
    causes["exceptions"], causes["sleep"] = state.exception_ticks / TICK, state.sleep_ticks / TICK
    causes["data"] += state.stacking_ticks / TICK
    _by_region(emulator, causes)
    return {name: cycles for name, cycles in causes.items() if cycles}


def _apart(state: CoreState) -> dict[str, float]:
    around = state.exception_ticks + state.stacking_ticks
    return {"exception entry and return": around / TICK, "asleep": state.sleep_ticks / TICK}


_PARTS = ("fetch_ticks", "branch_ticks", "carry_ticks", "shared_ticks", "prefetch_ticks")


def _block(block: CodeBlock, record: BlockRecord, costs: dict[int, InstructionCost]) -> None:
    runs = record.runs
    timing = block.timing
    for stall in timing.stalls:
        cost = costs[block.instructions[stall.index].address]
        cost.cycles += stall.cycles * runs
        cost.pipeline += stall.cycles * runs
    left = timing.cycles - sum(stall.cycles for stall in timing.stalls)  # a cycle for each issue of one or two
    for instruction, begin, following in zip(block.instructions, timing.at, timing.at[1:], strict=False):
        cost = costs[instruction.address]
        cost.issued += runs
        cost.cycles += (begin != following) * runs  # of a pair the younger has the cycle
        left -= begin != following
    first, last = costs[block.instructions[0].address], costs[block.instructions[-1].address]
    last.issued += runs
    last.cycles += left * runs
    parts = (getattr(record, part) / TICK for part in _PARTS)
    fetch, branch, carry, shared, prefetch = parts
    first.cycles += fetch + carry + prefetch
    first.fetch += fetch
    first.pipeline += carry + prefetch
    last.cycles += branch - shared
    last.pipeline += branch


def _accesses(emulator: Emulator, costs: dict[int, InstructionCost]) -> None:
    records = emulator.tables.access_records
    for pc, stall, penalty_ticks in zip(*(records[name].tolist() for name in ("pc", "stall", "penalty")), strict=True):
        stalled, penalty = stall / TICK, penalty_ticks / TICK
        if stalled or penalty:
            cost = costs[pc]
            cost.cycles += stalled + penalty
            cost.data += stalled
            cost.pipeline += penalty


def _by_region(emulator: Emulator, causes: dict[str, float]) -> None:
    """Split the waits for data and code by the memory waited for."""
    for name, region in emulator.memory.by_region().items():
        fetch = region["fetch_stall"] / TICK
        data = region["stall"] / TICK - fetch
        for what, cycles in (("data", data), ("fetch", fetch)):
            if cycles:
                causes[f"{what} {name}"] = cycles
                causes[what] -= cycles


def _calls(emulator: Emulator) -> Iterable[CallCost]:
    edges = emulator.call_edges.slots.table(emulator.call_edges.mask + 1)
    for key, calls, ticks, issued in edges[(edges["key"] >= 0) & (edges["calls"] > 0)].tolist():
        yield _call(emulator, key, calls, ticks, issued)
    state, now = emulator.state, emulator.memory.state.now
    for depth in range(state.call_depth):
        call = state.calls[depth]
        if call.edge >= 0:  # a call that has not returned yet
            issued = emulator.instructions - call.instructions
            yield _call(emulator, emulator.call_edges.slots[call.edge].key, 1, now - call.ticks, issued)


def _call(emulator: Emulator, key: int, calls: int, ticks: int, issued: int) -> CallCost:
    block = emulator.tables.known[key >> 32]
    return CallCost(block.instructions[-1].address, key & 0xFFFF_FFFF, calls, ticks / TICK, issued)
