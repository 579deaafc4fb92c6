"""From the sanitizer's notes to findings: which rule is broken, between which tasks, and what would fix it.

Not modelled: faults that are hidden by another one's consequences; each note is explained by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcusim.cpu.image.image import Image
from mcusim.memory.cache import shadow as N
from mcusim.program.program import Compute, Maintain, Program, Task, Transfer
from mcusim.verification.findings import Finding, buffers_at
from mcusim.verification.proof.task_accesses import called
from mcusim.verification.sanitizer.observation import Observation
from mcusim.verification.sanitizer.sanitizer import APPLICATION, Note, Sanitizer

__all__ = ["Diagnosis"]

FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Cause:
    """``writers``: numbers of who wrote, apart from the task that the note is of."""

    rule: str
    before: Sequence[int]
    after: Sequence[int]
    text: str
    fix: str


class Diagnosis:
    """Explains the notes of ``sanitizer`` about ``program``; ``line`` bytes are a cache line (0: no data cache)."""

    def __init__(self, program: Program, sanitizer: Sanitizer, image: Image, line: int) -> None:
        self._program, self._sanitizer, self._image, self._line = program, sanitizer, image, line
        self._tasks = program.tasks
        self._types = {info.index: info.type for info in program.header.operators}
        self._tiles = {(t.operator, t.tile): t.tiles for t in program.tasks if isinstance(t, Compute)}

    def all(self) -> list[Observation]:
        """Every note, in the order they were made; those that say the same of the same tasks are one."""
        alike: dict[tuple[object, ...], Note] = {}
        for note in self._sanitizer.notes:
            found = self.explained(note)
            key = note.kind, found.finding.rule, found.finding.tasks
            one = alike.get(key, note)
            times = note.times + (one.times if one is not note else 0)
            alike[key] = replace(one, low=min(one.low, note.low), high=max(one.high, note.high), times=times)
        return [self.explained(note) for note in alike.values()]

    def unseen(self, finding: Finding) -> Observation:
        """A finding that no moment of the run showed; its last task is the transfer."""
        task = next(task for task in self._tasks if task.id == finding.tasks[-1])
        tiles = self._tiles.get((task.operator, task.tile), 1)
        type_ = self._types.get(task.operator, "?")
        at = finding.low // self._line * self._line
        return Observation(finding, task.operator, type_, task.tile, tiles, finding.buffers[0], finding.low, at)

    def explained(self, note: Note) -> Observation:
        """What ``note`` means."""
        cause = self._cause(note)
        places = [code - 1 for code in (*cause.before, note.code, *cause.after) if 0 < code < APPLICATION]
        tasks = [self._tasks[place] for place in dict.fromkeys(places)]
        task = self._tasks[note.code - 1]
        names = buffers_at(self._program.header.buffers, note.low, note.high, {t.operator for t in tasks})
        shown = "" if note.kind == N.DIRTY_TARGET else f" ({note.high - note.low:,} B from {note.low:#010x})"
        finding = Finding(
            cause.rule, tuple(t.id for t in tasks), names, note.low, note.high, cause.text + shown, cause.fix
        )
        return self._observed(finding, note, task)

    def _observed(self, finding: Finding, note: Note, task: Task) -> Observation:
        by_core = note.kind == N.CORE_READ
        found = self._image.line_at(note.pc) if by_core else None
        function = self._image.function_at(note.pc) if by_core else None
        return Observation(
            finding,
            task.operator,
            self._types.get(task.operator, "?"),
            task.tile,
            self._tiles.get((task.operator, task.tile), 1),
            finding.buffers[0] if finding.buffers else "?",
            note.low,
            note.low // self._line * self._line if self._line and (note.held or not by_core) else None,
            note.pc if by_core else None,
            f"{found[0].rpartition('/')[2]}:{found[1]}" if found else None,
            function[0] if function else None,
            note.now,
            note.times,
        )

    def _cause(self, note: Note) -> Cause:
        if note.kind == N.DIRTY_TARGET:
            return self._dirty(note)
        later = [code for code in (note.stored, note.seen) if note.code < code < APPLICATION]
        if later:
            return self._overtaken(note, later[0])
        if 0 < note.wanted < APPLICATION and self._sanitizer.ended.get(note.wanted - 1, FAR) > note.now:
            return self._early(note)
        if note.kind == N.CORE_READ and note.held and note.stored == note.wanted:
            return self._stale(note)
        if note.kind == N.DMA_READ and note.held and note.seen == note.wanted:
            return self._unclean(note)
        return self._destroyed(note)

    def _stale(self, note: Note) -> Cause:
        task, first = self._tasks[note.code - 1], self._name(note.wanted)
        text = (
            f"{called(task)} read {self._written(note.seen)} from a cache line that was filled before {first} had put"
            " the new ones into memory"
        )
        fix = f"invalidate them between {self._short(note.wanted)} and task {task.id}, after the transfer is done"
        return Cause("missing-invalidate", (note.wanted,), (), text, fix)

    def _unclean(self, note: Note) -> Cause:
        task = self._tasks[note.code - 1]
        text = f"{called(task)} read {self._written(note.stored)} from memory; those of {self._name(note.wanted)} were"
        fix = f"clean them on the core before task {task.id}, and let it wait for that"
        return Cause("missing-clean", (note.wanted,), (), f"{text} in the data cache alone", fix)

    def _early(self, note: Note) -> Cause:
        task, first = self._tasks[note.code - 1], self._tasks[note.wanted - 1]
        begun = self._sanitizer.began.get(note.wanted - 1, FAR) <= note.now
        state = "was under way" if begun else "had not begun"
        text = f"{called(task)} read {self._written(note.seen)}: {called(first)}, which should come before, {state}"
        fix = f"add {first.id} to `after` of task {task.id}"
        if isinstance(first, Transfer) and isinstance(task, Compute):
            fix += " (wait for the transfer's completion before the call)"
        return Cause("unordered", (note.wanted,), (), text, fix)

    def _overtaken(self, note: Note, later: int) -> Cause:
        task, other = self._tasks[note.code - 1], self._tasks[later - 1]
        text = f"{called(task)} read bytes that {called(other)} had already written over"
        return Cause("unordered", (), (later,), text, f"add {task.id} to `after` of task {other.id}")

    def _destroyed(self, note: Note) -> Cause:
        task, first = self._tasks[note.code - 1], self._name(note.wanted)
        text = f"{called(task)} read {self._written(note.seen)}; those of {first} were destroyed"
        wrote = self._tasks[note.wanted - 1] if 0 < note.wanted < APPLICATION else None
        if isinstance(wrote, Transfer):
            rule = self._dirty_rule(note.wanted)
            text += ": a dirty cache line was written back over them"
            fix = f"clean or invalidate the line before task {wrote.id}, and let it wait for that"
            if rule == "shared-line":
                fix = self._apart()
            return Cause(rule, (note.seen, note.wanted), (), text, fix)
        text += " in the data cache before they reached memory"
        by = self._invalidated(note)
        if by is None:
            fix = f"clean the line before it is invalidated; {self._apart()}"
            return Cause("shared-line", (note.wanted,), (), text, fix)
        fix = f"clean them before {self._short(by)}, or leave that out"
        return Cause("lost-store", (note.wanted, by), (), f"{text} by {called(self._tasks[by - 1])}", fix)

    def _invalidated(self, note: Note) -> int | None:
        """The last invalidate of these very bytes between who wrote them and who read them, by number."""
        first = note.wanted if note.wanted < APPLICATION else 0
        for place in range(note.code - 2, first - 1, -1):
            task = self._tasks[place]
            if not isinstance(task, Maintain) or "invalidate" not in task.action:
                continue
            if task.span.address <= note.low < task.span.end:
                return place + 1
        return None

    def _dirty_rule(self, code: int) -> str:
        """As the beats of transfer ``code`` found the line, if they did."""
        kinds = [note for note in self._sanitizer.notes if note.kind == N.DIRTY_TARGET and note.code == code]
        return self._dirty(kinds[0]).rule if kinds else "dirty-target"

    def _dirty(self, note: Note) -> Cause:
        task = self._tasks[note.code - 1]
        assert isinstance(task, Transfer)
        writer = self._name(note.seen)
        if task.destination.address <= note.other < task.destination.end:
            text = f"{called(task)} wrote memory behind a cache line that {writer} had made dirty at {note.other:#010x}"
            fix = f"clean or invalidate these bytes before task {task.id}, and let it wait for that"
            return Cause("dirty-target", (note.seen,), (), text, fix)
        text = (
            f"{called(task)} wrote into a cache line that {writer} had made dirty next to it, at {note.other:#010x}:"
            " writing the line back destroys the DMA's bytes, invalidating it the core's"
        )
        return Cause("shared-line", (note.seen,), (), text, self._apart())

    def _apart(self) -> str:
        return f"begin and end the buffers on lines of {self._line} B, so that no line contains bytes of both"

    def _name(self, code: int) -> str:
        if code == APPLICATION:
            return "the application, which wrote the input,"
        return called(self._tasks[code - 1]) if code else "what was there before the program began"

    def _short(self, code: int) -> str:
        return f"task {self._tasks[code - 1].id}" if 0 < code < APPLICATION else "the start"

    def _written(self, code: int) -> str:
        if code == 0:
            return "bytes from before the program began"
        return f"bytes of {self._name(code)}"
