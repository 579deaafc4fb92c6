"""Code as the emulated core fetches it: TCM, instruction cache, ST's flash accelerator line by line."""

from __future__ import annotations

import random
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcusim.cpu.system.memory_attributes import memory_ranges
from mcusim.errors import MachineError
from mcusim.machine import load_machine
from mcusim.memory.ports import core_data
from tests.support.cases import sample_size
from tests.support.code.single_access_core import F469, F746, SDCLK, Core, board

FLASH, ALIAS, SDRAM = 0x0800_0000, 0x0020_0000, 0x6000_0000
WAIT, LINE = 5, 16


def f469(**keys: str) -> Core:
    return Core(board(F469, **keys))


def counted(core: Core) -> tuple[int, int, int]:
    flash = core.memory.by_region()["flash"]
    return flash["fetch_hits"], flash["fetch_prefetched"], flash["fetch_misses"]


def test_tcm_and_sram_of_the_f4_never_wait() -> None:
    f7, f4 = Core(board(F746)), f469()
    assert [f7.fetch(0x100 * i, 200) for i in range(8)] == [0] * 8
    assert f7.memory.by_region()["itcm"]["fetches"] == 8
    assert [f4.fetch(0x2000_0000 + 0x100 * i, 200) for i in range(8)] == [0] * 8


def test_a_miss_costs_the_wait_states_and_is_held() -> None:
    core = f469(memory__flash__accelerator__prefetch="false")
    assert [core.fetch(FLASH + at, 4) for at in (0, 4, 12, 16, 0, 16)] == [WAIT, 0, 0, WAIT, 0, 0]
    assert counted(core) == (4, 0, 2)
    flash = core.memory.by_region()["flash"]
    assert (flash["fetches"], flash["reads"], flash["read_bytes"]) == (6, 2, 32)
    assert flash["fetch_stall"] == flash["stall"] == 2 * WAIT * 256


@pytest.mark.parametrize(("work", "stall"), [(0, 6), (1, 5), (5, 1), (6, 0), (20, 0)])
def test_the_next_line_is_on_its_way_while_the_core_works(work: int, stall: int) -> None:
    """A read of flash takes six cycles; whoever gets there early waits for the rest."""
    core = f469()
    core.fetch(FLASH, 16, work)
    assert core.fetch(FLASH + 16, 16) == stall
    assert counted(core) == (0, 1, 1)


@pytest.mark.parametrize(("work", "stall"), [(0, 18), (12, 9), (24, 0)])
def test_lines_of_one_block_are_read_while_those_before_execute(work: int, stall: int) -> None:
    assert f469().fetch(FLASH, 64, work) == WAIT + stall


KEPT = {True: "true", False: "false"}


@pytest.mark.parametrize("kept", KEPT)
def test_a_prefetched_line_is_held_when_the_core_came_to_it(kept: bool) -> None:
    """Back at the first line, which was a miss and is held; the second has to be prefetched again or is held too."""
    core = f469(memory__flash__accelerator__keeps_prefetched=KEPT[kept])
    core.fetch(FLASH, 16, 20)
    core.fetch(FLASH + 16, 16, 20)
    assert core.fetch(FLASH, 16) == 0
    assert core.fetch(FLASH + 16, 16) == (0 if kept else 5)  # a cycle of the read passed before the core had the line
    assert counted(core) == ((2, 1, 1) if kept else (1, 2, 1))


def test_a_prefetched_line_that_the_core_did_not_come_to_is_not_held() -> None:
    core = f469()
    core.fetch(FLASH, 16, 20)
    core.fetch(FLASH + 0x100, 16, 20)
    core.fetch(FLASH + 0x200, 16, 20)
    assert core.fetch(FLASH + 16, 16) == WAIT
    assert counted(core) == (0, 0, 4)


@pytest.mark.parametrize(("work", "left"), [(0, 6), (2, 4), (5, 1), (6, 0)])
def test_a_miss_ends_a_prefetch_or_waits_for_it(work: int, left: int) -> None:
    core, patient = f469(), f469(memory__flash__accelerator__cancels_prefetch="false")
    for one in (core, patient):
        one.fetch(FLASH, 16, work)
    assert core.fetch(FLASH + 0x100, 16) == WAIT
    assert patient.fetch(FLASH + 0x100, 16) == left + WAIT
    occupied = core.memory.by_region()["flash"]["occupied"], patient.memory.by_region()["flash"]["occupied"]
    assert occupied[1] - occupied[0] == left * 256


