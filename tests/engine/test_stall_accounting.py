"""What the core waits for by operand, and what each task moves: they sum to the run's counters, and say the truth."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from mcusim import simulate
from mcusim.engine import system as engine
from mcusim.engine.run import CAUSES, Event, Run
from mcusim.engine.stall_accounting import shared_out
from mcusim.program.program import Span, Transfer

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
OPERANDS = {"input0", "input1", "inputN", "filter", "bias", "multiplier", "shift", "scratch", "output", "table"}
ELSEWHERE = {"compute", "runtime", "bus", "maintenance"}


def run_of(*arguments: str, **options: str) -> Run:
    run = simulate(*arguments, **options).run  # type: ignore[arg-type]
    assert run is not None
    return run


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
@pytest.mark.parametrize("machine", [F746, F469])
def test_parts_sum_to_the_operators_cycles(machine: str, policy: str) -> None:
    run = run_of("ds-cnn", machine, policy)
    found: Counter[tuple[int, str]] = Counter()
    for wait in run.waits:
        assert wait.cycles > 0
        found[wait.operator, wait.cause] += wait.cycles
    for operator in run.operators:
        for cause in set(CAUSES) - ELSEWHERE:
            assert found.pop((operator.index, cause), 0) == operator.by_cause[cause]
    assert not found


@pytest.mark.parametrize("fidelity", ["replay", "emulate"])
@pytest.mark.parametrize("policy", ["external", "tinyops"])
def test_bytes_of_the_tasks_sum_to_the_traffic(policy: str, fidelity: str) -> None:
    run = run_of("figure-1", F746, policy, fidelity=fidelity)
    moved: Counter[str] = Counter()
    for event in run.events:
        moved.update(event.moved)
    assert moved == {region: traffic.total for region, traffic in run.traffic.items()}
    assert sum(wait.cycles for wait in run.waits) == sum(n for c, n in run.by_cause.items() if c not in ELSEWHERE)


def roles(run: Run, cause: str) -> set[str]:
    return {wait.role for wait in run.waits if wait.cause == cause}


def test_only_weights_wait_for_the_sdram_when_only_weights_are_there() -> None:
    run = run_of("ds-cnn", F746, "internal", weights="sdram")
    assert roles(run, "sdram") <= {"filter", "bias", "multiplier", "shift"} and "filter" in roles(run, "sdram")
    assert roles(run, "flash") == {"code"}
    home = run_of("ds-cnn", F746, "internal")
    assert roles(home, "sdram") == set() and "filter" in roles(home, "flash")


def test_without_a_cache_a_read_waits_as_long_whichever_operand_it_is_for() -> None:
    """F469 in SDRAM, a fully connected operator: 1 byte of input and 1 of weights a MAC, in words from other rows."""
    run = run_of("ds-cnn", F469, "external")
    last = next(o for o in run.operators if o.type == "FULLY_CONNECTED")
    found = {w.role: w.cycles for w in run.waits if w.operator == last.index and w.cause == "sdram"}
    assert set(found) <= OPERANDS and 0.3 < found["input0"] / found["filter"] < 1.7


def test_waiting_for_the_dma_names_what_it_copies() -> None:
    run = run_of("ds-cnn", F746, "tinyops", overlay="input")
    waits = [wait for wait in run.waits if wait.cause == "dma_wait"]
    assert waits and {(wait.region, wait.role) for wait in waits} == {("sdram", "input")}


def test_a_wait_for_several_transfers_is_each_ones_up_to_its_end() -> None:
    """Multipliers and shifts come last: what is saved without copying them is about what was waited for them."""
    every, less = run_of("ds-cnn", F469, "tinyops"), run_of("ds-cnn", F469, "tinyops", overlay="input,filter,bias")
    found: Counter[str] = Counter()
    for wait in every.waits:
        found[wait.role] += wait.cycles if wait.cause == "dma_wait" else 0
    saved = every.by_cause["dma_wait"] - less.by_cause["dma_wait"]
    assert saved > 0 and found["multiplier"] + found["shift"] == pytest.approx(saved, rel=0.25)
    assert found["input"] > 0.7 * every.by_cause["dma_wait"]
    ends = {e.label.split()[-1]: e.end for e in every.events[:5]}
    waited = {w.role: w.cycles for w in every.waits if w.operator == 0 and w.cause == "dma_wait"}
    assert waited["input"] == ends["input"] > 0 and waited["filter"] == ends["filter"] - ends["input"]
    assert sum(waited.values()) == ends["shift"]


def test_a_wait_is_not_for_what_the_next_operator_fetches_meanwhile() -> None:
    """Operator 0 waits from 5 to 30; filters for operator 1 end at 15, between its own transfers, and last of all."""

    class System(engine.System):
        def __init__(self) -> None:
            self.waits: Any = SimpleNamespace(waited=lambda *what: seen.append(what))
            ends = ((0, 0, 4), (1, 0, 10), (2, 1, 15), (3, 0, 20), (4, 1, 30))
            self.events = [Event(task, "dma2.s0", "transfer", "", operator, 0, end, {}) for task, operator, end in ends]
            span = Span("sram1", 0, 1)
            self._tasks = {
                event.task: Transfer(event.task, event.lane, event.operator, 0, "filter", span, span, 0, 0, 1, 0)
                for event in self.events
            }

    seen: list[tuple[int, Transfer, int]] = []
    assert System().waited(0, 5, 30, 5) == 25
    assert [(operator, task.id, cycles) for operator, task, cycles in seen] == [(0, 1, 5), (0, 3, 10), (0, 4, 10)]


def test_parts_are_whole_and_none_is_off_by_one() -> None:
    for whole, weights in ((10, [1, 1, 1]), (0, [5, 2]), (7, [0, 3, 0, 4]), (10**15, [1, 10**9, 7])):
        parts = shared_out(whole, weights)
        assert sum(parts) == whole
        assert all(abs(p - whole * w / sum(weights)) < 1 for p, w in zip(parts, weights, strict=True))
