"""DMA transfers in flight while the emulated core runs: alone to the tick, contended by what each waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcusim.cpu.system.memory_attributes import memory_ranges
from mcusim.machine import Machine, load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, RegionState
from mcusim.memory.system import MemorySystem
from tests.support.cases import sample_size
from tests.support.code.single_access_core import F469, F746, SDCLK, Core, board

Threshold = Literal["direct", "1/4", "1/2", "3/4", "full"]

BOARDS = {name: load_machine(name) for name in (F469, F746)}
READABLE = {
    F469: ("sram1", "sram2", "flash", "sdram", "qspi"),
    F746: ("dtcm", "sram1", "sram2", "flash", "sdram", "qspi"),
}
WRITABLE = {F469: ("sram1", "sram2", "sdram"), F746: ("dtcm", "sram1", "sdram")}


def ended(memory: MemorySystem, handle: int, cycle: int) -> tuple[int, int]:
    """The end of a flight, and how many questions that took, as the engine asks."""
    for questions in range(1, 10_000):
        at = memory.earliest_end(handle, cycle)
        assert at > cycle
        memory.advance(at)
        end = memory.finished(handle)
        if end is not None:
            assert end == at, "the bound was later than the end"
            return end, questions
        cycle = at
    raise AssertionError("no end")


def with_dma(machine: Machine, beat: int, burst: int, threshold: Threshold = "direct", fifo: int = 16) -> Machine:
    dma = replace(machine.dma["dma2"], beat=beat, burst=burst, threshold=threshold, fifo=fifo)
    return replace(machine, dma={"dma2": dma})


Copies = tuple[Machine, list[tuple[int, int, int]]]


@st.composite
def copies(draw: st.DrawFn) -> Copies:
    name = draw(st.sampled_from(list(BOARDS)))
    beat = draw(st.sampled_from([1, 2, 4]))
    memory = BOARDS[name].memory
    found = []
    for _ in range(draw(st.integers(1, 3))):
        source, target = draw(st.sampled_from(READABLE[name])), draw(st.sampled_from(WRITABLE[name]))
        offsets = [draw(st.integers(0, 300)) * draw(st.sampled_from([1, 5, 12])) for _ in range(2)]
        found.append(
            (
                memory[source].base + offsets[0] * beat,
                memory[target].base + offsets[1] * beat,
                draw(st.integers(1, 900)),
            )
        )
    threshold = draw(st.sampled_from(("direct", "1/4", "3/4", "full")))
    return with_dma(BOARDS[name], beat, draw(st.sampled_from([1, 4])), threshold, draw(st.sampled_from([0, 16]))), found


@settings(max_examples=sample_size(300, 60))
@given(copies())
def test_alone_a_flight_takes_exactly_what_a_transfer_does(case: Copies) -> None:
    machine, found = case
    dma = machine.dma["dma2"]
    whole, flown = MemorySystem(machine), MemorySystem(machine)
    now = 1000
    for source, target, size in found:
        whole.sync(now)
        ticks = whole.transfer(dma, source, target, size)
        handle = flown.begin_transfer(dma, 0, source, target, size, 0, now)
        end, _ = ended(flown, handle, now)
        assert end == now - (-ticks // L.TICK)
        assert flown.state.transfers[handle].end == now * L.TICK + ticks
        now = end + 500
    flown.advance(now)
    ours, theirs = flown.by_region(), whole.by_region()
    for region, counted in ours.items():
        other = theirs[region]
        assert (counted["dma_read_bytes"], counted["dma_write_bytes"]) == (other["read_bytes"], other["write_bytes"])
        assert (counted["reads"], counted["writes"], counted["stall"], counted["waited"]) == (0, 0, 0, 0)
        for counter in ("occupied", "row_misses", "refreshes", "data_hits", "data_misses"):
            assert counted[counter] == other[counter], counter


@pytest.mark.parametrize("name", list(BOARDS))
def test_an_undisturbed_flight_needs_few_questions(name: str) -> None:
    """Within one SDRAM more: that reads and writes close each other's rows is not in the bound."""
    dma, memory = BOARDS[name].dma["dma2"], BOARDS[name].memory
    for source in READABLE[name]:
        for target in WRITABLE[name]:
            system = MemorySystem(BOARDS[name])
            first, to = memory[source].base, memory[target].base + (source == target) * 4096
            _, questions = ended(system, system.begin_transfer(dma, 0, first, to, 15000, 0, 70), 70)
            assert questions <= (30 if source == target == "sdram" else 20), (source, target)