def test_a_prefetch_that_was_ended_brings_nothing() -> None:
    core = f469()
    core.fetch(FLASH, 16, 3)
    core.fetch(FLASH + 0x100, 16, 100)
    assert core.fetch(FLASH + 16, 16) == WAIT


@pytest.mark.parametrize(("work", "stall"), [(2, 4 + WAIT), (5, 1 + WAIT), (6, 0), (20, 0)])
def test_a_read_of_data_goes_ahead_of_a_prefetch_which_begins_again(work: int, stall: int) -> None:
    """The read takes five cycles of wait; what is left of the six of the prefetch begins anew behind it."""
    core, patient = f469(), f469(memory__flash__accelerator__cancels_prefetch="false")
    for one in (core, patient):
        one.fetch(FLASH, 16, work)
    assert core.load(FLASH + 0x1000) == WAIT
    assert core.fetch(FLASH + 16, 16) == (6 if stall else 0)
    assert patient.load(FLASH + 0x1000) == (stall or WAIT)
    assert patient.fetch(FLASH + 16, 16) == 0


def test_a_prefetch_that_has_not_begun_does_not_delay_its_own_line() -> None:
    """Held lines 4 and 8 start prefetches of 5 and 9; the core comes to 9 while 5 is being read."""
    core = f469()
    for line in (8, 4):
        core.fetch(FLASH + 16 * line, 4)
        core.wait(20)
    core.fetch(FLASH + 16 * 5 + 0x1000, 4)
    core.wait(20)
    core.fetch(FLASH + 16 * 4, 4)
    core.wait(1)
    core.fetch(FLASH + 16 * 8, 4)
    core.wait(1)
    assert core.fetch(FLASH + 16 * 9, 4) == WAIT


@pytest.mark.parametrize(("work", "period"), [(1, 6), (5, 6), (6, 6), (7, 7), (12, 12)])
@pytest.mark.parametrize("lines", [65, 110])
def test_code_that_the_lines_do_not_hold_takes_the_longer_of_work_and_access(
    lines: int, work: int, period: int
) -> None:
    """Round after round: LRU has lost every line when it is come to again, and it is prefetched in time or not."""
    core = f469()
    begin = 0
    for turn in range(3):
        if turn == 2:
            begin = core.now
        core.fetch(FLASH, 16 * lines, work * lines)
    assert core.now - begin == pytest.approx(lines * period, abs=WAIT)


def test_code_that_the_lines_hold_takes_its_work_alone() -> None:
    core = f469()
    for turn in range(3):
        begin = core.now
        core.fetch(FLASH, 16 * 64, 64)
        assert (core.now - begin == 64) == (turn > 0)


def test_a_branch_past_the_prefetch_misses_and_is_held() -> None:
    core = f469()
    core.fetch(FLASH, 4)
    assert core.fetch(FLASH + 0x100, 4) == WAIT
    core.wait(20)
    assert core.fetch(FLASH, 4) == 0
    core.wait(20)
    assert core.fetch(FLASH + 0x100, 4) == 0
    assert counted(core) == (2, 0, 2)


def test_a_line_that_was_only_prefetched_is_gone_when_a_block_comes_back_to_it() -> None:
    """The block begins in the line the core is in, which is not held, and ends in one that is."""
    core = f469(memory__flash__accelerator__keeps_prefetched="false")
    for line in (9, 7, 8):
        core.fetch(FLASH + 16 * line, 4)
        core.wait(20)
    stalls = []
    for _ in range(4):
        stalls.append(core.fetch(FLASH + 16 * 8 + 8, 16))
        core.wait(20)
    assert stalls == [0, WAIT, 0, 0]


@pytest.mark.parametrize("base", [(F469, FLASH), (F746, FLASH), (F746, ALIAS), (F746, SDRAM)])
@settings(max_examples=sample_size(40, 12))
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(1, 3), st.integers(0, 12)), max_size=60), st.integers(0, 99))
def test_short_cuts_change_nothing(base: tuple[str, int], visits: list[tuple[int, int, int]], seed: int) -> None:
    """What is remembered of the last fetch saves time only: forgetting it before each fetch gives the same stalls."""
    draw = random.Random(seed)
    blocks = [(base[1] + 2 * draw.randrange(200), 2 * draw.randrange(1, 40)) for _ in range(12)]
    machine = board(base[0])
    ranges = memory_ranges(machine, None)
    short, long = Core(machine), Core(machine)
    for block, times, work in visits:
        for _ in range(times):
            long.memory.install_ranges(ranges)
            assert short.fetch(*blocks[block], work) == long.fetch(*blocks[block], work)
    assert short.memory.by_region() == long.memory.by_region()


