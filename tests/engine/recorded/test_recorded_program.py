"""Programs recorded from a firmware: closed formulas of what they take, on their machine and on others; their file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mcusim
from mcusim.api.simulate import replay
from mcusim.commands.app import main
from mcusim.engine.execute import execute_recorded
from mcusim.engine.recorded.retiming import Retiming
from mcusim.errors import InputError, ProgramError, UsageError
from mcusim.machine import load_machine
from mcusim.memory.state_builder import WritingSide
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import MemorySystem
from mcusim.program import read_program, write_program
from mcusim.program.program import (
    FIRMWARE,
    Asked,
    Header,
    MemoryParts,
    OperatorInfo,
    Program,
    Span,
    StreamSetting,
    Task,
    Transfer,
    Work,
)
from mcusim.report.run.table import run_table

BOARD = load_machine("stm32f746g-disco")
NOTHING = MemoryParts(0, 0, 0, 0, 0, 0)
SOURCE, TARGET, SIZE, HANDLER = Span("sram1", 0x2001_0000, 4096), Span("sram2", 0x2004_C000, 4096), 4096, 150
SETTING = StreamSetting(4, 4, 1, 4, "full", HANDLER)


def program(*tasks: Task) -> Program:
    operators = (OperatorInfo(0, "main", 0), OperatorInfo(1, "dot", 0))
    header = Header("stm32f746g-disco", "fw.elf", "", FIRMWARE, FIRMWARE, operators, NOTHING, {}, ())
    return Program(header, tasks)


def work(number: int, cycles: int, *after: int, asked: tuple[Asked, ...] = ()) -> Work:
    return Work(number, 1, 0, cycles, 0, asked, after)


def transfer(number: int, *after: int) -> Transfer:
    return Transfer(number, "dma2.s0", 0, 0, "input", SOURCE, TARGET, number, 0, 1, 1, after, SETTING)


def alone() -> int:
    """Cycles of the transfer."""
    memory, dma = MemorySystem(BOARD), replace(BOARD.dma["dma2"], beat=4, burst=4, threshold="full")
    return -(-memory.transfer(dma, SOURCE.address, TARGET.address, SIZE, WritingSide(1, 4)) // TICK)


def cycles(*tasks: Task) -> int:
    return execute_recorded(program(*tasks), BOARD).cycles


def test_the_handler_delays_work_that_it_interrupts_and_nothing_else() -> None:
    took = alone()
    apart, waiting = work(2, took + HANDLER - 1), work(2, 1)
    assert cycles(work(0, 500), transfer(1, 0), work(2, 10 * took)) == 500 + 10 * took + HANDLER
    assert cycles(work(0, 500), transfer(1, 0), apart, work(3, 70, 1)) == 500 + took + 2 * HANDLER - 1 + 70
    assert cycles(work(0, 500), transfer(1, 0), waiting, work(3, 70, 1)) == 500 + took + HANDLER + 70


def test_waits_are_as_recorded_and_follow_the_memory() -> None:
    plain = Asked("sdram", 4000, 1000, 128_000, 4000, 5000, 90_000, 0)  # a row each: nothing is read ahead
    pattern = Retiming(BOARD).pattern(plain, 200_000)[0] // TICK
    asked = replace(plain, pattern=pattern)
    recorded = program(work(0, 200_000, asked=(asked,)))
    assert pattern > 10_000
    assert abs(execute_recorded(recorded, BOARD).cycles - 290_000) <= 90_000 // pattern + 1
    latency = {"memory.sdram.timing.CL": "3 sdclk"}  # one more clock of 108 MHz for each read
    more = execute_recorded(recorded, load_machine("stm32f746g-disco", latency))
    assert more.by_cause["compute"] == 200_000
    assert more.by_cause["sdram"] == pytest.approx(90_000 * (1 + 4000 * 2 / pattern), rel=0.02)
    assert more.traffic["sdram"].core_read == 128_000


def test_a_wait_that_no_pattern_has_stays() -> None:
    asked = Asked("flash", 10, 0, 320, 0, 0, 77, 0)
    faster = load_machine("stm32f746g-disco", {"memory.flash.wait_states": "0"})
    assert execute_recorded(program(work(0, 1000, asked=(asked,))), faster).cycles == 1077


def test_the_file_has_all_of_it(tmp_path: Path) -> None:
    made = program(work(0, 5, asked=(Asked("flash", 1, 2, 4, 8, 0, 3, 2),)), transfer(1, 0), work(2, 7, 1))
    write_program(made, tmp_path / "x.jsonl")
    assert read_program(tmp_path / "x.jsonl") == made
    assert mcusim.replay(tmp_path / "x.jsonl").run == execute_recorded(made, BOARD)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"cycles": 5', '"cycles": -5', "cycles must be at least 0"),
        ('["flash", 1, 2, 4, 8, 0, 3, 2]', '["flash", 1, 2, 4, 8, 0, 3]', "found 7 entries"),
        ('["flash", 1, 2, 4, 8, 0, 3, 2]', '["flash", 9, 2, 4, 8, 0, 3, 2]', "4 B read by 9 accesses"),
        ('"beat": 4', '"beat": 3', "beat of a stream must be 1, 2, 4, 8 or 16"),
        ('"policy": "firmware"', '"policy": "internal"', "work is for programs recorded from a firmware"),
        ('["flash", 1', '["psram", 1', "has no region 'psram'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_program(program(work(0, 5, asked=(Asked("flash", 1, 2, 4, 8, 0, 3, 2),)), transfer(1, 0)), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ProgramError, match=says):
        mcusim.replay(path, kernels="cmsis-gcc12" if "internal" in new else None)


def test_no_published_inference_says_how_far_off_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_program(program(work(0, 5)), path)
    result = replay(path)
    assert result.interval is None and result.measured is None
    assert "Peak memory" not in run_table(result) and "5  at 216 MHz" in run_table(result)


def test_compare_replays_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    write_program(program(work(0, 2_160_000)), path)
    assert main(["compare", str(path)]) == 0
    assert "fw.elf on stm32f746g-disco firmware 10 " in " ".join(capsys.readouterr().out.split())
    assert main(["compare", str(path), "--policy", "internal"]) == 2


def test_what_has_no_kernels_is_not_asked_for_them(tmp_path: Path) -> None:
    made = program(work(0, 5))
    for ask in (
        lambda: mcusim.replay(made, kernels="cmsis-gcc12"),
        lambda: mcusim.replay(made, fidelity="emulate", model="ds-cnn"),
        lambda: mcusim.verify(made),
    ):
        with pytest.raises(UsageError, match="recorded from a firmware's run"):
            ask()
    assert issubclass(UsageError, InputError)
