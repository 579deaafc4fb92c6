"""What a run would take with kernels of other builds: of another year, compiler or C library.

A firmware whose build nobody named may have any of those that the runtime lists (``Runtime.builds``), each as likely
as the others. The run's time in the kernels changes by their cycles, operator by operator, and by what their code waits
for in a flash behind an accelerator; its other waits stay.

Not modelled: builds that no shipped profile is of; that a build reads its operands in another order, and waits for
them otherwise; code that misses an instruction cache; energy beyond that of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mcusim.errors import UnsupportedError, UsageError
from mcusim.kernels import load_profile
from mcusim.kernels.cost.counted.loop_counts import compute_cycles as counted_cycles
from mcusim.machine.description import Flash, Machine
from mcusim.model.geometry import Geometry, Tile
from mcusim.program.program import Compute, Program

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_ALIGNED = 8  # bytes: what of an address the cycles depend on
_APART = 1 << 12  # bytes between operands
_DIGITS = 3
_Operands = tuple[tuple[str, int, int], ...]


def builds_of(run: Run, program: Program, machine: Machine, kernels: str, builds: Sequence[str]) -> tuple[float, ...]:
    """The latency with each of the profiles ``builds``, over that of ``run``, which had ``kernels``: one of them or the
    set that it was fitted to; () where they are neither."""
    own = next((name for name in builds if kernels in (name, load_profile(name).set)), "")
    if not own or not run.cycles:
        return ()
    calls = [task for task in program.tasks if isinstance(task, Compute) and task.tile == 0]
    factors = []
    for build in builds:
        try:
            exchanged = _Exchange(run, machine, own, build)
            more = 0.0 if build == own else sum(exchanged.more(task) for task in calls)
        except UsageError:  # no costs of that core
            continue
        factors.append(round(1 + more / run.cycles, _DIGITS))
    return tuple(factors)


class _Exchange:
    """Of ``run``, which had the profile ``own``, with the profile ``other``."""

    def __init__(self, run: Run, machine: Machine, own: str, other: str) -> None:
        self._machine, self._isa, self._names = machine, machine.core.isa, (own, other)
        self._spent = {operator.index: operator.by_cause.get("compute", 0) for operator in run.operators}
        self._waits: dict[int, int] = {}
        for wait in run.waits:
            if wait.role == "code":
                self._waits[wait.operator] = self._waits.get(wait.operator, 0) + wait.cycles
        regions = {wait.region for wait in run.waits if wait.role == "code"}
        self._flash = _accelerated(machine) if machine.instruction_cache is None else {}
        self._flash = {name: flash for name, flash in self._flash.items() if name in regions}

    def more(self, task: Compute) -> float:
        """Cycles of the task's operator."""
        operands = tuple(_placed(task))
        try:
            own, other = (_cycles(task.geometry, task.rows, operands, self._isa, name) for name in self._names)
        except UnsupportedError:  # one of them does not have it
            return 0.0
        if own.work <= 0:
            return 0.0
        times = self._spent[task.operator] / own.work
        more = times * (other.work - own.work)
        for flash in self._flash.values():
            more += times * other.waits(flash, self._machine) - self._waits.get(task.operator, 0)
        return more


def _accelerated(machine: Machine) -> dict[str, Flash]:
    """The flash whose code comes through an accelerator."""
    devices = {name: region.device for name, region in machine.memory.items()}
    return {name: flash for name, flash in devices.items() if isinstance(flash, Flash) and flash.accelerator}


@dataclass(frozen=True)
class _BuildCycles:
    """Cycles without waits; those for code from a flash of ``wait_states`` behind an accelerator, or the bytes of it
    that are executed."""

    work: float
    fetch: float
    wait_states: float
    code_bytes: float

    def waits(self, flash: Flash, machine: Machine) -> float:
        """Cycles that the code waits in ``flash`` of ``machine``."""
        if self.wait_states:
            return self.fetch * flash.wait_states / self.wait_states
        assert flash.accelerator is not None
        change = machine.cycles(flash.accelerator.line_change, machine.bus.clock)
        return self.code_bytes / flash.line * float(change)


def _placed(task: Compute) -> Iterator[tuple[str, int, int]]:
    for number, operand in enumerate(task.operands):
        address = _APART * (number + 1) + operand.span.address % _ALIGNED
        yield str(operand.role), address, operand.span.bytes


@lru_cache(maxsize=4096)
def _cycles(g: Geometry, rows: Tile, operands: _Operands, isa: str, name: str) -> _BuildCycles:
    profile = load_profile(name).of_call(g)
    costs = profile.core(isa)
    if not costs.fitted:
        work = float(counted_cycles(g, rows, costs))
        return _BuildCycles(work, 0.0, 0.0, work * costs.bytes_per_cycle)
    from mcusim.kernels.cost.fitted.call import Call, compute_cycles

    work, fetch = compute_cycles(Call(g, rows, operands, 0), profile, isa)
    return _BuildCycles(work, fetch, costs.wait_states, 0.0)
