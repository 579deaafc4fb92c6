"""Two-sided timing of every device: what an access costs, and that it costs no more and no less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mcusim.errors import UsageError
from mcusim.machine import Machine, load_machine, replace_all
from mcusim.memory import state_layout as L
from mcusim.memory.ports import replay
from mcusim.memory.ports.replay import stream_of
from mcusim.memory.state_layout import CodeSweep
from mcusim.memory.system import AccessStats, MemorySystem
from tests.support.cases import only_with_all_cases

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
SDCLK = 2  # core cycles per SDRAM clock on both boards
ROW = {F469: 1024, F746: 512}
OVERHEAD = {F469: 5, F746: 6}


class Probe:
    """Single accesses on a fresh memory system, in whole core cycles."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.memory = machine, MemorySystem(machine)

    def __call__(self, region: str, offset: int = 0, *, n: int = 1, size: int = 4, write: int = 0, gap: int = 0) -> int:
        address = self.machine.memory[region].base + offset
        state = self.memory.state
        stall = replay.visit(state, stream_of(state, size, write, gap * L.TICK), address, n)
        return int(stall) // L.TICK

    def pass_time(self, cycles: int) -> None:
        self.memory.state.now += cycles * L.TICK


def quiet(name: str, **keys: str) -> Machine:
    """The board without SDRAM refresh in the way (a period of a millisecond), SDRAM not cached, nothing read ahead."""
    sdram = {"memory.sdram.timing.refresh": "1 ms", "memory.sdram.attribute": "uncached"}
    sdram |= {"memory.sdram.read_overhead": f"{OVERHEAD[name]} cycles", "memory.sdram.read_burst": "false"}
    return load_machine(name, sdram | {key.replace("__", "."): value for key, value in keys.items()})


def test_tightly_coupled_and_f4_sram_never_stall() -> None:
    probe = Probe(quiet(F469))
    assert [probe(name, write=w) for name in ("ccm", "sram1", "sram2") for w in (0, 1)] == [0] * 6


def test_sram_behind_the_axi_bus_stalls_its_latency() -> None:
    probe = Probe(quiet(F746, memory__sram1__attribute="uncached"))
    assert probe("sram1") == 6
    assert probe("sram1", n=3) == 18


@pytest.mark.parametrize("waits", [0, 5, 9])
def test_flash_accelerator_hits_and_misses(waits: int) -> None:
    probe = Probe(quiet(F469, memory__flash__wait_states=str(waits)))
    assert probe("flash", 0) == waits
    assert probe("flash", 12) == 0  # the same 16-byte line
    assert probe("flash", 16) == waits  # the next line
    for line in range(2, 9):  # lines 1 to 8 now fill the eight data lines
        probe("flash", 16 * line)
    assert probe("flash", 16) == 0
    assert probe("flash", 0) == waits  # evicted, the least recently used


@pytest.mark.parametrize("board", [F469, F746])
def test_sdram_row_hit_miss_and_closed_row(board: str) -> None:
    machine = quiet(board)
    probe = Probe(machine)
    column = OVERHEAD[board] + ({F469: 3, F746: 2}[board] + {F469: 1, F746: 2}[board]) * SDCLK  # CL, beats of a word
    assert probe("sdram", 0) == 2 * SDCLK + column  # tRCD: no row was open
    probe.pass_time(1000)
    assert probe("sdram", 4) == column  # the row is open
    probe.pass_time(1000)
    assert probe("sdram", ROW[board] - 4) == column  # its last word
    probe.pass_time(1000)
    assert probe("sdram", ROW[board]) == (2 + 2) * SDCLK + column  # tRP + tRCD: the next row


