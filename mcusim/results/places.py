"""Where a program keeps the tensors of a model, and what the kernel calls of each operator read and write."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcusim.display import Displayed
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.pools import split_by_region
from mcusim.program.program import Buffer, Compute, Header, Program, Span, Transfer, steps_of

_TENSOR = "tensor"  # how the name of a tensor's buffer begins; its index follows
_COPIES = {"input0": ("input",), "inputN": ("input", "input1")}  # kinds of transfer that fill an operand


@dataclass(frozen=True, slots=True)
class TensorPlace(Displayed):
    """One tensor: ``kind`` is ``activation`` or ``constant``.

    It lies from ``address`` on, ``region`` is that of its first byte, while the operators from step ``first`` to
    ``last`` run (an operator's step is its place in the order of execution). ``region``, ``address``, ``first`` and
    ``last`` are None for a tensor that the program keeps no bytes of; ``name``, ``shape`` and ``dtype`` where the
    program was read from a file and its model is not known.
    """

    index: int
    name: str | None
    shape: tuple[int, ...] | None
    dtype: str | None
    bytes: int
    kind: str
    region: str | None = None
    address: int | None = None
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class BufferPlace:
    """Bytes that are no tensor's home: ``kind`` is ``scratch``, ``overlay`` (tiles and weights that the DMA copies) or
    ``runtime`` (multipliers, shifts, an interpreter's nodes); in use while steps ``first`` to ``last`` run."""

    name: str
    kind: str
    region: str
    address: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class OperandPlace(Displayed):
    """The bytes that an operator's kernel calls, all tiles together, access as ``role`` in one ``buffer``.

    ``tensor`` is the index of the tensor whose values these are, also where the DMA has copied them to an overlay
    buffer; None for scratch, multipliers and shifts, and where it is not known. ``access`` is ``r``, ``w`` or ``rw``.
    """

    role: str
    access: str
    tensor: int | None
    buffer: str | None
    region: str
    address: int
    bytes: int


def tensor_places(header: Header, graph: Graph | None) -> tuple[TensorPlace, ...]:
    """Every tensor of ``graph``, or those that the program names when there is none, by index."""
    homes = {_index(buffer): buffer for buffer in header.buffers if _index(buffer) is not None}
    if graph is None:
        return tuple(_placed(i, homes[i]) for i in sorted(i for i in homes if i is not None))
    places = []
    for tensor in graph.tensors:
        home = homes.get(tensor.index)
        kind = "constant" if tensor.constant else "activation"
        at = (None,) * 4 if home is None else (home.span.region, home.span.address, home.first, home.last)
        places.append(TensorPlace(tensor.index, tensor.name, tensor.shape, tensor.dtype, tensor.bytes, kind, *at))
    return tuple(places)


def _placed(index: int, home: Buffer) -> TensorPlace:
    kind, span = "constant" if home.kind == "weights" else "activation", home.span
    at = span.region, span.address, home.first, home.last
    return TensorPlace(index, None, None, None, span.bytes, kind, *at)


def _index(buffer: Buffer) -> int | None:
    number = buffer.name.removeprefix(_TENSOR)
    kept = buffer.kind in ("activation", "weights") and buffer.name.startswith(_TENSOR)
    return int(number) if kept and number.isascii() and number.isdecimal() and len(number) < 9 else None


def buffer_places(header: Header) -> tuple[BufferPlace, ...]:
    """The buffers that are no tensor's, in the program's order."""
    return tuple(
        BufferPlace(b.name, b.kind, b.span.region, b.span.address, b.span.bytes, b.first, b.last)
        for b in header.buffers
        if _index(b) is None
    )


def bytes_in_use(header: Header, machine: Machine, steps: int) -> list[dict[str, int]]:
    """By step, from 0, the bytes of each region in buffers that are alive then; bytes of two buffers count once.

    At most the header's ``peak_bytes``, which count what the plan reserves from start to end: the whole arena, buffers
    padded to lines. Not modelled: stack and code.
    """
    pieces = [(b.first, b.last, split_by_region(machine, b.span)) for b in header.buffers]
    return [
        _in_use([part for first, last, parts in pieces if first <= step <= last for part in parts])
        for step in range(steps)
    ]


def _in_use(parts: Sequence[Span]) -> dict[str, int]:
    counts: dict[str, int] = {}
    reached = 0
    for part in sorted(parts, key=lambda part: part.address):
        fresh = max(0, part.end - max(part.address, reached))
        reached = max(reached, part.end)
        counts[part.region] = counts.get(part.region, 0) + fresh
    return {region: size for region, size in sorted(counts.items()) if size}


def operands(program: Program) -> Mapping[int, tuple[OperandPlace, ...]]:
    """What the calls of each operator, by its index, read and write."""
    alive = _Alive(program)
    copied = _copied(program, alive)
    places: dict[int, dict[tuple[str, str | None], OperandPlace]] = {}
    for task in program.tasks:
        if not isinstance(task, Compute):
            continue
        own = places.setdefault(task.operator, {})
        for operand in task.operands:
            writes, span = operand.access != "r", operand.span
            buffer = alive.at(span.address, task.operator, writes)
            tensor = None if buffer is None else _index(buffer)
            if buffer is not None and buffer.kind == "overlay":
                kinds = _COPIES.get(operand.role, (operand.role,))
                tensor = next((copied[task.operator, k] for k in kinds if (task.operator, k) in copied), None)
            name, key = None if buffer is None else buffer.name, (operand.role, _name(buffer, span))
            place = OperandPlace(operand.role, operand.access, tensor, name, *_at(span))
            own[key] = _joined(own[key], place) if key in own else place
    return {operator: tuple(own.values()) for operator, own in places.items()}


def _name(buffer: Buffer | None, span: Span) -> str:
    return f"{span.address:#x}" if buffer is None else buffer.name


def _at(span: Span) -> tuple[str, int, int]:
    return span.region, span.address, span.bytes


def _joined(a: OperandPlace, b: OperandPlace) -> OperandPlace:
    first = a if a.address <= b.address else b
    end = max(a.address + a.bytes, b.address + b.bytes)
    return OperandPlace(a.role, a.access, a.tensor, a.buffer, first.region, first.address, end - first.address)


def _copied(program: Program, alive: _Alive) -> dict[tuple[int, str], int]:
    """The tensor that the transfers of an operator and a kind copy, where it is known."""
    copied: dict[tuple[int, str], int] = {}
    for task in program.tasks:
        if isinstance(task, Transfer) and (task.operator, task.kind) not in copied:
            writes = task.kind == "output"
            span = task.destination if writes else task.source
            buffer = alive.at(span.address, task.operator, writes)
            tensor = None if buffer is None else _index(buffer)
            if tensor is not None:
                copied[task.operator, task.kind] = tensor
    return copied


class _Alive:
    """The buffers alive while each operator runs, by address."""

    def __init__(self, program: Program) -> None:
        self._steps = steps_of(program)
        self._buffers = sorted(program.header.buffers, key=lambda b: b.span.address)
        self._by_step: dict[int, tuple[list[int], list[Buffer], int]] = {}

    def at(self, address: int, operator: int, written: bool) -> Buffer | None:
        """The buffer that holds ``address``: of two at one place that which the operator makes when ``written``, else
        that which it finds."""
        step = self._steps.get(operator, operator)
        buffers = sorted(self._around(address, step), key=lambda b: (b.first == step) is not written)
        return buffers[0] if buffers else None

    def _around(self, address: int, step: int) -> Iterator[Buffer]:
        if step not in self._by_step:
            alive = [b for b in self._buffers if b.first <= step <= b.last]
            longest = max((b.span.bytes for b in alive), default=0)
            self._by_step[step] = [b.span.address for b in alive], alive, longest
        lows, alive, longest = self._by_step[step]
        for index in range(bisect_right(lows, address) - 1, -1, -1):
            if lows[index] + longest <= address:
                return
            if address < alive[index].span.end:
                yield alive[index]
