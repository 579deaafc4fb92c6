"""A run operator by operator: time, energy, bytes and places of each; what is outside of them is named too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mcusim.display import Displayed
from mcusim.machine.description import Machine
from mcusim.program.order import stored_index
from mcusim.results.difference import Difference, in_words, operator_parts
from mcusim.results.energy import energy, operator_bytes, operator_energy
from mcusim.results.places import OperandPlace, bytes_in_use, operands

if TYPE_CHECKING:
    from mcusim.engine.run import OperatorRun, Run
    from mcusim.model.graph import Graph
    from mcusim.program.program import Program

Shape = tuple[int, ...]
_PLAIN = ("index", "type", "step", "kernel", "cycles", "ms", "energy_mj", "macs", "tiles")


@dataclass(frozen=True, slots=True)
class CyclePart:
    """Cycles of an operator: ``cause`` of :data:`mcusim.engine.run.CAUSES`, ``region`` ('' for none), and ``what``: the
    operands waited for (``inputs``, ``weights`` ...), for ``compute`` the type of operator, '' where there is none."""

    cause: str
    region: str
    what: str
    cycles: int

    def __str__(self) -> str:
        return in_words(Difference(self.cause, self.region, self.what, Fraction(0)))


@dataclass(frozen=True, slots=True)
class OperatorResult(Displayed):
    """One operator of a run: what it took, what it moved, where its operands are.

    ``index`` is its place in the model, ``step`` in the order of execution. ``kernel`` is the symbol that was executed
    or what it was costed as. ``inputs`` and ``outputs`` are indices of tensors, with their shapes; None when the
    program was read from a file and its model is not known. ``energy_mj_by_part`` sums to ``energy_mj``, ``parts`` to
    ``cycles``, largest first. ``traffic``: bytes that crossed each region's own pins for it, by core and DMA.
    ``bytes_in_use``: bytes of each region in buffers that are alive while it runs, weights included; None without a
    program.
    """

    index: int
    type: str
    step: int
    kernel: str
    cycles: int
    ms: float
    energy_mj: float
    macs: int
    tiles: int
    by_cause: Mapping[str, int]
    parts: tuple[CyclePart, ...]
    energy_mj_by_part: Mapping[str, float]
    traffic: Mapping[str, int]
    inputs: tuple[int, ...] | None
    input_shapes: tuple[Shape, ...] | None
    outputs: tuple[int, ...] | None
    output_shapes: tuple[Shape, ...] | None
    operands: tuple[OperandPlace, ...]
    bytes_in_use: Mapping[str, int] | None

    @property
    def main_cause(self) -> CyclePart | None:
        """The largest of its parts; None for an operator of no cycles."""
        return self.parts[0] if self.parts else None


@dataclass(frozen=True, slots=True)
class Outside:
    """What the run's totals have beyond the sum of its operators: 0 cycles always, and no time. ``traffic``: bytes that
    belong to no task, such as those of the call structures that an emulated interpreter writes between calls."""

    cycles: int
    energy_mj: float
    traffic: Mapping[str, int]


def operator_results(
    run: Run, machine: Machine, program: Program | None, graph: Graph | None
) -> tuple[OperatorResult, ...]:
    """The operators that ran, in the order of execution; their cycles and ms sum to the run's, their mJ and bytes
    together with :func:`outside`."""
    from mcusim.program.program import steps_of

    infos = run.header.operators
    steps = {info.index: info.index for info in infos} if program is None else steps_of(program)
    parts, joules, moved = operator_parts(run), operator_energy(run, machine), operator_bytes(run)
    places = {} if program is None else operands(program)
    count = max(steps.values(), default=-1) + 1
    in_use = None if program is None else bytes_in_use(run.header, machine, count)
    macs = {info.index: info.macs for info in infos}

    def row(operator: OperatorRun) -> OperatorResult:
        own, step = joules[operator.index], steps.get(operator.index, operator.index)
        op = None if graph is None or operator.index >= len(graph.operators) else graph.operators[operator.index]
        read = None if op is None else tuple(t for t in op.inputs if t >= 0)
        made = None if op is None else tuple(op.outputs)
        return OperatorResult(
            index=stored_index(run.header, operator.index), type=operator.type, step=step, kernel=operator.kernel,
            cycles=operator.cycles, ms=1e3 * operator.cycles / run.clock, energy_mj=sum(own.values()),
            macs=macs.get(operator.index, 0), tiles=operator.tiles, by_cause=operator.by_cause,
            parts=tuple(CyclePart(*key, cycles) for key, cycles in parts[operator.index].items()),
            energy_mj_by_part={part: mj for part, mj in own.items() if mj},
            traffic=dict(sorted(moved.get(operator.index, {}).items())),
            operands=places.get(operator.index, ()),
            bytes_in_use=None if in_use is None else in_use[step] if step < len(in_use) else {},
            inputs=read, input_shapes=None if graph is None or read is None else _shapes(graph, read),
            outputs=made, output_shapes=None if graph is None or made is None else _shapes(graph, made),
        )  # fmt: skip

    rows = (row(operator) for operator in run.operators)
    return tuple(sorted(rows, key=lambda result: (result.step, result.index)))


def _shapes(graph: Graph, tensors: tuple[int, ...]) -> tuple[Shape, ...]:
    return tuple(graph.tensors[t].shape for t in tensors)


def outside(run: Run, machine: Machine) -> Outside:
    """The totals of the run less those of its operators, rounding aside."""
    moved: dict[str, int] = {}
    for own in operator_bytes(run).values():
        for region, n in own.items():
            moved[region] = moved.get(region, 0) + n
    names = sorted({*run.traffic, *moved})
    rest = {name: (run.traffic[name].total if name in run.traffic else 0) - moved.get(name, 0) for name in names}
    cycles = run.cycles - sum(operator.cycles for operator in run.operators)
    joules = sum(sum(parts.values()) for parts in operator_energy(run, machine).values())
    whole = energy(run, machine).energy_mj
    over = whole - joules
    return Outside(cycles, 0.0 if abs(over) <= 1e-9 * abs(whole) else over, {name: n for name, n in rest.items() if n})


def operator_json(operator_result: OperatorResult) -> dict[str, Any]:
    """An operator as plain data; ``operands`` and ``cycles_by_part`` are lists of objects."""
    row: dict[str, Any] = {name: getattr(operator_result, name) for name in _PLAIN}
    row["cycles_by_cause"] = dict(operator_result.by_cause)
    row["main_cause"] = None if operator_result.main_cause is None else str(operator_result.main_cause)
    row["cycles_by_part"] = [asdict(part) for part in operator_result.parts]
    row["energy_mj_by_part"] = dict(operator_result.energy_mj_by_part)
    row["traffic"] = dict(operator_result.traffic)
    row["bytes_in_use"] = None if operator_result.bytes_in_use is None else dict(operator_result.bytes_in_use)
    for name in ("inputs", "outputs"):
        row[name] = _as_list(getattr(operator_result, name))
    for name in ("input_shapes", "output_shapes"):
        shapes = getattr(operator_result, name)
        row[name] = None if shapes is None else [list(shape) for shape in shapes]
    row["operands"] = [asdict(operand) for operand in operator_result.operands]
    return row


def _as_list(numbers: tuple[int, ...] | None) -> list[int] | None:
    return None if numbers is None else list(numbers)
