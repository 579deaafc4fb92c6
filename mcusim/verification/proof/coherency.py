"""Cache coherency: the core, through its data cache, and the DMA, past it, must see each other's bytes.

Where a line may be dirty it may be written back at any moment, and where it may be cached it may be old: no replacement
is assumed. The core's own tasks are one lane and in order. Not modelled: the instruction cache, and lines that the core
reads ahead of any task that needs them after an invalidate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mcusim.machine.description import Machine
from mcusim.program.program import Compute, Maintain, Program
from mcusim.verification.findings import Findings
from mcusim.verification.proof.happens_before import Order
from mcusim.verification.proof.last_writer import ByteMap
from mcusim.verification.proof.task_accesses import CacheLines, accesses, called, host_spans


@dataclass(slots=True)
class Held:
    """For adjacent bytes, positions of tasks (-1 is the host, None is no task).

    ``dirty``: the core's last store, when the DMA has not written since; ``clean`` the first clean after it, ``gone``
    the first clean or invalidate. ``moved``: the DMA's last write, when the core has not written since; ``dropped`` the
    first invalidate after its end, ``early`` the last one that does not wait for it. ``lost``: the invalidate that
    destroyed what ``dirty`` had been.
    """

    dirty: int | None = None
    clean: int | None = None
    gone: int | None = None
    moved: int | None = None
    dropped: int | None = None
    early: int | None = None
    lost: tuple[int, int] | None = None


class Coherency:
    """Follows the tasks of ``program`` in list order."""

    def __init__(self, program: Program, machine: Machine, order: Order, findings: Findings) -> None:
        self._tasks, self._order, self._findings = program.tasks, order, findings
        self._lines = CacheLines(machine)
        self._bytes: ByteMap[Held] = ByteMap(Held, replace)
        for span, through_cache in host_spans(program):
            for low, high, keeps in self._lines.parts(span.address, span.end):
                if through_cache and keeps:
                    self._bytes.put(low, high, Held(dirty=-1))

    def step(self, place: int) -> None:
        """Let the task at ``place`` act; report what it or the other side would not see."""
        task = self._tasks[place]
        if not self._lines.bytes:
            return
        if isinstance(task, Maintain):
            for low, high, _ in self._lines.parts(task.span.address, task.span.end):
                self._maintain(place, task, *self._lines.around(low, high))
            return
        for span, write in accesses(task):
            for low, high, keeps in self._lines.parts(span.address, span.end):
                if isinstance(task, Compute):
                    self._core_writes(place, low, high, keeps) if write else self._core_reads(place, low, high)
                elif write:
                    self._dma_writes(place, low, high)
                else:
                    self._dma_reads(place, low, high)

    def _maintain(self, place: int, task: Maintain, low: int, high: int) -> None:
        for _, _, held in self._bytes.runs(low, high):
            if held.dirty is not None and held.clean is None and "clean" in task.action:
                held.clean = place
            if held.gone is None:
                held.gone = place
            if "invalidate" not in task.action:
                continue
            if held.dirty is not None and held.clean is None:
                held.lost, held.dirty = (held.dirty, place), None
            if held.moved is not None and held.dropped is None and self._order.before(held.moved, place):
                held.dropped = place
            else:
                held.early = place

    def _core_writes(self, place: int, low: int, high: int, keeps: bool) -> None:
        if not keeps:
            self._bytes.put(low, high, Held())
            return
        for start, end, held in self._beside(low, high):
            if held.moved is not None and held.dropped is None:
                self._shared(held.moved, place, start, end)
        self._bytes.put(low, high, Held(dirty=place))

    def _core_reads(self, place: int, low: int, high: int) -> None:
        for start, end, held in self._bytes.known(low, high):
            if held.lost is not None:
                self._lost(held.lost, place, start, end)
            moved = held.moved
            if moved is None or held.dropped is not None:
                continue
            task, before = self._tasks[place], self._tasks[moved]
            text = f"{called(task)} may read old bytes from the data cache where {called(before)} has put new ones"
            if held.early is None:
                fix = f"invalidate them between task {before.id} and task {task.id}, after the transfer is done"
                self._findings.add("missing-invalidate", (moved, place), start, end, text, fix)
            else:
                early = self._tasks[held.early]
                text += f"; task {early.id} invalidates them, and does not wait for the transfer's end"
                fix = f"add {before.id} to `after` of task {early.id}, and move it after that task"
                self._findings.add("missing-invalidate", (moved, held.early, place), start, end, text, fix)

    def _dma_reads(self, place: int, low: int, high: int) -> None:
        for start, end, held in self._bytes.known(low, high):
            if held.lost is not None:
                self._lost(held.lost, place, start, end)
            if held.dirty is None:
                continue
            if held.clean is not None and self._order.before(held.clean, place):
                continue
            task, wrote = self._tasks[place], self._wrote(held.dirty)
            text = f"{called(task)} reads memory where {wrote} and the bytes may still be in the data cache alone"
            if held.clean is None:
                fix = f"clean them on the core before task {task.id}, and let it wait for that"
                self._findings.add("missing-clean", (held.dirty, place), start, end, text, fix)
            else:
                clean = self._tasks[held.clean]
                text += f"; it does not wait for task {clean.id}, which cleans them"
                fix = f"add {clean.id} to `after` of task {task.id}"
                self._findings.add("missing-clean", (held.dirty, held.clean, place), start, end, text, fix)

    def _dma_writes(self, place: int, low: int, high: int) -> None:
        task = self._tasks[place]
        early = None
        for start, end, held in self._bytes.known(low, high):
            early = held.early if early is None else early
            if not self._may_be_dirty(held, place) or held.dirty is None or not self._order.before(held.dirty, place):
                continue
            text = (
                f"{called(task)} writes memory where {self._wrote(held.dirty)}; the dirty line may be written back"
                " over the new bytes"
            )
            fix = f"clean or invalidate these bytes before task {task.id}, and let it wait for that"
            self._findings.add("dirty-target", (held.dirty, place), start, end, text, fix)
        for start, end, held in self._beside(low, high):
            if held.dirty is not None and self._may_be_dirty(held, place):
                self._shared(held.dirty, place, start, end)
        self._bytes.put(low, high, Held(moved=place, early=early))

    def _may_be_dirty(self, held: Held, place: int) -> bool:
        if held.dirty is None:
            return False
        return held.gone is None or not self._order.before(held.gone, place)

    def _beside(self, low: int, high: int) -> list[tuple[int, int, Held]]:
        """What shares a line with ``low`` to ``high`` and is none of it."""
        first, end = self._lines.around(low, high)
        entries = self._bytes.known(first, low) if first < low else []
        after = self._bytes.known(high, end) if high < end else []
        return [*entries, *after]

    def _shared(self, first: int, place: int, low: int, high: int) -> None:
        task = self._tasks[place]
        before = called(self._tasks[first]) if first >= 0 else "the application"
        line = low // self._lines.bytes * self._lines.bytes
        text = (
            f"{called(task)} writes the same cache line at {line:#010x} as {before}, one through the data cache and"
            " one past it: writing the line back destroys the DMA's bytes, invalidating it the core's"
        )
        fix = f"begin and end the buffers on lines of {self._lines.bytes} B, so that no line contains bytes of both"
        self._findings.add("shared-line", (first, place), low, high, text, fix)

    def _lost(self, lost: tuple[int, int], place: int, low: int, high: int) -> None:
        task, maintain = self._tasks[place], self._tasks[lost[1]]
        text = (
            f"{called(task)} reads bytes where {self._wrote(lost[0])} and that {called(maintain)} may have destroyed"
            " in the data cache before they reached memory"
        )
        assert isinstance(maintain, Maintain)
        meant = maintain.span.address < high and low < maintain.span.end
        fix = f"clean them before task {maintain.id}, or leave that out"
        if not meant:  # only the line is theirs
            fix = f"clean before task {maintain.id}, or invalidate only lines that hold no bytes of the core"
        self._findings.add("lost-store" if meant else "shared-line", (*lost, place), low, high, text, fix)

    def _wrote(self, place: int) -> str:
        return f"{called(self._tasks[place])} wrote" if place >= 0 else "the application wrote the graph's input"
