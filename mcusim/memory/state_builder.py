"""The state array of a machine's memory system, allocated and filled from its description."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from mcusim.machine.cores import core_named
from mcusim.machine.description import Accelerator, Cache, Dma, Duration, Flash, Machine, Qspi, Region, Sdram, Sram, Tcm
from mcusim.machine.schema import REPLACEMENTS
from mcusim.memory import state_layout as L
from mcusim.memory.address_ranges import machine_ranges, set_range

_KIND: dict[type, int] = {Tcm: L.TCM, Sram: L.SRAM, Flash: L.FLASH, Sdram: L.SDRAM, Qspi: L.QSPI}


def ticks(machine: Machine, duration: Duration, device_hz: int | None = None) -> int:
    """A duration in ticks, rounded to the nearest."""
    return round(machine.cycles(duration, device_hz) * L.TICK)


def clocks(machine: Machine, duration: Duration, device_hz: int) -> int:
    """A duration rounded up to whole device clocks (as a controller's register would be set), in ticks."""
    cycles = machine.cycles(duration, device_hz)
    whole = ceil(cycles * device_hz / machine.core.clock)
    return round(Fraction(whole * machine.core.clock, device_hz) * L.TICK)


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
        clock=round(Fraction(machine.core.clock, machine.bus.clock) * L.TICK),
        room=max(dma.fifo, burst),
        threshold=max(min(dma.threshold_bytes, dma.fifo), side.beat * side.burst),
    )


def set_up(
    s: np.ndarray[Any, Any],
    f: int,
    ports: Ports,
    dma: Dma,
    source: int,
    target: int,
    size: int,
    side: WritingSide | None = None,
) -> None:
    """Fill in the record ``f`` of a transfer that has not begun; ``side``: its writing side if that is not alike."""
    side = side or WritingSide(dma.beat, dma.burst)
    s[f : f + L.TRANSFER] = 0
    s[f + L.D_BEFORE_READ], s[f + L.D_BEFORE_WRITE], s[f + L.D_CLOCK] = (
        ports.before_read,
        ports.before_write,
        ports.clock,
    )
    s[f + L.D_BEAT], s[f + L.D_STEP] = dma.beat, dma.beat * dma.burst
    s[f + L.D_BEAT_TO], s[f + L.D_STEP_TO] = side.beat, side.beat * side.burst
    s[f + L.D_MOVES_FROM], s[f + L.D_MOVES_TO] = side.source_moves, side.moves
    s[f + L.D_ROOM], s[f + L.D_THRESHOLD], s[f + L.D_LINE] = ports.room, ports.threshold, -1
    s[f + L.D_READ] = s[f + L.D_SOURCE] = source
    s[f + L.D_UNREAD] = s[f + L.D_LEFT] = size
    s[f + L.D_TARGET] = target


