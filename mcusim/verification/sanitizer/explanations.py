"""From the sanitizer's violations to findings: which rule is broken, between which tasks, and what would fix it.

Not modelled: faults that are hidden by another one's consequences; each violation is explained by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcusim.image.image import Image
from mcusim.memory.cache import violations as N
from mcusim.program.program import Compute, Maintain, Program, Task, Transfer
from mcusim.verification.findings import Finding, buffers_at
from mcusim.verification.proof.task_accesses import called
from mcusim.verification.sanitizer.observation import Observation
from mcusim.verification.sanitizer.sanitizer import APPLICATION, Sanitizer, Violation

FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Cause:
    """``writers``: numbers of who wrote, apart from the task that the violation is of."""

    rule: str
    before: Sequence[int]
    after: Sequence[int]
    text: str
    fix: str


class Diagnosis:
    """Explains what ``sanitizer`` found in ``program``; ``line`` bytes are a cache line (0: no data cache)."""

    def __init__(self, program: Program, sanitizer: Sanitizer, image: Image, line: int) -> None:
        self._program, self._sanitizer, self._image, self._line = program, sanitizer, image, line
        self._tasks = program.tasks
        self._types = {info.index: info.type for info in program.header.operators}
        self._tiles = {(t.operator, t.tile): t.tiles for t in program.tasks if isinstance(t, Compute)}

    def all(self) -> list[Observation]:
        """Every violation, in the order they were made; those that say the same of the same tasks are one."""
        alike: dict[tuple[object, ...], Violation] = {}
        for v in self._sanitizer.violations:
            observation = self.explained(v)
            key = v.kind, observation.finding.rule, observation.finding.tasks
            violation = alike.get(key, v)
            times = v.times + (violation.times if violation is not v else 0)
            alike[key] = replace(
                violation, low=min(violation.low, v.low), high=max(violation.high, v.high), times=times
            )
        return [self.explained(v) for v in alike.values()]

    def unseen(self, finding: Finding) -> Observation:
        """A finding that no moment of the run showed; its last task is the transfer."""
        task = next(task for task in self._tasks if task.id == finding.tasks[-1])
        tiles = self._tiles.get((task.operator, task.tile), 1)
        type_ = self._types.get(task.operator, "?")
        at = finding.low // self._line * self._line
        return Observation(finding, task.operator, type_, task.tile, tiles, finding.buffers[0], finding.low, at)

    def explained(self, v: Violation) -> Observation:
        """What ``v`` means."""
        cause = self._cause(v)
        places = [code - 1 for code in (*cause.before, v.code, *cause.after) if 0 < code < APPLICATION]
        tasks = [self._tasks[place] for place in dict.fromkeys(places)]
        task = self._tasks[v.code - 1]
        names = buffers_at(self._program.header.buffers, v.low, v.high, {t.operator for t in tasks})
        shown = "" if v.kind == N.DIRTY_TARGET else f" ({v.high - v.low:,} B from {v.low:#010x})"
        finding = Finding(cause.rule, tuple(t.id for t in tasks), names, v.low, v.high, cause.text + shown, cause.fix)
        return self._observed(finding, v, task)

    def _observed(self, finding: Finding, v: Violation, task: Task) -> Observation:
        by_core = v.kind == N.CORE_READ
        pair = self._image.line_at(v.pc) if by_core else None
        function = self._image.function_at(v.pc) if by_core else None
        return Observation(
            finding,
            task.operator,
            self._types.get(task.operator, "?"),
            task.tile,
            self._tiles.get((task.operator, task.tile), 1),
            finding.buffers[0] if finding.buffers else "?",
            v.low,
            v.low // self._line * self._line if self._line and (v.held or not by_core) else None,
            v.pc if by_core else None,
            f"{pair[0].rpartition('/')[2]}:{pair[1]}" if pair else None,
            function[0] if function else None,
            v.now,
            v.times,
        )

    def _cause(self, v: Violation) -> Cause:
        if v.kind == N.DIRTY_TARGET:
            return self._dirty(v)
        later = [code for code in (v.stored, v.seen) if v.code < code < APPLICATION]
        if later:
            return self._overtaken(v, later[0])
        if 0 < v.wanted < APPLICATION and self._sanitizer.ended.get(v.wanted - 1, FAR) > v.now:
            return self._early(v)
        if v.kind == N.CORE_READ and v.held and v.stored == v.wanted:
            return self._stale(v)
        if v.kind == N.DMA_READ and v.held and v.seen == v.wanted:
            return self._unclean(v)
        return self._destroyed(v)

    def _stale(self, v: Violation) -> Cause:
        task, first = self._tasks[v.code - 1], self._name(v.wanted)
        text = (
            f"{called(task)} read {self._written(v.seen)} from a cache line that was filled before {first} had put"
            " the new ones into memory"
        )
        fix = f"invalidate them between {self._short(v.wanted)} and task {task.id}, after the transfer is done"
        return Cause("missing-invalidate", (v.wanted,), (), text, fix)

    def _unclean(self, v: Violation) -> Cause:
        task = self._tasks[v.code - 1]
        text = f"{called(task)} read {self._written(v.stored)} from memory; those of {self._name(v.wanted)} were"
        fix = f"clean them on the core before task {task.id}, and let it wait for that"
        return Cause("missing-clean", (v.wanted,), (), f"{text} in the data cache alone", fix)

    def _early(self, v: Violation) -> Cause:
        task, first = self._tasks[v.code - 1], self._tasks[v.wanted - 1]
        begun = self._sanitizer.began.get(v.wanted - 1, FAR) <= v.now
        state = "was under way" if begun else "had not begun"
        text = f"{called(task)} read {self._written(v.seen)}: {called(first)}, which should come before, {state}"
        fix = f"add {first.id} to `after` of task {task.id}"
        if isinstance(first, Transfer) and isinstance(task, Compute):
            fix += " (wait for the transfer's completion before the call)"
        return Cause("unordered", (v.wanted,), (), text, fix)

    def _overtaken(self, v: Violation, later: int) -> Cause:
        task, other = self._tasks[v.code - 1], self._tasks[later - 1]
        text = f"{called(task)} read bytes that {called(other)} had already written over"
        return Cause("unordered", (), (later,), text, f"add {task.id} to `after` of task {other.id}")

    def _destroyed(self, v: Violation) -> Cause:
        task, first = self._tasks[v.code - 1], self._name(v.wanted)
        text = f"{called(task)} read {self._written(v.seen)}; those of {first} were destroyed"
        wrote = self._tasks[v.wanted - 1] if 0 < v.wanted < APPLICATION else None
        if isinstance(wrote, Transfer):
            rule = self._dirty_rule(v.wanted)
            text += ": a dirty cache line was written back over them"
            fix = f"clean or invalidate the line before task {wrote.id}, and let it wait for that"
            if rule == "shared-line":
                fix = self._apart()
            return Cause(rule, (v.seen, v.wanted), (), text, fix)
        text += " in the data cache before they reached memory"
        by = self._invalidated(v)
        if by is None:
            fix = f"clean the line before it is invalidated; {self._apart()}"
            return Cause("shared-line", (v.wanted,), (), text, fix)
        fix = f"clean them before {self._short(by)}, or leave that out"
        return Cause("lost-store", (v.wanted, by), (), f"{text} by {called(self._tasks[by - 1])}", fix)

    def _invalidated(self, v: Violation) -> int | None:
        """The last invalidate of these very bytes between who wrote them and who read them, by number."""
        first = v.wanted if v.wanted < APPLICATION else 0
        for index in range(v.code - 2, first - 1, -1):
            task = self._tasks[index]
            if not isinstance(task, Maintain) or "invalidate" not in task.action:
                continue
            if task.span.address <= v.low < task.span.end:
                return index + 1
        return None

    def _dirty_rule(self, code: int) -> str:
        """As the beats of transfer ``code`` found the line, if they did."""
        kinds = [v for v in self._sanitizer.violations if v.kind == N.DIRTY_TARGET and v.code == code]
        return self._dirty(kinds[0]).rule if kinds else "dirty-target"

    def _dirty(self, v: Violation) -> Cause:
        task = self._tasks[v.code - 1]
        assert isinstance(task, Transfer)
        writer = self._name(v.seen)
        if task.destination.address <= v.other < task.destination.end:
            text = f"{called(task)} wrote memory behind a cache line that {writer} had made dirty at {v.other:#010x}"
            fix = f"clean or invalidate these bytes before task {task.id}, and let it wait for that"
            return Cause("dirty-target", (v.seen,), (), text, fix)
        text = (
            f"{called(task)} wrote into a cache line that {writer} had made dirty next to it, at {v.other:#010x}:"
            " writing the line back destroys the DMA's bytes, invalidating it the core's"
        )
        return Cause("shared-line", (v.seen,), (), text, self._apart())

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
