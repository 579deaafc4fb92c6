"""Seeded disturbances: what a draw depends on, that all kinds take effect, and what they leave alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mcusim.engine.core_model import ReplayCore
from mcusim.engine.disturbance import BEAT_CYCLES, MICROSECONDS, Disturbance
from mcusim.engine.emulated_core import EmulatedCore
from mcusim.engine.execute import code_address, execute, run_program
from mcusim.engine.run import Run
from mcusim.kernels import load_profile
from mcusim.kernels.kernel_set import load_set
from mcusim.memory.state_layout import TICK
from mcusim.plan import plan
from mcusim.program.program import Program, Task, Transfer
from mcusim.run_config.input_tensors import random_inputs
from tests.support.cases import only_with_all_cases, sampled
from tests.support.programs.plans import DISCOS, board, model

CLOCK = 200_000_000
SEEDS = range(200)


@cache
def program(machine: str) -> Program:
    return plan(model("ds-cnn"), board(machine), "tinyops", load_set("cmsis"))


def moves(machine: str = DISCOS[0]) -> list[Transfer]:
    return [t for t in program(machine).tasks if isinstance(t, Transfer)]


def run(machine: str, disturb: Disturbance | None) -> tuple[Run, list[bytes]]:
    target, graph = board(machine), model("ds-cnn")
    core = EmulatedCore(program(machine), target, graph, load_set("cmsis"), random_inputs(graph))
    done = run_program(program(machine), target, core, "cmsis", "emulate", disturb=disturb)
    return done, [core.tensor(t).tobytes() for t in graph.outputs]


def test_draws_depend_on_seed_task_and_kind_alone() -> None:
    tasks = moves()[:40]
    draws: dict[str, Callable[[Disturbance, Transfer], int]] = {
        "start": lambda d, t: d.start(t, CLOCK),
        "completion": lambda d, t: d.completion(t, CLOCK),
        "stall": lambda d, t: d.stall(t, CLOCK),
        "beat": lambda d, t: d.beat(t),
        "order": lambda d, t: d.arbitrated(t).priority,
    }
    one, other = Disturbance(7), pickle.loads(pickle.dumps(Disturbance(7)))
    found = {kind: [draw(one, t) for t in tasks] for kind, draw in draws.items()}
    backwards = {kind: [draw(other, t) for t in reversed(tasks)] for kind, draw in reversed(draws.items())}
    assert found == {kind: values[::-1] for kind, values in backwards.items()}
    assert found["order"] != [draws["order"](Disturbance(8), t) for t in tasks]
    lanes = [replace(t, lane="dma2.s1", tile=3) for t in tasks]  # nor on what else the task is
    assert found["start"] == [draws["start"](one, t) for t in lanes]


def test_draws_are_the_same_on_every_machine() -> None:
    task = replace(moves()[0], id=5)
    one = Disturbance(6)
    assert (one.start(task, CLOCK), one.completion(task, CLOCK), one.stall(task, CLOCK), one.beat(task)) == (
        56,
        2770,
        4165,
        57512,
    )


@pytest.mark.parametrize("kind", ["start", "completion", "stall"])
def test_times_fill_their_range(kind: str) -> None:
    task, most = moves()[0], MICROSECONDS[kind] * CLOCK // 1_000_000
    found = [getattr(Disturbance(seed), kind)(task, CLOCK) for seed in SEEDS]
    assert min(found) >= 0 and 0.8 * most < max(found) < most
    assert sum(n == 0 for n in found) > len(SEEDS) // 8  # a quarter of the seeds leave a kind alone
    assert len(set(found)) > len(SEEDS) // 2


def test_a_slower_bus_has_a_bound() -> None:
    found = [Disturbance(seed).beat(moves()[0]) for seed in SEEDS]
    assert min(found) >= 0 and 0.8 * BEAT_CYCLES * TICK < max(found) < BEAT_CYCLES * TICK


def test_priorities_order_equal_transfers_and_keep_unequal_ones() -> None:
    low, high = replace(moves()[0], id=1, priority=1), replace(moves()[0], id=2, priority=2)
    equal = replace(low, id=3)
    for seed in SEEDS:
        assert Disturbance(seed).arbitrated(low).priority < Disturbance(seed).arbitrated(high).priority
    first = [Disturbance(s).arbitrated(low).priority < Disturbance(s).arbitrated(equal).priority for s in SEEDS]
    assert len(SEEDS) // 3 < sum(first) < 2 * len(SEEDS) // 3


@pytest.mark.parametrize("machine", sampled(DISCOS, 1))
def test_a_disturbed_run_takes_longer_computes_the_same_and_replays(machine: str) -> None:
    plain, outputs = run(machine, None)
    cycles = set()
    for seed in (5, 6):
        done, same = run(machine, Disturbance(seed))
        assert same == outputs
        assert sum(done.by_cause.values()) == done.cycles > plain.cycles
        cycles.add(done.cycles)
    assert run(machine, Disturbance(seed))[0] == done and len(cycles) == 2


class Only(Disturbance):
    """One kind, as strong as it gets, for every task."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        super().__init__(0)
        object.__setattr__(self, "kind", kind)

    def _share(self, kind: str, task: Task) -> int:
        return (1 << 32) - 1 if kind == self.kind else 0


@only_with_all_cases
@pytest.mark.parametrize("machine", sampled(DISCOS, 1))
@pytest.mark.parametrize("kind", ["start", "completion", "stall", "beat"])
def test_each_kind_has_its_effect(machine: str, kind: str) -> None:
    """A stall delays the core by itself; what delays a transfer shows in how long it takes."""
    plain, _ = run(machine, None)
    done, _ = run(machine, Only(kind))
    clock = board(machine).core.clock
    if kind == "stall":
        more = done.by_cause["runtime"] - plain.by_cause["runtime"]
        calls = [e for e in done.events if e.lane == "core"]
        assert more == pytest.approx(len(calls) * MICROSECONDS[kind] * clock // 1_000_000, rel=0.02)
        return
    taken = {e.task: e.end - e.start for e in done.events if e.kind == "transfer"}
    later = np.array([taken[e.task] - (e.end - e.start) for e in plain.events if e.kind == "transfer"])
    sizes = np.array([t.source.bytes for t in moves(machine)])
    least = sizes // board(machine).dma["dma2"].beat * BEAT_CYCLES
    if kind != "beat":
        least[:] = MICROSECONDS[kind] * clock // 1_000_000
    assert np.mean(later > 0.9 * least) > 0.5  # others are pre-empted less than they were


def test_a_replayed_run_is_disturbed_too() -> None:
    profile = load_profile("cmsis-gcc12")
    machine = board(DISCOS[0])
    plain = execute(program(DISCOS[0]), machine, profile)
    core: Any = ReplayCore(profile, machine, code_address(machine))
    done = run_program(program(DISCOS[0]), machine, core, profile.name, "replay", disturb=Disturbance(2))
    assert sum(done.by_cause.values()) == done.cycles > plain.cycles
