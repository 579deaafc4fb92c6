"""How fast whole networks run emulated; times are shown, and only ratios within one run are asserted.

``guest_mips`` are millions of instructions of the kernels in a second, pipeline, memories, DMA and engine all modelled;
``bare_mips`` are those of Unicorn without any hook on the same calls of the same code. Both begin with no code
translated, the native hooks compiled before.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.engine.emulated_core import EmulatedCore
from mcusim.model import graph_macs, load_model
from mcusim.program.program import Compute
from tests.support.kernels.timed_networks import SMALL, ready, run
from tests.support.paths import shared_model

TWICE = "mobilenet-v1-w0.25-r136"


def bare(like: EmulatedCore) -> UnicornCore:
    """A core without hooks that has in its memory what the emulated one has before it runs."""
    machine = like.emulator.machine
    core = UnicornCore(machine)
    for region in machine.memory.values():
        if region.size <= 2 << 20:
            core.poke(region.base, like.emulator.read(region.base, region.size))
    return core


def run_bare(core: UnicornCore, like: EmulatedCore) -> float:
    """Processor seconds for the same calls, one after another."""
    started = time.process_time()
    for task in like.guest.program.tasks:
        assert isinstance(task, Compute)  # policy internal moves nothing
        function = like.image.symbol(like.guest.kernel(task).symbol).address | 1
        for address, data, _ in like.guest.calls(task):
            core.poke(address, data)
            core["r0"], core["sp"], core["lr"] = address, like.stack.end, core.return_address | 1
            core.uc.emu_start(function, core.return_address)
            assert core["r0"] == 0
    return time.process_time() - started


def test_emulated_network_against_bare_unicorn(benchmark: Any) -> None:
    graph, policy = load_model(SMALL), "internal"
    run(ready(graph, policy))
    emulated, alone = [], []
    for _ in range(3):
        core = ready(graph, policy)
        unhooked = bare(core)
        emulated.append(run(core))
        alone.append(run_bare(unhooked, core))
    (last,) = graph.outputs
    assert unhooked.peek(core.guest.tensor(last), graph.tensors[last].bytes) == core.tensor(last).tobytes()
    instructions = core.emulator.instructions
    assert instructions > graph_macs(graph)
    benchmark.extra_info["guest_mips"] = instructions / 1e6 / min(emulated)
    benchmark.extra_info["bare_mips"] = instructions / 1e6 / min(alone)
    benchmark.pedantic(run, setup=lambda: ((ready(graph, policy),), {}), rounds=3)
    assert min(emulated) < 20 * min(alone)


@pytest.mark.parametrize("policy", ["internal", "tinyops"])
def test_cost_is_linear_in_macs(policy: str) -> None:
    """With about twice the MACs, one takes 0.7 to 1.4 times as long; the first runs of new code are in it."""
    graphs = [load_model(SMALL), load_model(TWICE)]
    macs = [graph_macs(graph) for graph in graphs]
    assert 1.8 < macs[1] / macs[0] < 2.2
    times = [[run(ready(graph, policy)) for graph in graphs] for _ in range(5)]  # turn about
    per_mac = [min(taken) / count for taken, count in zip(zip(*times, strict=True), macs, strict=True)]
    assert 0.7 < per_mac[1] / per_mac[0] < 1.4


@pytest.mark.parametrize("name", ["vww_96_int8", "mnasnet-w1.00-r096"])
def test_networks_of_the_table(name: str, benchmark: Any) -> None:
    """Emulated end to end: planned, loaded and run."""
    graph = load_model(name if "-" in name else shared_model(f"{name}.tflite"))

    def whole() -> int:
        core = ready(graph, "tinyops")
        run(core)
        return core.emulator.instructions

    instructions = benchmark.pedantic(whole, rounds=3, warmup_rounds=1)
    assert instructions > 1_000_000
    if benchmark.stats is not None:  # pytest-benchmark measures nothing in the processes of pytest-xdist
        benchmark.extra_info["guest_mips"] = instructions / 1e6 / benchmark.stats.stats.min