def test_no_prefetch_of_a_line_that_is_held() -> None:
    core = f469()
    core.fetch(FLASH + 16, 4)
    core.wait(20)
    core.fetch(FLASH, 4)
    core.wait(20)
    occupied = core.memory.by_region()["flash"]["occupied"]
    assert occupied == 3 * 6 * 256  # two misses and the prefetch of the line behind the first
    assert core.fetch(FLASH + 8, 4) == core.fetch(FLASH + 0x10, 4) == 0
    core.wait(20)
    assert core.fetch(FLASH, 4) == 0
    assert core.memory.by_region()["flash"]["occupied"] == occupied
    assert counted(core) == (3, 0, 2)


def test_the_sixty_fifth_line_displaces_the_least_recently_used() -> None:
    core = f469()
    for i in range(64):
        core.fetch(FLASH + 64 * i, 4)
    core.fetch(FLASH, 4)
    assert counted(core) == (1, 0, 64)
    core.fetch(FLASH + 64 * 64, 4)
    assert core.fetch(FLASH, 4) == 0
    assert core.fetch(FLASH + 64, 4) == WAIT


class Reference:
    """Instruction lines with LRU in each of their sets, no prefetch, written from the manual's text."""

    def __init__(self, lines: int, ways: int) -> None:
        self.ways, self.current, self.misses = ways or lines, -1, 0
        self.sets = [OrderedDict[int, None]() for _ in range(lines // self.ways)]

    def fetch(self, line: int) -> None:
        if line == self.current:
            return
        self.current = line
        held = self.sets[line % len(self.sets)]
        if line not in held:
            self.misses += 1
            if len(held) == self.ways:
                held.popitem(last=False)
        held[line] = None
        held.move_to_end(line)


@settings(max_examples=sample_size(60, 15))
@given(
    st.sampled_from([(1, 0), (3, 0), (8, 0), (8, 2), (12, 3), (16, 1)]),
    st.lists(st.tuples(st.integers(0, 300), st.integers(2, 80)), max_size=150),
)
def test_instruction_lines_against_an_independent_model(
    geometry: tuple[int, int], blocks: list[tuple[int, int]]
) -> None:
    lines, ways = geometry
    keys = {"instruction_lines": str(lines), "ways": str(ways), "data_lines": "0", "prefetch": "false"}
    core = f469(**{f"memory__flash__accelerator__{key}": value for key, value in keys.items()})
    reference = Reference(lines, ways)
    for start, size in blocks:
        core.fetch(FLASH + 16 * start + 4, size)
        for line in range(start, (16 * start + 4 + size - 1) // 16 + 1):
            reference.fetch(line)
        assert counted(core)[2] == reference.misses


@pytest.mark.parametrize(("load", "sets"), [(False, 32), (True, 8)])
def test_lines_of_the_l4_lie_in_sets_of_four(load: bool, sets: int) -> None:
    """Of 64 bits each: the fifth line of one set displaces the first, other sets stay."""
    core = Core(load_machine("nucleo-l4r5zi"))
    ask = core.load if load else lambda address: core.fetch(address, 4)
    same = [FLASH + 8 * sets * i for i in range(5)]
    assert [ask(at) for at in [FLASH + 8, *same[:4], *same[:4]]] == [WAIT] * 5 + [0] * 4
    assert [ask(at) for at in (same[4], same[3], FLASH + 8, same[0])] == [WAIT, 0, 0, WAIT]


def test_the_itcm_port_of_the_f7_has_the_accelerator_and_the_axi_port_has_none() -> None:
    core = Core(board(F746, cache__instruction__size="0 B"))
    assert core.fetch(ALIAS, 32) == WAIT
    core.fetch(ALIAS + 0x1000, 4)
    assert core.fetch(ALIAS, 32) == 0
    assert core.fetch(FLASH, 4) == WAIT + 4
    core.fetch(FLASH + 0x1000, 4)
    assert core.fetch(FLASH, 4) == WAIT + 4
    assert counted(core) == (1, 0, 2)
    assert core.memory.by_region()["flash"]["fetches"] == 6


def test_the_itcm_port_serves_data_from_the_same_lines_and_no_cache() -> None:
    core = Core(board(F746))
    core.fetch(ALIAS, 4)
    core.fetch(ALIAS + 0x100, 4)
    assert [core.load(ALIAS + at) for at in (0, 28, 32, 60)] == [0, 0, WAIT, 0]
    assert core.fetch(ALIAS + 32, 4) == 0  # and code from lines that data loaded
    assert core.memory.counters()["dcache_misses"] == core.memory.counters()["icache_misses"] == 0


def test_keys_of_an_accelerator_that_contradict_each_other() -> None:
    table = "memory.flash.accelerator"
    with pytest.raises(MachineError, match=rf"{table}\.serves = aliases.*has no aliases to serve"):
        load_machine(F469, {f"{table}.serves": "aliases"})
    with pytest.raises(MachineError, match=rf"{table}\.data_lines.*must be 0: unified lines hold code and data"):
        load_machine(F746, {f"{table}.data_lines": "8"})
    with pytest.raises(MachineError, match=rf"{table}\.instruction_lines.*a power of two times ways \(5\)"):
        load_machine(F469, {f"{table}.ways": "5", f"{table}.data_lines": "10"})


def test_a_line_of_the_instruction_cache_streams_in() -> None:
    """SDRAM, 16 bit: eight bytes take 8 cycles; code that runs slower than they come waits for the first only."""
    first = 2 * SDCLK + 6 + 6 * SDCLK
    assert [Core(board(F746)).fetch(SDRAM, 32, work) for work in (0, 12, 24, 48)] == [
        first + 24,
        first + 12,
        first,
        first,
    ]
    core = Core(board(F746))
    assert core.fetch(SDRAM + 24, 8) == first  # critical word first
    assert core.fetch(SDRAM, 4) == 8  # the line goes on at its beginning
    core.wait(100)
    assert core.fetch(SDRAM, 32) == 0
    assert core.memory.counters()["icache_misses"] == 1


@pytest.mark.parametrize(("early", "stall"), [(0, 24), (23, 1), (24, 0)])
def test_code_of_a_line_in_flight_is_waited_for_and_no_longer(early: int, stall: int) -> None:
    core = Core(board(F746))
    core.fetch(SDRAM, 4)
    core.wait(early)
    assert core.fetch(SDRAM + 24, 4) == stall


def test_lines_in_sequence_are_asked_for_ahead_and_others_are_not() -> None:
    ahead, jump = Core(board(F746)), Core(board(F746))
    for core in (ahead, jump):
        core.fetch(SDRAM, 32, 200)
    column = 6 + (2 + 4) * SDCLK
    assert ahead.fetch(SDRAM + 32, 4) == 0
    assert jump.fetch(SDRAM + 64, 4) == column


def test_instruction_cache_maintenance() -> None:
    core = Core(board(F746))
    for at in (0, 64):
        core.fetch(SDRAM + at, 4)
        core.wait(100)
    assert (core.fetch(SDRAM, 4), core.fetch(SDRAM + 64, 4)) == (0, 0)
    core_data.invalidate_instruction_line(core.state, SDRAM + 64)
    assert core.fetch(SDRAM, 4) == 0
    assert core.fetch(SDRAM + 64, 4) > 0
    core.wait(100)
    core_data.invalidate_instructions(core.state)
    assert core.fetch(SDRAM, 4) > 0


def test_code_uncached_pays_every_bus_word() -> None:
    f4 = f469()
    window = 0xC000_0000
    f4.load(window)
    f4.wait(100)
    assert f4.fetch(window, 16) == 4 * (6 + (3 + 1) * SDCLK)


def test_code_past_the_caches_has_a_latency_of_its_own() -> None:
    """Of each 8 B of SRAM, of each line of flash; of data there, and of a line fill, it changes nothing."""
    later = {"memory__sram1__fetch_latency": "9 cycles", "memory__flash__fetch_latency": "11 cycles"}
    core = Core(board(F746, cache__instruction__size="0 B", **later))
    assert [core.fetch(0x2001_0000, size) for size in (8, 32)] == [9, 4 * 9]
    assert [core.fetch(FLASH + at, 4) for at in (0, 4, 32)] == [WAIT + 11, 0, WAIT + 11]
    plain, other = Core(board(F746)), Core(board(F746, **later))
    for cached in (plain, other):
        cached.wait(1000)
    still = Core(board(F746, cache__instruction__size="0 B", memory__flash__wait_states="0", **later))
    assert [still.fetch(FLASH + at, 4) for at in (0, 4, 32)] == [11, 0, 11]
    assert plain.fetch(FLASH, 4) == other.fetch(FLASH, 4)
    assert plain.load(0x2001_0000) == other.load(0x2001_0000)
