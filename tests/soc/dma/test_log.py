"""The log of transfers: what was asked, when it ran, how it ended, and who watches."""

from __future__ import annotations

from pathlib import Path

from mcusim.soc.dma.dma_log import DmaLog, LoggedTransfer
from tests.soc.dma.test_guest_copies import F746 as BOARD
from tests.soc.dma.test_guest_copies import FULL, SRAM1, WORDS, Guest
from tests.support.boards.dma_bench import CR, EN, FCR, HTIE, M0AR, M1AR, MINC, NDTR, PAR, TCIE, Bench, sizes

SRAM, SRAM2 = 0x2001_0000, 0x2004_C000


def watched(bench: Bench) -> tuple[DmaLog, list[tuple[str, int, tuple[int, int]]]]:
    """The log, and its events with the cycle and the progress at each."""
    events: list[tuple[str, int, tuple[int, int]]] = []
    log = bench.log
    log.watch(lambda event, transfer: events.append((event, bench.now, transfer.progress())))
    return log, events


def test_a_copy_has_a_record_with_its_times_and_registers() -> None:
    bench = Bench()
    log, events = watched(bench)
    bench.copy(0, SRAM, SRAM2, 256, sizes(4, 4) | HTIE | TCIE, 0x23)
    (transfer,) = log.running
    assert (transfer.outcome, transfer.end, transfer.size) == ("running", None, 1024)
    end = bench.run_until_raised(56)  # at half
    bench.clear(0)
    end = bench.run_until_raised(56)
    assert log.running == [] and log.transfers == [transfer]
    assert (transfer.begin, transfer.end, transfer.moved, transfer.outcome) == (0, end, 1024, "complete")
    assert (transfer.controller, transfer.stream, transfer.direction) == ("DMA2", 0, "memory to memory")
    assert (transfer.reads, transfer.writes) == (((SRAM, SRAM + 1024),), ((SRAM2, SRAM2 + 1024),))
    assert transfer.registers["NDTR"] == 256 and transfer.registers["CR"] & EN and transfer.pc == bench.pc
    assert transfer.flags == ("TCIF",)  # HTIF was cleared
    assert [event for event, _, _ in events] == ["start", "half", "complete"]
    half = events[1]
    assert 512 <= half[2][1] <= half[2][0] <= 512 + 16
    assert events[2] == ("complete", end, (1024, 1024))


def test_a_refused_and_a_stopped_transfer() -> None:
    bench = Bench()
    log, events = watched(bench)
    bench.copy(0, SRAM, SRAM2, 64, sizes(4, 4, 1, 4), 0x20)
    assert (log.transfers[0].outcome, log.transfers[0].flags, log.transfers[0].moved) == ("error", ("FEIF",), 0)
    bench.clear(0)
    bench.copy(0, SRAM, SRAM2, 256, sizes(4, 4), 0x23)
    bench.run(500)
    bench.set(0, CR, 0)
    bench.run(600)
    stopped = log.transfers[1]
    assert stopped.outcome == "stopped" and stopped.moved == 1024 - 4 * bench.get(0, NDTR)
    assert stopped.end is not None and 500 < stopped.end < 600
    assert [event for event, _, _ in events] == ["start", "error", "start", "stop"]


def test_rounds_of_two_buffers_are_counted_and_a_write_range_is_given_for_each() -> None:
    bench = Bench()
    log, events = watched(bench)
    for register, value in ((PAR, 0x4001_1004), (M0AR, SRAM), (M1AR, SRAM2), (NDTR, 3), (FCR, 0)):
        bench.set(5, register, value)
    bench.set(5, CR, 4 << 25 | MINC | 1 << 18 | EN)
    bench.ask(7)
    (transfer,) = log.running
    assert (transfer.circular, transfer.rounds, transfer.progress()) == (True, 2, (7, 7))
    assert transfer.reads == ((0x4001_1004, 0x4001_1005),)
    assert transfer.writes == ((SRAM, SRAM + 3), (SRAM2, SRAM2 + 3))
    bench.set(5, CR, 0)
    assert (transfer.outcome, transfer.moved, bench.dma.streams[5].bytes) == ("stopped", 7, 7)
    assert [event for event, _, _ in events] == ["start", "half", "complete", "half", "complete", "half", "stop"]


def test_the_record_of_a_programs_transfer_names_the_line_that_enabled_it() -> None:
    guest = Guest(BOARD)
    seen: list[tuple[str, LoggedTransfer]] = []
    guest.emulator.dma.log.watch(lambda event, transfer: seen.append((event, transfer)))
    guest.call("copy_polled", SRAM1[BOARD], SRAM1[BOARD] + 0x1000, 64, WORDS, FULL)
    (transfer,) = guest.emulator.dma.log.transfers
    assert (transfer.begin, transfer.end) == guest.stream.last
    assert guest.image.function_at(transfer.pc) is not None
    file, line = guest.image.line_at(transfer.pc) or ("", 0)
    source = Path(guest.image.path).parents[1] / "src" / "dma.c"
    assert file.endswith("dma.c") and "| EN" in source.read_text().splitlines()[line - 1]
    assert [event for event, _ in seen] == ["start", "half", "complete"]
    assert {id(one) for _, one in seen} == {id(transfer)}