SDRAM = {F469: 0xC000_0000, F746: 0x6000_0000}
READ = 6 + (3 + 1) * SDCLK  # F469, the core: overhead, CL, one beat of an open row
BEFORE, BEAT, WRITE = 3, 1 + (3 + 1) * SDCLK, 3  # of the DMA: before a read; the read, at SDRAM; a write


class Contention:
    """A core and one DMA controller; ``fly`` begins a transfer now, ``end`` plays on without the core."""

    def __init__(self, machine: Machine) -> None:
        self.core, self.dma = Core(machine), machine.dma["dma2"]
        self.memory, self.base = self.core.memory, {name: region.base for name, region in machine.memory.items()}

    def fly(self, source: int, target: int, size: int, priority: int = 0) -> int:
        return self.memory.begin_transfer(self.dma, 0, source, target, size, priority, self.core.now)

    def end(self, handle: int) -> int:
        self.memory.advance(self.core.now + 100_000)
        end = self.memory.finished(handle)
        assert end is not None
        return end

    def region(self, name: str) -> dict[str, int]:
        return self.memory.by_region()[name]


def direct(name: str) -> Machine:  # a byte is written as soon as it is read
    return board(name, dma__dma2__threshold="direct")


def open_row() -> Contention:
    """The core has read from SDRAM, whose first row is open; nothing is under way."""
    name = F469
    shared = Contention(direct(name))
    shared.core.load(SDRAM[name])
    shared.core.wait(100)
    return shared


@pytest.mark.parametrize("gap", range(0, 13, 2))
def test_reads_of_one_row_by_core_and_dma_alternate(gap: int) -> None:
    """The core works ``gap`` cycles between two reads, the controller 3: each finds the other's read under way."""
    shared = open_row()
    handle = shared.fly(SDRAM[F469] + 512, shared.base["sram1"], 400)
    shared.core.wait(BEFORE + 2)
    assert shared.core.load(SDRAM[F469]) == BEAT - 2 + READ  # the rest of the beat's read, its own
    period = READ + max(BEAT, gap)
    stalls = []
    for i in range(50):
        shared.core.wait(gap)
        stalls.append(shared.core.load(SDRAM[F469] + 4 * i))
    assert stalls == [period - gap] * 50
    sdram = shared.region("sdram")
    assert sdram["waited"] == (BEAT - 2 + 50 * max(0, BEAT - gap)) * L.TICK
    assert sdram["stall"] == (sum(stalls) + BEAT - 2 + READ + 2 * SDCLK + READ) * L.TICK  # with the first read's tRCD
    assert sdram["dma_read_bytes"] == 51
    alone = 400 - 51  # of the DMA's reads; the first of them comes with the end of the core's last
    assert shared.end(handle) == shared.core.now + alone * (BEFORE + BEAT) - BEFORE + WRITE


@pytest.mark.parametrize(("source", "delayed"), [("sdram", True), ("sram1", False), ("flash", False)])
def test_only_those_on_one_memory_delay_each_other(source: str, delayed: bool) -> None:
    both, core_only, dma_only = open_row(), open_row(), open_row()
    handles = [b.fly(b.base[source] + 256, b.base["sram2"], 200) for b in (both, dma_only)]
    alone = dma_only.end(handles[1])
    stalls = [0, 0]
    for i in range(60):
        for k, b in enumerate((both, core_only)):
            stalls[k] += b.core.load(SDRAM[F469] + 4 * i)
            b.core.wait(5)
    assert (stalls[0] > stalls[1], both.end(handles[0]) > alone) == (delayed, delayed)
    assert both.region("sdram")["waited"] == (stalls[0] - stalls[1]) * L.TICK
    assert both.region("sram2")["waited"] == 0


