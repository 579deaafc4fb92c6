"""A plan depends on no clock and no latency, and is made once for machines that differ in these alone."""

from __future__ import annotations

import pytest

from mcusim.errors import DoesNotFit
from mcusim.kernels import load_profile
from mcusim.machine import load_machine
from mcusim.model import load_model
from mcusim.plan import SRAM_BUDGET, PlanOptions, plan
from mcusim.plan import kept_plans as module
from mcusim.plan.kept_plans import kept_plan, planned_for
from mcusim.plan.registry import all_policies
from tests.support.cases import few

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
TIMING = {
    "core.clock": "90 MHz",
    "memory.flash.wait_states": "1",
    "memory.sram1.read_latency": "7 cycles",
    "memory.sdram.clock": "45 MHz",
    "memory.sdram.timing.CL": "3 sdclk",
    "memory.sdram.timing.tRC": "15 sdclk",
    "dma.dma2.request_setup": "1500 cycles",
    "dma.dma2.completion_interrupt": "1 cycles",
}
PROFILE = load_profile("cmsis-2021-gcc9")
POLICIES = [policy.name for policy in all_policies()]


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_plans", [])


CACHES = {"cache.data.size": "8 KiB", "cache.data.ways": "2", "cache.data.policy": "write-through"}


@few(6)
@pytest.mark.parametrize("model", ["ds-cnn", "figure-1", "mobilenet-v1-w0.25-r096", "proxyless-w0.25-r160"])
@pytest.mark.parametrize("board", [F746, F469])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_plan_does_not_depend_on_timing(policy: str, board: str, model: str) -> None:
    graph = load_model(model)
    machines = [load_machine(board, keys) for keys in ({}, TIMING | (CACHES if board == F746 else {}))]
    first, second = (plan(graph, machine, policy, PROFILE, PlanOptions()) for machine in machines)
    assert first == second
    assert planned_for(machines[0]) == planned_for(machines[1])


def test_what_a_plan_depends_on_is_another_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(module, "plan", lambda *given, **named: made.append(given[2]) or plan(*given, **named))
    graph, options = load_model("ds-cnn"), PlanOptions()
    others = [{}, {"memory.sram1.size": "200 KiB"}, {"cache.data.line": "16 B"}, {"dma.dma2.beat": "4 B"}, {}, TIMING]
    programs = [kept_plan(graph, load_machine(F746, keys), "tinyops", PROFILE, options) for keys in others]
    assert made == ["tinyops"] * 4 and programs[4] is programs[0] is programs[5]
    small = options.having(SRAM_BUDGET, 20_000)
    for _ in range(2):
        with pytest.raises(DoesNotFit, match="20,000"):
            kept_plan(graph, load_machine(F746), "internal", PROFILE, small)
        kept_plan(graph, load_machine(F469), "external", PROFILE, options)
    assert made[4:] == ["internal", "external"]


def test_the_oldest_plans_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PLANS", 2)
    graph = load_model("ds-cnn")
    for size in (100, 110, 120, 100):
        kept_plan(graph, load_machine(F746, {"memory.sram1.size": f"{size} KiB"}), "internal", PROFILE, PlanOptions())
        assert len(module._plans) <= 2
