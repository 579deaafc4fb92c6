"""A program: tasks on lanes with explicit buffers and ``after`` edges.

Plain data; written by a policy, run by the engine.

Tasks of one lane run in list order; a task starts when its lane is free and every task in ``after`` has finished.
Addresses are absolute; ``region`` names the region of a span's first byte (a span may run on into the next region when
the two are contiguous). Sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mcusim.display import Displayed, save
from mcusim.model.geometry import Geometry, Tile

FORMAT = "mcusim-program"
VERSION = 1
TASKS = 40_000  # the most a program may have
FILE_BYTES = 16 << 20  # the most a program file may have
FIRMWARE = "firmware"  # the policy of a program that was recorded from a firmware's run

Role = Literal[
    "input0", "input1", "inputN", "filter", "bias", "multiplier", "shift", "scratch", "output", "table",
    "state",
]  # fmt: skip
BufferKind = Literal["activation", "scratch", "overlay", "weights", "runtime", "state"]


@dataclass(frozen=True, slots=True)
class Span:
    region: str
    address: int
    bytes: int

    @property
    def end(self) -> int:
        return self.address + self.bytes


@dataclass(frozen=True, slots=True)
class Operand:
    """``access`` is ``r``, ``w`` or ``rw`` (scratch, state)."""

    role: Role
    span: Span
    access: Literal["r", "w", "rw"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A named place in memory, alive while operators ``first``..``last`` (inclusive) run.

    What is in a place of kind ``state`` is kept from one inference to the next.
    """

    name: str
    kind: BufferKind
    span: Span
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Compute:
    """One kernel call on the core: operator ``operator``, tile ``tile`` of ``tiles``."""

    id: int
    operator: int
    tile: int
    tiles: int
    geometry: Geometry
    rows: Tile
    operands: tuple[Operand, ...]
    after: tuple[int, ...] = ()
    lane: str = "core"


@dataclass(frozen=True, slots=True)
class StreamSetting:
    """How firmware set up the stream of a transfer: beats in bytes, bursts in beats, the FIFO's ``threshold``; the
    target's side may differ. ``handler``: core cycles of the handlers that its flags started, entry and return with
    it."""

    beat: int
    burst: int
    to_beat: int
    to_burst: int
    threshold: Literal["1/4", "1/2", "3/4", "full"]
    handler: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """One DMA transfer of at most the stream's maximum units. A request that had to be split is several transfers
    with the same ``request`` number, ``part`` of ``parts``. Higher ``priority`` pre-empts lower. With a ``setting``
    the driver's code is part of the recorded work, without one the machine's file says what it takes."""

    id: int
    lane: str  # "dma2.s0"
    operator: int
    tile: int
    kind: Literal["input", "input1", "filter", "bias", "multiplier", "shift", "output"]
    source: Span
    destination: Span
    request: int
    part: int
    parts: int
    priority: int
    after: tuple[int, ...] = ()
    setting: StreamSetting | None = None


@dataclass(frozen=True, slots=True)
class Maintain:
    """Data-cache maintenance by address, done by the core."""

    id: int
    operator: int
    tile: int
    action: Literal["clean", "invalidate", "clean+invalidate"]
    span: Span
    after: tuple[int, ...] = ()
    lane: str = "core"


@dataclass(frozen=True, slots=True)
class Asked:
    """What recorded work asked of the memory ``region``, behind the caches: reads and writes, their bytes, SDRAM rows
    that were opened. ``wait``: cycles that the core waited for it; ``pattern``: those that a regular pattern of so many
    accesses waits on the machine of the recording. On another machine the wait changes as the pattern's does."""

    region: str
    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    rows: int
    wait: int
    pattern: int


@dataclass(frozen=True, slots=True)
class Work:
    """Code of a firmware that ran on the core from one event to the next: ``cycles`` without waiting for memory,
    ``maintenance`` for the cache, and what it ``asked`` of each region."""

    id: int
    operator: int
    tile: int
    cycles: int
    maintenance: int
    asked: tuple[Asked, ...]
    after: tuple[int, ...] = ()
    lane: str = "core"


Task = Compute | Transfer | Maintain | Work


@dataclass(frozen=True, slots=True)
class OperatorInfo:
    index: int
    type: str
    macs: int


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """Bytes: peak of planned activations, of scratch, overlay buffers, interpreter data, and what is kept between
    inferences (``state``); and ``arena``: the TFLM-style arena (planned activations and scratch together, plus state
    and runtime). ``arena_exported`` is that arena with explicit PADs (:mod:`mcusim.plan.pytorch_arena`); None when it
    is not known.
    """

    activations: int
    scratch: int
    overlay: int
    runtime: int
    arena: int
    weights: int
    arena_exported: int | None = None
    state: int = 0


@dataclass(frozen=True)
class Header(Displayed):
    machine: str
    model: str
    model_sha256: str
    policy: str
    kernels: str
    operators: tuple[OperatorInfo, ...]
    memory: MemoryParts
    peak_bytes: Mapping[str, int]  # region -> bytes in use at the peak (weights included where they live)
    buffers: tuple[Buffer, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    random_weights: bool = False

    @property
    def recorded(self) -> bool:
        """Whether it is what a firmware did: its operators are functions of that, and have no costs but those seen."""
        return self.policy == FIRMWARE


@dataclass(frozen=True)
class Program(Displayed):
    header: Header
    tasks: tuple[Task, ...]

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write what `mcusim plan` writes; raises UsageError for a file that exists unless ``force``."""
        save(self, path, "program", force)

    def _line(self) -> str:
        head = self.header
        what = f"{head.model[:60]} on {head.machine[:60]}, {head.policy[:30]}"
        return f"{what}: {len(head.operators)} operators, {len(self.tasks)} tasks, {len(head.buffers)} buffers"


def steps_of(program: Program) -> dict[int, int]:
    """Operator -> its place in the order of the kernel calls; one that is never called keeps its index."""
    steps: dict[int, int] = {}
    for task in program.tasks:
        if isinstance(task, Compute):
            steps.setdefault(task.operator, len(steps))
    return {info.index: steps.get(info.index, info.index) for info in program.header.operators} | steps
