"""Run a program on a machine and return what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from mcusim.engine.board_rules import require_aligned_accesses
from mcusim.engine.compiled.results import records
from mcusim.engine.compiled.tables import CompiledEngine
from mcusim.engine.core_model import ReplayCore
from mcusim.engine.disturbance import Disturbance
from mcusim.engine.kept_runs import KEPT_RUNS
from mcusim.engine.recorded.core import RecordedCore
from mcusim.engine.run import CAUSES, Invocation, OperatorRun, Run, RunRecords
from mcusim.engine.system import CoreModel, System
from mcusim.errors import UsageError
from mcusim.kernels.cost.profile import Profile
from mcusim.machine.description import Machine
from mcusim.memory.film.film_recorder import FilmRecorder
from mcusim.program import check_program
from mcusim.program.program import Header, Program, Task
from mcusim.program.unknown_operators import opaque_cycles
from mcusim.runtime.runtime import recorded_runtime

Progress = Callable[[Task], object]


@dataclass(frozen=True)
class Replay:
    """A program that was replayed: how many ``cycles`` it takes, and all that was recorded, once it is asked for."""

    cycles: int
    _record: Callable[[], Run]

    @cached_property
    def run(self) -> Run:
        """As :func:`execute` returns it."""
        return self._record()


def execute(
    program: Program, machine: Machine, profile: Profile, code: str | None = None, overhead: int | None = None
) -> Run:
    """Run ``program`` on ``machine`` with fidelity ``replay``: the core replays the cost model ``profile``.

    ``code`` names the region that kernels run from, by default the first flash; ``overhead`` overrides the profile's
    cycles of an interpreter for each operator. Raises ProgramError if the program does not fit the machine's regions
    and lanes, UnsupportedError if it has opaque operators alone, UsageError for a region it does not have or a profile
    without costs for the core, KernelFault for what the board refuses (:mod:`mcusim.engine.board_rules`). Not modelled:
    what the memory, the core model and the engine do not model.
    """
    return replay(program, machine, profile, code, overhead).run


def replay(
    program: Program, machine: Machine, profile: Profile, code: str | None = None, overhead: int | None = None
) -> Replay:
    """:func:`execute` for who may want no more than the cycles."""
    core = _core(program, machine, profile, code, overhead)
    engine = KEPT_RUNS.replay(program, machine, core)
    if engine is not None:
        recorded = partial(_recorded, engine, core, machine, program.header, profile.name)
        return Replay(engine.cycles, recorded)
    core = _core(program, machine, profile, code, overhead)
    run = run_program(program, machine, core, profile.name, "replay")
    return Replay(run.cycles, lambda: run)


def execute_series(
    program: Program,
    machine: Machine,
    profile: Profile,
    code: str | None = None,
    overhead: int | None = None,
    invocations: int = 1,
    film: FilmRecorder | None = None,
) -> tuple[Run, tuple[Invocation, ...]]:
    """:func:`execute`, and all of several ``invocations``: each begins when the one before is done, with the caches as
    that left them; the run is the first one, of which ``film`` is taken."""
    if invocations == 1 and film is None:
        run = execute(program, machine, profile, code, overhead)
        return run, (Invocation(run.cycles, run.by_cause),)
    core = _core(program, machine, profile, code, overhead)
    run = run_program(program, machine, core, profile.name, "replay", film=film)
    return run, tuple(run_again(program, machine, core, run, invocations - 1))


def _core(program: Program, machine: Machine, profile: Profile, code: str | None, overhead: int | None) -> ReplayCore:
    """To replay a program, which is checked."""
    check_program(program, machine)
    opaque = opaque_cycles(program)
    runtime = recorded_runtime(program.header.options)
    core = ReplayCore(profile, machine, code_address(machine, code), overhead, opaque, runtime)
    require_aligned_accesses(program, machine, core.profile, core.memory.state, opaque)
    return core


def execute_recorded(program: Program, machine: Machine) -> Run:
    """Run a program that was recorded from a firmware; no kernels are asked for. Raises ProgramError as
    :func:`execute`."""
    check_program(program, machine)
    return run_program(program, machine, RecordedCore(machine), program.header.kernels, "replay")


def run_again(
    program: Program,
    machine: Machine,
    core: CoreModel,
    first: Run,
    times: int,
    between: Callable[[int], object] | None = None,
    progress: Progress | None = None,
) -> Iterator[Invocation]:
    """``first``, and the program ``times`` more on the core that ran it; ``between`` is called with the number of each
    further inference before it starts."""
    yield Invocation(first.cycles, first.by_cause)
    now = first.cycles
    for number in range(1, times + 1):
        if between is not None:
            between(number)
        system = System(program, machine, core, progress, start=now)
        cycles = system.play()
        yield Invocation(cycles, _by_cause(system))
        now += cycles


def _by_cause(system: System) -> dict[str, int]:
    return {cause: sum(spent[cause] for spent in system.operators.values()) for cause in CAUSES}


def run_program(
    program: Program,
    machine: Machine,
    core: CoreModel,
    kernels: str,
    fidelity: str,
    progress: Progress | None = None,
    disturb: Disturbance | None = None,
    film: FilmRecorder | None = None,
) -> Run:
    """Run a checked program with a core model; ``progress`` is called with each task of the core when it is done.

    ``disturb`` holds up transfers and tasks at random, by seed; ``film`` is taken of it.
    """
    system = System(program, machine, core, progress, disturb)
    if film is not None:
        film.attach(core.memory)
    cycles = system.play()
    if film is not None:
        film.detach()
    return _run(system.records(cycles), core, machine, program.header, kernels, fidelity)


def code_address(machine: Machine, code: str | None = None) -> int:
    """Where kernels run from: the last quarter of a flash, so that code and weights do not coincide; elsewhere the
    region's first address. ``code`` names the region; None is the first flash. Raises UsageError, for a region too that
    holds no code."""
    if code is not None and code not in machine.memory:
        raise UsageError(f"machine {machine.name} has no region '{code}' for code; it has {', '.join(machine.memory)}")
    regions = [r for r in machine.memory.values() if (r.kind == "flash" if code is None else r.name == code)]
    if not regions:
        raise UsageError(f"machine {machine.name} has no flash region to run kernels from; name another with --code")
    region = regions[0]
    why = "executable = false" if not region.executable else "device memory, from which no code runs"
    if not region.executable or region.attribute == "device":
        raise UsageError(f"{region.name} of {machine.name} cannot hold code: it is {why} (memory.{region.name})")
    return region.base + (region.size * 3 // 4 if region.kind == "flash" else 0)


def _recorded(engine: CompiledEngine, core: ReplayCore, machine: Machine, header: Header, kernels: str) -> Run:
    return _run(records(engine), core, machine, header, kernels, "replay")


def _run(records: RunRecords, core: CoreModel, machine: Machine, header: Header, kernels: str, fidelity: str) -> Run:
    """``kernels``: the name of the profile or of the set."""
    by_cause = {cause: sum(spent[cause] for spent in records.operators.values()) for cause in CAUSES}
    total = sum(by_cause.values())
    assert total == records.cycles, f"causes sum to {total}, the run took {records.cycles}"
    types = {info.index: info.type for info in header.operators}
    operators = []
    for index, spent in sorted(records.operators.items()):
        tiles, kernel = records.calls.get(index, (0, ""))
        operators.append(OperatorRun(index, types.get(index, "?"), sum(spent.values()), tiles, spent, kernel))
    return Run(
        header=header,
        machine=machine.name,
        clock=machine.core.clock,
        kernels=kernels,
        fidelity=fidelity,
        cycles=records.cycles,
        by_cause=by_cause,
        operators=tuple(operators),
        events=records.events,
        traffic=records.traffic,
        busy=dict(sorted(records.busy.items())),
        counters={**core.memory.counters(), **core.counted()},
        assumptions=tuple(core.assumptions()),
        dma_busy=records.dma_busy,
        waits=records.waits(tuple(operators)),
    )