def test_sdram_row_is_held_for_tras_and_trc() -> None:
    """The row opened at 0 may close at tRAS and another open at tRC: who comes early waits, who comes then does not."""
    machine = quiet(F469, memory__sdram__timing__tRAS="20 sdclk", memory__sdram__timing__tRC="22 sdclk")
    early, late = Probe(machine), Probe(machine)
    first = early("sdram", 0)
    assert late("sdram", 0) == first
    late.pass_time(20 * SDCLK - first)
    column = first - 2 * SDCLK
    assert early("sdram", 1024) == (20 * SDCLK - first) + (2 + 2) * SDCLK + column
    assert late("sdram", 1024) == (2 + 2) * SDCLK + column
    longer = Probe(quiet(F469, memory__sdram__timing__tRAS="20 sdclk", memory__sdram__timing__tRC="30 sdclk"))
    longer("sdram", 0)
    longer.pass_time(20 * SDCLK - first)
    assert longer("sdram", 1024) == (30 - 20 + 2) * SDCLK + column


def test_sdram_write_recovery_holds_the_row() -> None:
    machine = quiet(F469, memory__sdram__timing__tWR="10 sdclk")
    probe = Probe(machine)
    probe("sdram", 0, write=1)
    probe.pass_time(1000)
    assert probe("sdram", 0, write=1) == 0
    busy = 7 + SDCLK  # write overhead and one beat
    read = probe("sdram", 1024)
    assert read == busy + (10 + 2 + 2) * SDCLK + 5 + 4 * SDCLK


@pytest.mark.parametrize("late", [0, 1])
def test_sdram_refresh_closes_the_rows_and_delays_who_comes_in_it(late: int) -> None:
    machine = load_machine(F469, {"memory.sdram.read_overhead": "5 cycles", "memory.sdram.read_burst": "false"})
    probe = Probe(machine)
    probe("sdram", 0)
    period = round(machine.cycles(machine.memory["sdram"].device.timing.refresh, 90_000_000))  # type: ignore[union-attr]
    now = int(probe.memory.state.now) // L.TICK
    hold = (2 + 6) * SDCLK  # tRP + tRC
    probe.pass_time(period - now + late * hold - 1)
    before = probe("sdram", 4) if not late else None
    if before is not None:
        assert before == 5 + 4 * SDCLK  # one cycle before the refresh: an open row
    else:
        column = 5 + 4 * SDCLK
        assert probe("sdram", 4) == 1 + 2 * SDCLK + column  # one cycle of the refresh left, then tRCD


def test_posted_writes_stall_when_the_fifo_is_full_and_not_before() -> None:
    machine = quiet(F469, memory__sdram__write_fifo="4")
    probe = Probe(machine)
    probe("sdram", 0, write=1)
    probe.pass_time(1000)
    each = 7 + SDCLK
    assert [probe("sdram", 4 * i, write=1) for i in range(1, 5)] == [0, 0, 0, 0]
    assert [probe("sdram", 4 * i, write=1) for i in range(5, 8)] == [each] * 3
    paced = Probe(machine)
    assert sum(paced("sdram", 4 * i, write=1, gap=each + 1) for i in range(200)) == 0


def test_sdram_timing_in_ns_is_rounded_up_to_whole_clocks() -> None:
    """At 90 MHz a clock is 11.1 ns: 23 ns take three clocks, 22 ns take two."""
    three, two = (Probe(quiet(F469, memory__sdram__timing__tRCD=text)) for text in ("23 ns", "22 ns"))
    assert three("sdram") - two("sdram") == SDCLK


def test_bank_mapping_decides_what_conflicts() -> None:
    """Rows 0 and 1 of the address map: the same bank when banks are on top, two banks when rows are."""
    conflict, spread = (Probe(quiet(F469, memory__sdram__mapping=m)) for m in ("bank-row-column", "row-bank-column"))
    for probe in (conflict, spread):
        probe("sdram", 0)
        probe.pass_time(100)
        probe("sdram", 1024)
        probe.pass_time(100)
    column = 5 + 4 * SDCLK
    assert conflict("sdram", 0) == (2 + 2) * SDCLK + column
    assert spread("sdram", 0) == column


