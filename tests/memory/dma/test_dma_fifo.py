"""What a DMA controller's ports and FIFO make of a transfer that nobody disturbs: closed formulas, in cycles.

Mode by mode a word of memory to memory takes on an STM32F407 (F411, whose bus matrix arbitrates in no time) 4 (3) AHB
clocks, at the full threshold 4.75 (3.75), in bursts 3.5 (3); measured were 4.20 to 4.22 (3.21 to 3.24), 4.90 (4.00) and
3.65 (3.20), of which 0.15 to 0.25 are set-up, interrupt and a cold start.
"""

from __future__ import annotations

import pytest

from mcusim.errors import MachineError, UsageError
from mcusim.machine import Machine, load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.system import MemorySystem

F469 = "stm32f469i-disco"
QUIET = {"memory.sdram.timing.refresh": "1 ms", "memory.sdram.read_burst": "false"}
SDCLK = 2


def board(beat: int, threshold: str, burst: int = 1, matrix: int = 1, **keys: str) -> Machine:
    dma = {"beat": f"{beat} B", "threshold": threshold, "burst": str(burst), "matrix_cost": f"{matrix} hclk"}
    given = {key.replace("__", "."): value for key, value in keys.items()}
    return load_machine(F469, QUIET | {f"dma.dma2.{key}": value for key, value in dma.items()} | given)


def cycles(machine: Machine, size: int, source: str = "sram1", target: str = "sram2") -> float:
    memory = MemorySystem(machine)
    first, to = (machine.memory[name].base + offset for name, offset in ((source, 0), (target, 4096)))
    return memory.transfer(machine.dma["dma2"], first, to, size) / L.TICK


