"""What the core waits for, by operand: kept in ticks while the engine runs, reported in whole cycles.

Not modelled: what else waits at a memory for a transfer's beats (cause ``bus``), which belongs to no operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, groupby

from mcusim.engine.run import OperatorRun, Wait
from mcusim.machine.description import Machine
from mcusim.memory.system import CAUSE, AccessStats, MemorySystem
from mcusim.plan.pools import split_by_region
from mcusim.program.program import Compute, Operand, Span, Transfer, Work

_HOT = ("filter", "input0", "scratch", "output")  # what kernels touch most often: looked for first
_Key = tuple[int, str, str, str]


class Waits:
    """Ticks by operator, cause, region and role of the operand."""

    def __init__(self, memory: MemorySystem) -> None:
        self.memory, self.machine = memory, memory.machine
        self._ticks: dict[_Key, int] = {}
        self._known: dict[tuple[int, int], list[Span]] = {}
        self._watched: list[tuple[str, str]] = []  # region and role of each range

    def begin(self, task: Compute) -> None:
        """From now on stalls are those of ``task``."""
        pairs = operand_ranges(task, self._pieces)
        self._watched = [(part.region, role) for role, part in pairs]
        self.memory.watch_operands([(part.address, part.end) for _, part in pairs])

    def end(self, task: Compute, demand: Mapping[str, AccessStats]) -> None:
        """``demand`` is what ``task`` asked of the regions since :meth:`begin`."""
        self.add(task.operator, self._watched, self.memory.operand_stalls(), demand)

    def add(
        self,
        operator: int,
        watched: Sequence[tuple[str, str]],
        stalls: Sequence[int],
        demand: Mapping[str, AccessStats],
    ) -> None:
        """A call of ``operator`` stalled so many ticks for each ``watched`` range (region and role)."""
        left = {name: asked.stall - asked.waited - asked.fetched for name, asked in demand.items()}
        for (region, role), ticks in zip(watched, stalls, strict=False):
            self._add(operator, region, role, ticks)
            left[region] = left.get(region, 0) - ticks
        for name, ticks in left.items():
            self._add(operator, name, "other", ticks)
        for name, asked in demand.items():
            self._add(operator, name, "code", asked.fetched)

    def recorded(self, task: Work, demand: Mapping[str, AccessStats]) -> None:
        """``demand`` is what recorded work asked of the regions: for what operand is not known."""
        for name, asked in demand.items():
            self._add(task.operator, name, "other", asked.stall)

    def waited(self, operator: int, transfer: Transfer | None, cycles: int) -> None:
        """The core waited for ``transfer`` to end (None: for an end that is no transfer's)."""
        kind = transfer.kind if transfer else "other"
        region = "" if transfer is None else transfer.destination.region if kind == "output" else transfer.source.region
        key = (operator, "dma_wait", region, kind)
        self._ticks[key] = self._ticks.get(key, 0) + cycles

    def cycles(self, operators: Iterable[OperatorRun]) -> tuple[Wait, ...]:
        """The waits of a run whose operators are ``operators``."""
        spent = {operator.index: operator.by_cause for operator in operators}
        waits: list[Wait] = []
        keys = sorted(key for key, ticks in self._ticks.items() if ticks > 0)
        for (operator, cause), group in groupby(keys, key=lambda key: key[:2]):
            members = list(group)
            parts = shared_out(spent[operator].get(cause, 0), [self._ticks[key] for key in members])
            waits += [Wait(*key, n) for key, n in zip(members, parts, strict=True) if n]
        reported = {(wait.operator, wait.cause) for wait in waits}
        for index, by_cause in spent.items():  # a cycle that earlier operators' ticks made full
            rest = [
                c
                for c in (*dict.fromkeys(CAUSE.values()), "dma_wait")
                if by_cause.get(c) and (index, c) not in reported
            ]
            waits += [Wait(index, cause, "", "other", by_cause[cause]) for cause in rest]
        return tuple(sorted(waits, key=lambda w: (w.operator, w.cause, w.region, w.role)))

    def _pieces(self, span: Span) -> list[Span]:
        key = (span.address, span.bytes)
        if key not in self._known:
            self._known[key] = split_by_region(self.machine, span)
        return self._known[key]

    def _add(self, operator: int, region: str, role: str, ticks: int) -> None:
        if ticks:
            key = (operator, CAUSE[self.machine.memory[region].kind], region, role)
            self._ticks[key] = self._ticks.get(key, 0) + ticks


def shared_out(whole: int, weights: list[int]) -> list[int]:
    """``whole`` in parts as ``weights``, which are not all 0: integers that sum to it, none off by one or more."""
    total = sum(weights)
    ends = [reached * whole // total for reached in accumulate(weights)]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def operand_ranges(task: Compute, pieces: Callable[[Span], Sequence[Span]]) -> list[tuple[str, Span]]:
    """What stalls of a kernel call are charged to: roles of its operands, and the parts of these in a region each."""
    return [(o.role, part) for o in sorted(task.operands, key=_hot) for part in pieces(o.span)]


def _hot(operand: Operand) -> int:
    return _HOT.index(operand.role) if operand.role in _HOT else len(_HOT)


def transferred(task: Transfer, machine: Machine) -> dict[str, int]:
    """Bytes by region that a transfer reads and writes."""
    result: dict[str, int] = {}
    for part in (*split_by_region(machine, task.source), *split_by_region(machine, task.destination)):
        result[part.region] = result.get(part.region, 0) + part.bytes
    return result