def test_qspi_command_then_sequential_data() -> None:
    """0x6B 1-1-4: 8 + 24 + 10 clocks, two a byte, 2 with the chip select high; continuing costs the data only."""
    probe = Probe(quiet(F469, memory__qspi__read_overhead="0 cycles", memory__qspi__attribute="uncached"))
    assert probe("qspi", 0, size=32) == (8 + 24 + 10 + 64 + 2) * 2
    assert probe("qspi", 32, size=32) == 64 * 2
    assert probe("qspi", 4096, size=32) == (8 + 24 + 10 + 64 + 2) * 2


def test_cache_line_fill_hit_write_back_and_eviction() -> None:
    machine = load_machine(F746, {"memory.sdram.timing.refresh": "1 ms"})
    probe = Probe(machine)
    fill = probe("sdram", 0)
    assert fill > 0
    assert probe("sdram", 28) == 0
    assert probe("sdram", 0, write=1) == 0
    sets = 4096 // (4 * 32)
    for way in range(1, 4):
        probe("sdram", way * sets * 32)
    assert probe.memory.counters()["dcache_writebacks"] == 0
    probe("sdram", 4 * sets * 32)  # the fifth line of the set: the dirty first one goes
    assert probe.memory.counters()["dcache_writebacks"] == 1
    assert probe("sdram", 0) > 0


def test_a_line_streams_in_behind_the_critical_word() -> None:
    """Eight word loads of a missed line: at full speed they wait for the last beat, spaced out for the first word."""
    keys = {"memory.sdram.timing.refresh": "1 ms", "memory.sdram.read_overhead": "6 cycles"}
    machine = load_machine(F746, keys | {"memory.sdram.read_burst": "false"})
    fast, slow = Probe(machine), Probe(machine)
    row = 2 * SDCLK
    head = row + 6 + 2 * SDCLK
    assert fast("sdram", 0, n=8) == head + 16 * SDCLK
    assert slow("sdram", 0, n=8, gap=20) == head + 4 * SDCLK


@pytest.mark.parametrize("replacement", ["lru", "round-robin", "random"])
def test_replacement_policies_keep_a_working_set_that_fits(replacement: str) -> None:
    machine = load_machine(F746, {"cache.data.replacement": replacement})
    probe = Probe(machine)
    for _ in range(3):
        for line in range(0, 4096, 32):
            probe("sdram", line)
    assert probe.memory.counters()["dcache_misses"] == 128


def test_maintenance_writes_dirty_lines_and_forgets_invalidated_ones() -> None:
    machine = load_machine(F746, {"memory.sdram.timing.refresh": "1 ms"})
    memory = MemorySystem(machine)
    probe = Probe(machine)
    probe.memory = memory
    base = machine.memory["sdram"].base
    probe("sdram", 0, write=1)
    probe("sdram", 32)
    assert memory.maintain(base, 64, clean=True, invalidate=False) > 0
    assert memory.counters()["dcache_writebacks"] == 1
    assert memory.maintain(base, 64, clean=True, invalidate=False) == 0  # clean already
    assert probe("sdram", 0) == 0
    memory.maintain(base, 64, clean=False, invalidate=True)
    assert probe("sdram", 0) > 0


