"""A firmware's run for other tools: what independent readers find is what the profile and the transfers say."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcusim
from mcusim.errors import UsageError
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.report.export.firmware import firmware_perfetto, firmware_vcd
from mcusim.results.emulation import EmulationResult
from tests.support.pages.trace_event_format import read_trace


@pytest.fixture(scope="module")
def overlay() -> EmulationResult:
    return mcusim.emulate(program_path("overlay", "cortex-m7", FIRMWARE), "stm32f746g-disco", record=True)


def test_perfetto_has_the_core_handlers_and_streams(overlay: EmulationResult) -> None:
    (process,) = read_trace(firmware_perfetto(overlay))
    threads = process.threads
    assert next(iter(threads)) == "core" and {"dma2.s0", "dma2.s1", "IRQ 56", "IRQ 57"} <= {*threads}
    assert sum(one.args["cycles"] for one in threads["core"]) == int(overlay.profile.cycles)
    for one in overlay.profile.exceptions:
        handlers = threads[one.name]
        assert len(handlers) >= one.count
        assert max(piece.args["latency"] for piece in handlers) == int(one.latency["max"])


def test_vcd_is_busy_while_transfers_run(overlay: EmulationResult, tmp_path: Path) -> None:
    pytest.importorskip("pywellen")
    from tests.support.pages.vcd_file import cycles, high, read_vcd

    path = tmp_path / "run.vcd"
    path.write_text(firmware_vcd(overlay))
    signals, clock = read_vcd(path), overlay.machine.core.clock
    assert overlay.recording is not None
    for use in overlay.dma:
        spans = high(signals[f"dma.{use.controller}_s{use.stream}.busy"], 1 << 60)
        took = sum(cycles(end, clock) - cycles(start, clock) for start, end in spans)
        own = [one for one in overlay.recording.transfers if one.stream == use.stream]
        assert took == sum((one.end or 0) - one.begin for one in own)


def test_a_run_that_was_not_recorded_cannot_be_traced() -> None:
    run = mcusim.emulate(program_path("dma", "cortex-m7"), "stm32f746g-disco")
    for export in (firmware_perfetto, firmware_vcd):
        with pytest.raises(UsageError, match="not recorded"):
            export(run)
