"""A machine's memory system: the state array built from its description, and the calls the floors above use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from mcusim.errors import UsageError
from mcusim.machine.description import Cache, Dma, Duration, Flash, Machine, Qspi, Region, Sdram, Sram, Tcm
from mcusim.memory import cache as _cache
from mcusim.memory import layout as L
from mcusim.memory import path

_KIND: dict[type, int] = {Tcm: L.TCM, Sram: L.SRAM, Flash: L.FLASH, Sdram: L.SDRAM, Qspi: L.QSPI}
LAST_TICK = 1 << 60  # leaves room below 2**63 for the task that passes it
CAUSE = {"tcm": "sram", "sram": "sram", "flash": "flash", "sdram": "sdram", "qspi": "qspi"}


@dataclass(frozen=True, slots=True)
class Demand:
    """What one activity asked of one region: accesses, bytes, and ticks the device was occupied / the core stalled."""

    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    occupied: int
    stall: int

    @property
    def accesses(self) -> int:
        return self.reads + self.writes


class MemorySystem:
    """Caches, devices and their counters for one machine.

    ``state`` is the int64 array that native code shares; :meth:`measure` runs something on it and returns what it asked
    of every region; it raises UsageError when time runs out of 64 bits. Left out: what each device says it leaves out.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.regions = list(machine.memory.values())
        build = _Builder(machine)
        self.state = build.state
        self.first_block = L.HEADER

    def sync(self, cycle: int) -> None:
        """Set the clock before a task that starts at ``cycle``."""
        path.sync(self.state, cycle * L.TICK, self.first_block, len(self.regions))

    def measure(self, action: Callable[[Any], Any]) -> dict[str, Demand]:
        """Run ``action(state)`` and return the demand by region name (regions not touched are left out)."""
        before = self._counters()
        action(self.state)
        if not 0 <= self.state[L.NOW] < LAST_TICK:
            raise UsageError(f"over {LAST_TICK // L.TICK:.0e} cycles: the machine's durations are out of scale")
        delta = self._counters() - before
        return {
            region.name: Demand(*(int(x) for x in row[: L.STALL - L.READS + 1]))
            for region, row in zip(self.regions, delta, strict=True)
            if row.any()
        }

    def counters(self) -> dict[str, int]:
        """Totals since the start, of caches, SDRAM rows and refreshes, and the flash accelerator."""
        total = self._counters().sum(axis=0)
        s = self.state
        return {
            "dcache_hits": int(s[L.HITS]),
            "dcache_misses": int(s[L.MISSES]),
            "dcache_writebacks": int(s[L.WRITEBACKS]),
            "icache_hits": int(s[L.IHITS]),
            "icache_misses": int(s[L.IMISSES]),
            "sdram_row_misses": int(total[L.ROW_MISSES - L.READS]),
            "sdram_refreshes": int(total[L.REFRESHES - L.READS]),
            "flash_data_hits": int(total[L.A_HITS - L.READS]),
            "flash_data_misses": int(total[L.A_MISSES - L.READS]),
            "flash_fetch_misses": int(total[L.F_MISSES - L.READS]),
        }

    def maintain(self, address: int, size: int, clean: bool, invalidate: bool) -> tuple[int, int]:
        """Cache maintenance by address: (lines walked, ticks of the write-backs)."""
        data = self.machine.data_cache
        if data is None or data.size == 0:
            return 0, 0
        lines = (address + size + data.line - 1) // data.line - address // data.line
        return lines, int(_cache.maintain(self.state, address, size, int(clean), int(invalidate)))

    def transfer(self, dma: Dma, source: int, target: int, size: int) -> int:
        """Ticks of one undisturbed DMA transfer of ``size`` bytes."""
        machine = self.machine
        own = sum(ticks(machine, cost, machine.bus.clock) for cost in (dma.read_cost, dma.write_cost))
        clock = round(Fraction(machine.core.clock, machine.bus.clock) * L.TICK)
        return int(path.dma(self.state, source, target, size, dma.beat, dma.burst, own, clock))

    def _counters(self) -> np.ndarray[Any, Any]:
        n = len(self.regions)
        blocks = self.state[self.first_block : self.first_block + n * L.REGION].reshape(n, L.REGION)
        return blocks[:, L.COUNTERS].copy()


def ticks(machine: Machine, duration: Duration, device_hz: int | None = None) -> int:
    """A duration in ticks, rounded to the nearest."""
    return round(machine.cycles(duration, device_hz) * L.TICK)


def clocks(machine: Machine, duration: Duration, device_hz: int) -> int:
    """A duration rounded up to whole device clocks (as a controller's register would be set), in ticks."""
    cycles = machine.cycles(duration, device_hz)
    whole = ceil(cycles * device_hz / machine.core.clock)
    return round(Fraction(whole * machine.core.clock, device_hz) * L.TICK)


