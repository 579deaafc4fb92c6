"""Physics: what makes a memory slower never makes a run faster, and free memories leave only the work.

Named runs, LRU caches; 0.5 % covers what a changed pace moves in refresh and row state.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from mcusim.engine import execute
from mcusim.kernels import load_profile
from mcusim.machine import Machine, load_machine
from mcusim.machine.loader import replace_all
from mcusim.model import load_model
from mcusim.plan import plan, plan_options
from tests.support.boards.machines import free_dma, free_regions
from tests.support.cases import few, sampled

F469, F746, L4R5 = "stm32f469i-disco", "stm32f746g-disco", "nucleo-l4r5zi"
NETWORK = "proxyless-w0.25-r096"
SLACK = 1.005


def cycles(machine: Machine, policy: str, network: str = NETWORK, **options: Any) -> int:
    profile = load_profile()
    program = plan(load_model(network), machine, policy, profile, plan_options(**options))
    return execute(program, machine, profile).cycles


def compute(machine: Machine, policy: str, network: str) -> int:
    """Cycles of the kernels' own work, weights in SDRAM."""
    profile = load_profile()
    program = plan(load_model(network), machine, policy, profile, plan_options(weights="sdram"))
    return execute(program, machine, profile).by_cause["compute"]


@few(4)
@pytest.mark.parametrize(
    ("board", "policy", "key", "values"),
    sampled(
        [
            (F469, "internal", "memory.flash.wait_states", ["0", "2", "5", "8", "15"]),
            (F746, "internal", "memory.flash.wait_states", ["0", "2", "5", "7", "15"]),
            (F469, "external", "memory.sdram.timing.tRCD", ["1 sdclk", "2 sdclk", "3 sdclk"]),
            (F469, "external", "memory.sdram.timing.CL", ["1 sdclk", "2 sdclk", "3 sdclk"]),
            (F746, "external", "memory.sdram.timing.CL", ["1 sdclk", "2 sdclk", "3 sdclk"]),
            (F746, "external", "memory.sdram.timing.tRP", ["1 sdclk", "2 sdclk"]),
            (F746, "external", "memory.sdram.clock", ["108 MHz", "80 MHz", "54 MHz", "27 MHz"]),
            (F469, "tinyops", "memory.sdram.clock", ["90 MHz", "60 MHz", "30 MHz"]),
            (F746, "external", "memory.sdram.read_overhead", ["0 cycles", "6 cycles", "20 cycles"]),
            (F746, "external", "cache.data.ways", ["4", "2", "1"]),
            (F746, "tinyops", "cache.data.ways", ["4", "2", "1"]),
            (F746, "external", "cache.data.size", ["64 KiB", "16 KiB", "4 KiB", "2 KiB"]),
            (F746, "internal", "cache.instruction.size", ["16 KiB", "4 KiB", "1 KiB", "512 B", "0 B"]),
            (F469, "internal", "memory.flash.accelerator.prefetch", ["true", "false"]),
            (F469, "internal", "memory.flash.accelerator.instruction_lines", ["512", "64", "32", "8", "1", "0"]),
            (F469, "tinyops", "memory.flash.accelerator.line_change", ["0 cycles", "1.5 cycles", "3 cycles"]),
            (F469, "tinyops", "dma.dma2.streams", ["2", "1"]),
            (F469, "tinyops", "dma.dma2.max_units", ["65535", "10000", "1000"]),
            (F746, "tinyops", "dma.dma2.max_units", ["65535", "10000", "1000"]),
            (F746, "tinyops", "dma.dma2.request_setup", ["0 cycles", "150 cycles", "1000 cycles"]),
            (F469, "internal", "memory.flash.accelerator.data_lines", ["64", "8", "2", "1"]),
            (L4R5, "internal", "memory.flash.accelerator.instruction_lines", ["512", "128", "64", "8", "4", "0"]),
            (F469, "tinyops", "dma.dma2.beat", ["4 B", "2 B", "1 B"]),
            (F746, "tinyops", "dma.dma2.beat", ["4 B", "2 B", "1 B"]),
            (F746, "tinyops", "dma.dma2.burst", ["4", "1"]),
            (F469, "tinyops", "dma.dma2.threshold", ["1/4", "full"]),
            (F746, "tinyops", "dma.dma2.fifo", ["16 B", "0 B"]),
            (F469, "tinyops", "dma.dma2.completion_interrupt", ["0 cycles", "120 cycles", "2000 cycles"]),
            (F746, "internal", "memory.sram1.read_latency", ["0 cycles", "6 cycles", "20 cycles"]),
        ],
        10,
    ),
)
def test_slower_parts_never_make_a_run_faster(board: str, policy: str, key: str, values: list[str]) -> None:
    runs = [cycles(load_machine(board, {key: value}), policy) for value in values]
    for faster, slower in pairwise(runs):
        assert slower * SLACK >= faster
    assert runs[-1] > runs[0], "the key has no effect on this run"


def test_narrow_sdram_is_slower() -> None:
    keys = {"memory.sdram.width": "16 bit", "memory.sdram.size": "8 MiB"}
    assert cycles(load_machine(F469, keys), "external") > cycles(load_machine(F469), "external")


@pytest.mark.parametrize("board", [F469, F746])
def test_twice_the_clock_is_less_than_twice_the_speed(board: str) -> None:
    """Memories held in ns: SDRAM keeps its clock, what is written in core cycles is doubled."""
    machine = load_machine(board)
    hertz = machine.core.clock
    held: dict[str, object] = {
        "core.clock": f"{2 * hertz} Hz",
        "core.force_clock": True,
        "memory.flash.wait_states": "11",
    }
    held["memory.sdram.clock"] = machine.figures["memory.sdram.clock"].text
    for key in ("memory.sdram.read_overhead", "memory.sdram.write_overhead"):
        number, unit = machine.figures[key].text.split()
        held[key] = f"{2 * float(number)} {unit}"
    slow, fast = cycles(machine, "external") / hertz, cycles(replace_all(machine, held), "external") / (2 * hertz)
    assert fast < slow
    assert fast > slow / 2


@few(1)
@pytest.mark.parametrize("network", [NETWORK, "mobilenet-v2-w0.35-r096"])
@pytest.mark.parametrize("board", [F469, F746])
def test_free_sdram_and_dma_equal_an_all_sram_run(board: str, network: str) -> None:
    """SDRAM and SRAM both without wait states, DMA at no cost: where a tensor lives makes no difference, to the cycle,
    but for what a kernel does again in every tile.

    The all-SRAM run is ``internal`` with the weights next to the arena instead of in flash.
    """
    machine = load_machine(board)
    machine = free_dma(free_regions(machine, [n for n, r in machine.memory.items() if r.kind in ("sdram", "sram")]))
    all_sram = cycles(machine, "internal", network, weights="sdram")
    assert cycles(machine, "external", network) == all_sram
    again = compute(machine, "tinyops", network) - compute(machine, "internal", network)
    assert again > 0
    assert again <= cycles(machine, "tinyops", network) - all_sram < 1.3 * again, "and its code is fetched again"


def test_overlays_pay_in_the_order_of_figure_3() -> None:
    """On the board without a cache, each kind of data overlaid makes the network faster."""
    machine = load_machine(F469)
    external = cycles(machine, "external")
    inputs = cycles(machine, "tinyops", overlay=frozenset({"input"}))
    filters = cycles(machine, "tinyops", overlay=frozenset({"input", "filter"}))
    everything = cycles(machine, "tinyops", overlay=frozenset({"input", "filter", "bias", "quant"}))
    assert everything < filters < inputs < external
