"""ST's engine (X-CUBE-AI, ST Edge AI Core) as an estimate: what its model zoo publishes, set against the replay of
compiled code on the same networks.

``st_zoo.csv`` has the published figures of five families of int8 networks on the STM32H747I-DISCO, one Cortex-M7 at 400
MHz, by version of the engine, and what mcusim's replay of compiled code takes for the same file (``replay_ms``,
``array_bytes``; ``scripts/evidence/st_engine``). A version's factor is the mean of its families' published over
replayed latency, in the logarithm. How far off that is for a network of another family is what families and networks
within them scatter by, over all versions, by Student's t of as many families less one. Operators and windows that no
family has make it wider by their share of the time times :data:`KIND`, a board other than an STM32H7 by :data:`BOARD`,
another clock or other figures of the machine by :data:`CHANGED`, and a network that is smaller than all of the zoo's by
what a family's smaller networks differ by at most. Two versions are off together: their ratio has the scatter of the
ratios that families have. :func:`unknown` says of what nothing is known.

Activations follow no rule that is published: RAM is the range of published over planned bytes, on which no verdict on
what fits can rest. Flash is this network's weights and the code of that version in all its rows.

Not modelled: what of a network ST's tools change before they run it; other cores; versions that no row has.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from statistics import linear_regression, mean, stdev
from typing import TYPE_CHECKING, NamedTuple

from mcusim.machine import load_shipped
from mcusim.machine.description import Machine
from mcusim.model.geometry import Geometry
from mcusim.program.program import Compute, Program

if TYPE_CHECKING:
    from mcusim.engine.run import Run

MEASURED_ON = "nucleo-h743zi"  # the board that stands for the STM32H747I-DISCO
# ST's cycles a MAC over compiled code's: pointwise, wide, first and depthwise convolutions, fitted to the zoo's rows
_BY_KIND = (1.04 / 1.29, 0.93 / 1.13, 2.2 / 1.97, 6.75 / 5.55)
KIND = stdev(map(math.log, _BY_KIND))
BOARD = 0.1  # of ln(measured / estimated) on another board; assumed
CHANGED = 0.1  # the same, of another clock or other figures of a machine; assumed
CLOCK = 400_000_000  # Hz, of all rows
POLICY = "internal"  # where all rows have weights and data
_OTHER_TYPES = 0.1  # share of the time that is not of int8 operators, from which nothing is known
_SMALLEST = 0.1  # of the cycles of the smallest network of the zoo, below which nothing is known
_INT8 = "int8"
_T = {3: 2.353, 4: 2.132, 5: 2.015, 6: 1.943}  # Student's, 5 % to either side


@dataclass(frozen=True, slots=True)
class Replayed:
    """What compiled code takes: milliseconds and core cycles, peak of RAM and weights in bytes, share of the time by
    :func:`kind`. ``measured_on``: the board is the one that the rows are of; ``changed``: its clock is not theirs, or
    clock or figures of another are not those that ship."""

    latency_ms: float
    cycles: int
    array_bytes: int
    weight_bytes: int
    mix: Mapping[str, float]
    measured_on: bool = True
    changed: bool = False


@dataclass(frozen=True, slots=True)
class StEstimate:
    """``latency_ms`` with its ends; ``ram`` and ``flash``, least and most, in bytes. ``among_versions``: half of the
    interval of ln(this latency over another version's)."""

    latency_ms: float
    interval_ms: tuple[float, float]
    ram: tuple[int, int]
    flash: tuple[int, int]
    among_versions: float


@dataclass(frozen=True, slots=True)
class _ZooRow:
    family: str
    version: str
    network: str  # the file's digest
    cycles: float  # of compiled code
    error: float  # ln(published / replayed)
    ram: float  # published activations over the planned array
    runtime_bytes: float
    code_bytes: float
    kinds: frozenset[str]


def types_of(run: Run, program: Program) -> dict[str, float]:
    """Shares of a run's cycles by what its operators' tensors are of, ``int8`` where that is an end."""
    return _shares_by(run, program, _types)


def has_rows(machine: Machine) -> bool:
    """Whether rows are of the machine's core."""
    return machine.core.isa == load_shipped(MEASURED_ON).core.isa


def versions() -> tuple[str, ...]:
    """Those that rows are of, the oldest first."""
    return tuple(dict.fromkeys(row.version for row in _rows()))


def kind(g: Geometry) -> str:
    """Type of an operator, with its window where it has one, and its types where neither end is int8."""
    name = f"{g.type} {g.kernel_h}x{g.kernel_w}" if g.traits.parametric and g.traits.windowed else g.type
    return name if _types(g) == _INT8 else f"{name} {g.types}"


def _types(g: Geometry) -> str:
    """``int8`` also of what converts from or to it."""
    return _INT8 if _INT8 in g.types.partition("_to_") else g.types


def shares(run: Run, program: Program) -> dict[str, float]:
    """Of a run's cycles by :func:`kind`."""
    return _shares_by(run, program, kind)


def _shares_by(run: Run, program: Program, name_of: Callable[[Geometry], str]) -> dict[str, float]:
    names = {task.operator: name_of(task.geometry) for task in program.tasks if isinstance(task, Compute)}
    result: dict[str, float] = {}
    for operator in run.operators:
        name = names.get(operator.index, operator.type)
        result[name] = result.get(name, 0.0) + operator.cycles / (run.cycles or 1)
    return result


def unknown(cycles: int, by_types: Mapping[str, float]) -> str:
    """Why nothing is known of a network of so many cycles of compiled code, whose time has these shares by what its
    operators' tensors are of; empty where something is."""
    foreign = {types: share for types, share in by_types.items() if types != _INT8}
    if sum(foreign.values()) > _OTHER_TYPES:
        types = max(foreign, key=lambda types: foreign[types])
        return f"published rows are of int8 networks, and {100 * foreign[types]:.0f} % of the time is in {types}"
    least = min(row.cycles for row in _rows())
    if cycles < _SMALLEST * least:
        return (
            f"published rows are of networks of at least {least / 1e6:.1f} M cycles of compiled code, this one has"
            f" {cycles / 1e6:.3f} M: what ST's engine takes around its kernels is not known"
        )
    return ""


def estimate(version: str, replayed: Replayed) -> StEstimate:
    """Of a network on a Cortex-M7 of which :func:`unknown` has nothing to say."""
    rows = [row for row in _rows() if row.version == version]
    factor, half = math.exp(_factor(rows)), _reach(_scatter(), _aside(replayed))
    latency = factor * replayed.latency_ms
    ram = sorted(row.ram for row in _rows())
    runtime, code = ([pick(getattr(row, name) for row in rows) for pick in (min, max)] for name in _SIZES)
    return StEstimate(
        latency,
        (latency * math.exp(-half), latency * math.exp(half)),
        (round(ram[0] * replayed.array_bytes + runtime[0]), round(ram[-1] * replayed.array_bytes + runtime[1])),
        (round(replayed.weight_bytes + code[0]), round(replayed.weight_bytes + code[1])),
        _reach(_version_scatter(), (KIND * _unmet(replayed)) ** 2),
    )


_SIZES = ("runtime_bytes", "code_bytes")


def left_out_errors() -> list[float]:
    """ln(estimated / published) of each row, by the other families of its version."""
    errors = []
    for version in versions():
        rows = [row for row in _rows() if row.version == version]
        for row in rows:
            others = [other for other in rows if other.family != row.family]
            errors.append(_factor(others) - row.error)
    return errors


def half_width() -> float:
    """Half of the interval of the logarithm, of operators and a board that rows are of."""
    return _reach(_scatter())


def _factor(rows: Iterable[_ZooRow]) -> float:
    """In the logarithm: each family counts once."""
    return mean(mean(errors) for errors in _by_family(rows).values())


def _by_family(rows: Iterable[_ZooRow]) -> dict[str, list[float]]:
    families: dict[str, list[float]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row.error)
    return families


class _Scatter(NamedTuple):
    """Variance ``between`` families and ``within`` one."""

    between: float
    within: float


@cache
def _scatter() -> _Scatter:
    """Of the errors, over all versions."""
    return _pooled([_by_family(row for row in _rows() if row.version == version) for version in versions()])


@cache
def _version_scatter() -> _Scatter:
    """Of what the same files differ by from one version to another, over all pairs of versions."""
    pairs: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row, other in combinations(_rows(), 2):
        if row.network == other.network and row.version != other.version:
            families = pairs.setdefault((row.version, other.version), {})
            families.setdefault(row.family, []).append(other.error - row.error)
    return _pooled(list(pairs.values()))


def _pooled(groups: Sequence[Mapping[str, Sequence[float]]]) -> _Scatter:
    """Of errors by family, each group around a mean of its own."""
    between, within, degrees, rest = 0.0, 0.0, 0, 0
    for families in groups:
        means = {family: mean(errors) for family, errors in families.items()}
        middle = mean(means.values())
        between += sum((value - middle) ** 2 for value in means.values())
        degrees += len(means) - 1
        within += sum((error - means[family]) ** 2 for family, errors in families.items() for error in errors)
        rest += sum(map(len, families.values())) - len(families)
    return _Scatter(between / degrees, within / rest)


def _reach(scatter: _Scatter, aside: float = 0.0) -> float:
    """Half of the interval for a network of another family; ``aside``: a further variance."""
    families = len({row.family for row in _rows()})
    return _T[families - 1] * math.sqrt(scatter.between * (1 + 1 / families) + scatter.within + aside)


def _aside(replayed: Replayed) -> float:
    """The variance of what no row has."""
    smaller = max(0.0, math.log(min(row.cycles for row in _rows()) / max(1, replayed.cycles)))
    board, changed = 0.0 if replayed.measured_on else BOARD, CHANGED if replayed.changed else 0.0
    return sum(error**2 for error in (KIND * _unmet(replayed), board, changed, steepest() * smaller))


def _unmet(replayed: Replayed) -> float:
    """The share of the time in kinds of operators that no family has."""
    known = frozenset[str]().union(*(row.kinds for row in _rows()))
    return sum(share for kind, share in replayed.mix.items() if kind not in known)


@cache
def steepest() -> float:
    """What ln(published / replayed) of a family and version changes by at most for each factor e in size."""
    groups: dict[tuple[str, str], list[_ZooRow]] = {}
    for row in _rows():
        groups.setdefault((row.family, row.version), []).append(row)
    points = [([math.log(row.cycles) for row in own], [row.error for row in own]) for own in groups.values()]
    return max(abs(linear_regression(sizes, errors).slope) for sizes, errors in points if len({*sizes}) > 1)


@cache
def _rows() -> Sequence[_ZooRow]:
    text = files(__package__).joinpath("st_zoo.csv").read_text(encoding="utf-8")
    return tuple(_row(row) for row in csv.DictReader(text.splitlines()) if row["replay_ms"])


def _row(row: Mapping[str, str]) -> _ZooRow:
    return _ZooRow(
        row["family"],
        row["engine_version"],
        row["sha256"],
        1e3 * float(row["mhz"]) * float(row["replay_ms"]),
        math.log(float(row["latency_ms"]) / float(row["replay_ms"])),
        1024 * float(row["activation_kib"]) / float(row["array_bytes"]),
        1024 * float(row["runtime_kib"]),
        1024 * float(row["code_kib"]),
        frozenset(row["kinds"].split(";")),
    )
