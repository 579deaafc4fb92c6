"""Loops that repeat exactly are counted, not run: with the same state to the last counter as when they are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from mcusim.api.firmware import emulate as api
from mcusim.cpu import state_layout as C
from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.emulator import emulator as running
from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory.film.film_recorder import FilmRecorder
from mcusim.memory.state_layout import TICK, RegionState
from mcusim.native.structs import offset_of
from mcusim.soc.endless_polls import Polls
from tests.support.programs.exception_code import ISAS, SYSTICK, prepared
from tests.support.programs.register_script import load, poll, run, store

FLAG, PERIOD = 0x2000_0800, 90_001
SPIN = "1: ldr r0, [r9]; cmp r0, #0; beq 1b; bx lr"
DELAY = (
    "push {r4, lr}; 1: bl 2f; cmp r0, r6; bne 1b; pop {r4, pc}; "
    "2: push {r7, lr}; ldr r0, [r9]; str r0, [sp, #-4]; pop {r7, pc}"
)
SETS, COUNTS = "str r7, [r9]; bx lr", "ldr r0, [r9]; adds r0, #1; str r0, [r9]; bx lr"
STORES = "1: ldr r0, [r9]; str r4, [r9, #4]; adds r4, #1; cmp r0, r6; bne 1b; bx lr"
CLOCK = "1: ldr r0, [r10]; lsrs r0, r0, #16; cmp r0, r6; bne 1b; bx lr"
COUNTFLAG = "1: ldr r0, [r6]; lsls r0, r0, #15; bpl 1b; bx lr"
HANDLER = {SPIN: SETS, DELAY: COUNTS, STORES: COUNTS, CLOCK: COUNTS, COUNTFLAG: COUNTS}
REPEATS = {SPIN: {"r7": 7}, DELAY: {"r6": 4, "r7": 9}, COUNTFLAG: {"r6": SYSTICK}}  # with the registers that they want
OTHERS = {STORES: {"r6": 2, "r4": 0}, CLOCK: {"r6": 3}}
HSE = (0x4002_3800, 1 << 16, 1 << 17)


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SLICE", 10_000)


def state(emulator: Emulator) -> Mapping[str, list[int]]:
    """Everything that two runs of one program have in common; not where the host has its memory."""
    memory, tables = emulator.memory.state.array, emulator.tables
    core = CoreState(emulator.state.array.copy())
    core.wait_from = 0
    core.zero(CoreState.access, CoreState.access)  # as the last one that was not plain left it
    core.zero(CoreState.journal_used, CoreState.journal)
    blocks = tables.block_records.copy()
    blocks["flags"] &= ~C.WAITS
    arrays = {
        "core": core.array,
        "memory": np.where(np.abs(memory) < 1 << 44, memory, 0),
        "branches": emulator.branches.array,
        "blocks": blocks.view(np.int64),
        "accesses": tables.access_records.view(np.int64),
        "calls": emulator.call_edges.array,
        "exceptions": emulator.interrupts.state.array[: offset_of(ExceptionState.monitor)],
        "ram": np.frombuffer(emulator.read(0x2000_0000, 0x4000), np.uint8),
    }
    return {name: array.tolist() for name, array in arrays.items()} | {"registers": [*emulator.registers().values()]}


def waiting(isa: str, program: str, registers: Mapping[str, int], skips: bool) -> Emulator:
    emulator = prepared(isa, program, {15: HANDLER[program]}, **{"r9": FLAG, **registers})
    emulator.waits.skips = skips
    control = 1 if program == COUNTFLAG else 3
    for offset, word in ((4, PERIOD - 1), (8, 0), (0, control)):
        emulator.write(SYSTICK + offset, word.to_bytes(4, "little"))
    emulator.state.systick_due = PERIOD * TICK if control & 2 else emulator.state.systick_due
    emulator.state.systick_left = PERIOD
    return emulator


def both_ways(make: Callable[[bool], Emulator], go: Callable[[Emulator], object]) -> tuple[Emulator, Emulator]:
    """Run with and without leaving rounds out; the same has to come out."""
    pair = make(True), make(False)
    for emulator in pair:
        go(emulator)
    (first, second) = (state(emulator) for emulator in pair)
    assert [name for name in first if first[name] != second[name]] == []
    assert (pair[0].cycles, pair[0].instructions) == (pair[1].cycles, pair[1].instructions)
    assert pair[0].memory.by_region() == pair[1].memory.by_region() and pair[1].waits.rounds == 0
    return pair


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("program", REPEATS)
def test_a_wait_is_counted_as_if_it_had_run(isa: str, program: str) -> None:
    short, whole = both_ways(
        lambda skips: waiting(isa, program, REPEATS[program], skips), lambda emulator: emulator.run(2_000_000)
    )
    assert whole.cycles > PERIOD and short.waits.rounds > 1000


@pytest.mark.parametrize("busy", [1_000, 50_000, 2 * PERIOD])
def test_a_wait_is_counted_while_a_memory_that_it_does_not_use_is_busy(busy: int) -> None:
    """As flash is while a sector is erased."""

    def held(skips: bool) -> Emulator:
        emulator = waiting("cortex-m7", DELAY, REPEATS[DELAY], skips)
        memory = emulator.memory
        RegionState(memory.state, memory.blocks["sdram", False]).busy_until = busy * TICK
        return emulator

    short, _ = both_ways(held, lambda emulator: emulator.run(2_000_000))
    assert short.waits.rounds > 1000


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("program", OTHERS)
def test_a_loop_that_stores_or_reads_the_time_is_run(isa: str, program: str) -> None:
    short, _ = both_ways(
        lambda skips: waiting(isa, program, OTHERS[program], skips), lambda emulator: emulator.run(2_000_000)
    )
    assert short.waits.rounds == 0


def test_a_film_has_every_round_of_its_window() -> None:
    """Those before it, and after the last event that it has room for, are counted."""
    films: list[FilmRecorder] = []

    def filmed(skips: bool, most: int) -> Emulator:
        emulator = waiting("cortex-m7", DELAY, REPEATS[DELAY], skips)
        films.append(FilmRecorder(40_000, 80_000, most))
        films[-1].attach(emulator.memory)
        emulator.waits.film = films[-1]
        return emulator

    for most in (400_000, 500):
        pair = [filmed(skips, most) for skips in (True, False)]
        for emulator in pair:
            emulator.run(2_000_000)
        short, whole = films[-2:]
        assert short.events.tolist() == whole.events.tolist() and 500 <= len(short.events) <= most
        assert pair[0].cycles == pair[1].cycles and pair[0].waits.rounds > 1000 and pair[1].waits.rounds == 0


def test_a_run_that_is_cut_anywhere_leaves_rounds_out_too() -> None:
    def cut(emulator: Emulator) -> None:
        for cycle in (30_007, 30_008, 61_000, 89_000, 179_500):
            emulator.run_until(cycle)
            assert cycle <= emulator.cycles < cycle + 40
        emulator.run(2_000_000)

    short, _ = both_ways(lambda skips: waiting("cortex-m7", DELAY, REPEATS[DELAY], skips), cut)
    assert short.waits.rounds > 1000


@pytest.mark.parametrize("name", ["stm32f469i-disco", "stm32f746g-disco"])
def test_a_poll_is_counted_up_to_the_registers_change(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The HSE is ready after 2 ms; code in flash behind its accelerator. What follows is at the same cycle."""
    made: list[Emulator] = []
    make = api._emulator

    def polled(skips: bool) -> Emulator:
        def kept(*arguments: object) -> Emulator:
            emulator = make(*arguments)  # type: ignore[arg-type]
            emulator.waits.skips = skips
            made.append(emulator)
            return emulator

        monkeypatch.setattr(api, "_emulator", kept)
        cycle = [store(0xE000_1FB0, 0xC5AC_CE55), store(0xE000_EDFC, 1 << 24), store(0xE000_1000, 1)]
        register, on, ready = HSE
        steps = [*cycle, store(register, on | 1), load(0xE000_1004), poll(register, ready, ready), load(0xE000_1004)]
        _, words = run(tmp_path, load_machine(name), steps)
        assert 0 <= words[1] - words[0] - 2 * 16_000 < 100
        return made[-1]

    short, _ = both_ways(polled, lambda _: None)
    assert short.waits.rounds > 1000


def test_what_is_left_out_is_no_look_of_an_endless_poll() -> None:
    """As many loads counted as made: the same look comes next."""
    made, counted = Polls(object, lambda: False), Polls(object, lambda: False)
    for _ in range(1000):
        made.loaded(4, 1)
        counted.loaded(4, 1)
    for loads in (10, 30, 200, 5000, 12, 100_000):
        more = loads - counted.beyond(loads, 1)
        counted.left_out(more)
        for _ in range(more):
            made.loaded(4, 1)
        assert (made.idle, made._next, made.idle >= made._next) == (counted.idle, counted._next, False)
