"""A kernel call of a profile that was fitted to a compiled set: its loop nest on the memory system, its code.

Not modelled: what simultaneous DMA transfers take from it (the engine adds that), instructions fetched again because
data pushed them out of a memory that both share, and the wait for code of a flash whose accelerator works in another
way than that of the board the costs were measured on (its wait is scaled by the wait states).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mcusim.errors import UnsupportedError
from mcusim.kernels.cost.fitted.families import family_cycles
from mcusim.kernels.cost.fitted.kinds import KINDS, UNPACK, describe, kind_of, nest, passes
from mcusim.kernels.cost.fitted.nest import ONE
from mcusim.kernels.cost.fitted.nest_call import LEVELS, ListedWord, NestCall, NestOperand
from mcusim.kernels.cost.profile import CoreCosts, FittedCosts, LevelCost, Profile
from mcusim.machine.cores import core_named
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data, replay
from mcusim.memory.range_lookup import addresses_at
from mcusim.memory.state_layout import CodeSweep, MemoryState, RegionState
from mcusim.model.geometry import PACKED, Geometry, Tile, whole

Operands = Sequence[tuple[str, int, int]]  # role, address, bytes
WORD = 4  # bytes
_ANEW = 0.17  # of a flash line, where code begins anew; assumed: a loop inside of a line has none, a far jump one
_FIELDS = ("filter", "bias", "multiplier", "shift", "scratch")  # roles that are a field of the call
# what an operator that the set does not have is costed as, by its trait ``costed_as``; else as bytes that move
_LIKE = {"elementwise": "reference_requantize"}


class Call(NamedTuple):
    """One compute task: the operator, its rows, operands, and where its call structure is (0: not known); ``symbol``:
    of a function that is no operator's."""

    geometry: Geometry
    rows: Tile
    operands: Operands
    node: int
    symbol: str = ""


def replay_call(memory: MemoryState, call: Call, profile: Profile, costs: CoreCosts, code: int) -> int:
    """Play the call on the memory state, its code at ``code`` and on; returns the ticks of its cycles.

    What it waits for is counted in the memory's regions. Raises UnsupportedError for a kind without costs.
    """
    kinds = [(each, kind) for each in _calls(call) for kind in _kinds(each, profile, costs)]
    return sum(_replay_kind(memory, each, profile, costs, _Executed(kind, code)) for each, kind in kinds)


