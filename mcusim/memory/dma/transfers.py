"""The engine's calls for DMA transfers in flight: begin one, advance all, ask whether one has ended.

The beats are made by :mod:`mcusim.memory.dma.arbitration`. Not modelled: what that does not model.
"""

from __future__ import annotations

from collections.abc import Iterable

from mcusim.errors import UsageError
from mcusim.machine.description import Dma, Machine
from mcusim.memory import state_layout as L
from mcusim.memory.dma import arbitration
from mcusim.memory.state_builder import WritingSide, dma_ports, set_up
from mcusim.memory.state_layout import NEVER, TICK, MemoryState, RegionState, TransferState

MAX_BLOCKS = 62  # bits of a word that tell which region blocks a transfer touches


class DmaTransfers:
    """The table of transfers in ``memory``; a handle is a slot of it."""

    def __init__(self, machine: Machine, memory: MemoryState, blocks: dict[tuple[str, bool], int]) -> None:
        self.machine, self.memory, self.blocks = machine, memory, blocks
        self.controllers = {name: i for i, name in enumerate(machine.dma)}
        # by slot, for the bounds of their ends: the regions of all its source and target, do its writes flow
        self._sources, self._targets = dict[int, list[RegionState]](), dict[int, list[RegionState]]()
        self._flowing: dict[int, bool] = {}

    def begin(
        self,
        dma: Dma,
        source: int,
        target: int,
        size: int,
        priority: int,
        cycle: int,
        slower: int = 0,
        watched: tuple[int, int] = (0, 0),
        side: WritingSide | None = None,
        later: int = 0,
    ) -> int:
        """Enter a transfer whose beats start ``later`` cycles than ``cycle``; see ``MemorySystem.begin_transfer``."""
        memory, slot = self.memory, self._free_slot()
        transfer = memory.transfers[slot]
        ports = dma_ports(self.machine, dma, side)
        set_up(transfer, ports, dma, source, target, size, side)
        transfer.controller, transfer.priority = self._controller(dma.name), priority
        transfer.begin = (cycle + later) * TICK
        transfer.before_read += slower
        transfer.code, transfer.source_meant = watched
        transfer.shares = self._touched(source, size) | self._touched(target, size)
        self._sources[slot], self._targets[slot] = self._regions_of(source, size), self._regions_of(target, size)
        self._flowing[slot] = self._flows(transfer)
        memory.slots = max(memory.slots, slot + 1)
        arbitration.advance(memory, cycle * TICK)  # what was due before meets the memories as they were
        arbitration.attach(memory, slot)
        if size <= 0:
            arbitration.complete(memory, transfer, cycle * TICK)
        if transfer.before_read + ports.before_write + ports.clock == 0 and self._immediate(transfer.shares):
            arbitration.advance(memory, (cycle + later) * TICK + 1)  # takes no time: nothing comes between its beats
        return slot

    def finished(self, handle: int) -> int | None:
        """The cycle, rounded up, at which transfer ``handle`` ended; None while it is under way."""
        transfer = self.memory.transfers[handle]
        end = transfer.end
        if transfer.state != L.DONE or end > max(self.memory.beats_asked, transfer.begin):
            return None
        transfer.state = L.IDLE if transfer.release == NEVER else L.REPORTED
        return -(-end // TICK)

    def advance(self, cycle: int) -> None:
        """Make all beats that begin before ``cycle``."""
        self.memory.beats_asked = max(self.memory.beats_asked, cycle * TICK)
        arbitration.advance(self.memory, cycle * TICK)

    def mark_shared(self, blocks: Iterable[int]) -> None:
        """The ranges of ``blocks``, which transfers touch, are new: their accesses may have to wait."""
        for block in blocks:
            arbitration.mark_shared(self.memory, RegionState(self.memory, block))

    def stop(self, handle: int, cycle: int) -> None:
        """Transfer ``handle``, under way at ``cycle``, reads no more: what is in its FIFO is written."""
        self.advance(cycle)
        transfer = self.memory.transfers[handle]
        if transfer.state != L.ACTIVE:
            return
        level = transfer.fifo_level
        transfer.unread = transfer.unread_in_line = 0
        transfer.unwritten, transfer.unwritten_in_line = level, min(transfer.unwritten_in_line, level)
        if level:
            transfer.to_drain = level
            transfer.drain_from = max(cycle * TICK, transfer.read_end, transfer.write_end)
        else:
            arbitration.complete(self.memory, transfer, max(cycle * TICK, transfer.write_end))
        self.memory.next_beat = NEVER
        for k in self.controllers.values():
            arbitration.next_turn(self.memory, k)

    def progress(self, handle: int) -> tuple[int, int]:
        """Bytes of transfer ``handle`` that no read and no write has begun for."""
        transfer = self.memory.transfers[handle]
        return transfer.unread, transfer.unwritten

    def earliest_end(self, handle: int, cycle: int, left: int = 0) -> int:
        """No later than the end of transfer ``handle``, or than when ``left`` bytes are still to be written; after
        ``cycle`` while it is under way."""
        transfer = self.memory.transfers[handle]
        if left and transfer.state == L.ACTIVE:
            writes = self._write(handle, max(0, transfer.unwritten - left)) - self._write(handle, 1)
            return max(cycle + 1, cycle + writes // TICK)
        if transfer.state != L.ACTIVE:
            return max(cycle + 1, -(-transfer.end // TICK))
        ports, begin = self.memory.controllers[transfer.controller], transfer.begin
        # an access that is due may have begun its arbitration
        first = [handle, *self._ahead(transfer, max(cycle * TICK, begin))]
        transfers = [self.memory.transfers[slot] for slot in first]
        read_from = cycle * TICK - max(other.before_read for other in transfers)
        write_from = cycle * TICK - max(other.before_write for other in transfers)
        reading = max(begin, read_from, ports.reading.free) + sum(map(self._reads, first))
        # of those ahead the reads alone: they write when they have read, and what is ready here goes in between
        writing = max(begin, write_from, ports.writing.free) + self._write(handle, transfer.unwritten)
        last = reading + self._write(handle, 1) if transfer.unread else transfer.read_end
        return max(cycle + 1, -(-max(last, writing) // TICK))

    def _controller(self, name: str) -> int:
        """The index of the controller ``name``; one that the machine file does not list has ports of its own too."""
        index = self.controllers.setdefault(name, len(self.controllers))
        if len(self.controllers) > L.MAX_CONTROLLERS:
            raise UsageError(f"{len(self.controllers)} DMA controllers: at most {L.MAX_CONTROLLERS} can be emulated")
        return index

    def _free_slot(self) -> int:
        for slot in range(L.MAX_TRANSFERS):
            if self.memory.transfers[slot].state == L.IDLE:
                return slot
        raise UsageError(f"over {L.MAX_TRANSFERS} DMA transfers at once cannot be emulated")

    def _touched(self, address: int, size: int) -> int:
        """One bit for each region block that the bytes lie in."""
        bits = 0
        for region in self.machine.memory.values():
            for base in (region.base, *region.aliases):
                if address >= base + region.size or address + size <= base:
                    continue
                number = (self.blocks[region.name, base != region.base] - MemoryState.WORDS) // RegionState.WORDS
                if number >= MAX_BLOCKS:
                    raise UsageError(f"DMA in region {region.name}: at most {MAX_BLOCKS} regions can be emulated")
                bits |= 1 << number
        return bits

    def _shared(self, bits: int) -> list[RegionState]:
        first, words = MemoryState.WORDS, RegionState.WORDS
        return [RegionState(self.memory, first + i * words) for i in range(MAX_BLOCKS) if bits >> i & 1]

    def _immediate(self, bits: int) -> bool:
        return all(
            region.kind == L.TCM or (region.kind == L.SRAM and region.read_latency == region.write_latency == 0)
            for region in self._shared(bits)
        )

    def _ahead(self, transfer: TransferState, begin: int) -> list[int]:
        """Slots of the same controller that are served before ``transfer`` at that time, and whose FIFO never fills."""
        others = ((slot, self.memory.transfers[slot]) for slot in range(self.memory.slots))
        return [
            slot
            for slot, other in others
            if other.state == L.ACTIVE
            and other.controller == transfer.controller
            and other.priority > transfer.priority
            and other.begin <= begin
            and self._flowing[slot]
        ]

    def _flows(self, transfer: TransferState) -> bool:
        """Are the writes of ``transfer`` always well behind its reads."""
        targets = self._shared(self._touched(transfer.write_address, transfer.unwritten))
        on_chip = all(region.kind != L.SDRAM and region.write_latency == 0 for region in targets)
        alike = transfer.burst == transfer.beat == transfer.write_beat == transfer.write_burst
        return on_chip and alike and 2 * transfer.threshold <= transfer.fifo_size

    def _reads(self, slot: int) -> int:
        """Ticks that the reads of transfer ``slot`` still to be begun take at least.

        Rows, commands and lines may be opened by others, so only what each beat costs by itself is counted.
        """
        transfer = self.memory.transfers[slot]
        n, beats = -(-transfer.unread // transfer.burst), -(-transfer.unread // transfer.beat)
        cycles = beats * transfer.bus_clock
        regions = self._sources[slot]
        data = min((max(cycles, self._reading(region, n, transfer.unread)) for region in regions), default=cycles)
        return n * transfer.before_read + data

    def _write(self, slot: int, size: int) -> int:
        """Ticks to write the last ``size`` bytes of transfer ``slot`` at least."""
        transfer = self.memory.transfers[slot]
        n, beats = -(-size // transfer.write_burst), -(-size // transfer.write_beat)
        own = n * transfer.before_write + beats * transfer.bus_clock
        data = (self._writing(region, beats, transfer.write_beat) for region in self._targets[slot])
        return max(own, min(data, default=0))

    def _regions_of(self, address: int, size: int) -> list[RegionState]:
        """The regions of the bytes; none where one is tightly coupled."""
        inside = sum(
            max(0, min(address + size, base + region.size) - max(address, base))
            for region in self.machine.memory.values()
            if region.kind != "tcm"
            for base in (region.base, *region.aliases)
        )
        return self._shared(self._touched(address, size)) if inside == size else []

    def _reading(self, region: RegionState, n: int, size: int) -> int:
        """Data cycles of ``n`` reads, ``size`` bytes in all, at least, in ticks."""
        kind = region.kind
        if kind == L.SRAM or (kind == L.SDRAM and region.columns_ahead):  # all may be read ahead
            return n * region.dma_latency
        if kind == L.SDRAM:
            beats = max(n, -(-size // (1 << region.width_shift)))
            return n * (region.dma_latency + region.t_cl) + beats * region.t_clk
        return size * region.beat + n * region.read_overhead if kind == L.QSPI else 0

    def _writing(self, region: RegionState, beats: int, beat: int) -> int:
        """Ticks that ``beats`` writes take one behind another at least."""
        if region.kind == L.SRAM:
            return beats * region.write_latency
        if region.kind != L.SDRAM:
            return 0
        each = region.write_overhead + max(1, -(-beat // (1 << region.width_shift))) * region.t_clk
        return max(0, beats - region.write_fifo - 1) * each