def test_rows_are_closed_for_each_other() -> None:
    shared, alone = open_row(), open_row()
    handles = [b.fly(SDRAM[F469] + 4096, b.base["sram1"], 64) for b in (shared, alone)]
    for i in range(20):
        shared.core.load(SDRAM[F469] + 4 * i)
        shared.core.wait(10)
    shared.end(handles[0])
    alone.end(handles[1])
    assert alone.region("sdram")["row_misses"] == 2
    assert shared.region("sdram")["row_misses"] >= 2 + 2 * 19


@pytest.mark.parametrize("gap", [0, 30, 100])
def test_posted_writes_of_the_dma_and_reads_of_the_core_share_the_controller(gap: int) -> None:
    """The FIFO is full: a read waits for its 16 words to be written, and the transfer ends a read later for each."""
    shared, alone = open_row(), open_row()
    handles = [b.fly(b.base["sram1"], SDRAM[F469] + 256, 700) for b in (shared, alone)]
    expected = alone.end(handles[1])
    each = 7 + SDCLK
    shared.core.wait(1000)
    stalls = []
    for _ in range(20):
        stalls.append(shared.core.load(SDRAM[F469]))
        shared.core.wait(gap)
    assert shared.core.now < expected
    assert all(READ + 15 * each < stall <= READ + 17 * each for stall in stalls)
    assert shared.region("sdram")["waited"] == (sum(stalls) - 20 * READ) * L.TICK
    late = shared.end(handles[0]) - expected
    assert abs(late - 20 * READ) <= READ


def free(shared: Contention, address: int) -> bool:
    s = shared.core.state
    return bool(AddressRange(s, find(s, address)).flags & L.FREE)


def test_f4_sram_waits_for_a_beat_on_the_bus_while_a_flight_touches_it() -> None:
    """A beat reads SRAM1 every 4 cycles; of the core's loads, one a cycle, every third has to wait for it."""
    shared = Contention(direct(F469))
    core, sram, ranges = shared.core, shared.base["sram1"], memory_ranges(board(F469), None)

    def loads(n: int) -> list[int]:
        stalls = []
        for i in range(n):
            stalls.append(core.load(sram + 4 * i))
            core.wait(1)
        return stalls

    assert loads(8) == [0] * 8
    handle = shared.fly(sram, shared.base["sram2"], 100)
    assert not free(shared, sram)
    assert loads(32) == [0, 0] + [0, 1, 0] * 10  # a load and a beat that come together: the core was served last
    shared.memory.install_ranges(ranges)  # as a program that sets up its MPU
    assert loads(30) == [0, 1, 0] * 10
    assert shared.region("sram1")["waited"] == shared.region("sram1")["stall"] == 20 * L.TICK
    assert shared.end(handle) == 8 + 100 * 4 + WRITE
    core.wait(1000)
    assert [free(shared, shared.base[name]) for name in ("sram1", "sram2", "sram3")] == [True] * 3
    assert loads(8) == [0] * 8
    counts = shared.region("sram1")
    assert (counts["reads"], counts["read_bytes"], counts["dma_read_bytes"]) == (78, 312, 100)


def test_flights_that_overlap_in_a_region_hand_it_back_with_the_last() -> None:
    shared = Contention(direct(F469))
    sram = shared.base["sram1"]
    first, second = (shared.fly(sram, shared.base[target], size) for target, size in (("sram2", 20), ("sram3", 60)))
    shared.memory.advance(2 * 20 * 4 + 4)
    assert shared.memory.finished(first) == 40 * 4 + WRITE
    assert [free(shared, shared.base[name]) for name in ("sram1", "sram2", "sram3")] == [False, True, False]
    assert shared.end(second) == 80 * 4 + WRITE
    shared.memory.advance(400)
    assert [free(shared, shared.base[name]) for name in ("sram1", "sram2", "sram3")] == [True] * 3


