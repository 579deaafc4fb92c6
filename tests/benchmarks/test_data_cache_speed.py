"""What a data cache that holds data costs the emulated core; only the ratio within one run is asserted.

``ratio`` is the speed as a part of that of the same run where view and memory are the same bytes: lines are only tags
then, and nothing is copied. ``ratio_sanitized`` is the same with every access looked at by the sanitizer.
With ``external`` every tensor is in write-back SDRAM and lines come and go; with ``tinyops`` the DMA moves most bytes.
The worst case is a loop whose every access loads a line, and with stores displaces a dirty one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.emulator import core_state
from mcusim.emulator.backing_memory import BackingStore, behind_the_cache
from mcusim.emulator.emulator import Emulator
from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import Machine, load_machine
from mcusim.memory.address_ranges import Bytes
from mcusim.model import Graph, load_model
from mcusim.plan import plan
from mcusim.program import check_program
from mcusim.program.program import Program
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.sanitizer.monitor import make_monitor
from tests.support.kernels.timed_networks import BOARD, KERNELS, SMALL, run

ROUNDS = 5
Setting = tuple[bool, str]  # whether view and memory are apart; what the sanitizer does
PLAIN, APART, SANITIZED = (False, "off"), (True, "off"), (True, "report")


def one_memory(machine: Machine, core: UnicornCore) -> tuple[list[Bytes], BackingStore]:
    """View and memory are the same bytes everywhere."""
    contents, _ = behind_the_cache(machine, core)
    return [replace(one, memory=one.view) for one in contents], BackingStore(())


def ready(program: Program, graph: Graph, setting: Setting, monkeypatch: pytest.MonkeyPatch) -> EmulatedCore:
    apart, sanitize = setting
    with monkeypatch.context() as patched:
        if not apart:
            patched.setattr(core_state, "behind_the_cache", one_memory)
        options = Options(observer=make_monitor(sanitize))
        return EmulatedCore(program, load_machine(BOARD), graph, load_set(KERNELS), random_inputs(graph), options)


@pytest.mark.parametrize("policy", ["external", "tinyops"])
def test_a_cache_that_holds_data_costs_little(policy: str, benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, machine, kernels = load_model(SMALL), load_machine(BOARD), load_set(KERNELS)
    program = plan(graph, machine, policy, kernels)
    check_program(program, machine)
    times: dict[Setting, list[float]] = {PLAIN: [], APART: [], SANITIZED: []}
    left = {}
    for number in range(1 + ROUNDS):
        for setting, taken in times.items():
            core = ready(program, graph, setting, monkeypatch)
            seconds = run(core)
            if number:  # the first runs of new code are no measure
                taken.append(seconds)
            counters = core.memory.counters()
            left[setting] = core.emulator.cycles, [core.tensor(t).tobytes() for t in graph.outputs], counters
    assert left[PLAIN] == left[APART] == left[SANITIZED]  # the same work
    assert counters["dcache_misses"] > 10_000 and counters["dcache_writebacks"] > 1_000
    best = {setting: min(taken) for setting, taken in times.items()}
    ratio = best[PLAIN] / best[APART]
    benchmark.extra_info["ratio"] = ratio
    benchmark.extra_info["ratio_sanitized"] = best[PLAIN] / best[SANITIZED]
    benchmark.pedantic(run, setup=lambda: ((ready(program, graph, APART, monkeypatch),), {}), rounds=3)
    assert ratio >= 0.8


def sweep(store: bool, apart: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[float, dict[str, int]]:
    """Processor seconds of 100,000 accesses to SDRAM, a line apart, and the counters."""
    with monkeypatch.context() as patched:
        if not apart:
            patched.setattr(core_state, "behind_the_cache", one_memory)
        emulator = Emulator(load_machine(BOARD))
    access = "0160" if store else "0168"  # 1: STR or LDR r1, [r0]; ADD r0, r3; SUBS r2, #1; BNE 1b; BX lr
    emulator.write(0x0800_0000, bytes.fromhex(access + "1844013afbd17047"))
    emulator.set_stack(0x2000_8000, 0)
    emulator.call(0x0800_0000, (emulator.machine.memory["sdram"].base, 0, 100_000, 32))
    started = time.process_time()
    assert emulator.run().kind == "returned"
    return time.process_time() - started, emulator.memory.counters()


@pytest.mark.parametrize("store", [False, True], ids=["loads", "stores"])
def test_a_miss_at_every_access(store: bool, benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(10):
        for apart, taken in times.items():
            seconds, counters = sweep(store, apart, monkeypatch)
            taken.append(seconds)
    assert counters["dcache_misses"] == 100_000
    assert counters["dcache_writebacks"] == (100_000 - 128 if store else 0)
    ratio = min(times[False]) / min(times[True])
    benchmark.extra_info["ratio"] = ratio
    benchmark.pedantic(sweep, args=(store, True, monkeypatch), rounds=3)
    assert ratio >= 0.7
