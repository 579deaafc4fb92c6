"""Whole programs behind ST's flash accelerator: what the prefetch, the held lines and the wait states do to them."""

from __future__ import annotations

import struct

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import load_machine
from tests.support.cases import few, sampled
from tests.support.code.images import FLASH

M4, L4, M7 = "stm32f469i-disco", "nucleo-l4r5zi", "stm32f746g-disco"
RAM, STACK = 0x2000_4000, 0x2001_0000
PREFETCH, STATES = "memory.flash.accelerator.prefetch", "memory.flash.wait_states"
CALLS = {
    "convolution": ("conv", "run_layer", (2, 1)),
    "dot product": ("conv", "dot", (RAM, RAM + 0x1001, 3000)),
    "lists": ("integer", "integer", (1,)),
    "matrices": ("integer", "matrix_multiply", (RAM, RAM + 0x1000, RAM + 0x2000, 16)),
    "bytes": ("memory", "copy_bytes", (RAM, RAM + 0x1001, 3000)),
    "chain": ("memory", "chase_shuffle", (RAM, 4096, 64, 7)),
}
BEHIND = [(board, call) for board in (M4, L4) for call in CALLS] + [(M7, "convolution")]


def called(board: str, name: str, keys: dict[str, str]) -> Emulator:
    """One of the calls, its data in zero-wait memory; on the STM32F7 the code comes by the ITCM port."""
    machine = load_machine(board, keys)
    program, function, arguments = CALLS[name]
    image = load_image(program_path(f"{program}-itcm" if board == M7 else program, machine.core.isa))
    emulator = Emulator(machine)
    emulator.load(image, as_started=True)
    emulator.set_stack(STACK, 0)
    emulator.call(image.symbol(function).address, arguments)
    assert emulator.run().kind == "returned"
    return emulator


@few(4)
@pytest.mark.parametrize(("board", "name"), BEHIND)
def test_a_prefetch_never_costs_more_than_one_percent(board: str, name: str) -> None:
    off, on = (called(board, name, {PREFETCH: value}) for value in ("false", "true"))
    assert on.memory.by_region()["flash"]["fetch_prefetched"] > 0
    assert on.cycles <= off.cycles * 1.01


@few(4)
@pytest.mark.parametrize(("board", "name"), sampled(BEHIND, 4))
@pytest.mark.parametrize("prefetch", ["false", "true"])
def test_loops_that_the_lines_hold_run_as_without_wait_states(board: str, name: str, prefetch: str) -> None:
    """ST RM0090: as 0 wait states. Each of these programs has loops of less than 1 KiB; data is not in flash."""
    waiting, ideal = (called(board, name, {PREFETCH: prefetch, STATES: states}) for states in ("5", "0"))
    assert ideal.cycles < waiting.cycles <= ideal.cycles * 1.04


def test_kept_to_the_letter_of_the_manual_a_loop_is_slower_with_the_prefetch_than_without() -> None:
    """Only lines that missed are held: those that follow in sequence are read again in every turn."""
    letter = {"memory.flash.accelerator.keeps_prefetched": "false"}
    off, on = (
        called(M4, "lists", letter | {PREFETCH: value}).memory.by_region()["flash"] for value in ("false", "true")
    )
    assert off["fetch_stall"] * 10 < on["fetch_stall"]
    assert on["fetch_misses"] < off["fetch_misses"]
    assert on["fetch_prefetched"] > 100 * on["fetch_misses"] and off["fetch_prefetched"] == 0


NARROW, WIDE = bytes.fromhex("00bf"), bytes.fromhex("aff30080")  # NOP, NOP.W: lines of 8 and of 4 cycles


def branch(distance: int) -> bytes:
    """BNE.W by so many bytes from the instruction after it (Arm DDI 0403E A7.7.12, encoding T3)."""
    half = distance >> 1
    first = 0xF000 | (half < 0) << 10 | 1 << 6 | half >> 11 & 0x3F
    return struct.pack("<HH", first, 0x8000 | (half >> 17 & 1) << 13 | (half >> 18 & 1) << 11 | half & 0x7FF)


def turn(instruction: bytes, lines: int, keys: dict[str, str]) -> float:
    """Cycles of one turn of a loop over so many whole lines: the instruction again and again, SUBS and BNE.W."""
    body = instruction * ((16 * lines - 8) // len(instruction)) + bytes.fromhex("00bf0138")  # NOP; SUBS r0, #1
    loop = body + branch(-len(body) - 4)
    cycles = []
    for turns in (10, 30):
        emulator = Emulator(load_machine(M4, keys))
        emulator.write(FLASH, loop + bytes.fromhex("7047"))  # BX LR
        emulator.set_stack(STACK, 0)
        emulator.call(FLASH, (turns,))
        assert emulator.run().kind == "returned"
        cycles.append(emulator.cycles)
    return (cycles[1] - cycles[0]) / 20


@few(2)
@pytest.mark.parametrize("lines", [65, 110])
@pytest.mark.parametrize("states", sampled([3, 5, 7, 9], 2))
@pytest.mark.parametrize(("instruction", "work"), [(NARROW, 8), (WIDE, 4)])
def test_straight_code_larger_than_the_lines(instruction: bytes, work: int, states: int, lines: int) -> None:
    """The longer of work and access a line with the prefetch; work and wait states without it."""
    keys = {STATES: str(states)}
    ideal = turn(instruction, lines, {STATES: "0"})
    assert ideal == pytest.approx(lines * work, abs=8)
    waits = turn(instruction, lines, keys) - ideal
    assert waits == pytest.approx(lines * max(0, states + 1 - work), abs=2 * states)
    assert turn(instruction, lines, keys | {PREFETCH: "false"}) - ideal == lines * states


@few(2)
@pytest.mark.parametrize(("lines", "waits"), [(63, False), (64, False), (65, True)])
@pytest.mark.parametrize("prefetch", ["false", "true"])
def test_straight_code_that_the_lines_hold(prefetch: str, lines: int, waits: bool) -> None:
    keys = {PREFETCH: prefetch}
    assert (turn(WIDE, lines, keys) > turn(WIDE, lines, {STATES: "0"})) == waits