def test_a_more_urgent_transfer_goes_between_two_beats() -> None:
    shared = Contention(direct(F469))
    sram = shared.base["sram1"]
    low = shared.fly(sram, shared.base["sram2"], 100, priority=0)
    shared.memory.advance(41)  # in the eleventh beat
    shared.core.wait(41)
    high = shared.fly(sram, shared.base["sram3"], 30, priority=1)
    assert shared.memory.finished(low) is None
    assert shared.memory.earliest_end(low, 41) >= 41 + 30 * 4
    assert shared.end(high) == 44 + 30 * 4 + WRITE
    assert shared.end(low) == 130 * 4 + WRITE


def test_equals_alternate() -> None:
    shared = Contention(direct(F469))
    sram = shared.base["sram1"]
    handles = [shared.fly(sram + 64 * i, shared.base["sram2"] + 64 * i, 40, priority=3) for i in range(3)]
    assert sorted(shared.end(h) for h in handles) == [reads * 4 + WRITE for reads in (118, 119, 120)]


def test_tightly_coupled_memory_has_a_port_of_its_own() -> None:
    shared = Contention(direct(F746))
    dtcm = shared.base["dtcm"]
    handle = shared.fly(dtcm, dtcm + 4096, 100)
    assert [shared.core.load(dtcm + 4 * i) for i in range(50)] == [0] * 50
    assert shared.end(handle) == 400 + WRITE
    assert shared.region("dtcm")["waited"] == 0
    assert shared.region("dtcm")["dma_write_bytes"] == 100


def test_hits_in_the_data_cache_do_not_wait_and_fills_do() -> None:
    shared = Contention(board(F746))
    sdram = shared.base["sdram"]
    shared.core.load(sdram)
    shared.core.wait(100)
    handle = shared.fly(sdram + 64, shared.base["dtcm"], 200)
    shared.core.wait(BEFORE + 2)
    assert [shared.core.load(sdram + 4 * i) for i in range(8)] == [0] * 8
    assert shared.region("sdram")["waited"] == 0
    shared.core.load(sdram + 32)
    assert shared.region("sdram")["waited"] == (1 + 3 * SDCLK - 2) * L.TICK
    assert shared.end(handle) > 100 + 200 * (1 + 3 * SDCLK + BEFORE)


@pytest.mark.parametrize("name", list(BOARDS))
def test_code_and_dma_read_one_flash(name: str) -> None:
    shared, alone = Contention(board(name)), Contention(board(name))
    flash, target = shared.base["flash"], shared.base["sram1"]
    handles = [b.fly(flash + 0x8000, target, 400) for b in (shared, alone)]
    expected = alone.end(handles[1])
    stalls, quiet = 0, 0
    other = Contention(board(name))
    for i in range(100):
        stalls += shared.core.fetch(flash + 64 * i, 64, 16)
        quiet += other.core.fetch(flash + 64 * i, 64, 16)
    waited = shared.region("flash")["waited"]
    assert stalls > quiet
    assert waited > 0
    assert shared.end(handles[0]) > expected


def test_a_sequence_of_qspi_reads_is_broken() -> None:
    shared, alone = Contention(board(F469)), Contention(board(F469))
    qspi, target = shared.base["qspi"], shared.base["sram1"]
    handles = [b.fly(qspi, target, 64) for b in (shared, alone)]
    expected = alone.end(handles[1])
    quiet = Contention(board(F469)).core.load(qspi + 4096)
    shared.core.wait(BEFORE + 2)
    assert shared.core.load(qspi + 4096) > quiet
    assert shared.region("qspi")["waited"] > 0
    again = quiet - 4 * 2 * SDCLK  # the command before data of four bytes, two clocks each
    assert shared.end(handles[0]) >= expected + again


def test_a_task_that_starts_leaves_what_is_in_flight() -> None:
    """``sync`` pulls back what a task left ahead of the clock, not the posted writes of a transfer under way."""
    shared, alone = open_row(), open_row()
    handles = [b.fly(b.base["sram1"], SDRAM[F469], 500) for b in (shared, alone)]
    for cycle in range(shared.core.now, shared.core.now + 4000, 333):
        shared.memory.sync(cycle)
        shared.memory.advance(cycle)
        assert shared.core.now == cycle
    alone.core.wait(shared.core.now - alone.core.now)
    alone.memory.advance(alone.core.now)
    assert shared.end(handles[0]) == alone.end(handles[1])


