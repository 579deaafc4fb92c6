"""Films of a firmware: the same run, with source lines, interrupts and what its streams move."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim import emulate
from mcusim.commands.app import main
from mcusim.kernels.test_programs import program_path
from mcusim.memory.film import events
from mcusim.results.film import INTERRUPT

F746 = "stm32f746g-disco"


def test_a_firmware_is_filmed_with_its_lines_interrupts_and_transfers() -> None:
    path = program_path("dma", "cortex-m7")
    plain, found = emulate(path, F746, record=True), emulate(path, F746, film="0 ms to 1 ms")
    film, recording = found.film, plain.recording
    assert film is not None and film.until == plain.profile.cycles == found.profile.cycles and recording is not None
    kinds = film.columns["kind"]
    written = film.columns["b"][kinds == events.BEAT_WRITE].sum()
    assert written == sum(transfer.moved for transfer in recording.transfers)
    assert {film.lanes[n] for n in film.columns["c"][kinds == events.BEAT_READ]} == {"dma2.s0"}
    assert (kinds == INTERRUPT).sum() == len(recording.handlers) > 0
    assert "IRQ 56 (DMA2_Stream0)" in film.exceptions.values()
    assert any(text.startswith("dma.c:") and text.endswith(" in main") for text in film.places.values())
    assert {"stack", "target"} <= {buffer["name"] for buffer in film.buffers}


def test_its_page_is_written_and_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = str(program_path("dma", "cortex-m7")), tmp_path / "film.html"
    assert main(["emulate", path, "--film", str(page)]) == 0
    assert "DMA2_Stream0" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    for arguments, says in (
        (["--film-window", "0 ms to 1 ms"], "--film-window has no effect without --film"),
        (["--film", str(tmp_path / "b.html"), "--film-window", "5 ms to 6 ms"], "it begins after the run"),
    ):
        assert main(["emulate", path, *arguments]) == 2
        assert says in capsys.readouterr().err and not (tmp_path / "b.html").exists()
