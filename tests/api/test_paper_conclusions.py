"""What the papers conclude from their measurements holds in simulation.

The figures are those that ship; ``tests/evidence/validate/test_validation_runs.py`` repeats the runs and compares.
"""

from __future__ import annotations

import pytest

from mcusim.api.simulate import simulate
from mcusim.machine import load_machine
from mcusim.measurements.published.stored import stored_rows

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"


def figure(quantity: str, machine: str, policy: str, model: str | None = None) -> float:
    """The simulated figure of a TinyOps row; without ``model`` that of Table 3's network."""
    table_3 = {F469: "proxyless-w0.25-r160", F746: "proxyless-w0.25-r192"}
    key = quantity, machine, policy, model or table_3[machine]
    (found,) = (r for r in stored_rows() if (r.quantity, r.machine, r.policy, r.model) == key and r.simulated)
    assert found.simulated is not None
    return found.simulated


@pytest.mark.parametrize("machine", [F469, F746])
def test_tinyops_is_1_2_to_2_2_times_faster_than_external_memory(machine: str) -> None:
    ratio = figure("latency", machine, "external") / figure("latency", machine, "tinyops")
    assert 1.2 <= ratio <= 2.2


BEHIND = pytest.param(F746, marks=pytest.mark.xfail(reason="12.4 %, measured 10.3 %: evidence/why-is-it-off.md"))


@pytest.mark.parametrize("machine", [F469, BEHIND])
def test_tinyops_is_within_12_percent_of_internal_memory(machine: str) -> None:
    assert figure("latency", machine, "tinyops") / figure("latency", machine, "internal") <= 1.12


def test_tinyops_draws_less_current_than_external_memory_on_the_f469() -> None:
    """Power is fitted to these currents (``scripts/evidence/calibration``); that three figures can meet them is what
    holds.
    """
    assert figure("supply_current", F469, "tinyops") < 0.95 * figure("supply_current", F469, "external")


def test_tinyops_draws_no_less_current_than_external_memory_on_the_f746() -> None:
    """Fitted as on the other board; one current for "SDRAM is on" could not, a core that waits had to draw less."""
    assert figure("supply_current", F746, "tinyops") >= figure("supply_current", F746, "external")


def test_mnasnet_under_tinyops_is_faster_than_mcunet_was_at_more_macs() -> None:
    mcunet = next(r for r in stored_rows() if r.model == "mcunet-f746" and r.quantity == "latency")
    assert mcunet.measured == 1867
    assert figure("latency", F746, "tinyops", "mnasnet-w1.00-r128") < mcunet.measured
    assert figure("macs", F746, "tinyops", "mnasnet-w1.00-r128") > figure("macs", F746, "tinyops", "mcunet-f746")


def test_the_cache_narrows_the_penalty_of_external_memory() -> None:
    """That of the board with a data cache is the smaller one, and grows when the cache shrinks."""
    for policy in ("internal", "tinyops"):
        small, large = (figure("latency", m, "external") / figure("latency", m, policy) for m in (F746, F469))
        assert 1 < small < 0.8 * large, policy
    machine = load_machine(F746, {"cache.data.size": "256 B"})
    shrunk, whole = (simulate("ds-cnn", m, policy="external").value("latency_ms") or 0 for m in (machine, F746))
    internal = simulate("ds-cnn", F746, policy="internal").value("latency_ms") or 0
    assert shrunk / internal > 1.2 * whole / internal > 1.2


def test_moving_tensors_costs_little_of_the_inference() -> None:
    """Liberis & Lane: +0.68 % time, +0.97 % energy; ours is the copy loop alone, with faster kernels."""
    for quantity in ("latency", "energy"):
        dynamic, static = (
            next(r for r in stored_rows() if r.quantity == quantity and r.placement == f"{how} allocation")
            for how in ("dynamic", "static")
        )
        assert 1 < (dynamic.simulated or 0) / (static.simulated or 1) < 1.01
