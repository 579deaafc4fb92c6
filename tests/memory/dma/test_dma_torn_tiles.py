"""Transfers in flight past a data cache: which of their bytes are there when, however the core's run is cut."""

from __future__ import annotations

from random import Random

import pytest

from mcusim.machine import Machine
from mcusim.memory import state_layout as L
from mcusim.memory.system import MemorySystem
from tests.support.cases import few, only_with_all_cases, sample_size, sampled
from tests.support.code.single_access_core import F746, board
from tests.support.programs.coherency_model import CLEAN, Rig, straight

LINE, AT = 32, 0x1000
OLD, NEW, MINE = b"old!", b"new!", b"mine"


def come(machine: Machine, source: int, target: int, size: int, cycles: int) -> int:
    """Bytes that have arrived so long after a transfer's start when nobody disturbs it."""
    alone = MemorySystem(machine)
    alone.begin_transfer(machine.dma["dma2"], 0, source, target, size, 0, 1000)
    alone.advance(1000 + cycles)
    return sum(count["dma_write_bytes"] for count in alone.by_region().values())


@few(1)
@pytest.mark.parametrize("beats", [(1, 1), (4, 1), (4, 4)], ids=str)
@pytest.mark.parametrize("places", sampled([("sram2", "sdram"), ("dtcm", "dtcm"), ("sram2", "sram1")], 1), ids=str)
def test_a_torn_tile_has_the_bytes_that_were_due(places: tuple[str, str], beats: tuple[int, int]) -> None:
    """The core reads a word of a line in the middle of a tile, once, at more and more cycles after the start."""
    keys = {"dma__dma2__beat": f"{beats[0]} B", "dma__dma2__burst": str(beats[1])}
    machine = board(F746, **keys, dma__dma2__threshold="1/4" if beats[1] == 1 else "full")
    size, middle, torn = 640, 320, 0
    source, target = machine.memory[places[0]].base + 0x2000, machine.memory[places[1]].base + AT
    half = MemorySystem(machine).transfer(machine.dma["dma2"], source, target, middle) // L.TICK
    for loops in range(1, half + half // 3, 1 + half // 50):
        one = Rig(machine)
        tile, before = Random(loops).randbytes(size), Random(-loops - 1).randbytes(size)
        one.emulator.write(source, tile)
        one.emulator.write(target, before)
        handle, start = one.begin(source, target, size), one.emulator.cycles
        one.wait(loops)
        least = come(machine, source, target, size, one.emulator.cycles - start)
        found = one.load(target + middle)
        most = come(machine, source, target, size, one.emulator.cycles - start)
        now = size - one.left(handle)
        assert least <= now <= most, (loops, least, now, most)
        line = (tile[:now] + before[now:])[middle : middle + LINE]
        assert found == line[:4]
        assert one.seen(target + middle, LINE) == line
        one.end(handle)
        assert one.stored(target, size) == tile
        kept = tile[middle : middle + LINE] if places[1] == "dtcm" else line  # what a line held stays as it was
        assert one.seen(target + middle, LINE) == kept
        torn += 0 < now - middle < LINE
    assert torn > 1


def test_beats_that_were_due_before_a_clean_have_read_uncleaned_bytes() -> None:
    one = Rig(board(F746, dma__dma2__beat="1 B"))
    at, target = one.at["sdram"] + AT, one.at["dtcm"] + 0x3800
    one.emulator.write(at, OLD * 64)
    for i in range(0, 8 * LINE, 4):
        one.store(at + i, MINE)
    one.wait(500)
    handle, start = one.begin(at, target, 8 * LINE), one.emulator.cycles
    one.wait(500)
    least = come(one.emulator.machine, at, target, 8 * LINE, one.emulator.cycles - start)
    for line in range(8):
        one.maintain(at + line * LINE, CLEAN)
    one.end(handle)
    uncleaned = next(i for i, byte in enumerate(one.seen(target, 8 * LINE)) if byte == (MINE * 64)[i])
    assert 0 < least <= uncleaned < 7 * LINE
    assert one.seen(target, 8 * LINE)[-LINE:] == MINE * 8


def test_a_line_that_another_memorys_line_displaces_goes_over_the_beats_before_it() -> None:
    """Beats reach a dirty line's memory, then a load of flash displaces it: what they wrote there is gone."""
    one = Rig(board(F746))
    at, source = one.at["sdram"] + AT, one.at["dtcm"] + 0x3000
    one.emulator.write(at, OLD * 8)
    one.store(at + 28, MINE)
    one.emulator.write(source, NEW * 6)
    handle = one.begin(source, at, 24)
    one.wait(200)
    for i in range(4):
        one.load(one.at["flash"] + 0x8000 + 1024 * i)
    one.end(handle)
    assert one.stored(at, LINE) == OLD * 7 + MINE


LOG = 0x0000_0100  # in ITCM, which the DMA cannot reach


def program(random: Random, one: Rig, accesses: int) -> bytes:
    """Loads, whose results are kept, stores and maintenance on a few lines of three memories, and work between them."""
    places = [one.at[name] + 0x400 + 32 * i for name in ("sdram", "sram1", "dtcm") for i in (0, 1, 8, 32, 64, 96)]
    steps = []
    for _ in range(accesses):
        name = random.choice(["ldr", "ldr", "ldrb", "ldrh", "str", "strb", "strh", "maintain", "nop", "nop"])
        steps.append((name, random.choice(places) + random.randrange(64), random.getrandbits(32)))
    return straight(steps)


def play(seed: int, cuts: int) -> tuple[object, ...]:
    """Everything that is left of a run: what the core loaded, both sides of memory, times and counters."""
    random, one = Random(seed), Rig(board(F746, cache__data__size="512 B"))
    for region in ("sdram", "sram1", "dtcm"):
        one.emulator.write(one.at[region], random.randbytes(0x2000))
    one.emulator.write(0x0801_0000, program(random, one, 600))
    one.emulator.set_stack(0x2000_8000, 0)
    one.emulator.call(0x0801_0000, (0, 0, 0, LOG))
    flights = []
    for _ in range(12):
        source, target = (one.at[name] + 0x400 + random.randrange(64) * 4 for name in random.choices(PAIRS)[0])
        flights.append((random.randrange(6000), source, target, random.randint(1, 300), random.randrange(3)))
    stops = {at for at, *_ in flights} | {Random(cuts).randrange(6000) for _ in range(cuts)}
    handles, stop = [], None
    for cycle in sorted(stops):
        stop = one.emulator.run_until(cycle)
        one.memory.advance(cycle)
        for at, source, target, size, priority in sorted(flights):
            if at == cycle:
                handles.append(one.memory.begin_transfer(one.dma, 0, source, target, size, priority, cycle))
    assert stop is not None and stop.kind == "horizon"  # the program still runs
    assert one.emulator.run(100_000).kind == "returned"
    one.memory.advance(one.emulator.cycles + 100_000)
    ends = [one.memory.finished(handle) for handle in handles]
    sides = [(one.seen(one.at[n], 0x2000), one.stored(one.at[n], 0x2000)) for n in ("sdram", "sram1", "dtcm")]
    assert sides[0][0] != sides[0][1]  # dirty and stale lines are left
    return one.seen(LOG, 4 * 600), sides, ends, one.emulator.cycles, one.memory.counters(), int(one.memory.state.now)


PAIRS = [("dtcm", "sdram"), ("sdram", "dtcm"), ("sram1", "sdram"), ("sdram", "sram1"), ("dtcm", "sram1")]


@only_with_all_cases
@pytest.mark.parametrize("seed", range(sample_size(6, 1)))
def test_the_same_however_the_run_is_cut(seed: int) -> None:
    whole = play(seed, 0)
    for cuts in (7, 100, 1000):
        assert play(seed, cuts) == whole, cuts
