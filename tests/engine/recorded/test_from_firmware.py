"""A firmware's run as a program: its replay takes what the run took, also on a machine that was changed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import mcusim
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.memory.state_layout import TICK
from mcusim.program import read_program, write_program
from mcusim.program.program import Transfer, Work
from mcusim.results.hot_spots import functions
from tests.support.cases import few

BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
CHANGES = ({}, {"memory.flash.wait_states": "2"}, {"core.clock": "100 MHz"})


@few(1)
@pytest.mark.parametrize("isa", BOARDS)
def test_a_replay_of_the_overlay_takes_what_it_took_from_reset(isa: str) -> None:
    run = mcusim.emulate(program_path("overlay", isa, FIRMWARE), BOARDS[isa], record=True)
    program = run.recorded_program()
    replayed = mcusim.replay(program).run
    assert replayed is not None and run.stop.kind == "exit"
    assert replayed.cycles == pytest.approx(run.profile.cycles, rel=0.02)
    assert sum(isinstance(task, Transfer) for task in program.tasks) == sum(use.transfers for use in run.dma)
    assert run.recording is not None
    waited = sum(stretch.idle for stretch in run.recording.stretches if stretch.waits) / TICK
    assert replayed.by_cause["dma_wait"] == pytest.approx(waited, rel=0.15)


@pytest.mark.parametrize("isa", BOARDS)
def test_a_replay_takes_what_the_run_took(isa: str, tmp_path: Path) -> None:
    path = program_path("dma", isa)
    run = mcusim.emulate(path, BOARDS[isa], record=True)
    write_program(run.recorded_program(), tmp_path / "fw.jsonl")
    program = read_program(tmp_path / "fw.jsonl")
    assert run.recording is not None
    recorded, asked = Counter[str](), Counter[str]()
    for stretch in run.recording.stretches:
        recorded.update({region: counts[0] for region, counts in stretch.asked.items()})
    for task in program.tasks:
        asked.update({one.region: one.reads for one in task.asked} if isinstance(task, Work) else {})
    assert asked == recorded
    for change in CHANGES:
        emulated = run if not change else mcusim.emulate(path, BOARDS[isa], overrides=change)
        replayed = mcusim.replay(program, overrides=change).run
        assert replayed is not None
        assert replayed.cycles == pytest.approx(emulated.profile.cycles, rel=0.002 if not change else 0.02), change


def test_work_waits_for_the_copies_that_the_firmware_waited_for() -> None:
    program = mcusim.emulate(program_path("dma", "cortex-m7"), BOARDS["cortex-m7"], record=True).recorded_program()
    copies = [task for task in program.tasks if isinstance(task, Transfer)]
    assert [copy.source.bytes for copy in copies] == [1024] * 3
    assert [copy.setting.handler > 0 for copy in copies if copy.setting] == [False, False, True]
    for copy in copies:
        assert any(isinstance(task, Work) and copy.id in task.after for task in program.tasks)
        assert all(isinstance(program.tasks[number], Work) for number in copy.after)
    assert {operator.type for operator in program.header.operators} >= {"Reset_Handler", "same"}


def test_calls_of_named_functions_are_tasks_of_their_own() -> None:
    path = program_path("conv", "cortex-m7")
    run = mcusim.emulate(path, BOARDS["cortex-m7"], record="crc*")
    program = run.recorded_program()
    number = next(operator.index for operator in program.header.operators if operator.type == "crc32")
    apart = [task for task in program.tasks if isinstance(task, Work) and task.operator == number]
    profile = next(row for row in functions(run.profile, run.image) if row.name == "crc32")
    took = sum(task.cycles + sum(asked.wait for asked in task.asked) for task in apart)
    assert len(apart) == profile.calls == 3
    assert took == pytest.approx(profile.inclusive, rel=0.001)
