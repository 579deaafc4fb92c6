"""DMA transfers in flight beside the emulated core: alone to the tick, contended by what each waits for the other."""

from __future__ import annotations

from dataclasses import replace

from core_probe import F469, F746
from hypothesis import given, settings
from hypothesis import strategies as st

from mcusim.machine import Machine, load_machine
from mcusim.memory import layout as L
from mcusim.memory.system import MemorySystem

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


def with_dma(machine: Machine, beat: int, burst: int) -> Machine:
    return replace(machine, dma={"dma2": replace(machine.dma["dma2"], beat=beat, burst=burst)})


@st.composite
def copies(draw: st.DrawFn) -> tuple[str, int, int, list[tuple[int, int, int]]]:
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
    return name, beat, draw(st.sampled_from([1, 4])), found


@settings(max_examples=300, deadline=None)
@given(copies())
def test_alone_a_flight_takes_exactly_what_a_transfer_does(
    case: tuple[str, int, int, list[tuple[int, int, int]]],
) -> None:
    name, beat, burst, found = case
    machine = with_dma(BOARDS[name], beat, burst)
    dma = machine.dma["dma2"]
    whole, flown = MemorySystem(machine), MemorySystem(machine)
    now = 1000
    for source, target, size in found:
        whole.sync(now)
        ticks = whole.transfer(dma, source, target, size)
        handle = flown.begin_transfer(dma, 0, source, target, size, 0, now)
        end, _ = ended(flown, handle, now)
        assert end == now - (-ticks // L.TICK)
        assert flown.state[L.FLIGHTS + handle * L.FLIGHT + L.D_END] == now * L.TICK + ticks
        now = end + 500
    flown.advance(now)
    ours, theirs = flown.by_region(), whole.by_region()
    for region, counted in ours.items():
        other = theirs[region]
        assert (counted["dma_read_bytes"], counted["dma_write_bytes"]) == (other["read_bytes"], other["write_bytes"])
        assert (counted["reads"], counted["writes"], counted["stall"], counted["waited"]) == (0, 0, 0, 0)
        for counter in ("occupied", "row_misses", "refreshes", "data_hits", "data_misses"):
            assert counted[counter] == other[counter], counter
