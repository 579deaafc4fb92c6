"""Exceptions and DMA streams of a run as the table shows them."""

from __future__ import annotations

import mcusim
from mcusim.kernels.test_programs import program_path
from mcusim.report.firmware.events import event_lines


def test_handlers_have_names_and_streams_their_bytes() -> None:
    run = mcusim.emulate(program_path("dma", "cortex-m7"), "stm32f746g-disco")
    lines = event_lines(run)
    (use,) = run.dma
    shown = ["dma2.s0", f"{use.transfers}", f"{use.bytes / 1024:g}"]
    assert [line.split()[:3] for line in lines[-2:]] == [["DMA", "stream", "transfers"], shown]
    assert lines[-1].endswith("KiB")
    handler = next(line for line in lines if line.split()[0:2] == ["IRQ", "56"])
    assert handler.split()[-1] == "stream_handler"
    assert all(len(line) <= 80 for line in lines)
