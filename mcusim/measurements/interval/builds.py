"""What a run would take with kernels of other builds: of another year, compiler or C library.

A firmware whose build nobody named may have any of those that the runtime lists (``Runtime.builds``), each as likely
as the others. The run's time in the kernels changes by their cycles, operator by operator; its waits stay.

Not modelled: builds that no shipped profile is of; that a build reads its operands in another order, and waits for
them otherwise; energy beyond that of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from mcusim.errors import UnsupportedError, UsageError
from mcusim.kernels import load_profile
from mcusim.kernels.cost.counted.loop_counts import compute_cycles as counted_cycles
from mcusim.model.geometry import Geometry, Tile
from mcusim.program.program import Compute, Program

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_ALIGNED = 8  # bytes: what of an address the cycles depend on
_APART = 1 << 12  # bytes between operands
_DIGITS = 3
_Operands = tuple[tuple[str, int, int], ...]


def builds_of(run: Run, program: Program, isa: str, kernels: str, builds: Sequence[str]) -> tuple[float, ...]:
    """The latency with each of the profiles ``builds``, over that of ``run``, which had ``kernels``: one of them or the
    set that it was fitted to; () where they are neither."""
    kernels = next((name for name in builds if kernels in (name, load_profile(name).set)), "")
    if not kernels or not run.cycles:
        return ()
    calls = {task.operator: task for task in program.tasks if isinstance(task, Compute) and task.tile == 0}
    spent = {operator.index: operator.by_cause.get("compute", 0) for operator in run.operators}
    factors = []
    for build in builds:
        try:
            more = sum(spent[index] * (_ratio(task, isa, build, kernels) - 1) for index, task in calls.items())
        except UsageError:  # no costs of that core
            continue
        factors.append(round(1 + more / run.cycles, _DIGITS))
    return tuple(factors)


def _ratio(task: Compute, isa: str, build: str, kernels: str) -> float:
    """Cycles of an operator with one profile over those with another; 1 where one of them does not have it."""
    if build == kernels:
        return 1.0
    operands = tuple(_placed(task))
    try:
        own, other = (_cycles(task.geometry, task.rows, operands, isa, name) for name in (kernels, build))
    except UnsupportedError:
        return 1.0
    return other / own if own > 0 else 1.0


def _placed(task: Compute) -> Iterator[tuple[str, int, int]]:
    for number, operand in enumerate(task.operands):
        address = _APART * (number + 1) + operand.span.address % _ALIGNED
        yield str(operand.role), address, operand.span.bytes


@lru_cache(maxsize=4096)
def _cycles(g: Geometry, rows: Tile, operands: _Operands, isa: str, name: str) -> float:
    profile = load_profile(name).of_call(g)
    if not profile.core(isa).fitted:
        return float(counted_cycles(g, rows, profile.core(isa)))
    from mcusim.kernels.cost.fitted.call import Call, compute_cycles

    return compute_cycles(Call(g, rows, operands, 0), profile, isa)
