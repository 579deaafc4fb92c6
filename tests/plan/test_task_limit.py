"""A program has no more tasks than its file may hold, and a plan that needs more is refused at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.kernels import load_profile
from mcusim.machine import load_machine
from mcusim.model import load_model
from mcusim.plan import plan
from mcusim.plan.overlay.hazards import CORE, TaskSchedule
from mcusim.program import writer
from mcusim.program.program import TASKS, Maintain, Span, Transfer


@pytest.mark.parametrize("units", ["16", "50"])
def test_a_plan_of_too_many_transfers_is_refused(units: str) -> None:
    graph, machine = load_model("mnasnet-w1.00-r128"), load_machine("stm32f746g-disco", {"dma.dma2.max_units": units})
    with pytest.raises(UsageError, match="more than 40,000 tasks, the most it may have"):
        plan(graph, machine, "tinyops", load_profile())


@pytest.mark.parametrize("units", ["65535", "300"])
def test_transfers_are_counted_before_they_are_made(units: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    require = TaskSchedule.require_room
    monkeypatch.setattr(TaskSchedule, "require_room", lambda s, n: (asked.append(n), require(s, n)))
    graph, machine = load_model("mbv3-w0.40-r096"), load_machine("stm32f746g-disco", {"dma.dma2.max_units": units})
    program = plan(graph, machine, "tinyops", load_profile())
    assert asked[0] == sum(isinstance(task, Transfer) for task in program.tasks) > 100


def test_a_schedule_ends_at_the_limit() -> None:
    schedule = TaskSchedule()

    def build(task: int, edges: tuple[int, ...]) -> Maintain:
        return Maintain(task, 0, 0, "clean", Span("sram1", 0, 32), edges)

    for _ in range(TASKS):
        schedule.add(CORE, build)
    with pytest.raises(UsageError, match="more than 40,000 tasks"):
        schedule.add(CORE, build)


def test_a_program_larger_than_a_file_may_be_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.jsonl"
    assert main(["plan", "ds-cnn", "-o", str(out)]) == 0
    size = out.stat().st_size
    monkeypatch.setattr(writer, "FILE_BYTES", size)
    out.unlink()
    assert main(["plan", "ds-cnn", "-o", str(out)]) == 0
    monkeypatch.setattr(writer, "FILE_BYTES", size - 1)
    out.unlink()
    capsys.readouterr()
    assert main(["plan", "ds-cnn", "-o", str(out)]) == 2
    assert f"larger than {size - 1:,} B, the most a program file may have" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
