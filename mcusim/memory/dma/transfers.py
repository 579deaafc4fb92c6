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
from mcusim.memory.state_builder import dma_ticks

__all__ = ["DmaTransfers"]

MAX_BLOCKS = 62  # bits of a word that tell which region blocks a transfer touches


class DmaTransfers:
    """The table of transfers in ``state``; a handle is a slot of it."""

    def __init__(self, machine: Machine, state: Any, blocks: dict[tuple[str, bool], int]) -> None:
        self.machine, self.state, self.blocks = machine, state, blocks
        self.controllers = {name: L.CONTROLLERS + i * L.CONTROLLER for i, name in enumerate(machine.dma)}

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
    ) -> int:
        """Enter a transfer whose beats start at ``cycle``; see ``MemorySystem.begin_transfer``."""
        s = self.state
        if len(self.controllers) > L.MAX_CONTROLLERS:
            raise UsageError(f"{len(self.controllers)} DMA controllers: at most {L.MAX_CONTROLLERS} can be emulated")
        own, clock = dma_ticks(self.machine, dma)
        own += slower
        slot = self._free_slot()
        f = L.TRANSFERS + slot * L.TRANSFER
        s[f : f + L.TRANSFER] = 0
        s[f + L.D_CONTROLLER], s[f + L.D_PRIORITY] = self.controllers[dma.name], priority
        s[f + L.D_BEGIN], s[f + L.D_SOURCE], s[f + L.D_TARGET] = cycle * L.TICK, source, target
        s[f + L.D_LEFT], s[f + L.D_BEAT], s[f + L.D_STEP] = size, dma.beat, dma.beat * dma.burst
        s[f + L.D_OWN], s[f + L.D_CLOCK] = own, min(own, clock)
        s[f + L.D_CODE], s[f + L.D_MEANT] = watched
        s[f + L.D_SHARES] = self._touched(source, size) | self._touched(target, size)
        s[L.SLOTS] = max(s[L.SLOTS], slot + 1)
        arbitration.advance(s, cycle * L.TICK)  # what was due before finds the memories as they were
        arbitration.attach(s, f)
        if size <= 0 or (own == 0 and self._immediate(s[f + L.D_SHARES])):
            arbitration.advance(s, cycle * L.TICK + 1)  # takes no time, so nothing comes between its beats
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
            arbitration.mark_shared(self.state, block)

    def earliest_end(self, handle: int, cycle: int) -> int:
        """No later than the end of transfer ``handle``, after ``cycle`` while it is under way."""
        s, f = self.state, L.TRANSFERS + handle * L.TRANSFER
        if s[f + L.D_STATE] != L.ACTIVE:
            return max(cycle + 1, -(-int(s[f + L.D_END]) // L.TICK))
        k = int(s[f + L.D_CONTROLLER])
        begin = max(cycle * L.TICK, int(s[f + L.D_BEGIN]), int(s[k + L.K_FREE]))
        if s[k + L.K_TRANSFER]:  # a beat under way, which the write may still make longer
            begin = max(begin, int(s[s[k + L.K_TRANSFER] + L.D_UNTIL]))
        if self._bytes(f) > 0:
            begin += self._rest(f) + sum(self._rest(other) for other in self._ahead(f, begin))
        return max(cycle + 1, -(-begin // L.TICK))

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
        """Transfers of the same controller that are served before ``f`` at that time."""
        s = self.state
        transfers = (L.TRANSFERS + slot * L.TRANSFER for slot in range(int(s[L.SLOTS])))
        return [
            other
            for other in transfers
            if s[other + L.D_STATE] == L.ACTIVE
            and s[other + L.D_CONTROLLER] == s[f + L.D_CONTROLLER]
            and s[other + L.D_PRIORITY] > s[f + L.D_PRIORITY]
            and s[other + L.D_BEGIN] <= begin
        ]

    def _bytes(self, f: int) -> int:
        """Bytes of transfer ``f`` whose beats are still to be begun."""
        s = self.state
        under_way = s[s[f + L.D_CONTROLLER] + L.K_TRANSFER] == f
        return int(s[f + L.D_LEFT]) - int(s[f + L.D_BYTES]) * int(under_way)

    def _rest(self, f: int) -> int:
        """Ticks that the beats of transfer ``f`` still to be begun take at least.

        Rows, commands and lines may be opened by others, so only what each beat costs by itself is counted.
        """
        s = self.state
        left = self._bytes(f)
        n, beats = -(-left // int(s[f + L.D_STEP])), -(-left // int(s[f + L.D_BEAT]))
        own = n * int(s[f + L.D_OWN]) + (beats - n) * int(s[f + L.D_CLOCK])
        source, target, size = int(s[f + L.D_SOURCE]), int(s[f + L.D_TARGET]), int(s[f + L.D_LEFT])
        reading = min((self._reading(r, n, left) for r in self._blocks_of(source, size)), default=0)
        beat, room = int(s[f + L.D_BEAT]), int(s[f + L.D_OWN])
        writing = [self._writing(r, beats, beat, room) for r in self._blocks_of(target, size)]
        stall = min((stall for stall, _ in writing), default=0)
        return max(own + reading + stall, min((queue for _, queue in writing), default=0))

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
        """Ticks of ``n`` reads, ``size`` bytes in all, at least."""
        s = self.state
        kind = s[r + L.KIND]
        if kind == L.SRAM:
            return n * int(s[r + L.LATENCY_R])
        if kind == L.SDRAM:
            beats = max(n, -(-size // (1 << int(s[r + L.WIDTH]))))
            return n * int(s[r + L.OVERHEAD_R] + s[r + L.T_CL]) + beats * int(s[r + L.T_CLK])
        return size * int(s[r + L.BEAT]) + n * int(s[r + L.OVERHEAD_R]) if kind == L.QSPI else 0

    def _writing(self, r: int, beats: int, beat: int, gap: int) -> tuple[int, int]:
        """Ticks that ``beats`` writes make the controller wait at least, and that they take behind one another."""
        s = self.state
        if s[r + L.KIND] == L.SRAM:
            return beats * max(0, int(s[r + L.LATENCY_W]) - gap), 0
        if s[r + L.KIND] != L.SDRAM:
            return 0, 0
        each = int(s[r + L.OVERHEAD_W]) + max(1, -(-beat // (1 << int(s[r + L.WIDTH])))) * int(s[r + L.T_CLK])
        return 0, max(0, beats - int(s[r + L.FIFO])) * each
