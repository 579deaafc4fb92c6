"""What looks on while the emulated core runs a program: it is called at each task, and changes nothing."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.engine.observer import Observer, RunSetup
from mcusim.engine.run import Run
from mcusim.errors import UsageError
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import load_model
from mcusim.program import read_program
from mcusim.program.program import Compute, Maintain, Transfer
from mcusim.run_config.input_tensors import random_inputs
from tests.support.paths import REPOSITORY

SAMPLE = read_program(REPOSITORY / "traces" / "ping-pong-four-tiles.jsonl")


class Tracer(Observer):
    """Keeps when each task began and ended."""

    def __init__(self, setup: RunSetup) -> None:
        self.setup, self.checks = setup, 0
        self.times: dict[int, list[int]] = {}

    def starts(self, task: Compute, cycle: int) -> None:
        self.times[task.id] = [cycle]

    def begins(self, task: Transfer, cycle: int) -> tuple[int, int]:
        self.times[task.id] = [cycle]
        return 0, 0

    def check(self) -> None:
        self.checks += 1

    def ends(self, task: Compute | Transfer, cycle: int) -> None:
        self.times[task.id].append(cycle)

    @property
    def observed(self) -> list[tuple[int, int, int]]:
        return [(task, first, last) for task, (first, last) in self.times.items()]


class Profiler(Observer):
    """Adds up the cycles of each operator's kernel calls."""

    def __init__(self, setup: RunSetup, cycles: Counter[int]) -> None:
        self.cycles, self.since = cycles, 0

    def starts(self, task: Compute, cycle: int) -> None:
        self.since = cycle

    def ends(self, task: Compute | Transfer, cycle: int) -> None:
        if isinstance(task, Compute):
            self.cycles[task.operator] += cycle - self.since


class Stopper(Observer):
    """Stops at the second check."""

    def __init__(self, setup: RunSetup) -> None:
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if self.checks == 2:
            raise UsageError("enough")


def run(options: Options) -> tuple[EmulatedCore, Run]:
    graph = load_model(REPOSITORY / "traces" / f"{SAMPLE.header.model}.tflite")
    machine = load_machine(SAMPLE.header.machine)
    core = EmulatedCore(SAMPLE, machine, graph, load_set("cmsis"), random_inputs(graph), options)
    return core, run_program(SAMPLE, machine, core, "cmsis", "emulate")


def test_a_tracer_sees_every_call_and_transfer_when_it_ran_and_changes_nothing() -> None:
    made: list[Tracer] = []

    def make(setup: RunSetup) -> Tracer:
        made.append(Tracer(setup))
        return made[-1]

    core, seen = run(Options(observer=make))
    _, bare = run(Options())
    assert seen == bare
    (tracer,) = made
    assert tracer.setup.program is SAMPLE and tracer.setup.inputs[0].address == core.guest.tensor(0)
    events = {event.task: event for event in seen.events}
    watched = [task for task in SAMPLE.tasks if not isinstance(task, Maintain)]
    assert {task for task, _, _ in core.observed} == {task.id for task in watched}
    assert tracer.checks == len(watched)
    for task, first, last in core.observed:
        event = events[task]
        assert event.start <= first <= last <= event.end, event
        assert last > first


def test_a_profiler_of_three_lines_counts_the_cycles_of_each_operator() -> None:
    cycles: Counter[int] = Counter()
    core, seen = run(Options(observer=partial(Profiler, cycles=cycles)))
    assert core.observed == [], "an observer that keeps nothing"
    for operator in seen.operators:
        calls = operator.cycles - operator.by_cause["runtime"] - operator.by_cause["dma_wait"]
        assert 0 < calls <= cycles[operator.index] <= operator.cycles


def test_an_observer_stops_the_run() -> None:
    with pytest.raises(UsageError, match="enough"):
        run(Options(observer=Stopper))


def test_without_one_nothing_is_observed() -> None:
    assert run(Options())[0].observed == []