class Builder:
    """Lays out and fills the state array."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        regions = list(machine.memory.values())
        ports = [(r, False) for r in regions] + [(r, True) for r in regions if r.alias_port]
        self.blocks = {(r.name, alias): L.HEADER + i * L.REGION for i, (r, alias) in enumerate(ports)}
        for region in regions:
            self.blocks.setdefault((region.name, True), self.blocks[region.name, False])
        ranges = machine_ranges(machine)
        range_base = L.HEADER + len(ports) * L.REGION
        at = range_base + len(ranges) * L.RANGE
        data, code = machine.data_cache, machine.instruction_cache
        own = sum(_accelerator_size(r, alias) for r, alias in ports)
        room = at + own + _cache_size(data) + _cache_size(code)
        self.state = s = np.zeros(room + L.MAX_RANGES * L.RANGE, np.int64)
        s[L.RANGES], s[L.RANGE_BASE], s[L.SEED] = len(ranges), range_base, 0xACE1
        s[L.SHIFT] = _log2(min(L.VISIT, data.line) if data is not None and data.size else L.VISIT)
        s[L.DCACHE] = s[L.DATA_AT] = self._cache(at + own, data)
        s[L.ICACHE] = s[L.CODE_AT] = self._cache(at + own + _cache_size(data), code)
        for region, alias in ports:
            self._region(self.blocks[region.name, alias], region, alias, at)
            at += _accelerator_size(region, alias)
        for k, range_ in enumerate(ranges):
            set_range(s, range_base + k * L.RANGE, range_, self.blocks[range_.region, range_.alias])
        self._core(room)

    def _core(self, room: int) -> None:
        s = self.state
        s[L.NEXT_BEAT] = s[L.NEXT_RELEASE] = L.NEVER
        s[L.CONTROLLERS : L.TRANSFERS] = np.tile((L.NEVER, 0, 0), 2 * L.MAX_CONTROLLERS)
        s[L.BUS] = _log2(core_named(self.machine.core.isa).data_bus)
        s[L.ROOM], s[L.FOUND : L.FOUND + L.FOUNDS] = room, s[L.RANGE_BASE]
        s[L.CODE_BLOCK], s[L.CODE_COUNT], s[L.CODE_END] = L.HEADER, L.UNCOUNTED, -1
        for f in (L.DATA_FILLS, L.DATA_FILLS + L.FILL, L.CODE_FILL):
            s[f + L.F_LINE] = -1

    def _cache(self, at: int, cache: Cache | None) -> int:
        if cache is None or cache.size == 0:
            return 0
        s = self.state
        s[at + L.C_SETS], s[at + L.C_WAYS] = cache.size // (cache.ways * cache.line), cache.ways
        s[at + L.C_SHIFT] = _log2(cache.line)
        s[at + L.C_LINE], s[at + L.C_WRITEBACK] = cache.line, int(cache.policy == "write-back")
        s[at + L.C_REPLACE] = REPLACEMENTS.index(cache.replacement)
        records = s[at + L.CACHE : at + _cache_size(cache)].reshape(-1, L.CACHE_LINE)
        records[:, [L.TAG, L.AGE]] = -1
        return at

    def _region(self, r: int, region: Region, alias: bool, accel: int) -> None:
        s, device = self.state, region.device
        s[r + L.KIND] = _KIND[type(device)]
        s[r + L.ACCEL], s[r + L.LAST_ADDRESS], s[r + L.LATCH] = accel, -1, -1
        if isinstance(device, Sram):
            self._sram(r, device)
        elif isinstance(device, Flash):
            self._flash(r, device, _accelerator(region, alias), alias)
        elif isinstance(device, Sdram):
            self._sdram(r, device)
        elif isinstance(device, Qspi):
            self._qspi(r, device)

    def _sram(self, r: int, device: Sram) -> None:
        s, machine = self.state, self.machine
        s[r + L.LATENCY_R] = ticks(machine, device.read_latency, device.clock)
        s[r + L.LATENCY_W] = ticks(machine, device.write_latency, device.clock)
        s[r + L.LATENCY_DMA] = ticks(machine, device.dma_latency, device.clock)
        s[r + L.ARBITRATION] = ticks(machine, device.read_arbitration, machine.bus.clock)
        s[r + L.BEAT] = round(Fraction(machine.core.clock, device.clock) * L.TICK)
        s[r + L.WIDTH] = _log2(device.width // 8)

    def _flash(self, r: int, device: Flash, accelerator: Accelerator | None, alias: bool) -> None:
        s, machine = self.state, self.machine
        hclk = Fraction(machine.core.clock, machine.bus.clock)
        s[r + L.WAIT] = round(device.wait_states * hclk * L.TICK)
        s[r + L.LATENCY_R] = 0 if alias else ticks(machine, device.read_latency, machine.bus.clock)
        s[r + L.LINE], s[r + L.BEAT] = _log2(device.line), round(hclk * L.TICK)
        s[r + L.I_LINES] = s[r + L.CURRENT] = s[r + L.PREFETCH] = -1
        if accelerator is not None:
            s[r + L.A_LINES], s[r + L.I_LINES] = accelerator.data_lines, accelerator.instruction_lines
            s[r + L.A_WAYS] = accelerator.ways or accelerator.data_lines
            s[r + L.I_WAYS] = accelerator.ways or accelerator.instruction_lines
            s[r + L.CHANGE] = ticks(machine, accelerator.line_change, machine.bus.clock)
            s[r + L.UNIFIED], s[r + L.PREFETCHES] = accelerator.unified, accelerator.prefetch
            s[r + L.KEEPS], s[r + L.CANCELS] = accelerator.keeps_prefetched, accelerator.cancels_prefetch
            self._lines(r, accelerator)

    def _lines(self, r: int, accelerator: Accelerator) -> None:
        s = self.state
        code = s[r + L.I_ACCEL] = s[r + L.ACCEL] + accelerator.data_lines
        s[s[r + L.ACCEL] : code + L.BUCKETS] = -1
        records = s[code + L.BUCKETS :][: accelerator.instruction_lines * L.I_LINE].reshape(-1, L.I_LINE)
        records[:] = (-1, 0, -1)

    def _sdram(self, r: int, device: Sdram) -> None:
        s, machine, timing, hz = self.state, self.machine, device.timing, device.clock
        s[r + L.WIDTH], s[r + L.BANKS] = _log2(device.width // 8), device.banks
        row, s[r + L.ROW_MASK] = _log2(device.columns * device.width // 8), device.rows - 1
        above = device.mapping == "bank-row-column"
        s[r + L.BANK_SHIFT] = row + (_log2(device.rows) if above else 0)
        s[r + L.ROW_SHIFT] = row + (0 if above else _log2(device.banks))
        s[r + L.T_CLK] = round(Fraction(machine.core.clock, hz) * L.TICK)
        for slot, name in ((L.T_CL, "CL"), (L.T_RCD, "tRCD"), (L.T_RP, "tRP"), (L.T_RC, "tRC"), (L.T_RAS, "tRAS")):
            s[r + slot] = clocks(machine, getattr(timing, name), hz)
        s[r + L.T_WR] = clocks(machine, timing.tWR, hz)
        s[r + L.T_CL] += ticks(machine, device.read_pipe, machine.bus.clock)
        s[r + L.READ_FIFO], s[r + L.COLUMN_MASK] = device.read_fifo, device.columns - 1
        s[r + L.AHEAD] = min(device.read_fifo, s[r + L.T_CL] // s[r + L.T_CLK]) if device.read_burst else 0
        s[r + L.T_REFI] = ticks(machine, timing.refresh, hz)
        s[r + L.NEXT_REFRESH] = s[r + L.T_REFI]
        s[r + L.OVERHEAD_R] = ticks(machine, device.read_overhead, hz)
        s[r + L.OVERHEAD_W] = ticks(machine, device.write_overhead, hz)
        s[r + L.LATENCY_DMA] = ticks(machine, device.dma_latency, hz)
        s[r + L.FIFO] = device.write_fifo
        s[r + L.OPEN : r + L.OPEN + L.MAX_BANKS] = -1
        s[r + L.ACTIVATED : r + L.ACTIVATED + L.MAX_BANKS] = -(1 << 40)
        s[r + L.LAST_WRITE] = -(1 << 40)

    def _qspi(self, r: int, device: Qspi) -> None:
        s, machine = self.state, self.machine
        clock = Fraction(machine.core.clock, device.clock) * L.TICK
        opcode = Fraction(8, device.instruction_lines) if device.instruction_lines else 0
        command = opcode + Fraction(device.address_bits, device.address_lines)
        s[r + L.COMMAND] = round((ceil(command) + device.dummy) * clock)
        s[r + L.BEAT] = round(Fraction(8, device.data_lines) * clock)
        s[r + L.CS_HIGH] = round(device.cs_high * clock)
        s[r + L.OVERHEAD_R] = ticks(machine, device.read_overhead, device.clock)


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
    return accelerator.data_lines + L.BUCKETS + accelerator.instruction_lines * L.I_LINE


def _cache_size(cache: Cache | None) -> int:
    return 0 if cache is None or cache.size == 0 else L.CACHE + cache.size // cache.line * L.CACHE_LINE
