"""ST's engine (X-CUBE-AI, ST Edge AI Core) as an estimate: what its model zoo publishes, set against the replay of
compiled code on the same networks.

``st_zoo.csv`` has the published figures of five families of int8 networks on the STM32H747I-DISCO, one Cortex-M7 at 400
MHz, by version of the engine, and what mcusim's replay of compiled code takes for the same file (``replay_ms``,
``array_bytes``; ``scripts/evidence/st_engine``). A version's factor is the mean of its families' published over
replayed latency, in the logarithm. How far off that is for a network of another family is what families and networks
within them scatter by, over all versions, by Student's t of as many families less one. Operators and windows that no
family has make it wider by their share of the time times :data:`KIND`, a board other than an STM32H7 by :data:`BOARD`.

Activations follow no rule that is published: RAM is the range of published over planned bytes, on which no verdict on
what fits can rest. Flash is this network's weights and the code of that version in all its rows.

Not modelled: what of a network ST's tools change before they run it; other cores; versions that no row has.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import mean
from typing import TYPE_CHECKING

from mcusim.machine import load_shipped
from mcusim.machine.description import Machine
from mcusim.model.geometry import Geometry
from mcusim.program.program import Compute, Program

if TYPE_CHECKING:
    from mcusim.engine.run import Run

RUNTIME = "tinyengine"  # whose replay it rests on
MEASURED_ON = "nucleo-h743zi"  # the board that stands for the STM32H747I-DISCO
KIND = 0.2  # of ln(ST's cycles a MAC / compiled code's) over pointwise, wide, first and depthwise convolutions
BOARD = 0.1  # of ln(measured / estimated) on another board; assumed
_T = {3: 2.353, 4: 2.132, 5: 2.015, 6: 1.943}  # Student's, 5 % to either side


@dataclass(frozen=True, slots=True)
class Replayed:
    """What compiled code takes: milliseconds, peak of RAM and weights in bytes, share of the time by :func:`kind`."""

    latency_ms: float
    array_bytes: int
    weight_bytes: int
    mix: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StEstimate:
    """``latency_ms`` with its ends; ``ram`` and ``flash``, least and most, in bytes."""

    latency_ms: float
    interval_ms: tuple[float, float]
    ram: tuple[int, int]
    flash: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _ZooRow:
    family: str
    version: str
    error: float  # ln(published / replayed)
    ram: float  # published activations over the planned array
    runtime_bytes: float
    code_bytes: float
    kinds: frozenset[str]


def has_rows(machine: Machine) -> bool:
    """Whether rows are of the machine's core."""
    return machine.core.isa == load_shipped(MEASURED_ON).core.isa


def versions() -> tuple[str, ...]:
    """Those that rows are of, the oldest first."""
    return tuple(dict.fromkeys(row.version for row in _rows()))


def kind(g: Geometry) -> str:
    """Type of an operator, with its window where it has one."""
    return f"{g.type} {g.kernel_h}x{g.kernel_w}" if g.traits.parametric and g.traits.windowed else g.type


def shares(run: Run, program: Program) -> dict[str, float]:
    """Of a run's cycles by :func:`kind`."""
    kinds = {task.operator: kind(task.geometry) for task in program.tasks if isinstance(task, Compute)}
    result: dict[str, float] = {}
    for operator in run.operators:
        name = kinds.get(operator.index, operator.type)
        result[name] = result.get(name, 0.0) + operator.cycles / (run.cycles or 1)
    return result


def estimate(version: str, replayed: Replayed, machine: str) -> StEstimate:
    """Of a network on a Cortex-M7."""
    rows = [row for row in _rows() if row.version == version]
    factor, half = math.exp(_factor(rows)), _half(replayed.mix, machine)
    latency = factor * replayed.latency_ms
    ram = sorted(row.ram for row in _rows())
    runtime, code = ([pick(getattr(row, name) for row in rows) for pick in (min, max)] for name in _SIZES)
    return StEstimate(
        latency,
        (latency * math.exp(-half), latency * math.exp(half)),
        (round(ram[0] * replayed.array_bytes + runtime[0]), round(ram[-1] * replayed.array_bytes + runtime[1])),
        (round(replayed.weight_bytes + code[0]), round(replayed.weight_bytes + code[1])),
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
    return _half({}, MEASURED_ON)


def _factor(rows: Iterable[_ZooRow]) -> float:
    """In the logarithm: each family counts once."""
    return mean(mean(errors) for errors in _by_family(rows).values())


def _by_family(rows: Iterable[_ZooRow]) -> dict[str, list[float]]:
    families: dict[str, list[float]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row.error)
    return families


@cache
def _scatter() -> tuple[float, float, int]:
    """Variance between families and within one, over all versions; how many families there are."""
    between, within, degrees, rest = 0.0, 0.0, 0, 0
    for version in versions():
        families = _by_family(row for row in _rows() if row.version == version)
        means = {family: mean(errors) for family, errors in families.items()}
        middle = mean(means.values())
        between += sum((value - middle) ** 2 for value in means.values())
        degrees += len(means) - 1
        within += sum((error - means[family]) ** 2 for family, errors in families.items() for error in errors)
        rest += sum(map(len, families.values())) - len(families)
    return between / degrees, within / rest, len({row.family for row in _rows()})


def _half(mix: Mapping[str, float], machine: str) -> float:
    between, within, families = _scatter()
    known = frozenset[str]().union(*(row.kinds for row in _rows()))
    unknown = sum(share for kind, share in mix.items() if kind not in known)
    other = 0.0 if machine == MEASURED_ON else BOARD
    variance = between * (1 + 1 / families) + within + (KIND * unknown) ** 2 + other**2
    return _T[families - 1] * math.sqrt(variance)


@cache
def _rows() -> Sequence[_ZooRow]:
    text = files(__package__).joinpath("st_zoo.csv").read_text(encoding="utf-8")
    return tuple(_row(row) for row in csv.DictReader(text.splitlines()) if row["replay_ms"])


def _row(row: Mapping[str, str]) -> _ZooRow:
    return _ZooRow(
        row["family"],
        row["engine_version"],
        math.log(float(row["latency_ms"]) / float(row["replay_ms"])),
        1024 * float(row["activation_kib"]) / float(row["array_bytes"]),
        1024 * float(row["runtime_kib"]),
        1024 * float(row["code_kib"]),
        frozenset(row["kinds"].split(";")),
    )
