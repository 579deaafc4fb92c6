"""Access streams of the cost profile's kernels against closed counts, on the board's SDRAM."""

from __future__ import annotations

import pytest

from mcusim.kernels import load_profile
from mcusim.kernels.cost.counted.counted_call import replay_call
from mcusim.kernels.cost.counted.loop_counts import counts
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.ports.replay import stream_of, visit
from mcusim.memory.state_layout import RegionState
from mcusim.memory.system import MemorySystem
from mcusim.model.geometry import Geometry, Tile, whole
from mcusim.plan.overlay.tiling import partition

BOARD = "stm32f469i-disco"
SDRAM, SRAM = 0xC000_0000, 0x2000_0000
ROW = 1024  # bytes: 256 columns of 32 bit


def played(g: Geometry, operands: dict[str, tuple[int, int]], rows: Tile | None = None) -> MemorySystem:
    memory = MemorySystem(load_machine(BOARD, {"memory.sdram.timing.refresh": "1 ms"}))
    profile = load_profile()
    replay_call(memory.state, g, rows or whole(g), operands, profile, profile.core("cortex-m4"))
    return memory


def sdram(memory: MemorySystem) -> RegionState:
    return RegionState(memory.state, memory.blocks["sdram", False])


def pointwise(depth: int, filters: int = SDRAM) -> MemorySystem:
    """One pixel, two filters of ``depth`` weights."""
    g = Geometry("CONV_2D", 1, 1, 1, depth, 1, 1, 2)
    places = {"input0": (SRAM, depth), "filter": (filters, 2 * depth), "output": (SRAM + 0x8000, 2)}
    return played(g, places)


@pytest.mark.parametrize("depth", [ROW, 2 * ROW])
def test_two_filters_in_two_rows_close_each_other(depth: int) -> None:
    """Both filters are read in step, bytes for the offset's share and words for the products: with a row of the bank
    between them every read finds the other's row open."""
    memory = pointwise(depth)
    reads = 2 * depth + 2 * depth // 4
    assert sdram(memory).reads == reads
    assert memory.counters()["sdram_row_misses"] == reads


def test_two_filters_in_one_row_keep_it_open() -> None:
    depth = ROW // 4
    memory = pointwise(depth)
    assert sdram(memory).reads == 2 * depth + 2 * depth // 4
    assert memory.counters()["sdram_row_misses"] <= 32, "the first turn of 32 bytes counts as one that finds it closed"


def test_a_row_in_between_costs_precharge_and_activation() -> None:
    """Per read tRP + tRCD: 4 clocks of 2 core cycles, over the same reads in one row."""
    depth = ROW // 4
    near = sdram(pointwise(depth)).stall
    far = sdram(pointwise(depth, SDRAM + ROW - depth)).stall  # the second filter begins the next row
    reads = 2 * depth + 2 * depth // 4
    assert (far - near) / L.TICK / reads == pytest.approx(8, rel=0.06)


def test_a_store_that_misses_waits_for_a_linefill_buffer_only() -> None:
    """Two fills are under way at once, the third waits for the first: as the emulated core's stores do."""
    memory = MemorySystem(load_machine("stm32f746g-disco"))
    state, base = memory.state, 0x6000_0000
    visit(state, stream_of(state, 4, 0, 300 * L.TICK), base, 1)  # opens the row, and is over
    state.now += 300 * L.TICK
    fill = visit(state, stream_of(state, 4), base + 0x20, 8)  # a whole line is read: its fill to the end
    state.now += 300 * L.TICK
    stalls = [visit(state, stream_of(state, 1, 1), base + 0x40 + 0x20 * i, 1) for i in range(4)]
    assert stalls[:2] == [0, 0]
    assert stalls[2] == stalls[3] == fill > 0


def test_pad_reads_and_writes_every_byte_once() -> None:
    """Tile by tile: the rows above and below the input belong to the tiles that write them."""
    g = Geometry("PAD", 1, 6, 6, 40, 10, 10, 40, pad_top=2, pad_bottom=2, pad_left=2, pad_right=2)
    read = written = 0
    for tile in partition(g, 2):
        places = {
            "input0": (SDRAM + tile.in_row * 240, tile.in_rows * 240),
            "output": (SDRAM + 0x10000 + tile.out_row * 400, tile.out_rows * 400),
        }
        memory = played(g, places, tile)
        read += sdram(memory).read_bytes
        written += sdram(memory).write_bytes
        assert sdram(memory).reads == sdram(memory).read_bytes, "byte by byte"
    assert (read, written) == (6 * 6 * 40, 10 * 10 * 40)


@pytest.mark.parametrize(
    "g",
    [
        Geometry("PAD", 1, 6, 6, 4, 6, 6, 8),
        Geometry("PAD", 2, 3, 5, 40, 6, 7, 75, pad_top=1, pad_bottom=2, pad_left=2),
        Geometry("PAD", 1, 1, 1, 4, 1, 1, 9),
    ],
)
def test_pad_along_channels_writes_the_whole_output(g: Geometry) -> None:
    """As many bytes as the compute cycles are charged for, one next to the other to the output's end."""
    memory = played(g, {"input0": (SRAM, g.in_bytes), "output": (SDRAM, g.out_bytes)})
    assert sdram(memory).write_bytes == g.out_bytes == counts(g, g.out_h)["element"] + counts(g, g.out_h)["zero"]
    lines = cached(g, written=True)["dcache_misses"]
    assert lines == -(-g.out_bytes // 32)


def test_pad_reads_one_pixel_behind_the_other() -> None:
    g = Geometry("PAD", 1, 8, 8, 64, 10, 10, 64, pad_top=1, pad_bottom=1, pad_left=1, pad_right=1)
    assert cached(g, written=False)["dcache_misses"] == g.in_bytes // 32


def cached(g: Geometry, written: bool) -> dict[str, int]:
    """Of a board whose cache fills a line for a load and a store: the output is in memory behind it, or the input."""
    memory = MemorySystem(load_machine("stm32f746g-disco"))
    profile = load_profile()
    behind, tcm = 0x2002_0000, 0x2000_0000  # SRAM1, DTCM
    source, target = (tcm, behind) if written else (behind, tcm)
    places = {"input0": (source, g.in_bytes), "output": (target, g.out_bytes)}
    replay_call(memory.state, g, whole(g), places, profile, profile.core("cortex-m7"))
    return memory.counters()
