"""What a run has in common with measured ones: machine, kernels, policy, settings, clock and operator mix.

Not modelled: the compiler's flags beyond the name of the kernels, the temperature, and the board's own silicon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from mcusim.kernels import load_profile, profile_names
from mcusim.machine import load_machine, load_shipped, machine_names
from mcusim.machine.clock_rules import file_clock
from mcusim.machine.description import Machine
from mcusim.plan.registry import policy_label
from mcusim.results.measurement.interval import AS_PUBLISHED, RUNTIME, RunFeatures

if TYPE_CHECKING:
    from mcusim.engine.run import Run
    from mcusim.program.program import Program

SHARE = "share of "  # how stored figures of published runs name a share
_INT8 = "int8"


def situation(
    run: Run, program: Program | None, machine: Machine, kernels: str, deviation: str | None = None
) -> RunFeatures:
    """That of ``run`` of ``program`` with ``kernels``, the name of the shipped profile or set that they stand for, or
    the path of a set.

    ``deviation`` is what is set otherwise than in published runs, in words; None for nothing.
    """
    result = RunFeatures(
        machine=machine.name,
        core=machine.core.isa,
        code=code_of(kernels),
        fidelity=run.fidelity,
        policy=policy_label(run.header.policy, run.header.options),
        mix=tuple(mix_of(run, program).items()),
        model=run.header.model,
    )
    return on_machine(result, machine, deviation)


def on_machine(features: RunFeatures, machine: Machine, deviation: str | None = None) -> RunFeatures:
    """The same for another machine of its name, which may differ in what the run did not depend on."""
    clock, changed = _compared(machine)
    return replace(
        features, clock=clock, setting="; ".join(text for text in (changed, deviation) if text) or AS_PUBLISHED
    )


def code_of(kernels: str) -> str:
    """The set that a profile was fitted to: replay and emulation of it are near to each other; else ``kernels``."""
    return (load_profile(kernels).set or kernels) if kernels in profile_names() else kernels


def _compared(machine: Machine) -> tuple[float, str | None]:
    """The clock over that of the shipped machine of its name, or of its own file, and what else differs from the
    shipped one, in words."""
    if machine.name not in machine_names():
        return machine.core.clock / file_clock(machine), None
    shipped = load_shipped(machine.name)
    ratio = machine.core.clock / shipped.core.clock
    core = machine.core
    if machine.path == shipped.path and {*machine.changes} <= {"core.clock", "core.force_clock"}:
        return ratio, None
    if _alike(machine, shipped) or (ratio != 1.0 and _alike(machine, _at(machine.name, core.clock, core.force_clock))):
        return ratio, None
    return ratio, f"{machine.name} with changed keys"


def _alike(machine: Machine, other: Machine) -> bool:
    """Equal in all but where figures come from and in energy, which has its own rows."""
    return replace(machine, figures=other.figures, changes=other.changes, title=other.title, path=other.path) == other


@lru_cache(maxsize=64)
def _at(name: str, clock: int, forced: bool) -> Machine:
    """The shipped machine at another clock, with what follows from it; ``forced``: beyond its part."""
    return load_machine(name, {"core.clock": f"{clock} Hz", "core.force_clock": forced})


def mix_of(run: Run, program: Program | None) -> Mapping[str, float]:
    """Shares of the cycles by type of operator and in the interpreter, largest first; they sum to 1."""
    types = _types(program)
    cycles: dict[str, int] = {}
    for operator in run.operators:
        runtime = operator.by_cause.get(RUNTIME, 0)
        kind = types.get(operator.index, _INT8)
        name = operator.type if kind == _INT8 else f"{operator.type} {kind}"
        for bucket, amount in ((RUNTIME, runtime), (name, operator.cycles - runtime)):
            cycles[bucket] = cycles.get(bucket, 0) + amount
    total = sum(cycles.values()) or 1
    ordered = sorted(cycles.items(), key=lambda item: (-item[1], item[0]))
    return {name: amount / total for name, amount in ordered if amount}


def _types(program: Program | None) -> dict[int, str]:
    """Types of the operators' tensors, by index."""
    from mcusim.program.program import Compute

    tasks = () if program is None else program.tasks
    return {task.operator: task.geometry.types for task in tasks if isinstance(task, Compute)}
