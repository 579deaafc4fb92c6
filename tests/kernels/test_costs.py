"""The counts that ``kernel_costs.py`` and ``network_costs.py`` print are whole."""

from __future__ import annotations

import pytest

from mcusim.model import graph_macs, load_model
from mcusim.runtime.planning_costs import operator_cycles
from tests.benchmarks.kernel_costs import COUNTED, IDEAL, Bench, loaded_bytes
from tests.benchmarks.network_costs import emulate, published


@pytest.mark.parametrize(("core", "data"), [("cortex-m4", "sram1"), ("cortex-m7", "dtcm")])
def test_bytes_loaded_are_those_that_memory_gave(core: str, data: str) -> None:
    """Data memory has no cache here; flash gives a few constants, and code."""
    graph, bench = load_model("figure-1"), Bench(core, "cmsis")
    for op in graph.operators:
        if op.type in COUNTED:
            bench.run(graph, op)
    given = bench.emulator.memory.by_region()
    loaded = loaded_bytes(bench.emulator)
    assert loaded > graph_macs(graph)
    assert given[data]["read_bytes"] <= loaded <= given[data]["read_bytes"] + given["flash"]["read_bytes"]
    assert set(IDEAL) == {"cortex-m4", "cortex-m7"}


def test_operators_and_the_interpreter_are_all_of_the_run() -> None:
    graph = load_model("ds-cnn")
    run, costs = emulate(graph, "nucleo-l4r5zi", "cmsis")
    assert len(costs) == len(graph.operators)
    assert sum(cost.macs for cost in costs) == graph_macs(graph)
    assert run.cycles == sum(cost.cycles for cost in costs) + len(costs) * operator_cycles("cortex-m4")
    assert sum(cost.instructions for cost in costs) == run.counters["instructions"]


def test_published_rows_are_found_by_this_packages_names() -> None:
    found = list(published("cifar10-arm", "nucleo-f746zg"))
    assert [ms for _, ms in found] == [105.4, 135.9, 293.9, 157.35]
    assert found[1][0].endswith("TFLite-compatible s8; validate")