Step = tuple[str, int, int, int]


@st.composite
def steps_during_a_transfer(draw: st.DrawFn) -> tuple[str, int, list[Step]]:
    """A board, bytes of a beat, and what happens: accesses of the core, time, transfers."""
    name = draw(st.sampled_from(list(BOARDS)))
    memory = BOARDS[name].memory
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 60))):
        kind = draw(st.sampled_from(["load", "store", "fetch", "wait", "load", "store", "wait", "fly"]))
        region = draw(st.sampled_from(WRITABLE[name] if kind == "store" else READABLE[name]))
        offset = draw(st.integers(0, 900)) * draw(st.sampled_from([1, 4]))
        if kind == "fly":
            target = memory[draw(st.sampled_from(WRITABLE[name]))].base + 4 * draw(st.integers(0, 900))
            steps.append((kind, memory[region].base + offset // 4 * 4, target, draw(st.integers(1, 200))))
        elif kind == "fetch":
            steps.append((kind, memory["flash"].base + offset // 2 * 2, draw(st.integers(1, 40)) * 2, 0))
        elif kind == "wait":
            steps.append((kind, draw(st.integers(0, 300)), draw(st.integers(0, 255)), 0))
        else:
            steps.append((kind, memory[region].base + offset, draw(st.sampled_from([1, 2, 4])), 0))
    return name, draw(st.sampled_from([1, 4])), steps


def play(name: str, beat: int, steps: list[Step], often: bool) -> tuple[list[int], Core]:
    """Ticks of every step and the ends of the transfers; ``often``: with the engine's calls between, bounds checked."""
    machine = with_dma(BOARDS[name], beat, 1)
    core = Core(machine)
    memory, dma = core.memory, machine.dma["dma2"]
    handles, bounds, clock = [], [], []
    for kind, a, b, c in steps:
        now = int(core.state.now)
        if kind == "load":
            core.load(a, b)
        elif kind == "store":
            core.store(a, b)
        elif kind == "fetch":
            core.fetch(a, b, 3)
        elif kind == "wait":
            core.wait(a)
            core.state.now += b
        else:
            handles.append(memory.begin_transfer(dma, 0, a, b, c, len(handles) % 2, core.now + 1))
        clock.append(int(core.state.now) - now)
        if often:
            memory.advance(core.now)
            bounds += [(h, memory.earliest_end(h, core.now)) for h in handles]
    memory.advance(core.now + 1_000_000)
    ends = [memory.finished(h) for h in handles]
    for h, bound in bounds:
        end = ends[handles.index(h)]
        assert end is not None
        assert bound <= max(end, core.now + 1)
    return [*clock, *(end or -1 for end in ends)], core


LATER_AND_AHEAD: list[Step] = [  # of two transfers the later one has the priority, and less to write than to read
    ("wait", 0, 254, 0), ("fly", 0x2000_0000, 0xC000_0000, 92), ("load", 0x2000_0000, 1, 0), ("wait", 56, 202, 0),
    ("wait", 191, 0, 0), ("wait", 300, 56, 0), ("load", 0x2000_0000, 1, 0), ("load", 0x0800_0000, 1, 0),
    ("fly", 0x2000_0000, 0x2000_0000, 45), ("load", 0x2000_0000, 1, 0),
]  # fmt: skip


@settings(max_examples=sample_size(200, 40))
@example(("stm32f469i-disco", 1, LATER_AND_AHEAD))
@given(steps_during_a_transfer())
def test_the_same_however_often_it_is_asked(case: tuple[str, int, list[Step]]) -> None:
    name, beat, steps = case
    (ends, core), (other_ends, other) = (play(name, beat, steps, often) for often in (False, True))
    assert ends == other_ends
    assert core.memory.by_region() == other.memory.by_region()
    assert core.memory.state.next_beat == core.memory.state.next_release == L.NEVER
    assert not any(RegionState(core.state, block).transfers for block in core.memory.blocks.values())
