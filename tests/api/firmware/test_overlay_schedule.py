"""The overlay firmware against its schedule as a program file: the same transfers, bytes and latency."""

from __future__ import annotations

import zlib
from pathlib import Path
from runpy import run_path

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.image.image import load_image
from mcusim.kernels.kernel_set import load_set
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.machine import load_machine
from mcusim.model import load_model
from mcusim.program import check_program
from mcusim.program.program import Transfer
from tests.support.cases import few
from tests.support.paths import REPOSITORY

SCRIPT = run_path(str(REPOSITORY / "scripts" / "traces" / "overlay_firmware.py"))


@few(1)
@pytest.mark.parametrize("board", SCRIPT["BOARDS"])
def test_the_firmware_is_its_schedule_as_a_program(board: str, tmp_path: Path) -> None:
    model, values = SCRIPT["write_model"](tmp_path)
    machine, program, graph = load_machine(board), SCRIPT["schedule"](board, model), load_model(model)
    check_program(program, machine)
    core = EmulatedCore(program, machine, graph, load_set("cmsis"), [values], Options(overhead=0))
    planned = run_program(program, machine, core, "cmsis", "emulate").cycles

    printed: list[bytes] = []
    firmware = Emulator(machine, printed.append, caches=False)
    firmware.load(load_image(program_path("overlay", machine.core.isa, FIRMWARE)))
    firmware.begin()
    assert firmware.run().status == 0
    cycles, crc, verdict = b"".join(printed).decode().splitlines()
    assert verdict == "overlay: ok"
    assert int(crc.split()[1], 16) == zlib.crc32(core.tensor(graph.outputs[0]).tobytes())
    for stream in range(2):
        asked = [task for task in program.tasks if isinstance(task, Transfer) and task.lane == f"dma2.s{stream}"]
        made = [move for move in firmware.dma.log.transfers if move.stream == stream]
        assert [(move.source, move.target, move.size) for move in made] == [
            (task.source.address, task.destination.address, task.source.bytes) for task in asked
        ]
        assert all(move.outcome == "complete" and move.priority == 2 * (1 - stream) for move in made)
    # both are within 0.1 %; how long a handler takes is a figure of the machine here and code there
    assert int(cycles.split()[1]) == pytest.approx(planned, rel=0.005)
