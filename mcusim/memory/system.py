"""A machine's memory system: the state array built from its description, and the calls the floors above use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcusim.errors import UsageError
from mcusim.machine.description import Dma, Machine
from mcusim.memory import operand_stalls
from mcusim.memory.address_ranges import Bytes, Range, install
from mcusim.memory.ports import replay
from mcusim.memory.state_builder import Builder, Ports, WritingSide, dma_ports, set_up
from mcusim.memory.state_layout import FIRST_BLOCK, LAST_TICK, TICK, MemoryState, RegionState
from mcusim.native.structs import offset_of

if TYPE_CHECKING:
    from mcusim.memory.dma.transfers import DmaTransfers

COUNTERS = (
    "reads",
    "writes",
    "read_bytes",
    "write_bytes",
    "occupied",
    "stall",
    "row_misses",
    "refreshes",
    "data_hits",
    "data_misses",
    "fetch_misses",
    "fetches",
    "fetch_stall",
    "fetch_hits",
    "fetch_prefetched",
    "waited",
    "dma_read_bytes",
    "dma_write_bytes",
    "spared",
)
_COUNTED = slice(offset_of(RegionState.reads), offset_of(RegionState.spared) + 1)
FIGURES = tuple(COUNTERS.index(name) for name in (*COUNTERS[:6], "waited", "fetch_stall", "spared"))
"""Which counters are the fields of :class:`AccessStats`."""
CAUSE = {"tcm": "sram", "sram": "sram", "flash": "flash", "sdram": "sdram", "qspi": "qspi"}


class AccessStats(NamedTuple):
    """What one activity asked of one region: accesses, bytes, and ticks the device was occupied / the core stalled.

    ``waited``: ticks of ``stall`` during which a beat of a DMA transfer in flight held the device; ``fetched``: those
    for code. ``spared``: ticks that its reads would have taken longer without what a read FIFO had ahead.
    """

    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    occupied: int
    stall: int
    waited: int = 0
    fetched: int = 0
    spared: int = 0

    @property
    def accesses(self) -> int:
        return self.reads + self.writes


class MemorySystem:
    """Caches, devices and their counters for one machine.

    ``state`` begins the int64 array that native code shares; :meth:`measure` runs something on it and returns what it
    asked of every region; it raises UsageError when time runs out of 64 bits. Not modelled: what each device does not
    model.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.regions = list(machine.memory.values())
        build = Builder(machine)
        self.state = MemoryState(build.state)
        self.first_block = FIRST_BLOCK
        self.blocks = build.blocks
        blocks = sorted(set(self.blocks.values()))
        words = build.state[self.first_block : self.first_block + len(blocks) * RegionState.WORDS]
        self._counts = words.reshape(len(blocks), RegionState.WORDS)[:, _COUNTED]  # of each block, as they are now
        self._ports = []  # of each region its name, and where its blocks are among those
        for region in self.regions:
            own = {self.blocks[region.name, alias] for alias in (False, True)}
            self._ports.append((region.name, [blocks.index(at) for at in sorted(own)]))
        self._ports_of: dict[tuple[Dma, WritingSide | None], Ports] = {}
        self.contents: Sequence[Bytes] = ()  # of an emulated core; ranges that are installed from then on know them
        # called with source, target and bytes of each transfer; its number for who watches, cycles that it begins
        # later, ticks that each of its reads takes longer
        self.on_transfer: Callable[[int, int, int], tuple[int, int, int]] | None = None
        # a unit was read for a peripheral, or written: address, bytes, whether written
        self.on_unit: Callable[[int, int, bool], object] | None = None

    def sync(self, cycle: int) -> None:
        """Set the clock before a task that starts at ``cycle``."""
        replay.sync(self.state, cycle * TICK, self.first_block, len(set(self.blocks.values())))

    def measure(self, action: Callable[[Any], Any]) -> dict[str, AccessStats]:
        """Run ``action(state)`` and return the accesses by region name (regions not touched are left out)."""
        before = self.snapshot()
        action(self.state)
        if not 0 <= self.state.now < LAST_TICK:
            raise UsageError(f"over {LAST_TICK // TICK:.0e} cycles: the machine's durations are out of scale")
        return self.since(before)

    def snapshot(self) -> list[list[int]]:
        """Every counter as it is now, for :meth:`since`."""
        return list(self._counts.tolist())

    def since(self, before: list[list[int]]) -> dict[str, AccessStats]:
        """The accesses since :meth:`snapshot` by region name (regions not touched are left out)."""
        after = self.snapshot()
        entries: dict[str, list[int]] = {}
        for name, ports in self._ports:
            for n in ports:
                new, old = after[n], before[n]
                if new != old:
                    asked = [new[k] - old[k] for k in FIGURES]
                    entries[name] = [*map(add, entries[name], asked)] if name in entries else asked
        return {name: AccessStats(*asked) for name, asked in entries.items()}

    def counters(self) -> dict[str, int]:
        """Totals since the start, of caches, SDRAM rows and refreshes, and the flash accelerator."""
        total = self._counters().sum(axis=0)
        state, counts = self.state, dict(zip(COUNTERS, map(int, total), strict=True))
        return {
            "dcache_hits": state.hits,
            "dcache_misses": state.misses,
            "dcache_writebacks": state.writebacks,
            "icache_hits": state.code_hits,
            "icache_misses": state.code_misses,
            "sdram_row_misses": counts["row_misses"],
            "sdram_refreshes": counts["refreshes"],
            "flash_data_hits": counts["data_hits"],
            "flash_data_misses": counts["data_misses"],
            "flash_fetch_misses": counts["fetch_misses"],
        }

    def watch_operands(self, ranges: Sequence[tuple[int, int]]) -> None:
        """From now on count the core's stalls for data in each of ``ranges`` (first address, end)."""
        operand_stalls.begin(self.state, ranges)

    def operand_stalls(self) -> list[int]:
        """Ticks of each range since :meth:`watch_operands`, without those that transfers in flight cost."""
        return operand_stalls.counted(self.state)

    def maintain(self, address: int, size: int, clean: bool, invalidate: bool) -> int:
        """Cache maintenance by address: ticks of the write-backs."""
        data = self.machine.data_cache
        if data is None or data.size == 0:
            return 0
        from mcusim.memory.ports.maintenance import maintain_range  # with what lines hold, which a replay has not

        return int(maintain_range(self.state, address, size, int(clean), int(invalidate)))

    def transfer(self, dma: Dma, source: int, target: int, size: int, side: WritingSide | None = None) -> int:
        """Ticks of one undisturbed DMA transfer of ``size`` bytes; ``side`` as in :meth:`begin_transfer`."""
        from mcusim.memory.dma import undisturbed

        ports = self._ports_of.get((dma, side))
        if ports is None:
            ports = self._ports_of[dma, side] = dma_ports(self.machine, dma, side)
        set_up(self.state.lone_transfer, ports, dma, source, target, size, side)
        return int(undisturbed.transfer(self.state))

    def begin_transfer(
        self,
        dma: Dma,
        stream: int,
        source: int,
        target: int,
        size: int,
        priority: int,
        cycle: int,
        slower: int = 0,
        watched: tuple[int, int] = (0, 0),
        side: WritingSide | None = None,
    ) -> int:
        """Put a DMA transfer in flight, its first beat at ``cycle`` or when the controller is free; returns a handle.

        Higher ``priority`` goes first; each read has its port ``slower`` ticks longer. From now on the
        emulated core's accesses and its beats wait for each other; with nobody else on its memories it takes as long as
        :meth:`transfer` says. Raises UsageError when there are more transfers, DMA controllers or regions than the
        state array has room for. ``watched``: the task's number for a sanitizer, and where the host has those of the
        writers that its source's bytes should have. ``side``: its writing side, None as the reading one.
        """
        later = 0
        if self.on_transfer is not None:
            number, later, more = self.on_transfer(source, target, size)
            slower, watched = slower + more, (number, 0)
        return self._transfers.begin(dma, source, target, size, priority, cycle, slower, watched, side, later)

    def advance(self, cycle: int) -> None:
        """Make all beats of transfers in flight that begin before ``cycle``; the core's accesses do so themselves."""
        if "_transfers" in self.__dict__:  # else there was never a transfer
            self._transfers.advance(cycle)

    def finished(self, handle: int) -> int | None:
        """The cycle, rounded up, at which a transfer's last beat was done, or None up to the last :meth:`advance`.

        Once it was returned, the handle may be given to another transfer.
        """
        return self._transfers.finished(handle)

    def earliest_end(self, handle: int, cycle: int) -> int:
        """A bound from below on the end of a transfer that is not finished at ``cycle``: what its beats take at least.

        Rows, lines and commands that others may open for it are left out, so the real end is a little later. Later than
        ``cycle``; beats before that are made (:meth:`advance`).
        """
        return self._transfers.earliest_end(handle, cycle)

    @cached_property
    def _transfers(self) -> DmaTransfers:
        """Made by the first transfer in flight: a replay has none."""
        from mcusim.memory.dma.transfers import DmaTransfers

        return DmaTransfers(self.machine, self.state, self.blocks)

    def stop_transfer(self, handle: int, cycle: int) -> None:
        """Read no more of a transfer under way at ``cycle``; what its FIFO has goes to the target, then it ends."""
        self._transfers.stop(handle, cycle)

    def progress(self, handle: int) -> tuple[int, int]:
        """Bytes of a transfer that are still to be read, and to be written, as of the last :meth:`advance`."""
        return self._transfers.progress(handle)

    def earliest_mark(self, handle: int, left: int, cycle: int) -> int:
        """A bound from below, after ``cycle``, on when only ``left`` bytes of a transfer are still to be written."""
        return self._transfers.earliest_end(handle, cycle, left)

    def _counters(self) -> np.ndarray[Any, Any]:
        return np.array([self._counts[ports].sum(axis=0) for _, ports in self._ports])

    def by_region(self) -> dict[str, dict[str, int]]:
        """Every counter of every region since the start, an alias's port included; ``occupied`` and stalls in ticks.

        ``stall`` includes ``fetch_stall``; ``reads`` includes the reads of code that went to the memory.
        """
        rows = zip(self.regions, self._counters(), strict=True)
        return {region.name: dict(zip(COUNTERS, map(int, row), strict=True)) for region, row in rows}

    def install_ranges(self, ranges: Sequence[Range]) -> None:
        """Let the emulated core see ``ranges`` instead of the machine's own (:mod:`mcusim.memory.address_ranges`)."""
        install(self.state, ranges, self.blocks, self.contents)
        shared = [block for block in set(self.blocks.values()) if RegionState(self.state, block).transfers]
        if shared:
            self._transfers.mark_shared(shared)

    def enable_caches(self, data: bool, instruction: bool) -> None:
        """Switch the caches that the machine has on or off, as a program does; their contents stay."""
        state = self.state
        state.data_cache, state.code_cache = data * state.data_cache_block, instruction * state.code_cache_block
        state.free_code_low = state.free_code_high = 0
