"""The SDRAM controller's read FIFO: what a read finds there and what it does not, in core cycles (ST RM0385 13.7.3)."""

from __future__ import annotations

import pytest

from mcusim.errors import MachineError
from mcusim.machine import Machine, load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data, replay
from mcusim.memory.ports.replay import stream_of
from mcusim.memory.state_layout import AddressRange
from mcusim.memory.system import MemorySystem
from tests.support.code.single_access_core import Core, board

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
SDCLK, OVERHEAD = 2, 6
CL = {F469: 3, F746: 2}  # so many columns come in during the CAS latency; one is 4 B, on the F746 2 B
WIDTH = {F469: 4, F746: 2}


def on(name: str, **keys: str) -> Core:
    given = {"memory__sdram__read_burst": "true", "memory__sdram__base": "0xC0000000"} | keys  # not cached there
    return Core(board(name, **given))


def reads(core: Core, *offsets: int, size: int = 0) -> list[int]:
    """Stalls beyond the overhead of reads 50 cycles apart, a column each; the row is open."""
    base = core.memory.machine.memory["sdram"].base
    found = []
    for offset in offsets:
        found.append(core.load(base + offset, size or WIDTH[core.memory.machine.name]) - OVERHEAD)
        core.wait(50)
    return found


def opened(name: str, **keys: str) -> tuple[Core, int]:
    """The first row is open and its end was read last: nothing is ahead. A miss of a column costs the second number."""
    core = on(name, **keys)
    reads(core, 512 * WIDTH[name] // 2 - WIDTH[name])
    return core, (CL[name] + 1) * SDCLK


@pytest.mark.parametrize("name", [F469, F746])
def test_as_many_columns_as_the_cas_latency_has_clocks_are_ahead(name: str) -> None:
    core, miss = opened(name)
    columns = [column * WIDTH[name] for column in range(3 * (CL[name] + 1))]
    assert reads(core, *columns) == ([miss] + CL[name] * [0]) * 3
    assert reads(opened(name, memory__sdram__read_burst="false")[0], *columns) == [miss] * len(columns)


def test_what_was_found_is_given_away_and_bytes_of_one_column_are_read_again() -> None:
    core, miss = opened(F469)
    assert reads(core, 0, 4, 4) == [miss, 0, miss]
    core, miss = opened(F469)
    assert reads(core, *range(8), size=1) == [miss] * 4 + [0] + [miss] * 3


@pytest.mark.parametrize("lines", [5, 6])
def test_the_oldest_is_lost_when_the_lines_are_full(lines: int) -> None:
    """Two misses bring six columns: the first of them is there if the FIFO has six lines."""
    core, miss = opened(F469, memory__sdram__read_fifo=str(lines))
    assert reads(core, 0, 256, 4) == [miss, miss, 0 if lines == 6 else miss]
    core, miss = opened(F469, memory__sdram__read_fifo=str(lines))
    assert reads(core, 0, 256, 8) == [miss, miss, 0]


def test_a_long_cas_latency_fills_the_lines_and_no_more() -> None:
    """However long: the cost of simulating it does not depend on it."""
    core, _ = opened(F469, memory__sdram__timing__CL="5000 sdclk")
    miss = 5001 * SDCLK
    assert reads(core, *range(0, 64, 4)) == ([miss] + 6 * [0]) * 2 + [miss, 0]


def test_a_read_of_two_columns_one_of_them_ahead_waits_for_the_other() -> None:
    core, miss = opened(F746)
    assert reads(core, 0, size=4) == [miss + SDCLK]
    assert reads(core, 4, size=4) == [0]  # both
    core, miss = opened(F746)
    assert reads(core, 0, 2) == [miss, 0]
    assert reads(core, 4, size=4) == [miss]  # the first alone


def test_nothing_is_read_past_the_end_of_a_row() -> None:
    core, miss = opened(F746)
    again = (2 + 2) * SDCLK  # tRP and tRCD
    assert reads(core, 508, 510, 512) == [miss, 0, miss + again]
    assert reads(core, 514, 516) == [0, 0]


@pytest.mark.parametrize("what", ["write", "precharge", "refresh", "other bank"])
def test_writes_precharges_and_refreshes_empty_it(what: str) -> None:
    core, miss = opened(F469)
    base = core.memory.machine.memory["sdram"].base
    assert reads(core, 0) == [miss]
    if what == "write":
        core.store(base + 512, 4)
    elif what == "precharge":
        core.load(base + 4096)  # the row is closed
    elif what == "refresh":
        core.wait(1_000_000)
    else:  # its row is opened without closing another
        core.load(base + (4 << 20))
    core.wait(100)
    found = reads(core, 4)[0]
    assert (found == 0) is (what == "other bank")
    assert found in (0, miss, miss + 2 * SDCLK, miss + 4 * SDCLK)


def test_the_read_pipe_is_waited_for_and_read_ahead_in() -> None:
    """Two AHB clocks of RPIPE are one more of the memory's, for data and for a column ahead."""
    core, miss = opened(F746, memory__sdram__read_pipe="2 hclk")
    assert reads(core, *range(0, 16, 2)) == [miss + SDCLK, 0, 0, 0] * 2


def test_the_second_word_of_a_doubleword_follows_in_the_burst() -> None:
    """Its columns come one a clock behind the first's; behind a first word that was ahead after a CL of their own."""
    core, miss = opened(F746)
    base = core.memory.machine.memory["sdram"].base
    two = miss + SDCLK
    found = []
    for offset in (0, 8):
        first = core.load(base + offset)
        q = core_data.find(core.state, base + offset)
        found.append(
            (
                first - OVERHEAD,
                core_data.second(core.state, AddressRange(core.state, q), base + offset + 4, 0) // L.TICK,
            )
        )
        core.wait(50)
    assert found == [(two, 2 * SDCLK), (0, two)]


def copied(machine: Machine, size: int) -> float:
    memory, region = MemorySystem(machine), machine.memory
    return memory.transfer(machine.dma["dma2"], region["sdram"].base, region["sram1"].base, size) / L.TICK


@pytest.mark.parametrize(("beat", "hits"), [("2 B", 2 / 3), ("1 B", 1 / 2), ("4 B", 1 / 2)])
def test_a_dma_beat_that_finds_its_bytes_costs_5_clocks(beat: str, hits: float) -> None:
    """Arbitration, address, matrix and data as on chip, and one of the controller; else CL and the columns for data."""
    machine = board(F746, memory__sdram__read_burst="true", dma__dma2__beat=beat, dma__dma2__threshold="direct")
    n = 120
    bytes_ = int(beat[0])
    miss = 3 + 1 + (2 + max(1, bytes_ // 2)) * SDCLK
    assert copied(machine, n * bytes_) == pytest.approx(n * (hits * 5 + (1 - hits) * miss), abs=12)


def test_a_line_fill_that_follows_another_begins_with_what_is_ahead() -> None:
    """Of the columns of 32 bytes those that the last line's CAS latency read do not come again."""
    machine = board(F746, memory__sdram__read_burst="true")
    s = MemorySystem(machine)
    base = machine.memory["sdram"].base
    times = [replay.visit(s.state, stream_of(s.state, 4), base + 32 * i, 8) // L.TICK for i in range(3)]
    assert times[0] == 2 * SDCLK + OVERHEAD + (2 + 16) * SDCLK
    assert times[1:] == [OVERHEAD + (2 + 14) * SDCLK] * 2


def test_streams_that_alternate_find_nothing_ahead_in_a_replay() -> None:
    machine = board(F469, memory__sdram__read_burst="true")
    s, base = MemorySystem(machine).state, machine.memory["sdram"].base
    replay.visit(s, stream_of(s, 4), base, 1)
    assert replay.visit(s, stream_of(s, 4, interleaved=1), base + 4, 4) // L.TICK == 4 * (OVERHEAD + (3 + 1) * SDCLK)


def test_the_fifo_has_at_most_16_lines() -> None:
    with pytest.raises(MachineError, match=r"read_fifo = .17.: must be 0 to 16"):
        load_machine(F469, {"memory.sdram.read_fifo": "17"})
