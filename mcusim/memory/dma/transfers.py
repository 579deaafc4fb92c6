"""The engine's calls for DMA transfers in flight: begin one, advance all, ask whether one has ended.

The beats are made by :mod:`mcusim.memory.dma.arbitration`. Not modelled: what that does not model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcusim.errors import UsageError
from mcusim.machine.description import Dma, Machine
from mcusim.memory import state_layout as L
from mcusim.memory.dma import arbitration
from mcusim.memory.state_builder import WritingSide, dma_ports, set_up
from mcusim.memory.state_layout import MemoryState, RegionState, TransferState

MAX_BLOCKS = 62  # bits of a word that tell which region blocks a transfer touches


class DmaTransfers:
    """The table of transfers in ``state``; a handle is a slot of it."""

    def __init__(self, machine: Machine, state: Any, blocks: dict[tuple[str, bool], int]) -> None:
        self.machine, self.state, self.blocks = machine, state, blocks
        self.controllers = {name: i for i, name in enumerate(machine.dma)}
        # by transfer, for the bounds of their ends: the blocks of all its source and target, do its writes flow
        self._sources, self._targets = dict[int, list[int]](), dict[int, list[int]]()
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
        s = self.state
        slot = self._free_slot()
        f = L.TRANSFERS + slot * L.TRANSFER
        ports = dma_ports(self.machine, dma, side)
        set_up(s, f, ports, dma, source, target, size, side)
        s[f + L.D_CONTROLLER], s[f + L.D_PRIORITY] = self._controller(dma.name), priority
        s[f + L.D_BEGIN] = (cycle + later) * L.TICK
        s[f + L.D_BEFORE_READ] += slower
        s[f + L.D_CODE], s[f + L.D_MEANT] = watched
        s[f + L.D_SHARES] = self._touched(source, size) | self._touched(target, size)
        self._sources[f], self._targets[f] = self._blocks_of(source, size), self._blocks_of(target, size)
        self._flowing[f] = self._flows(f)
        s[L.SLOTS] = max(s[L.SLOTS], slot + 1)
        arbitration.advance(s, cycle * L.TICK)  # what was due before finds the memories as they were
        arbitration.attach(s, slot)
        if size <= 0:
            arbitration.complete(s, TransferState(s, f), cycle * L.TICK)
        if s[f + L.D_BEFORE_READ] + ports.before_write + ports.clock == 0 and self._immediate(s[f + L.D_SHARES]):
            arbitration.advance(s, (cycle + later) * L.TICK + 1)  # takes no time, so nothing comes between its beats
        return slot

    def finished(self, handle: int) -> int | None:
        """The cycle, rounded up, at which transfer ``handle`` ended; None while it is under way."""
        s, f = self.state, L.TRANSFERS + handle * L.TRANSFER
        end = int(s[f + L.D_END])
        if s[f + L.D_STATE] != L.DONE or end > max(s[L.ASKED], s[f + L.D_BEGIN]):
            return None
        s[f + L.D_STATE] = L.IDLE if s[f + L.D_RELEASE] == L.NEVER else L.REPORTED
        return -(-end // L.TICK)

    def advance(self, cycle: int) -> None:
        """Make all beats that begin before ``cycle``."""
        s = self.state
        s[L.ASKED] = max(s[L.ASKED], cycle * L.TICK)
        arbitration.advance(s, cycle * L.TICK)

    def mark_shared(self, blocks: Iterable[int]) -> None:
        """The ranges of ``blocks``, which transfers touch, are new: their accesses may have to wait."""
        for block in blocks:
            arbitration.mark_shared(self.state, RegionState(self.state, block))

    def stop(self, handle: int, cycle: int) -> None:
        """Transfer ``handle``, under way at ``cycle``, reads no more: what is in its FIFO is written."""
        self.advance(cycle)
        s, f = self.state, L.TRANSFERS + handle * L.TRANSFER
        if s[f + L.D_STATE] != L.ACTIVE:
            return
        level = int(s[f + L.D_LEVEL])
        s[f + L.D_UNREAD] = s[f + L.D_AHEAD] = 0
        s[f + L.D_LEFT], s[f + L.D_CHUNK] = level, min(int(s[f + L.D_CHUNK]), level)
        if level:
            waits = (cycle * L.TICK, s[f + L.D_READ_END], s[f + L.D_WRITE_END])
            s[f + L.D_DRAIN], s[f + L.D_READY] = level, max(map(int, waits))
        else:
            arbitration.complete(s, TransferState(s, f), max(cycle * L.TICK, int(s[f + L.D_WRITE_END])))
        s[L.NEXT_BEAT] = L.NEVER
        for k in self.controllers.values():
            arbitration.next_turn(s, k)

    def progress(self, handle: int) -> tuple[int, int]:
        """Bytes of transfer ``handle`` that no read and no write has begun for."""
        f = L.TRANSFERS + handle * L.TRANSFER
        return int(self.state[f + L.D_UNREAD]), int(self.state[f + L.D_LEFT])

    def earliest_end(self, handle: int, cycle: int, left: int = 0) -> int:
        """No later than the end of transfer ``handle``, or than when ``left`` bytes are still to be written; after
        ``cycle`` while it is under way."""
        s, f = self.state, L.TRANSFERS + handle * L.TRANSFER
        if left and s[f + L.D_STATE] == L.ACTIVE:
            writes = self._write(f, max(0, int(s[f + L.D_LEFT]) - left)) - self._write(f, 1)
            return max(cycle + 1, cycle + writes // L.TICK)
        if s[f + L.D_STATE] != L.ACTIVE:
            return max(cycle + 1, -(-int(s[f + L.D_END]) // L.TICK))
        ports, begin = MemoryState(s).controllers[int(s[f + L.D_CONTROLLER])], int(s[f + L.D_BEGIN])
        first = [f, *self._ahead(f, max(cycle * L.TICK, begin))]  # an access that is due may have begun its arbitration
        base = [cycle * L.TICK - max(int(s[t + at]) for t in first) for at in (L.D_BEFORE_READ, L.D_BEFORE_WRITE)]
        reading = max(begin, base[0], ports.reading.free) + sum(map(self._reads, first))
        # of those ahead the reads alone: they write when they have read, and what is ready here goes in between
        writing = max(begin, base[1], ports.writing.free) + self._writes(f)
        last = reading + self._write(f, 1) if s[f + L.D_UNREAD] else int(s[f + L.D_READ_END])
        return max(cycle + 1, -(-max(last, writing) // L.TICK))

    def _controller(self, name: str) -> int:
        """The index of the controller ``name``; one that the machine file does not list has ports of its own too."""
        index = self.controllers.setdefault(name, len(self.controllers))
        if len(self.controllers) > L.MAX_CONTROLLERS:
            raise UsageError(f"{len(self.controllers)} DMA controllers: at most {L.MAX_CONTROLLERS} can be emulated")
        return index

    def _free_slot(self) -> int:
        for slot in range(L.MAX_TRANSFERS):
            if self.state[L.TRANSFERS + slot * L.TRANSFER + L.D_STATE] == L.IDLE:
                return slot
        raise UsageError(f"over {L.MAX_TRANSFERS} DMA transfers at once cannot be emulated")

    def _touched(self, address: int, size: int) -> int:
        """One bit for each region block that the bytes lie in."""
        bits = 0
        for region in self.machine.memory.values():
            for base in (region.base, *region.aliases):
                if address >= base + region.size or address + size <= base:
                    continue
                number = (self.blocks[region.name, base != region.base] - L.HEADER) // L.REGION
                if number >= MAX_BLOCKS:
                    raise UsageError(f"DMA in region {region.name}: at most {MAX_BLOCKS} regions can be emulated")
                bits |= 1 << number
        return bits

    def _shared(self, bits: int) -> list[int]:
        return [L.HEADER + i * L.REGION for i in range(MAX_BLOCKS) if bits >> i & 1]

    def _immediate(self, bits: int) -> bool:
        s = self.state
        return all(
            s[r + L.KIND] == L.TCM or (s[r + L.KIND] == L.SRAM and s[r + L.LATENCY_R] == s[r + L.LATENCY_W] == 0)
            for r in self._shared(int(bits))
        )

    def _ahead(self, f: int, begin: int) -> list[int]:
        """Transfers of the same controller that are served before ``f`` at that time, and whose FIFO never fills."""
        s = self.state
        transfers = (L.TRANSFERS + slot * L.TRANSFER for slot in range(int(s[L.SLOTS])))
        return [
            other
            for other in transfers
            if s[other + L.D_STATE] == L.ACTIVE
            and s[other + L.D_CONTROLLER] == s[f + L.D_CONTROLLER]
            and s[other + L.D_PRIORITY] > s[f + L.D_PRIORITY]
            and s[other + L.D_BEGIN] <= begin
            and self._flowing[other]
        ]

    def _flows(self, f: int) -> bool:
        """Are the writes of transfer ``f`` always well behind its reads."""
        s = self.state
        targets = self._shared(self._touched(int(s[f + L.D_TARGET]), int(s[f + L.D_LEFT])))
        on_chip = all(s[r + L.KIND] != L.SDRAM and s[r + L.LATENCY_W] == 0 for r in targets)
        alike = s[f + L.D_STEP] == s[f + L.D_BEAT] == s[f + L.D_BEAT_TO] == s[f + L.D_STEP_TO]
        return on_chip and alike and 2 * s[f + L.D_THRESHOLD] <= s[f + L.D_ROOM]

    def _reads(self, f: int) -> int:
        """Ticks that the reads of transfer ``f`` still to be begun take at least.

        Rows, commands and lines may be opened by others, so only what each beat costs by itself is counted.
        """
        s = self.state
        left = int(s[f + L.D_UNREAD])
        n, beats = -(-left // int(s[f + L.D_STEP])), -(-left // int(s[f + L.D_BEAT]))
        cycles = beats * int(s[f + L.D_CLOCK])
        data = min((max(cycles, self._reading(r, n, left)) for r in self._sources[f]), default=cycles)
        return n * int(s[f + L.D_BEFORE_READ]) + data

    def _writes(self, f: int) -> int:
        """Ticks that the writes of transfer ``f`` still to be begun take at least."""
        return self._write(f, int(self.state[f + L.D_LEFT]))

    def _write(self, f: int, left: int) -> int:
        """Ticks to write the last ``left`` bytes of transfer ``f`` at least."""
        s = self.state
        n, beats = -(-left // int(s[f + L.D_STEP_TO])), -(-left // int(s[f + L.D_BEAT_TO]))
        own = n * int(s[f + L.D_BEFORE_WRITE]) + beats * int(s[f + L.D_CLOCK])
        data = (self._writing(r, beats, int(s[f + L.D_BEAT_TO])) for r in self._targets[f])
        return max(own, min(data, default=0))

    def _blocks_of(self, address: int, size: int) -> list[int]:
        """The region blocks of the bytes; none where one is tightly coupled."""
        blocks = self._shared(self._touched(address, size))
        inside = sum(
            max(0, min(address + size, base + region.size) - max(address, base))
            for region in self.machine.memory.values()
            if region.kind != "tcm"
            for base in (region.base, *region.aliases)
        )
        return blocks if inside == size else []

    def _reading(self, r: int, n: int, size: int) -> int:
        """Data cycles of ``n`` reads, ``size`` bytes in all, at least, in ticks."""
        s = self.state
        kind = s[r + L.KIND]
        if kind == L.SRAM:
            return n * int(s[r + L.LATENCY_DMA])
        if kind == L.SDRAM and s[r + L.AHEAD]:  # all may be read ahead
            return n * int(s[r + L.LATENCY_DMA])
        if kind == L.SDRAM:
            beats = max(n, -(-size // (1 << int(s[r + L.WIDTH]))))
            return n * int(s[r + L.LATENCY_DMA] + s[r + L.T_CL]) + beats * int(s[r + L.T_CLK])
        return size * int(s[r + L.BEAT]) + n * int(s[r + L.OVERHEAD_R]) if kind == L.QSPI else 0

    def _writing(self, r: int, beats: int, beat: int) -> int:
        """Ticks that ``beats`` writes take one behind another at least."""
        s = self.state
        if s[r + L.KIND] == L.SRAM:
            return beats * int(s[r + L.LATENCY_W])
        if s[r + L.KIND] != L.SDRAM:
            return 0
        each = int(s[r + L.OVERHEAD_W]) + max(1, -(-beat // (1 << int(s[r + L.WIDTH])))) * int(s[r + L.T_CLK])
        return max(0, beats - int(s[r + L.FIFO]) - 1) * each
