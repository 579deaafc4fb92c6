"""What a run would take with kernels of other builds: of another year, compiler or C library.

A firmware whose build nobody named may have any of those that the runtime lists (``Runtime.builds``), each as likely
as the others. The run's time in the kernels changes by their cycles, operator by operator, and by what their code waits
for past the caches; its other waits stay.

Not modelled: builds that no shipped profile is of; that a build reads its operands in another order, and waits for
them otherwise; code that misses an instruction cache; energy beyond that of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from mcusim.errors import UnsupportedError, UsageError
from mcusim.kernels import load_profile
from mcusim.kernels.cost.counted.loop_counts import compute_cycles as counted_cycles
from mcusim.kernels.cost.fitted.call import Call, compute_cycles, flash_lines
from mcusim.machine.cores import core_named
from mcusim.machine.description import Flash, Machine, Region, Sram
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
        self._waits: dict[int, dict[str, int]] = {}  # for code past the caches, by operator and region
        for wait in run.waits:
            if wait.role == "code" and not machine.caches_code(wait.region):
                self._waits.setdefault(wait.operator, {})[wait.region] = wait.cycles

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
        for region, waited in self._waits.get(task.operator, {}).items():
            anew = other.waits(self._machine, self._machine.memory[region])
            more += (times * anew if anew is not None else waited * other.words / own.words) - waited
        return more


@dataclass(frozen=True)
class _BuildCycles:
    """Cycles without waits; those for code from a flash of ``wait_states`` behind an accelerator (0: not measured);
    words of code past the caches, and those that begin anew elsewhere."""

    work: float
    fetch: float
    wait_states: float
    words: float
    anew: float

    def waits(self, machine: Machine, region: Region) -> float | None:
        """Cycles that the code waits past the caches in that memory; None for one on another chip."""
        device, clock = region.device, machine.bus.clock
        if isinstance(device, Sram):
            return self.words * float(machine.cycles(device.fetch_latency, device.clock))
        if not isinstance(device, Flash):
            return None
        accelerator = None if region.alias_port else device.accelerator
        if accelerator and self.wait_states:
            return self.fetch * device.wait_states / self.wait_states
        lines = flash_lines(self.words, self.anew, device.line // core_named(machine.core.isa).data_bus)
        if accelerator:
            return lines * float(machine.cycles(accelerator.line_change, clock))
        wait = Fraction(device.wait_states * machine.core.clock, clock)
        return lines * float(wait + machine.cycles(device.fetch_latency, clock))


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
        words = work * costs.bytes_per_cycle / core_named(isa).data_bus
        return _BuildCycles(work, 0.0, 0.0, words, 0.0)
    work, fetch, words, anew = compute_cycles(Call(g, rows, operands, 0), profile, isa)
    return _BuildCycles(work, fetch, costs.wait_states, words, anew)
