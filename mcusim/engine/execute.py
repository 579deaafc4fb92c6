"""Play a program on a machine and return the run."""

from __future__ import annotations

from mcusim.engine.core import CoreModel, ReplayCore
from mcusim.engine.run import CAUSES, OperatorRun, Run
from mcusim.engine.system import System
from mcusim.errors import UsageError
from mcusim.kernels.profile import Profile
from mcusim.machine.description import Machine
from mcusim.plan import check_program
from mcusim.plan.program import Compute, Program

FIDELITIES = ("replay",)


def execute(program: Program, machine: Machine, profile: Profile, fidelity: str = "replay") -> Run:
    """Play ``program`` on ``machine``; the core replays ``profile``.

    Raises ProgramError if the program does not fit the machine's regions and lanes, UsageError for an unknown fidelity
    or a profile without costs for the core. Left out: what the memory, the core model and the engine say they do.
    """
    if fidelity not in FIDELITIES:
        raise UsageError(f"fidelity {fidelity!r} is not known; choose from: {', '.join(FIDELITIES)}")
    check_program(program, machine)
    core = ReplayCore(profile, machine.core.isa, code_address(machine))
    system = System(program, machine, core)
    cycles = system.play()
    return _run(system, core, cycles, profile, fidelity)


def code_address(machine: Machine) -> int:
    """Where kernels run from: the last quarter of the first flash region, so that code and weights do not coincide."""
    flash = [region for region in machine.memory.values() if region.kind == "flash"]
    if not flash:
        raise UsageError(f"machine {machine.name} has no flash region to run kernels from")
    return flash[0].base + flash[0].size * 3 // 4


def _run(system: System, core: CoreModel, cycles: int, profile: Profile, fidelity: str) -> Run:
    header = system.program.header
    by_cause = {cause: sum(spent[cause] for spent in system.operators.values()) for cause in CAUSES}
    assert sum(by_cause.values()) == cycles, f"causes sum to {sum(by_cause.values())}, the run took {cycles}"
    tiles: dict[int, int] = {}
    for task in system.program.tasks:
        if isinstance(task, Compute):
            tiles[task.operator] = tiles.get(task.operator, 0) + 1
    types = {info.index: info.type for info in header.operators}
    operators = tuple(
        OperatorRun(index, types.get(index, "?"), sum(spent.values()), tiles.get(index, 0), spent)
        for index, spent in sorted(system.operators.items())
    )
    return Run(
        header=header,
        machine=system.machine.name,
        clock=system.machine.core.clock,
        kernels=profile.name,
        fidelity=fidelity,
        cycles=cycles,
        by_cause=by_cause,
        operators=operators,
        events=tuple(system.events),
        traffic=dict(sorted(system.traffic.items())),
        busy=dict(sorted(system.busy.items())),
        counters=system.memory.counters(),
        assumptions=tuple(core.assumptions()),
    )
