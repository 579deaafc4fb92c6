"""The state array of a machine's memory system, allocated and filled from its description."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from mcusim.machine.cores import core_named
from mcusim.machine.description import Accelerator, Cache, Dma, Duration, Flash, Machine, Qspi, Region, Sdram, Sram, Tcm
from mcusim.machine.schema import REPLACEMENTS
from mcusim.memory import state_layout as L
from mcusim.memory.address_ranges import machine_ranges, set_range
from mcusim.memory.cache.outside_policy import bind
from mcusim.memory.state_layout import (
    BUCKETS,
    MAX_BANKS,
    MAX_CONTROLLERS,
    MAX_RANGES,
    NEVER,
    RECENT_LINES,
    RECENT_RANGES,
    TICK,
    VISIT,
    AddressRange,
    CacheLine,
    CacheState,
    CodeLines,
    FlashLine,
    MemoryState,
    RegionState,
    TransferState,
)
from mcusim.native.structs import offset_of

_KIND: dict[type, int] = {Tcm: L.TCM, Sram: L.SRAM, Flash: L.FLASH, Sdram: L.SDRAM, Qspi: L.QSPI}


def ticks(machine: Machine, duration: Duration, device_hz: int | None = None) -> int:
    """A duration in ticks, rounded to the nearest."""
    return round(machine.cycles(duration, device_hz) * TICK)


def clocks(machine: Machine, duration: Duration, device_hz: int) -> int:
    """A duration rounded up to whole device clocks (as a controller's register would be set), in ticks."""
    cycles = machine.cycles(duration, device_hz)
    whole = ceil(cycles * device_hz / machine.core.clock)
    return round(Fraction(whole * machine.core.clock, device_hz) * TICK)


@dataclass(frozen=True)
class Ports:
    """A DMA controller's ports in ticks: before a read and before a write has its memory, and a clock of its bus; and
    its FIFO in bytes: how many fit, and how many there are when they are written."""

    before_read: int
    before_write: int
    clock: int
    room: int
    threshold: int


@dataclass(frozen=True, slots=True)
class WritingSide:
    """The writing side of a transfer whose sides are not alike: bytes of a beat, beats of a burst; ``moves`` and
    ``source_moves``: whether the addresses of target and source go on with the beats."""

    beat: int
    burst: int
    moves: bool = True
    source_moves: bool = True


def dma_ports(machine: Machine, dma: Dma, target: WritingSide | None = None) -> Ports:
    """The ports of ``dma`` by ST AN4031, tables 4 and 5: arbitration and address, and the bus matrix.

    The matrix is asked for each read, and for each burst of writes; single writes follow each other in it.
    """
    port, matrix = (ticks(machine, cost, machine.bus.clock) for cost in (dma.port_cost, dma.matrix_cost))
    side = target or WritingSide(dma.beat, dma.burst)
    burst = max(dma.beat * dma.burst, side.beat * side.burst)
    return Ports(
        before_read=port + matrix,
        before_write=port + (matrix if side.burst > 1 else 0),
        clock=round(Fraction(machine.core.clock, machine.bus.clock) * TICK),
        room=max(dma.fifo, burst),
        threshold=max(min(dma.threshold_bytes, dma.fifo), side.beat * side.burst),
    )


def set_up(
    transfer: TransferState,
    ports: Ports,
    dma: Dma,
    source: int,
    target: int,
    size: int,
    side: WritingSide | None = None,
) -> None:
    """Fill in a transfer that has not begun; ``side``: its writing side if that is not alike."""
    side = side or WritingSide(dma.beat, dma.burst)
    transfer.zero(TransferState.state, TransferState.code)
    transfer.before_read, transfer.before_write = ports.before_read, ports.before_write
    transfer.bus_clock = ports.clock
    transfer.beat, transfer.burst = dma.beat, dma.beat * dma.burst
    transfer.write_beat, transfer.write_burst = side.beat, side.beat * side.burst
    transfer.source_moves, transfer.target_moves = side.source_moves, side.moves
    transfer.fifo_size, transfer.threshold, transfer.last_line = ports.room, ports.threshold, -1
    transfer.read_address = transfer.write_source = source
    transfer.unread = transfer.unwritten = size
    transfer.write_address = target


class Builder:
    """Lays out and fills the state array."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        regions = list(machine.memory.values())
        ports = [(r, False) for r in regions] + [(r, True) for r in regions if r.alias_port]
        own_words = MemoryState.WORDS
        self.blocks = {(r.name, alias): own_words + i * RegionState.WORDS for i, (r, alias) in enumerate(ports)}
        for region in regions:
            self.blocks.setdefault((region.name, True), self.blocks[region.name, False])
        ranges = machine_ranges(machine)
        first_range = own_words + len(ports) * RegionState.WORDS
        lines = first_range + len(ranges) * AddressRange.WORDS
        data, code = machine.data_cache, machine.instruction_cache
        caches = lines + sum(_accelerator_size(r, alias) for r, alias in ports)
        room = caches + _cache_size(data) + _cache_size(code)
        self.state = np.zeros(room + MAX_RANGES * AddressRange.WORDS, np.int64)
        memory = MemoryState(self.state)
        memory.ranges, memory.first_range, memory.seed = len(ranges), first_range, 0xACE1
        memory.visit_shift = _log2(min(VISIT, data.line) if data is not None and data.size else VISIT)
        memory.data_cache = memory.data_cache_block = self._cache(caches, data)
        memory.code_cache = memory.code_cache_block = self._cache(caches + _cache_size(data), code)
        for region, alias in ports:
            self._region(RegionState(memory, self.blocks[region.name, alias]), region, alias, lines)
            lines += _accelerator_size(region, alias)
        for k, range_ in enumerate(ranges):
            addresses = AddressRange(memory, first_range + k * AddressRange.WORDS)
            set_range(addresses, range_, self.blocks[range_.region, range_.alias])
        self._core(memory, room)

    def _core(self, memory: MemoryState, room: int) -> None:
        memory.next_beat = memory.next_release = NEVER
        for i in range(MAX_CONTROLLERS):
            memory.controllers[i].reading.next_access = memory.controllers[i].writing.next_access = NEVER
        memory.bus_shift = _log2(core_named(self.machine.core.isa).data_bus)
        memory.room = room
        for i in range(RECENT_RANGES):
            memory.recent_ranges[i] = memory.first_range
        for i in range(RECENT_LINES):
            memory.recent_lines[i] = memory.data_cache_block + CacheState.WORDS  # any of its lines
        memory.free_code_region, memory.code_end = MemoryState.WORDS, -1
        memory.free_code_counter = offset_of(MemoryState.uncounted)
        for fill in (memory.data_fills[0], memory.data_fills[1], memory.code_fill):
            fill.line = -1

    def _cache(self, offset: int, machine_cache: Cache | None) -> int:
        if machine_cache is None or machine_cache.size == 0:
            return 0
        cache = CacheState(self.state, offset)
        cache.sets = machine_cache.size // (machine_cache.ways * machine_cache.line)
        cache.ways, cache.line_bytes = machine_cache.ways, machine_cache.line
        cache.line_shift = _log2(machine_cache.line)
        cache.write_back = machine_cache.policy == "write-back"
        name = machine_cache.replacement
        cache.replacement = REPLACEMENTS.index(name) if name in REPLACEMENTS else bind(name)
        lines = cache.lines.table(cache.sets * cache.ways)
        lines["tag"] = lines["age"] = -1
        return offset

    def _region(self, state: RegionState, region: Region, alias: bool, lines: int) -> None:
        device = region.device
        state.kind = _KIND[type(device)]
        state.data_line_store, state.next_address, state.latched_line = lines, -1, -1
        if isinstance(device, Sram):
            self._sram(state, device)
        elif isinstance(device, Flash):
            self._flash(state, device, _accelerator(region, alias), alias)
        elif isinstance(device, Sdram):
            self._sdram(state, device)
        elif isinstance(device, Qspi):
            self._qspi(state, device)

    def _sram(self, state: RegionState, device: Sram) -> None:
        machine = self.machine
        state.read_latency = ticks(machine, device.read_latency, device.clock)
        state.fetch_latency = ticks(machine, device.fetch_latency, device.clock)
        state.write_latency = ticks(machine, device.write_latency, device.clock)
        state.dma_latency = ticks(machine, device.dma_latency, device.clock)
        state.arbitration = ticks(machine, device.read_arbitration, machine.bus.clock)
        state.beat = round(Fraction(machine.core.clock, device.clock) * TICK)
        state.width_shift = _log2(device.width // 8)

    def _flash(self, state: RegionState, device: Flash, accelerator: Accelerator | None, alias: bool) -> None:
        machine = self.machine
        hclk = Fraction(machine.core.clock, machine.bus.clock)
        state.wait = round(device.wait_states * hclk * TICK)
        state.read_latency = 0 if alias else ticks(machine, device.read_latency, machine.bus.clock)
        state.fetch_latency = 0 if alias else ticks(machine, device.fetch_latency, machine.bus.clock)
        state.line_shift, state.beat = _log2(device.line), round(hclk * TICK)
        state.code_lines = state.current_line = state.prefetched_line = -1
        if accelerator is not None:
            state.data_lines, state.code_lines = accelerator.data_lines, accelerator.instruction_lines
            state.data_ways = accelerator.ways or accelerator.data_lines
            state.code_ways = accelerator.ways or accelerator.instruction_lines
            state.line_change = ticks(machine, accelerator.line_change, machine.bus.clock)
            state.unified, state.prefetches = accelerator.unified, accelerator.prefetch
            state.keeps_prefetched, state.cancels_prefetch = accelerator.keeps_prefetched, accelerator.cancels_prefetch
            state.code_line_store = state.data_line_store + accelerator.data_lines
            self._lines(state)

    def _lines(self, state: RegionState) -> None:
        for i in range(state.data_lines):
            self.state[state.data_line_store + i] = -1
        empty_code_lines(CodeLines(self.state, state.code_line_store), state.code_lines)

    def _sdram(self, state: RegionState, device: Sdram) -> None:
        machine, timing, hz = self.machine, device.timing, device.clock
        state.width_shift, state.banks = _log2(device.width // 8), device.banks
        row, state.row_mask = _log2(device.columns * device.width // 8), device.rows - 1
        above = device.mapping == "bank-row-column"
        state.bank_shift = row + (_log2(device.rows) if above else 0)
        state.row_shift = row + (0 if above else _log2(device.banks))
        state.t_clk = round(Fraction(machine.core.clock, hz) * TICK)
        state.t_rcd, state.t_rp = clocks(machine, timing.tRCD, hz), clocks(machine, timing.tRP, hz)
        state.t_rc, state.t_ras = clocks(machine, timing.tRC, hz), clocks(machine, timing.tRAS, hz)
        state.t_wr = clocks(machine, timing.tWR, hz)
        state.t_cl = clocks(machine, timing.CL, hz) + ticks(machine, device.read_pipe, machine.bus.clock)
        state.read_fifo, state.column_mask = device.read_fifo, device.columns - 1
        state.columns_ahead = min(device.read_fifo, state.t_cl // state.t_clk) if device.read_burst else 0
        state.t_refi = state.next_refresh = ticks(machine, timing.refresh, hz)
        state.read_overhead = ticks(machine, device.read_overhead, hz)
        state.write_overhead = ticks(machine, device.write_overhead, hz)
        state.dma_latency = ticks(machine, device.dma_latency, hz)
        state.write_fifo = device.write_fifo
        for bank in range(MAX_BANKS):
            state.open_row[bank], state.activated[bank] = -1, -(1 << 40)
        state.last_write = -(1 << 40)

    def _qspi(self, state: RegionState, device: Qspi) -> None:
        machine = self.machine
        clock = Fraction(machine.core.clock, device.clock) * TICK
        opcode = Fraction(8, device.instruction_lines) if device.instruction_lines else 0
        command = opcode + Fraction(device.address_bits, device.address_lines)
        state.command = round((ceil(command) + device.dummy) * clock)
        state.beat = round(Fraction(8, device.data_lines) * clock)
        state.cs_high = round(device.cs_high * clock)
        state.read_overhead = ticks(machine, device.read_overhead, device.clock)


def empty_code_lines(lines: CodeLines, count: int) -> None:
    """No instruction line of an accelerator of ``count`` holds anything."""
    for bucket in range(BUCKETS):
        lines.first[bucket] = -1
    table = lines.lines.table(count)
    table["tag"], table["age"], table["next"] = -1, 0, -1


def _log2(n: int) -> int:
    """Exact logarithm of a power of two (the machine's rules allow no other here)."""
    return n.bit_length() - 1


def _accelerator(region: Region, alias: bool) -> Accelerator | None:
    """The one in front of the region's own addresses, or of its aliases where they are a port of their own."""
    accelerator = region.device.accelerator if isinstance(region.device, Flash) else None
    return accelerator if region.alias_port == alias else None


def _accelerator_size(region: Region, alias: bool) -> int:
    accelerator = _accelerator(region, alias)
    if accelerator is None:
        return 0
    return accelerator.data_lines + CodeLines.WORDS + accelerator.instruction_lines * FlashLine.WORDS


def _cache_size(cache: Cache | None) -> int:
    return 0 if cache is None or cache.size == 0 else CacheState.WORDS + cache.size // cache.line * CacheLine.WORDS