class _Builder:
    """Lays out and fills the state array."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        regions = list(machine.memory.values())
        ranges = [(base, r, i) for i, r in enumerate(regions) for base in (r.base, *r.aliases)]
        range_base = L.HEADER + len(regions) * L.REGION
        accel = range_base + len(ranges) * L.RANGE
        lines = sum(_data_lines(r) for r in regions)
        data, instruction = machine.data_cache, machine.instruction_cache
        self.state = s = np.zeros(accel + lines + _cache_size(data) + _cache_size(instruction), np.int64)
        s[L.RANGES], s[L.RANGE_BASE], s[L.LAST], s[L.SEED] = len(ranges), range_base, range_base, 0xACE1
        for i, region in enumerate(regions):
            self._region(L.HEADER + i * L.REGION, region, accel)
            s[accel : accel + _data_lines(region)] = -1
            accel += _data_lines(region)
        for k, (base, region, i) in enumerate(ranges):
            attribute = 0 if isinstance(region.device, Tcm) else L.ATTRIBUTES[region.attribute]
            s[range_base + k * L.RANGE :][: L.RANGE] = (base, base + region.size, L.HEADER + i * L.REGION, attribute)
        s[L.SHIFT] = _log2(min(L.VISIT, data.line) if data is not None and data.size else L.VISIT)
        s[L.DCACHE] = self._cache(accel, data)
        s[L.ICACHE] = self._cache(accel + _cache_size(data), instruction)

    def _cache(self, at: int, cache: Cache | None) -> int:
        if cache is None or cache.size == 0:
            return 0
        s = self.state
        s[at + L.C_SETS], s[at + L.C_WAYS] = cache.size // (cache.ways * cache.line), cache.ways
        s[at + L.C_SHIFT] = _log2(cache.line)
        s[at + L.C_LINE], s[at + L.C_WRITEBACK] = cache.line, int(cache.policy == "write-back")
        s[at + L.C_REPLACE] = {"lru": L.LRU, "round-robin": L.ROUND_ROBIN, "random": L.RANDOM}[cache.replacement]
        records = s[at + L.CACHE : at + _cache_size(cache)].reshape(-1, 3)
        records[:] = (-1, 0, 0)
        return at

    def _region(self, r: int, region: Region, accel: int) -> None:
        s, device = self.state, region.device
        s[r + L.KIND] = _KIND[type(device)]
        s[r + L.ACCEL], s[r + L.LAST_ADDRESS], s[r + L.LATCH] = accel, -1, -1
        if isinstance(device, Sram):
            self._sram(r, device)
        elif isinstance(device, Flash):
            self._flash(r, device)
        elif isinstance(device, Sdram):
            self._sdram(r, device)
        elif isinstance(device, Qspi):
            self._qspi(r, device)

    def _sram(self, r: int, device: Sram) -> None:
        s, machine = self.state, self.machine
        s[r + L.LATENCY_R] = ticks(machine, device.read_latency, device.clock)
        s[r + L.LATENCY_W] = ticks(machine, device.write_latency, device.clock)
        s[r + L.BEAT] = round(Fraction(machine.core.clock, device.clock) * L.TICK)
        s[r + L.WIDTH] = _log2(device.width // 8)

    def _flash(self, r: int, device: Flash) -> None:
        s, machine, accelerator = self.state, self.machine, device.accelerator
        hclk = Fraction(machine.core.clock, machine.bus.clock)
        s[r + L.WAIT] = round(device.wait_states * hclk * L.TICK)
        s[r + L.LATENCY_R] = ticks(machine, device.read_latency, machine.bus.clock)
        s[r + L.LINE], s[r + L.BEAT] = _log2(device.line), round(hclk * L.TICK)
        s[r + L.I_LINES] = -1
        if accelerator is not None:
            s[r + L.A_LINES], s[r + L.I_LINES] = accelerator.data_lines, accelerator.instruction_lines
            s[r + L.HIDES] = ticks(machine, accelerator.prefetch_hides, machine.bus.clock) * accelerator.prefetch
            s[r + L.CHANGE] = ticks(machine, accelerator.line_change, machine.bus.clock)

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
        s[r + L.T_REFI] = ticks(machine, timing.refresh, hz)
        s[r + L.NEXT_REFRESH] = s[r + L.T_REFI]
        s[r + L.OVERHEAD_R] = ticks(machine, device.read_overhead, hz)
        s[r + L.OVERHEAD_W] = ticks(machine, device.write_overhead, hz)
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


def _data_lines(region: Region) -> int:
    device = region.device
    if isinstance(device, Flash) and device.accelerator is not None:
        return device.accelerator.data_lines
    return 0


def _cache_size(cache: Cache | None) -> int:
    return 0 if cache is None or cache.size == 0 else L.CACHE + cache.size // cache.line * 3