@pytest.mark.parametrize("matrix", [0, 1])
@pytest.mark.parametrize("beat", [1, 2, 4])
@pytest.mark.parametrize(("threshold", "beats"), [("direct", 0), ("1/4", 4), ("1/2", 8), ("3/4", 12)])
def test_below_the_full_threshold_reads_go_on_while_writes_follow(
    threshold: str, beats: int, beat: int, matrix: int
) -> None:
    """A beat has the reading port for arbitration, address, matrix and data; what is left at the end is written at 3
    each.
    """
    size, read, write = 96, 3 + matrix, 3
    last = max(1, beats // beat)  # beats in the last fill: 96 B are whole fills
    assert cycles(board(beat, threshold, matrix=matrix), size) == size // beat * read + last * write


@pytest.mark.parametrize("matrix", [0, 1])
@pytest.mark.parametrize("beat", [1, 2, 4])
def test_at_the_full_threshold_reading_waits_for_the_first_write_of_a_full_fifo(beat: int, matrix: int) -> None:
    read, write, fill = 3 + matrix, 3, 16 // beat
    one = fill * read
    assert cycles(board(beat, "full", matrix=matrix), 16) == one + fill * write
    assert cycles(board(beat, "full", matrix=matrix), 16 - beat) == one - read + (fill - 1) * write  # the last bytes
    n = 50
    assert cycles(board(beat, "full", matrix=matrix), 16 * n) == n * one + (n - 1) * write + fill * write


MEASURED = {  # cycles a word of 40 KiB on the STM32F411 at 96 MHz and the F407 at 168 MHz, whose kB/s ziutek published
    ("direct", 1): (3.235, 4.209),
    ("1/4", 1): (3.205, 4.204),
    ("1/2", 1): (3.206, 4.221),
    ("3/4", 1): (3.228, 4.216),
    ("full", 1): (3.996, 4.901),
    ("full", 4): (3.195, 3.649),
}


@pytest.mark.parametrize(("mode", "measured"), MEASURED.items())
def test_measured_copies_take_their_set_up_longer(mode: tuple[str, int], measured: tuple[float, float]) -> None:
    """What the model leaves out is set-up, interrupt, a task that wakes up and a cold start: 1,500 to 2,500 cycles."""
    for matrix in (0, 1):
        found = cycles(board(4, mode[0], mode[1], matrix), 40 * 1024, target="sram3") / (10 * 1024)
        assert 0.145 < measured[matrix] - found < 0.25


@pytest.mark.parametrize("matrix", [0, 1])
def test_bursts_as_long_as_the_fifo_are_read_and_written_in_turn(matrix: int) -> None:
    burst = 2 + matrix + 4
    assert cycles(board(4, "full", 4, matrix), 16 * 50) == 50 * (burst + burst)


def test_bursts_shorter_than_the_fifo_overlap() -> None:
    burst = 2 + 1 + 4
    assert cycles(board(1, "1/4", 4), 16 * 50) == 4 * 50 * burst + burst


@pytest.mark.parametrize("beat", [1, 4])
def test_without_a_fifo_a_beat_is_written_before_the_next_one_is_read(beat: int) -> None:
    assert cycles(board(beat, "direct", dma__dma2__fifo="0 B"), 128) == 128 // beat * (4 + 3)


@pytest.mark.parametrize("writes", [4, 5])
def test_the_slower_port_sets_the_pace(writes: int) -> None:
    """Writes that take as long as reads (2 + 2) hide behind them; a cycle more, and they are what counts."""
    n = 400
    machine = board(4, "1/4", memory__sram2__write_latency=f"{writes - 2} cycles")
    total = cycles(machine, 4 * n)
    assert total == (n * 4 + 4 if writes == 4 else 4 + n * 5)


def test_sdram_takes_the_place_of_the_data_cycle() -> None:
    """A clock of the controller, CL and the column; the first read opens the row."""
    n, read = 100, 1 + (3 + 1) * SDCLK
    assert cycles(board(4, "1/4"), 4 * n, "sdram") == n * (3 + read) + 2 * SDCLK + 3
    assert cycles(board(1, "full"), 16, "sdram") == 16 * (3 + read) + 2 * SDCLK + 16 * 3
    burst = 1 + (3 + 4) * SDCLK
    assert cycles(board(4, "full", 4), 16 * n, "sdram") == n * (3 + burst + 3 + 4) + 2 * SDCLK + 2 * 2 * SDCLK


def test_writes_to_sdram_are_posted_until_its_fifo_is_full() -> None:
    """Of a word every 4 cycles the controller writes one in 9: the 16 that wait hide the rest of the first 28 or so."""
    each = 7 + SDCLK
    assert cycles(board(4, "1/4"), 4 * 20, "sram1", "sdram") == 20 * 4 + 3
    n = 200  # in one row
    assert cycles(board(4, "1/4"), 4 * n, "sram1", "sdram") == pytest.approx((n - 16) * each, abs=2 * each)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"burst": "8"}, r"dma2\.burst = 8: 8 beats of 4 B do not fit into the stream's FIFO of 16 B"),
        ({"burst": "4", "threshold": "1/2"}, r"a burst of 16 B is no whole part of the FIFO's threshold, 1/2 of 16 B"),
        ({"threshold": "half"}, r"dma2\.threshold .*must be one of direct, 1/4, 1/2, 3/4, full"),
        ({"read_cost": "4 hclk"}, r"read_cost .*follows from port_cost, matrix_cost, fifo and threshold; delete it"),
    ],
)
def test_what_the_hardware_cannot_is_refused(keys: dict[str, str], text: str) -> None:
    with pytest.raises(MachineError, match=text):
        load_machine(F469, {"dma.dma2.beat": "4 B", **{f"dma.dma2.{key}": value for key, value in keys.items()}})
    assert load_machine(F469, {"dma.dma2.beat": "1 B", "dma.dma2.burst": "8"}).dma["dma2"].burst == 8


def test_there_is_room_for_so_many_transfers() -> None:
    machine = load_machine(F469)
    memory, dma = MemorySystem(machine), machine.dma["dma2"]
    first, second = (machine.memory[name].base for name in ("sram1", "sram2"))
    for _ in range(L.MAX_TRANSFERS):
        memory.begin_transfer(dma, 0, first, second, 4, 0, 0)
    with pytest.raises(UsageError, match=f"over {L.MAX_TRANSFERS} DMA transfers at once"):
        memory.begin_transfer(dma, 0, first, second, 4, 0, 0)


@pytest.mark.parametrize("threshold", ["direct", "1/4", "1/2", "3/4", "full"])
@pytest.mark.parametrize(("beat", "burst"), [(1, 1), (2, 1), (4, 1), (1, 4), (2, 4), (4, 4), (1, 16)])
def test_a_transfer_ends_wherever_it_begins(beat: int, burst: int, threshold: str) -> None:
    """A line's end cuts a burst, or a beat that is not aligned: the FIFO is filled up by the rest of it."""
    try:
        machine = board(beat, threshold, burst)
    except (MachineError, UsageError):
        pytest.skip("no such setting")
    memory = MemorySystem(machine)
    source, target = machine.memory["sram1"].base, machine.memory["sram2"].base
    least = 1.0
    for offset in (0, 1, 2, 6, 17, 26, 31):
        ticks = memory.transfer(machine.dma["dma2"], source + offset, target + 3 * offset, 200)
        assert memory.state.lone_transfer.unwritten == 0 and ticks / L.TICK >= least * 200 / beat, offset