def _calls(call: Call) -> list[Call]:
    """What a kernel does one after the other: of a filter of int4 it unpacks it, then calls the function for int8. Not
    modelled: the copy of the call structure that it makes for that."""
    g = call.geometry
    if PACKED not in g.types:
        return [call]
    spans = {role: (address, size) for role, address, size in call.operands}
    scratch, room = spans.get("scratch", (0, 0))
    count, used = g.filter_elements, -(-g.filter_elements // WORD) * WORD
    unpacked = Geometry(UNPACK, 1, 1, 1, count, 1, 1, count)  # of no operator
    ends = ("input0", *spans.get("filter", (0, 0))), ("output", scratch, count)
    spans = {"filter": (scratch, count), "scratch": (scratch + used, room - used)}
    operands = [(role, *spans.get(role, (address, size))) for role, address, size in call.operands]
    plain = replace(g, types=g.types.replace(PACKED, ""))
    return [Call(unpacked, whole(unpacked), ends, 0, UNPACK), call._replace(geometry=plain, operands=operands)]


def _kinds(call: Call, profile: Profile, costs: CoreCosts) -> tuple[str, ...]:
    """What is executed; costs by family are of all of it. Raises UnsupportedError for a kind without costs."""
    kind = _kind(call, _sizes(call, _places(call)), profile)
    kinds = (kind,) if costs.families else (kind, *passes(_symbol(call, profile), call.geometry))
    for name in kinds:
        if name not in costs.fitted:
            raise UnsupportedError(f"kernel profile {profile.name!r} has no costs of {name}")
    return kinds


class _Executed(NamedTuple):
    """What is executed, and where its code is."""

    kind: str
    address: int


def _replay_kind(memory: MemoryState, call: Call, profile: Profile, costs: CoreCosts, executed: _Executed) -> int:
    (kind, code), nest_call = executed, _nest_call(call, profile)
    fitted_costs = costs.fitted[kind]
    cycles, waits, read, words, away = _levels(kind, fitted_costs)
    if costs.families:  # fitted without waits: those for code are of the kernels whose accesses are played
        pace = _pace(call, profile, costs, memory.bus_shift == 2)
        cycles, away = np.rint(cycles * pace).astype(np.int64), away * pace
    region, measured = _code_region(memory, code, costs)
    alone = replay.word_by_word(memory, code) if away.any() else None
    factor = region.wait / (costs.wait_states * L.TICK) if region is not None and measured else 0.0
    fetch = np.rint(waits * factor).astype(np.int64)
    if alone is not None:
        cycles = np.rint(away[:, 0] * L.TICK).astype(np.int64)
        word, anew = replay.word_ticks(memory, alone)
        fetch = np.rint(away[:, 1] * word + away[:, 2] * anew).astype(np.int64)
    levels = nest_call.levels.table(LEVELS)
    levels["listed"] = nest_call.array.size + ListedWord.WORDS * (np.cumsum(read) - read)
    levels["cost"], levels["fetch"], levels["reads"] = cycles, fetch, read
    nest_call = NestCall(np.concatenate((nest_call.array, words)))
    nest_call.plays, nest_call.splits_words = 1, memory.bus_shift == 2
    nest_call.memory = memory
    if region is not None and not measured:
        _cold(memory, code, fitted_costs)
    for output, size in _outputs(call):
        nest_call.output, nest_call.output_size = output, size
        nest(kind)(nest_call)
    counts = nest_call.levels.table(LEVELS)["count"]
    if region is not None:
        region.stall += nest_call.waited
        region.fetch_stall += nest_call.waited
    ticks = int(counts @ cycles)
    if alone is not None:
        replay.count_words(memory, alone, round(float(counts @ away[:, 1])))
    elif region is not None and not measured:
        _, words, anew = counts @ away
        _from_flash(memory, code, fitted_costs, _Uncached(ticks, words, anew))
    return ticks


class ComputeCycles(NamedTuple):
    """Cycles of a call on memory that never waits, those for its code from the flash that its costs were fitted on; the
    words of code that it reads where no cache is, and how many of them begin anew elsewhere."""

    work: float
    fetch: float
    words: float
    anew: float


def compute_cycles(call: Call, profile: Profile, isa: str) -> ComputeCycles:
    """What the call takes without operands that wait. Raises UnsupportedError for a kind without costs."""
    costs, splits = profile.core(isa), core_named(isa).splits_unaligned
    kinds = [(each, kind) for each in _calls(call) for kind in _kinds(each, profile, costs)]
    of_kinds = [_of_kind(kind, each, profile, costs, splits) for each, kind in kinds]
    return ComputeCycles(*np.sum(of_kinds, axis=0).tolist())


def _of_kind(kind: str, call: Call, profile: Profile, costs: CoreCosts, splits: bool) -> Any:
    """Of one kind, as an array."""
    nest_call, sums = _nest_call(call, profile), np.zeros(4)
    memory = MemoryState(np.zeros(MemoryState.WORDS, np.int64))  # which the call does not keep
    nest_call.memory, nest_call.splits_words = memory, splits
    cycles, waits, _, _, away = _levels(kind, costs.fitted[kind])
    of_levels = np.array([cycles / L.TICK, waits / L.TICK, away[:, 1], away[:, 2]])
    for output, size in _outputs(call):
        nest_call.output, nest_call.output_size = output, size
        nest(kind)(nest_call)
        sums += of_levels @ nest_call.levels.table(LEVELS)["count"]
    return sums


def _pace(call: Call, profile: Profile, costs: CoreCosts, splits: bool) -> float:
    """Cycles of the call's family for each of the loops that its accesses are played by."""
    (kind,) = _kinds(call, profile, costs)
    work = _of_kind(kind, call, profile, costs, splits)[0]
    return float(family_cycles(call.geometry, call.rows, costs.families) / work) if work else 0.0


class DeviceFault(NamedTuple):
    """An unaligned access to Device memory: its ``address``, ``size`` in bytes, whether it is a ``write``; by a call of
    ``kind``."""

    kind: str
    address: int
    size: int
    write: bool


def device_fault(memory: MemoryState, call: Call, profile: Profile) -> DeviceFault | None:
    """The first access of the call that a core without unaligned accesses to Device memory faults on; the memory state
    is only looked at. Not modelled: where the first is inside a loop body."""
    faults = (_device_fault(memory, each, profile) for each in _calls(call))
    return next((fault for fault in faults if fault), None)


def _device_fault(memory: MemoryState, call: Call, profile: Profile) -> DeviceFault | None:
    kind, nest_call = _kind(call, _sizes(call, _places(call)), profile), _nest_call(call, profile)
    nest_call.seeks_fault, nest_call.memory = 1, memory
    for output, size in _outputs(call):
        nest_call.output, nest_call.output_size = output, size
        nest(kind)(nest_call)
    address, size, write = nest_call.fault_address, nest_call.fault_size, nest_call.fault_write
    return DeviceFault(kind, address, size, bool(write)) if address else None


def _outputs(call: Call) -> list[tuple[int, int]]:
    """Address and bytes of the outputs: SPLIT is a call for each."""
    pairs = [(address, size) for role, address, size in call.operands if role == "output"]
    return pairs or [(0, 0)]


def kernel_kind(geometry: Geometry, rows: Tile, operands: Operands, profile: Profile) -> str:
    """The kind that a call is costed as."""
    call = _calls(Call(geometry, rows, operands, 0))[-1]
    return _kind(call, _sizes(call, _places(call)), profile)


def _places(call: Call) -> list[tuple[int, int]]:
    """Address and bytes of the rows of each input that the call reads."""
    g, rows = call.geometry, call.rows
    inputs = [(a, n) for role, a, n in call.operands if role.startswith("input")] or [(0, 0)]
    if g.traits.keeps_state:
        return [(a, n) for role, a, n in call.operands if role not in ("output", "scratch")]
    row = g.in_batch * g.in_w * g.in_c * g.item
    tiled = (rows.in_row, rows.in_rows) != (0, g.in_h)
    places = []
    for address, size in inputs:
        within = tiled and size >= row * g.in_h  # the whole tensor, read in place: the rows begin further on
        places.append((address + row // g.in_batch * rows.in_row, row * rows.in_rows) if within else (address, size))
    return places


def _sizes(call: Call, places: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Bytes by role."""
    sizes = {role: size for role, _, size in call.operands if role == "bias"}
    return sizes | {f"input{i}": size for i, (_, size) in enumerate(places)} | {"output": _outputs(call)[0][1]}


def _kind(call: Call, sizes: Mapping[str, int], profile: Profile) -> str:
    symbol = _symbol(call, profile)
    if not symbol:
        return _LIKE.get(call.geometry.traits.costed_as, "reference_move")
    return kind_of(symbol, call.geometry, sizes)


def _symbol(call: Call, profile: Profile) -> str:
    """The function that is called; empty for an operator that the set does not have."""
    assert profile.compiled is not None
    if call.symbol:
        return call.symbol
    kernel = profile.compiled.kernels.get((call.geometry.type, call.geometry.types))
    return kernel.called_for(call.geometry).symbol if kernel else ""


def _nest_call(call: Call, profile: Profile) -> NestCall:
    g, rows, places = call.geometry, call.rows, _places(call)
    sizes = _sizes(call, places)
    nest_call = empty_call(places)
    describe(nest_call, g, rows, sizes)
    for role, address, _ in call.operands:
        if role in _FIELDS:
            setattr(nest_call, role, address)
    if (g.traits.reduces or g.traits.transposed) and not nest_call.scratch:  # floats are added up in the output
        nest_call.scratch = _outputs(call)[0][0]
    nest_call.structure, nest_call.bytewise = call.node, profile.set == "cmsis-nano"
    return nest_call


def empty_call(inputs: Sequence[tuple[int, int]]) -> NestCall:
    """A call of which nothing is known but address and bytes of its inputs."""
    nest_call = NestCall(np.zeros(NestCall.WORDS + NestOperand.WORDS * len(inputs), np.int64))
    nest_call.input, nest_call.second_input = inputs[0][0], inputs[-1][0]
    nest_call.input_count = len(inputs)
    nest_call.inputs.table(len(inputs))[:] = inputs
    return nest_call


@lru_cache(maxsize=512)
def _as_arrays(kind: str, levels: tuple[LevelCost, ...]) -> tuple[Any, Any, Any, Any, Any]:
    table = np.zeros((LEVELS, 6))
    table[: len(levels)] = [(level.cycles, level.waits, len(level.words), *level.away) for level in levels]
    cycles, waits, read = table[:, :3].T
    words = np.array([(at, round(rate * ONE), 0) for level in levels for at, rate in level.words], np.int64)
    return np.rint(cycles * L.TICK).astype(np.int64), waits * L.TICK, read.astype(np.int64), words, table[:, 3:]


def _levels(kind: str, costs: FittedCosts) -> tuple[Any, Any, Any, Any, Any]:
    """By level ticks of its cycles, of its wait for code, words it reads of the call structure; all these words; by
    level cycles, words of code and those that begin anew where no cache is for the code."""
    cycles, waits, read, words, away = _as_arrays(kind, tuple(costs.levels[name] for name in KINDS[kind].levels))
    return cycles, waits, read, words.ravel(), away


def _code_region(memory: MemoryState, code: int, costs: CoreCosts) -> tuple[RegionState | None, bool]:
    """The flash that the code is in (None: no flash), and whether its accelerator is one as measured."""
    addresses = addresses_at(memory, code)
    if addresses is None:
        return None, False
    region = RegionState(memory, addresses.region)
    if region.kind == L.TCM:
        return None, False
    through = memory.code_cache > 0 and addresses.attribute > 0
    accelerated = region.kind == L.FLASH and region.code_lines > 0
    return region, bool(accelerated and not through and costs.wait_states)


def _cold(memory: MemoryState, code: int, costs: FittedCosts) -> None:
    """Fetch what the kernel executes, line by line, where an instruction cache may have lost it."""
    if memory.code_cache == 0:
        return
    for offset, size in costs.code:
        core_data.fetch(memory, code + offset, size)


class _Uncached(NamedTuple):
    """What is executed past the caches: its ticks, words of code, and how many of them begin anew elsewhere."""

    ticks: int
    words: float
    anew: float


def _from_flash(memory: MemoryState, code: int, costs: FittedCosts, executed: _Uncached) -> None:
    """Every line of code comes from the flash or its accelerator, where no cache is for it."""
    addresses = addresses_at(memory, code)
    if not executed.words or addresses is None or (memory.code_cache > 0 and addresses.attribute > 0):
        return
    line = 1 << RegionState(memory, addresses.region).line_shift
    lines = flash_lines(executed.words, executed.anew, line >> memory.bus_shift)
    size, pace = sum(n for _, n in costs.code), round((executed.ticks << 16) / (lines * line))
    from_first = (code + costs.code[0][0], size, 1, 1, 0, int(lines * line), pace)
    replay.fetch(memory, CodeSweep(np.array(from_first, np.int64)))


def flash_lines(words: float, anew: float, line: int) -> float:
    """Lines of ``line`` words in which code comes from a flash past the caches."""
    return words / line + _ANEW * anew
