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
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks.block_tables import CodeBlock
from mcusim.cpu.system.interrupts import ExceptionCount
from mcusim.memory import state_layout as L

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
        record = emulator.tables.blocks[block.index * C.BLOCK : (block.index + 1) * C.BLOCK]
        _block(block, record, costs)
        text.update((i.address, i.text) for i in block.instructions)
    for block, issued in emulator.tables.broken:
        for instruction in block.instructions[:issued]:
            costs[instruction.address].issued += 1
    _accesses(emulator, costs)
    c = emulator.state
    low = int(c[C.STACK_LOW])
    return CycleProfile(
        cycles=int(emulator.memory.state[L.NOW]) / L.TICK,
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
        apart={name: cycles for name, cycles in _apart(c).items() if cycles},
    )


def cycle_causes(emulator: Emulator) -> dict[str, float]:
    """Cycles by cause that the emulator has counted so far, those that are none left out."""
    causes: dict[str, float] = defaultdict(float)
    known = emulator.tables.known
    records = emulator.tables.blocks[: len(known) * C.BLOCK].reshape(-1, C.BLOCK)
    for index in np.flatnonzero(records[:, C.RUNS]).tolist():
        timing, runs = known[index].timing, int(records[index, C.RUNS])
        causes["issue"] += timing.cycles * runs  # a cycle for each issue of one or two, and the stalls
        for stall in timing.stalls:
            causes[stall.cause] += stall.cycles * runs
            causes["issue"] -= stall.cycles * runs
    ticks = records[:, _PARTS].sum(axis=0).tolist()
    fetch, branch, carry, shared, prefetch = (part / L.TICK for part in ticks)
    causes["issue"] -= shared
    for cause, cycles in (("fetch", fetch), ("branch", branch), ("latency", carry), ("alignment", prefetch)):
        causes[cause] += cycles
    accesses = emulator.tables.accesses[: emulator.tables.records * C.ACCESS].reshape(-1, C.ACCESS)
    causes["data"] += int(accesses[:, C.STALLED].sum()) / L.TICK
    several = accesses[:, C.BYTES] == 0  # an instruction of several cycles, not an access
    causes["multi-cycle"] += int(accesses[several, C.PENALTY].sum()) / L.TICK
    causes["load/store unit"] += int(accesses[~several, C.PENALTY].sum()) / L.TICK
    c = emulator.state
    maintenance = int(c[C.SYSTEM_TICKS]) / L.TICK
    causes["cache maintenance"] = maintenance
    causes["load/store unit"] -= maintenance
    causes["exceptions"], causes["sleep"] = int(c[C.EXCEPTION_TICKS]) / L.TICK, int(c[C.SLEEP_TICKS]) / L.TICK
    causes["data"] += int(c[C.STACKING_TICKS]) / L.TICK
    _by_region(emulator, causes)
    return {name: cycles for name, cycles in causes.items() if cycles}


def _apart(c: Any) -> dict[str, float]:
    around = int(c[C.EXCEPTION_TICKS]) + int(c[C.STACKING_TICKS])
    return {"exception entry and return": around / L.TICK, "asleep": int(c[C.SLEEP_TICKS]) / L.TICK}


_PARTS = (C.FETCH_TICKS, C.BRANCH_TICKS, C.CARRY_TICKS, C.SHARED_TICKS, C.PREFETCH_TICKS)


def _block(block: CodeBlock, record: Any, costs: dict[int, InstructionCost]) -> None:
    runs = int(record[C.RUNS])
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
    parts = (int(record[slot]) / L.TICK for slot in _PARTS)
    fetch, branch, carry, shared, prefetch = parts
    first.cycles += fetch + carry + prefetch
    first.fetch += fetch
    first.pipeline += carry + prefetch
    last.cycles += branch - shared
    last.pipeline += branch


def _accesses(emulator: Emulator, costs: dict[int, InstructionCost]) -> None:
    size = emulator.tables.records
    for record in emulator.tables.accesses[: size * C.ACCESS].reshape(-1, C.ACCESS):
        stalled, penalty = int(record[C.STALLED]) / L.TICK, int(record[C.PENALTY]) / L.TICK
        if stalled or penalty:
            cost = costs[int(record[C.PC])]
            cost.cycles += stalled + penalty
            cost.data += stalled
            cost.pipeline += penalty


def _by_region(emulator: Emulator, causes: dict[str, float]) -> None:
    """Split the waits for data and code by the memory waited for."""
    for name, region in emulator.memory.by_region().items():
        fetch = region["fetch_stall"] / L.TICK
        data = region["stall"] / L.TICK - fetch
        for what, cycles in (("data", data), ("fetch", fetch)):
            if cycles:
                causes[f"{what} {name}"] = cycles
                causes[what] -= cycles


def _calls(emulator: Emulator) -> Iterable[CallCost]:
    edges = emulator.calls[1:].reshape(-1, C.EDGE)
    for key, calls, ticks, issued in edges[(edges[:, C.EDGE_KEY] >= 0) & (edges[:, C.EDGE_CALLS] > 0)].tolist():
        yield _call(emulator, key, calls, ticks, issued)
    c, now = emulator.state, int(emulator.memory.state[L.NOW])
    for frame in range(C.SHADOW, C.SHADOW + int(c[C.CALL_DEPTH]) * C.SHADOW_ENTRY, C.SHADOW_ENTRY):
        edge = int(c[frame + C.CALL_EDGE])
        if edge > 0:  # a call that has not returned yet
            issued = emulator.instructions - int(c[frame + C.CALL_INSTRUCTIONS])
            ticks = now - int(c[frame + C.CALL_TICKS])
            yield _call(emulator, int(emulator.calls[edge + C.EDGE_KEY]), 1, ticks, issued)


def _call(emulator: Emulator, key: int, calls: int, ticks: int, issued: int) -> CallCost:
    block = emulator.tables.known[key >> 32]
    return CallCost(block.instructions[-1].address, key & 0xFFFF_FFFF, calls, ticks / L.TICK, issued)
