"""A recording of a run: the core's time in stretches, cut where DMA transfers begin and end and where waits are over.

A stretch that ends with a transfer while the program goes around in a loop that waits (:mod:`.wait_loops`), or sleeps,
was perhaps a wait for that transfer. It was when the program leaves the loop soon after a transfer has ended; from then
on every time that it comes to that loop's exit counts as a wait for what has ended before, also where it was over at
once. All else is work, waits for a time too.

Not modelled: waits in code that the loops do not cover; a loop that is left at once before it has ever been gone around
in; which of several transfers that have ended is the one waited for (all of them are).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mcusim.emulator.recording.wait_loops import WaitLoop, loop_around, spinning_in
from mcusim.memory.state_layout import TICK

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore
    from mcusim.soc.dma.dma_log import Event, LoggedTransfer

SOON = 16  # rounds of a loop from the end of a transfer to the exit
MOST = 200_000  # stretches
_COUNTS = ("reads", "writes", "read_bytes", "write_bytes", "row_misses", "stall", "waited")
Why = Literal["start", "end", "waited", "call", "return", "over"]


@dataclass(slots=True)
class Stretch:
    """The core's time from tick ``begin`` to ``end``, and ``why`` it ended; ``transfer`` is the one that began or ended
    there, ``waited_for`` those that the next stretch has waited for. ``idle``: ticks in a wait of ``loop`` or asleep,
    ``idle_stall`` those of them for memory; they are no work where ``waits`` is set. ``asked``: by region the counts
    named in ``COUNTS``; ``maintenance`` in ticks; ``spent``: ticks of code by number of its function."""

    begin: int
    end: int
    why: Why
    transfer: int | None
    in_handler: bool
    asked: dict[str, tuple[int, ...]]
    maintenance: int
    spent: Any = field(repr=False)
    idle: int = 0
    idle_stall: int = 0
    loop: WaitLoop | None = None
    waits: bool = False
    waited_for: tuple[int, ...] = ()
    called: int = 0


class Recorder:
    """Records ``core`` from now on. ``events``: of half and whole transfers the number, by the tick they were reported
    at. ``functions``: first addresses of those that ``Stretch.spent`` counts. ``left_out``: stretches not kept."""

    COUNTS = _COUNTS

    def __init__(self, core: GuestCore, function_of: Callable[[int], int]) -> None:
        self._core, self._function_of = core, function_of
        self.stretches: list[Stretch] = []
        self.events: dict[int, int] = {}
        self.functions: list[int] = []
        self.left_out = 0
        self._numbers: dict[int, int] = {}
        self._of_block = np.zeros(0, np.int64)  # the function of each block
        self._loops: dict[tuple[int, ...], WaitLoop] = {}
        self._ended: list[int] = []  # transfers that nobody has waited for yet
        self._rounds: dict[tuple[int, ...], int] = {}  # of each loop since a transfer ended
        self._open: list[Stretch] = []  # whose waits are not decided
        self._begin = self._now
        self._runs = self._runs_now()
        self._counts = self._counts_now()
        self._slept, self._maintained = self._slow()
        core.interrupts.log.keeps = True
        self.sleeps = core.sleeps = []
        core.dma.log.watch(self._transfer)

    # what is seen

    def _transfer(self, event: Event, transfer: LoggedTransfer) -> None:
        if event == "start":
            self._cut("start", transfer.number)
            return
        self.events[int(self._core.events.now)] = transfer.number
        if event != "half":
            self._core.at(self._core.cycles, lambda: self._over(transfer.number))

    def _over(self, number: int) -> None:
        """A transfer has ended; between two blocks."""
        core = self._core
        loop = loop_around(core, core.core["pc"] & ~1) if core.asleep else spinning_in(core, self._loops.values())
        if loop is not None and loop.blocks not in self._loops:
            self._loops[loop.blocks] = loop
            for at in loop.exits:
                core.core.call_again_at(at, lambda loop=loop: self._left(loop))  # type: ignore[misc]
        self._cut("end", number, loop)
        self._ended.append(number)
        self._rounds.clear()
        if core.asleep and loop is None:  # what comes next has waited for it
            self._decide(None)

    def _left(self, loop: WaitLoop) -> None:
        """The program comes to the exit of ``loop``."""
        if self._ended:
            self._cut("waited", None)
            if self._rounds.get(loop.blocks, 0) <= SOON:
                self._decide(loop)

    def call(self, address: int, why: Why) -> None:
        """The program comes to the beginning, or the end, of the function at ``address``."""
        self._cut(why, None)
        if self.stretches:
            self.stretches[-1].called = address

    def finish(self) -> None:
        """The run is over: take in what came last."""
        self._cut("over", None)
        self._core.interrupts.collect()

    # stretches

    def _decide(self, loop: WaitLoop | None) -> None:
        """Stretches in ``loop`` that led here were waits for what has ended."""
        for stretch in self._open:
            stretch.waits = stretch.waits or (stretch.idle > 0 and stretch.loop == loop)
        self._open.clear()
        if self.stretches:
            last = self.stretches[-1]
            last.waited_for = (*last.waited_for, *self._ended)
        self._ended.clear()

    def _cut(self, why: Why, transfer: int | None, loop: WaitLoop | None = None) -> None:
        now = self._now
        runs, counts, (slept, maintained) = self._runs_now(), self._counts_now(), self._slow()
        asked = {}
        for name, after in counts.items():
            delta = tuple(new - old for new, old in zip(after, self._counts[name], strict=True))
            if any(delta):
                asked[name] = delta
        made = runs.copy()
        made[: len(self._runs)] -= self._runs
        handler = bool(self._core.interrupts.state.current)
        spent = self._by_function(made)
        stretch = Stretch(self._begin, now, why, transfer, handler, asked, maintained - self._maintained, spent)
        self._idle(stretch, made, slept - self._slept, loop)
        self._keep(stretch)
        self._begin, self._runs, self._counts = now, runs, counts
        self._slept, self._maintained = slept, maintained

    def _keep(self, stretch: Stretch) -> None:
        if len(self.stretches) >= MOST:
            self.left_out += 1
            return
        self.stretches.append(stretch)
        if stretch.idle and stretch.why in ("end", "waited"):
            self._open.append(stretch)

    def _idle(self, stretch: Stretch, made: Any, slept: int, loop: WaitLoop | None) -> None:
        """Count the rounds of loops that wait; those of the one that the stretch ends in, or was left, are its own."""
        rounds = {key: int(made[key[0]]) for key in self._loops if made[key[0]]}
        for key, count in rounds.items():
            self._rounds[key] = self._rounds.get(key, 0) + count
        if loop is None and rounds and stretch.why == "waited":
            loop = self._loops[max(rounds, key=lambda key: rounds[key])]
        stretch.loop = loop
        stretch.idle = slept
        if loop is not None:
            for block in set(loop.blocks):
                ticks, stall = self._cost(block)
                stretch.idle += int(made[block] * ticks)
                stretch.idle_stall += int(made[block] * stall)

    def _cost(self, block: int) -> tuple[float, float]:
        """Ticks of a block each time that it runs, so far, and those of them that are waits for memory."""
        tables, known = self._core.tables, self._core.tables.known[block]
        record = tables.blocks.records[block]
        runs = max(1, record.runs)
        rows = tables.access_records[record.first_access : record.accesses_end]
        stall = record.fetch_ticks + int(rows["stall"].sum())
        own = record.branch_ticks + record.carry_ticks + record.prefetch_ticks - record.shared_ticks
        penalty = int(rows["penalty"].sum())
        return known.timing.cycles * TICK + (own + stall + penalty) / runs, stall / runs

    def _by_function(self, made: Any) -> Any:
        """Ticks that blocks take by themselves, by number of their function."""
        known = self._core.tables.known
        if len(self._of_block) < len(known):
            more = [self._number(block.address) for block in known[len(self._of_block) :]]
            self._of_block = np.concatenate([self._of_block, np.array(more, np.int64)])
        ticks = self._core.tables.block_records["ticks"]
        return np.bincount(self._of_block, made * ticks, len(self.functions))

    def _number(self, address: int) -> int:
        start = self._function_of(address)
        if start not in self._numbers:
            self._numbers[start] = len(self.functions)
            self.functions.append(start)
        return self._numbers[start]

    # the core's counters

    @property
    def _now(self) -> int:
        return self._core.memory.state.now

    def _runs_now(self) -> Any:
        return self._core.tables.block_records["runs"].copy()

    def _counts_now(self) -> Mapping[str, Sequence[int]]:
        rows = self._core.memory.by_region()
        return {name: [row[count] for count in _COUNTS] for name, row in rows.items()}

    def _slow(self) -> tuple[int, int]:
        return self._core.state.sleep_ticks, self._core.state.maintenance_ticks


def watch_calls(recorder: Recorder, core: GuestCore, addresses: Iterable[int]) -> None:
    """Cut the recording where functions at ``addresses`` begin, and where they return."""
    returns: set[int] = set()

    def entered(address: int) -> None:
        recorder.call(address, "call")
        back = core.core["lr"] & ~1
        if back not in returns:
            returns.add(back)
            core.at(core.cycles, lambda: core.core.call_again_at(back, lambda: recorder.call(back, "return")))

    for address in addresses:
        core.core.call_at(address, lambda address=address: entered(address))  # type: ignore[misc]
