"""Whole programs on the emulated core: the sum of its parts, and what slower or faster parts must do to it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import Machine, load_machine
from tests.support.boards.machines import ideal
from tests.support.cases import few, sampled
from tests.support.code.pipeline_model import expected

M4, M7 = "stm32f469i-disco", "stm32f746g-disco"
BOARDS = {M4: 0xC000_0000, M7: 0x6000_0000}  # with their SDRAM
PHASE = 0.0005  # what it moves a program that refreshes come at other moments
RAM, STACK = 0x2000_4000, 0x2001_0000


def called(machine: Machine, program: str, function: str, arguments: tuple[int, ...], stack: int = STACK) -> Emulator:
    emulator = Emulator(machine)
    image = load_image(program_path(program, machine.core.isa))
    emulator.load(image, as_started=True)
    emulator.set_stack(stack, 0)
    emulator.call(image.symbol(function).address, arguments)
    assert emulator.run().kind == "returned"
    return emulator


EXACT = [
    ("conv", "dot", (RAM, RAM + 0x1001, 2000)),
    ("integer", "integer", (1,)),
    ("memory", "copy_bytes", (RAM, RAM + 0x1001, 2000)),
    ("memory", "copy_ldm", (RAM + 4, RAM + 0x1000, 2048)),
    ("memory", "chase_shuffle", (RAM, 4096, 32, 7)),
]
SNIPPETS = "add_pair udiv branch_to_wide branch_to_wide_at_halfword it_passed it_failed ldrd ldr_unaligned ldr_str"
EXACT += [("pipeline", f"p_{name}", (20, RAM, RAM + 0x1001)) for name in (SNIPPETS + " push_pop str_index").split()]


@few(10)
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(("program", "function", "arguments"), EXACT, ids=[case[1] for case in EXACT])
def test_cycles_are_the_sum_that_an_independent_trace_gives(
    board: str, program: str, function: str, arguments: tuple[int, ...]
) -> None:
    machine = ideal(board)
    emulator = called(machine, program, function, arguments)
    assert (emulator.cycles, emulator.instructions) == expected(machine, program, function, arguments)


LOADS = {
    "convolution": ("conv", "run_layer", (2, 1)),
    "dot product": ("conv", "dot", (0x1001, 0x5000, 3000)),
    "lists": ("integer", "integer", (1,)),
    "bytes": ("memory", "copy_bytes", (0x4001, 0x9000, 3000)),
    "doublewords": ("memory", "read_u64", (0, 0x2000)),
    "chain": ("memory", "chase_shuffle", (0, 0x4000, 64, 7)),
}
SLOWER = [
    (M4, "memory.flash.wait_states", ("0", "3", "5", "9")),
    (M4, "memory.flash.accelerator.instruction_lines", ("256", "64", "8", "1")),
    (M4, "memory.flash.accelerator.data_lines", ("64", "8", "1")),
    (M4, "memory.sdram.clock", ("90 MHz", "60 MHz", "45 MHz")),
    (M4, "memory.sdram.timing.CL", ("1 sdclk", "3 sdclk", "5 sdclk")),
    (M4, "memory.sdram.write_fifo", ("32", "4", "1", "0")),
    (M4, "memory.sram1.read_latency", ("0 cycles", "1 cycles", "3 cycles")),
    (M7, "memory.flash.wait_states", ("0", "3", "5", "9")),
    (M7, "memory.sdram.clock", ("108 MHz", "72 MHz", "54 MHz")),
    (M7, "memory.sdram.width", ("32 bit", "16 bit")),
    (M7, "memory.sdram.timing.tRCD", ("1 sdclk", "2 sdclk", "3 sdclk")),
    (M7, "memory.sdram.timing.refresh", ("64 us", "7.8 us", "3 us")),
    (M7, "cache.data.size", ("16 KiB", "4 KiB", "1 KiB")),
    (M7, "cache.instruction.size", ("16 KiB", "4 KiB", "1 KiB")),
]


def loaded(board: str, load: str, keys: dict[str, str]) -> Emulator:
    """One of the loads, its data (the first arguments, from 0) and the stack in SDRAM."""
    program, function, arguments = LOADS[load]
    base = BOARDS[board]
    if program == "memory" or function == "dot":
        moved = 2 if function in ("dot", "copy_bytes") else 1
        arguments = tuple(value + base * (i < moved) for i, value in enumerate(arguments))
    return called(load_machine(board, keys), program, function, arguments, base + 0x1_0000)


@few(2)
@pytest.mark.parametrize(("board", "key", "values"), sampled(SLOWER, 5))
def test_slower_parts_never_make_a_program_faster(board: str, key: str, values: tuple[str, ...]) -> None:
    """But: caches below 1 KiB write a line back sooner, into an SDRAM row still open; prefetch has tests of its own.

    Refreshes are rare here: one that comes at another moment empties the read FIFO before or after a word is taken.
    """
    changed, rare = 0, {"memory.sdram.timing.refresh": "1 ms"}
    for load in LOADS:
        cycles = [loaded(board, load, {**rare, key: value}).cycles for value in values]
        for faster, slower in pairwise(cycles):
            assert slower > faster * (1 - PHASE), load
        changed += cycles[0] < cycles[-1]
    assert changed


@pytest.mark.parametrize("load", sampled(LOADS, 2))
@pytest.mark.parametrize(("board", "clocks"), [(M4, (90, 180, 360)), (M7, (108, 216, 432))])
def test_twice_the_clock_is_less_than_twice_as_fast(board: str, clocks: tuple[int, ...], load: str) -> None:
    """The SDRAM keeps its clock: a faster core takes more cycles, less time, and never half of it."""
    fixed = {"core.force_clock": "true", "memory.sdram.clock": f"{clocks[0]} MHz"}
    cycles = [loaded(board, load, {**fixed, "core.clock": f"{clock} MHz"}).cycles for clock in clocks]
    assert cycles == sorted(cycles)
    for slow, fast in pairwise(cycles):
        assert fast < 2 * slow


@pytest.mark.parametrize(("burst", "lost"), [("false", 0), ("true", 4)])
def test_a_refresh_waits_for_the_access_under_way(burst: str, lost: int) -> None:
    """Uncached reads, one after the other: every refresh costs tRP + tRC, then tRCD, less what is left to the next.

    Reading ahead, the controller has every other word when it is asked for, 8 cycles sooner; a refresh empties its
    FIFO, which in every other case held that word.
    """
    reads, period = 20_000, 1500  # cycles of the core, 7.5 us at 200 MHz
    keys = {"core.clock": "200 MHz", "memory.sdram.clock": "100 MHz", "memory.sdram.base": "0xC0000000"}
    keys["memory.sdram.read_burst"] = burst
    cycles, refreshes = [], []
    for refresh in ("1 ms", "7.5 us"):
        machine = load_machine(M7, {**keys, "memory.sdram.timing.refresh": refresh})
        emulator = called(machine, "memory", "read_u32", (0xC000_0000, 4 * reads), STACK)
        cycles.append(emulator.cycles)
        refreshes.append(emulator.memory.counters()["sdram_refreshes"])
    assert refreshes[1] == pytest.approx(cycles[1] / period, abs=2)
    assert (cycles[1] - cycles[0]) / refreshes[1] == pytest.approx((2 + 6 + 2) * 2 + lost, abs=2)


@pytest.mark.parametrize(("apart", "waits"), [(0x40_0000, False), (0x1_0000, True)])
def test_write_recovery_holds_back_the_bank_written_to_and_no_other(apart: int, waits: bool) -> None:
    """Words copied between two rows: of two banks they stay open, of one bank every read waits for tWR."""
    keys = {"core.clock": "200 MHz", "memory.sdram.clock": "100 MHz", "memory.sdram.base": "0xC0000000"}
    found = []
    for recovery in ("1 sdclk", "6 sdclk"):
        machine = load_machine(M7, {**keys, "memory.sdram.timing.tWR": recovery})
        # source and target walk 16 rows: what is written to another bank must not delay the source's next row
        call = ("memory", "copy_words", (0xC000_0000 + apart, 0xC000_0000, 8192))
        found.append(called(machine, *call).cycles)
    assert (found[1] > found[0] + 2048 * 5) == waits
    assert waits or found[1] == pytest.approx(found[0], abs=20)