def test_a_transfer_pays_each_region_it_really_hits() -> None:
    """Into the end of DTCM and on into SRAM1: only the bytes behind the border pay SRAM1's write latency."""
    machine = quiet(F746, memory__sram1__write_latency="100 cycles")
    memory = MemorySystem(machine)
    border, size = machine.memory["sram1"].base, 4096
    times = []
    for inside in (size, 1024, 0):
        memory.sync(0)
        demand = memory.measure(
            lambda _, n=inside: times.append(memory.transfer(machine.dma["dma2"], border + 8192, border - n, size))
        )
        assert demand.get("dtcm", AccessStats(0, 0, 0, 0, 0, 0)).write_bytes == inside
        assert demand["sram1"].write_bytes == size - inside
    in_dtcm, across, in_sram = times
    assert abs(across - in_dtcm - (in_sram - in_dtcm) * (size - 1024) // size) <= 16 * 4 * L.TICK  # a FIFO of reads
    assert in_sram == pytest.approx(size * (2 + 100) * L.TICK, rel=0.01)


def test_the_demand_of_a_region_is_that_of_all_its_ports() -> None:
    """The F746's flash by its AXI address and by its ITCM alias, which has the accelerator and counters of its own."""
    machine = load_machine(F746, {"cache.data.size": "0 B"})
    memory, flash = MemorySystem(machine), machine.memory["flash"]

    def both(state: Any) -> None:
        replay.walk(state, stream_of(state, 4), flash.base, 1024)
        replay.walk(state, stream_of(state, 4), flash.aliases[0], 512)

    demand = memory.measure(both)
    assert {name: asked.read_bytes for name, asked in demand.items()} == {"flash": 1536}


def test_short_cache_lines_are_looked_up_one_by_one() -> None:
    machine = load_machine(F746, {"cache.data.line": "8 B"})
    memory = MemorySystem(machine)
    replay.walk(memory.state, stream_of(memory.state, 4), machine.memory["sdram"].base, 1024)
    assert memory.counters()["dcache_misses"] == 128


@only_with_all_cases
def test_durations_out_of_scale_end_the_run_with_an_error() -> None:
    fast = {"core.clock": "2 GHz", "core.force_clock": "true", "memory.flash.wait_states": "5"}
    machine = load_machine(F469, fast | {"memory.sdram.timing.CL": "1 ms"})
    memory = MemorySystem(machine)
    base = machine.memory["sdram"].base
    with pytest.raises(UsageError, match="durations are out of scale"):
        for _ in range(1000):
            memory.measure(lambda s: replay.walk(s, stream_of(s, 1), base, 1 << 24))


def code_fetch(keys: dict[str, str], bytes_: int, sweeps: int, work: int = 0) -> int:
    """The wait for so many sweeps over so much code of the F469, at so many cycles of work a line of 16 bytes."""
    table = {"line_change": "0 cycles"} | keys
    machine = quiet(F469, **{f"memory__flash__accelerator__{key}": value for key, value in table.items()})
    memory, base = MemorySystem(machine), machine.memory["flash"].base
    rate = (work * L.TICK << 16) // 16
    sweep = CodeSweep(np.array((base, bytes_, sweeps, 1, 0, bytes_ * sweeps, rate), np.int64))
    return replay.fetch(memory.state, sweep) // L.TICK


def test_code_that_the_accelerator_holds_misses_once() -> None:
    """1 KiB in 64 lines of 16 bytes; one line more, and every line of every sweep misses."""
    off = {"prefetch": "false"}
    assert code_fetch(off, 1024, 10) == 64 * 5
    assert code_fetch(off, 1040, 10) == 65 * 10 * 5
    assert code_fetch(off | {"line_change": "1 cycles"}, 1024, 10) == 64 * 5 + 640


@pytest.mark.parametrize(("work", "late"), [(0, 6), (4, 2), (5, 1), (6, 0), (9, 0)])
def test_code_read_ahead_takes_the_longer_of_its_work_and_a_read(work: int, late: int) -> None:
    """But for the first line of a sweep, which the core jumps to."""
    assert code_fetch({}, 1024, 10, work) == 5 + 63 * late
    assert code_fetch({}, 1040, 10, work) == 10 * (5 + 64 * late)
    changed = max(0, late - 1)
    assert code_fetch({"line_change": "1 cycles"}, 1040, 10, work) == 10 * (5 + 64 * changed + 65)


def test_flash_lines_stream_at_the_bus_clock() -> None:
    """STM32H743: a 32-byte line is 4 beats of a bus at half the core's clock."""
    machine = load_machine("nucleo-h743zi")
    fast = replace_all(machine, {"bus.clock": "480 MHz", "core.force_clock": True, "memory.flash.wait_states": 4})
    stalls = [Probe(m)("flash", 0, n=8, size=4) for m in (machine, fast)]
    assert stalls[0] == 2 * stalls[1] > 0
