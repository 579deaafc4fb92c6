"""Waiting programs: a loop that repeats exactly is counted up to just before what can end it, as if it had run.

A loop is looked for where a peripheral's registers are read again and again, and where the last branches of a slice of
the run repeat. One of its blocks is marked; the core stops there, round by round, until two rounds in succession have
done the same (:mod:`mcusim.emulator.fast_forward.loop_periods`). All counters then grow by as many rounds as fit before
the next event, SysTick's next zero, the first change of a register that is polled, and the end of the run's slice.
Cycles, instructions, counts and memory are those of running them.

Not modelled: loops that never come to the same registers (a time-out that is counted down); loops that nothing ends are
left to run, where :mod:`mcusim.emulator.stops.livelock` and :mod:`mcusim.soc.endless_polls` find them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks.block_tables import CodeBlock
from mcusim.cpu.state_layout import BlockRecord, CoreState, ForeseenAccess
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.emulator.fast_forward.loop_periods import LoopPeriod, places_of, repetition
from mcusim.emulator.fast_forward.slots import of_branches, of_core, of_memory
from mcusim.emulator.fast_forward.snapshots import CoreSnapshot, LoopPlaces, registers_of
from mcusim.memory.state_layout import TICK
from mcusim.native.structs import offset_of

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore
    from mcusim.memory.film.film_recorder import FilmRecorder

WORTH = 10_000 * TICK  # a shorter wait is run
LEAST, MOST = 50_000 * TICK, 20_000_000 * TICK  # from a loop that does not repeat to the next look at one
TRIES = 6  # rounds that are compared before more of them at a time are
STRIDES = (1, 2, 4)  # visits of the block in a round; a Cortex-M7's store buffer has four entries
LONGEST = 8  # taken branches of a loop that is recognised by them


class CoreWaits:
    """Of one core. ``skips`` False: every round is run; ``rounds``: those that were not. While ``film`` is being
    taken, every round of its window is run."""

    def __init__(self) -> None:
        self.skips, self.rounds = True, 0
        self.film: FilmRecorder | None = None
        self._kinds: dict[str, Any] = {}
        self._moments: list[CoreSnapshot] = []
        self._block = -1  # the marked one that is measured at
        self._places: LoopPlaces | None = None
        self._known: dict[int, tuple[LoopPlaces, int]] = {}  # by block: its loop's places, and visits in a round
        self._stride = self._tries = 0
        self._pause = LEAST

    # where a loop is looked for

    def sample(self, core: GuestCore) -> None:
        """Between two slices of a run: mark the next block where the last taken branches repeat."""
        newest = (core.state.ring_next - 1 - np.arange(C.RING_SIZE)) % C.RING_SIZE
        ring = core.state.branch_ring.table(C.RING_SIZE)[newest]
        repeats = any(np.array_equal(ring[n:], ring[:-n]) for n in range(1, LONGEST + 1))
        block = core.code.known_at(core.state.stop_address)
        if self.skips and repeats and block is not None:
            self._mark(core, block)

    def arrived(self, core: GuestCore) -> None:
        """The core has stopped at a marked block, or behind a poll."""
        block = core.code.known_at(core.state.stop_address)
        memory = core.memory.state
        watched = memory.watch or memory.violations or core.peripherals.on_load is not None
        if not self.skips or watched or core.confined or block is None:
            self._rest(core, NEVER if block is not None else core.memory.state.now + LEAST)
            return
        now, (since, until) = core.memory.state.now, self._filmed()
        if since <= now < until:
            self._rest(core, now + LEAST)
            return
        if self._moments and block.index != self._block:
            self._mark(core, block, False)
            return
        self._mark(core, block)
        due = self._due(core)
        if not self._moments:
            if due - now < WORTH:
                self._rest(core, due)
                return
            self._block, self._tries = block.index, 0
            places = self._known.get(block.index)
            self._places, self._stride = places if places is not None else (None, 1)
        self._measure(core)

    def disturbed(self, core: GuestCore) -> None:
        """Something else has stopped the core: rounds are compared anew."""
        if self._moments:
            self._moments.clear()
            core.state.records_stores = core.state.waits_to_pass = 0
            core.peripherals.polled = None

    def _mark(self, core: GuestCore, block: CodeBlock, on: bool = True) -> None:
        record = core.tables.blocks.records[block.index]
        record.flags = record.flags & ~C.WAITS | (C.WAITS if on else 0)

    def _rest(self, core: GuestCore, until: int) -> None:
        """No look at waits before tick ``until``."""
        self.disturbed(core)
        core.state.wait_from = until

    # rounds

    def _measure(self, core: GuestCore) -> None:
        """The marked block is reached: compare, and go for another round."""
        moment = CoreSnapshot(core, self._places, registers_of(core))
        self._moments.append(moment)
        if len(self._moments) == 3:
            result = repetition(self._moments, self._kinds_of(core), self._writes(core))
            worth = result is not None and result.until - core.memory.state.now >= WORTH
            if result is not None and worth and self._complete(core, result):
                self._skip(core, result)
                return
            self._tries += 1
            self._moments.pop(0)
            if self._tries % TRIES == 0 and not self._wider(moment):
                self._give_up(core)
                return
        state = core.state
        state.records_stores, state.journal_used = 1, 0
        state.wait_from, state.waits_to_pass = 0, self._stride
        core.peripherals.polled = []

    def _wider(self, moment: CoreSnapshot) -> bool:
        """Compare more visits of the block at a time, where its registers come again."""
        again = self._moments[0].registers == moment.registers
        index = STRIDES.index(self._stride) + 1
        if not again or index == len(STRIDES):
            return False
        self._stride = STRIDES[index]
        self._moments[:] = [moment]
        return True

    def _give_up(self, core: GuestCore) -> None:
        self._pause = min(2 * self._pause, MOST)
        self._rest(core, core.memory.state.now + self._pause)

    def _kinds_of(self, core: GuestCore) -> dict[str, Any]:
        if not self._kinds:
            memory = core.memory
            of = of_memory(memory.state, set(memory.blocks.values()))
            self._kinds = {"core": of_core(), "memory": of, "branches": of_branches()}
        return self._kinds

    def _writes(self, core: GuestCore) -> Any:
        """The slots of what was compared of the accesses that count stores."""
        size, writes = ForeseenAccess.WORDS, core.tables.access_records["write"] == 1
        if self._places is not None:
            writes = writes[self._places.accesses[::size] // size]
        return np.flatnonzero(writes) * size + offset_of(ForeseenAccess.count)

    def _complete(self, core: GuestCore, period: LoopPeriod) -> bool:
        """Whether what was compared is all that has changed; find the loop's places the first time."""
        if self._places is None:
            places = places_of(core, period)
            if places is None:
                return False
            self._known[self._block] = places, self._stride
            return True
        changed, by = period.changes["blocks"]
        size = BlockRecord.WORDS
        runs = changed % size == offset_of(BlockRecord.runs)
        numbers = self._places.blocks[changed[runs]] // size
        counts = core.tables.block_records["instruction_count"][numbers]
        return int((by[runs] * counts).sum()) == period.instructions

    # counting

    def _due(self, core: GuestCore) -> int:
        """The tick of what comes next, a film's window too."""
        state, (since, _) = core.state, self._filmed()
        film = since if core.memory.state.now < since else NEVER
        return min(state.run_horizon, state.event_due, state.systick_due, film)

    def _filmed(self) -> tuple[int, int]:
        """From which tick to which everything is run for a film."""
        return (0, 0) if self.film is None else self.film.open_ticks

    def _changes(self, core: GuestCore, period: LoopPeriod) -> int:
        """The tick from which a load of the round may find something else by itself."""
        state, peripherals = core.state, core.peripherals
        loads = self._moments[-1].loads
        due = min((peripherals.changes_at(address) for address, _ in loads), default=NEVER // TICK)
        if offset_of(CoreState.system_reads) in period.changes["core"][0] and state.systick_left:
            due = min(due, state.systick_base + state.systick_left)
        return due * TICK

    def _skip(self, core: GuestCore, period: LoopPeriod) -> None:
        """Count as many rounds as fit."""
        state, now = core.state, core.memory.state.now
        loads, places = self._moments[-1].loads, self._places
        changes = self._changes(core, period)
        due = min(self._due(core), changes, period.until)
        events = min(state.event_due, state.systick_due, changes)
        if (events >= NEVER and not core.interrupts.may_come) or due <= now:
            self._give_up(core)
            return
        left = state.instruction_limit - state.instructions - 1
        rounds = max(0, min((due - 1 - now) // period.ticks, left // period.instructions))
        rounds -= core.peripherals.polls.beyond(rounds * len(loads), len(loads))
        self.disturbed(core)
        if rounds > 0:
            self._count(core, period, rounds, places)
            core.peripherals.polls.left_out(rounds * len(loads))
            self.rounds += rounds
        self._pause = max(LEAST, self._pause // 4)
        sliced = left // period.instructions <= (due - 1 - now) // period.ticks  # the run's slice ends first
        self._rest(core, core.memory.state.now + period.ticks if sliced else due)

    def _count(self, core: GuestCore, period: LoopPeriod, rounds: int, places: LoopPlaces | None) -> None:
        tables = core.tables
        arrays = {
            "core": core.state.array, "memory": core.memory.state.array, "branches": core.branches.array,
            "blocks": tables.blocks.array, "accesses": tables.accesses.array, "calls": core.call_edges.array,
        }  # fmt: skip
        for name, (at, by) in period.changes.items():
            slots = getattr(places, name)[at] if places is not None and hasattr(places, name) else at
            arrays[name][slots] += rounds * by
        _turn(core.state, period.taken, rounds * period.taken)


def _turn(state: CoreState, taken: int, more: int) -> None:
    """The ring of the last taken branches after ``more`` of them, ``taken`` a round."""
    if not taken:
        return
    ring = state.branch_ring.table(C.RING_SIZE)
    newest = state.ring_next - 1
    ages = np.arange(C.RING_SIZE)
    before = np.where(ages < more, ages % taken, ages - more)
    last = ring[(newest - before) % C.RING_SIZE].copy()
    ring[(newest + more - ages) % C.RING_SIZE] = last
    state.ring_next = (newest + more + 1) % C.RING_SIZE
