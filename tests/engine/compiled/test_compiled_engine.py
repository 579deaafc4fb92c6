"""The compiled engine is the one in SimPy: random programs of many lanes, whose events often fall on the same cycle."""

from __future__ import annotations

import sys
from dataclasses import replace
from random import Random

import pytest

from mcusim.engine.execute import execute
from mcusim.engine.kept_runs import KeptRuns
from mcusim.engine.run import Run
from mcusim.kernels import load_profile
from mcusim.kernels.cost.profile import Profile
from mcusim.machine import Machine, load_machine
from mcusim.model.geometry import Geometry, Tile
from mcusim.program.program import (
    Compute,
    Header,
    Maintain,
    MemoryParts,
    Operand,
    OperatorInfo,
    Program,
    Span,
    Task,
    Transfer,
)
from tests.support.boards.machines import free_dma, free_regions
from tests.support.cases import few

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
ACTIONS = "clean", "invalidate", "clean+invalidate"


def board(seed: int) -> Machine:
    """With and without a data cache, with two controllers, some of it without any cost."""
    keys = {"dma.dma2.request_setup": f"{(0, 7, 300)[seed % 3]} cycles"}
    keys |= {"cache.data.policy": "write-through"} if seed % 8 == 4 else {}
    machine = load_machine((F746, F469)[seed % 2], keys)
    dma = replace(machine.dma["dma2"], streams=8)
    machine = replace(machine, dma={"dma2": dma, "dma1": replace(dma, name="dma1")})
    if seed % 5 == 1:
        machine = free_dma(machine)
    return free_regions(machine, machine.memory) if seed % 7 == 2 else machine


def compute(rng: Random, machine: Machine, number: int, after: tuple[int, ...]) -> Compute:
    rows, width = rng.choice([1, 2, 8, 40]), rng.choice([4, 64, 1000])
    g = Geometry("SOFTMAX", 1, 2 * rows, width, 1, 2 * rows, width, 1)
    first = rng.choice([0, rows])
    spans = [span(rng, machine, 2 * rows * width, source) for source in (True, False)]
    operands = Operand("input0", spans[0], "r"), Operand("output", spans[1], "w")
    return Compute(number, number % 3, int(first > 0), 2, g, Tile(first, rows, first, rows), operands, after)


def span(rng: Random, machine: Machine, size: int, source: bool = False) -> Span:
    region = machine.memory[rng.choice(["sram1", "sdram", *["flash"] * source])]
    return Span(region.name, region.base + 64 * rng.randrange(200), size)


def transfer(rng: Random, machine: Machine, number: int, after: tuple[int, ...]) -> Transfer:
    lane, size = rng.choice(["dma2.s0", "dma2.s1", "dma2.s5", "dma1.s0"]), rng.choice([1, 4, 64, 640, 6400])
    ends = span(rng, machine, size, source=rng.random() < 0.2), span(rng, machine, size)
    return Transfer(number, lane, number % 3, 0, "input", *ends, number, 0, 1, rng.randrange(3), after)


def program(rng: Random, machine: Machine, count: int) -> Program:
    tasks: list[Task] = []
    for number in range(count):
        after = tuple(rng.sample(range(number), min(number, rng.choice([0, 1, 1, 2, 4]))))
        kind = rng.random()
        if kind < 0.4:
            tasks.append(transfer(rng, machine, number, after))
        elif kind < 0.6:
            where = span(rng, machine, rng.choice([1, 300, 5000]))
            tasks.append(Maintain(number, number % 3, 0, rng.choice(ACTIONS), where, after))  # type: ignore[arg-type]
        else:
            tasks.append(compute(rng, machine, number, after))
    return with_header(machine, tasks)


def with_header(machine: Machine, tasks: list[Task]) -> Program:
    operators = tuple(OperatorInfo(index, "SOFTMAX", 0) for index in range(3))
    header = Header(machine.name, "test", "0" * 64, "test", "cmsis-2021-gcc9", operators, MemoryParts(*[0] * 6), {}, ())
    return Program(header, tuple(tasks))


def by_simpy(monkeypatch: pytest.MonkeyPatch, made: Program, machine: Machine, profile: Profile) -> Run:
    with monkeypatch.context() as patch:
        patch.setattr(KeptRuns, "replay", lambda *_: None)
        return execute(made, machine, profile)


@few(20)
@pytest.mark.parametrize("seed", range(200))
def test_a_random_program_runs_as_in_simpy(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also recorded, and played on another clock."""
    rng, profile = Random(seed), load_profile()
    machine = board(seed)
    made = program(rng, machine, rng.choice([1, 5, 30, 80]))
    faster = replace(machine, core=replace(machine.core, clock=machine.core.clock // 2 * 3))
    wanted, wanted_faster = (by_simpy(monkeypatch, made, each, profile) for each in (machine, faster))
    monkeypatch.delattr(
        sys.modules["mcusim.engine.execute"], "run_program"
    )  # what cannot be compiled would be simulated
    runs = [(execute(made, machine, profile), wanted) for _ in range(3)]
    for run, simulated in [*runs, (execute(made, faster, profile), wanted_faster)]:
        assert vars(run) == vars(simulated)


def test_transfers_that_use_the_lines_of_a_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core reads the same lines again and again: how often a transfer displaces them depends on time."""
    early, late = (load_machine(F469, {"dma.dma2.beat": beat}) for beat in ("4 B", "1 B"))
    flash, sram = early.memory["flash"].base, early.memory["sram1"].base
    tasks: list[Task] = []
    for number in range(0, 24, 2):
        ends = Span("flash", flash + 4096, 2048), Span("sram1", sram + 4096, 2048)
        tasks.append(Transfer(number, "dma2.s0", 0, 0, "input", *ends, number, 0, 1, 0, ()))
        operands = Operand("input0", Span("flash", flash, 64), "r"), Operand("output", Span("sram1", sram, 64), "w")
        g = Geometry("SOFTMAX", 1, 1, 64, 1, 1, 64, 1)
        tasks.append(Compute(number + 1, 0, 0, 1, g, Tile(0, 1, 0, 1), operands, ()))
    made, profile = with_header(early, tasks), load_profile()
    simulated = [by_simpy(monkeypatch, made, machine, profile) for machine in (early, late)]
    assert simulated[0].counters["flash_data_misses"] != simulated[1].counters["flash_data_misses"]
    for machine in (early, early, late):
        assert vars(execute(made, machine, profile)) == vars(simulated[machine is late])
