"""What the engine recorded: timed events and counters. Energy, tables and verdicts are computed from it, afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, SupportsIndex, TypeVar, overload

from mcusim.display import Displayed
from mcusim.program.program import Header
from mcusim.text import counted

CAUSES = ("compute", "runtime", "flash", "sram", "sdram", "qspi", "dma_wait", "bus", "maintenance")


@dataclass(frozen=True, slots=True)
class Event:
    """One task as it ran, in core cycles. ``kind`` is ``compute``, ``transfer`` or ``maintain``.

    ``moved``: bytes that it moved, by region.
    """

    task: int
    lane: str
    kind: str
    label: str
    operator: int
    start: int
    end: int
    by_cause: Mapping[str, int]
    moved: Mapping[str, int] = field(default_factory=dict)


T = TypeVar("T")


class Deferred(Sequence[T], Generic[T]):
    """What a function returns, which is called when somebody looks."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make: Callable[[], Sequence[T]] | None = make

    @cached_property
    def _items(self) -> Sequence[T]:
        assert self._make is not None
        items, self._make = self._make(), None
        return items

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def __hash__(self) -> int:
        return hash((*self,))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[type, tuple[Sequence[T]]]:
        return tuple, (self._items,)


@dataclass(frozen=True, slots=True)
class Wait:
    """Core cycles that operator ``operator`` waited, by what for: data of operand ``role`` in ``region``.

    ``cause`` is that of a memory, and ``role`` that of an operand, ``code``, or ``other`` (the call structure, the
    stack); or ``dma_wait``, and ``role`` what the transfer copies, ``region`` where its bytes come from (of outputs
    where they go). For each operator and cause the cycles sum to those of :class:`OperatorRun`.
    """

    operator: int
    cause: str
    region: str
    role: str
    cycles: int


@dataclass(frozen=True, slots=True)
class OperatorRun:
    """Core time of one operator, waiting for its data included; the cycles of all operators sum to the run's.

    ``kernel`` is what its calls were costed as, or the symbol that was executed; '' where nothing was called.
    """

    index: int
    type: str
    cycles: int
    tiles: int
    by_cause: Mapping[str, int]
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One of several inferences, each after the one before: its core cycles, which sum to those ``by_cause``."""

    cycles: int
    by_cause: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that crossed a region's own pins (behind the caches), by who moved them."""

    core_read: int = 0
    core_write: int = 0
    dma_read: int = 0
    dma_write: int = 0

    @property
    def total(self) -> int:
        return self.core_read + self.core_write + self.dma_read + self.dma_write

    @classmethod
    def by_region(cls, counters: Mapping[str, Mapping[str, int]]) -> dict[str, Traffic]:
        """What :meth:`mcusim.memory.system.MemorySystem.by_region` counted, by name, for regions with any bytes."""
        names = ("read_bytes", "write_bytes", "dma_read_bytes", "dma_write_bytes")
        traffics = {region: cls(*(count[name] for name in names)) for region, count in counters.items()}
        return {region: traffic for region, traffic in sorted(traffics.items()) if traffic.total}


@dataclass(frozen=True, slots=True)
class RunRecords:
    """What an engine recorded of ``cycles``: the core's by operator and cause; of each operator the tiles and what its
    calls were costed as; cycles of each lane and of DMA controllers, bytes, events; ``waits`` of operators."""

    cycles: int
    operators: Mapping[int, Mapping[str, int]]
    calls: Mapping[int, tuple[int, str]]
    busy: Mapping[str, int]
    dma_busy: int
    traffic: Mapping[str, Traffic]
    events: Sequence[Event]
    waits: Callable[[Sequence[OperatorRun]], Sequence[Wait]]


@dataclass(frozen=True)
class Run(Displayed):
    """``cycles`` equals the sum of ``by_cause`` and the sum of the operators' cycles."""

    header: Header
    machine: str
    clock: int  # Hz
    kernels: str
    fidelity: str
    cycles: int
    by_cause: Mapping[str, int]
    operators: tuple[OperatorRun, ...]
    events: Sequence[Event]
    traffic: Mapping[str, Traffic]  # by region
    busy: Mapping[str, int]  # lane -> cycles with a task in progress
    counters: Mapping[str, int]  # dcache_hits, sdram_row_misses ...; emulated also instructions, branches
    assumptions: tuple[str, ...]
    dma_busy: int = 0  # cycles with a transfer in progress, summed over controllers
    waits: Sequence[Wait] = ()

    def _line(self) -> str:
        operators = counted(len(self.operators), "operator")
        return f"{self.header.model[:60]} on {self.machine}: {self.cycles:,} cycles, {operators}"


def dma_busy_cycles(transfers: Iterable[tuple[str, int, int]]) -> int:
    """Cycles with at least one transfer in progress, per DMA controller, summed over controllers; of a transfer the
    lane, begin and end."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for lane, begin, end in transfers:
        spans.setdefault(lane.partition(".")[0], []).append((begin, end))
    return sum(_covered(sorted(of_controller)) for of_controller in spans.values())


def _covered(spans: list[tuple[int, int]]) -> int:
    """Length of the union of sorted half-open spans."""
    total, reached = 0, 0
    for start, end in spans:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
