"""A budget is a limit: the fastest plan within it, whatever there is beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim import plan_program, replay, simulate
from mcusim.api.best_plan import STEPS
from mcusim.commands.app import main
from mcusim.results import to_json
from mcusim.text import size
from tests.support.cases import ALL, sampled

KIB = 1024
BUDGETS = [size * KIB for size in (16, 32, 48, 79, 100, 127, 171, 256)]
BOARD, OTHER = "stm32f746g-disco", "stm32f469i-disco"
CHEAP = [("cifar10-arm", BOARD), ("ds-cnn", OTHER)]
MODELS = ("ds-cnn", "mobilenet-v1-w0.25-r096", "mcunet-vww0", "mnasnet-w0.30-r080", "proxyless-w0.25-r096",
          "mobilenet-v2-w0.35-r096")  # fmt: skip
H743 = """
extends = "nucleo-h743zi"
name = "h743-sdram"
[memory.sdram]
device = "sdram"
base = 0x6000_0000
size = "32 MiB"
width = "32 bit"
clock = "100 MHz"
banks = 4
rows = 4096
columns = 512
read_overhead = "10 cycles"
write_overhead = "7 cycles"
write_fifo = 16
[memory.sdram.timing]
CL = "2 sdclk"
tRCD = "2 sdclk"
tRP = "2 sdclk"
tRC = "7 sdclk"
tRAS = "5 sdclk"
tWR = "2 sdclk"
refresh = "15.6 us"
"""
NETWORK, PUBLISHED = "cifar10-arm", "proxyless-w0.85-r064"


@pytest.mark.parametrize(
    ("model", "board"), [*CHEAP, *((model, board) for model in MODELS for board in (BOARD, OTHER) if ALL)]
)
def test_latency_never_rises_with_the_budget(model: str, board: str) -> None:
    """At budgets of any size; at those that are tried it is no more than with the largest buffers."""
    before = None
    for budget in sampled(BUDGETS, 4):
        best, largest = (
            simulate(model, board, "tinyops", sram_budget=budget, buffer_sizes=rule) for rule in ("best", "largest")
        )
        assert (best.run is None) is (largest.run is None)
        if best.run is None or largest.run is None:
            assert str(best.does_not_fit) == str(largest.does_not_fit)
            continue
        assert before is None or best.run.cycles <= before
        assert best.run.cycles <= largest.run.cycles * (1 if budget in STEPS else 1.02)
        used = [size for name, size in best.run.header.peak_bytes.items() if best.machine.memory[name].kind != "sdram"]
        assert sum(used) <= budget
        before = best.run.cycles


def test_a_smaller_plan_is_said_and_replayed_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = simulate(NETWORK, BOARD, "tinyops", sram_budget="24 KiB")
    assert best.run is not None
    planned = best.run.header.options["planned_budget"]
    assert planned < 12 * KIB
    assert main(["run", NETWORK, "--policy", "tinyops", "--sram-budget", "24 KiB", "--all"]) == 0
    tried = best.run.header.options["plans_tried"]
    text = " ".join(capsys.readouterr().out.split())
    assert f"buffers as for a budget of {size(planned)}: the fastest of {tried} plans within 24 KiB" in text
    again = simulate(NETWORK, BOARD, "tinyops", sram_budget="24 KiB")
    assert again.run is not None and again.run.header == best.run.header
    program = plan_program(NETWORK, BOARD, "tinyops", sram_budget="24 KiB")
    assert (run := replay(program).run) is not None and run.cycles == best.run.cycles
    small = simulate(NETWORK, BOARD, "tinyops", sram_budget=planned, buffer_sizes="largest")
    assert small.run is not None and small.run.cycles == best.run.cycles
    assert to_json(best)["options"]["planned_budget"] == planned


def test_both_fidelities_take_the_same_plan() -> None:
    runs = [
        simulate(NETWORK, BOARD, "tinyops", "cmsis", fidelity=fidelity, sram_budget="24 KiB").run
        for fidelity in ("replay", "emulate")
    ]
    budgets = [run.header.options["planned_budget"] for run in runs if run is not None]
    assert len(budgets) == 2 and budgets[0] == budgets[1] < 24 * KIB


def test_published_figures_stand_beside_the_papers_plan_alone() -> None:
    """The F746's plan within all of its SRAM is another than the paper's."""
    paper = simulate(PUBLISHED, BOARD, "tinyops", buffer_sizes="largest")
    best = simulate(PUBLISHED, BOARD, "tinyops")
    assert paper.measured is not None and best.run is not None and "planned_budget" in best.run.header.options
    assert best.measured is None and best.run.cycles < paper.run.cycles  # type: ignore[union-attr]


def test_a_board_with_an_sdram_added(tmp_path: Path) -> None:
    path = tmp_path / "h743-sdram.toml"
    path.write_text(H743, encoding="utf-8")
    best, largest = (
        simulate("proxyless-w0.25-r096", path, "tinyops", buffer_sizes=rule).run for rule in ("best", "largest")
    )
    assert best is not None and largest is not None and best.cycles < largest.cycles
    assert best.header.options["planned_budget"] < max(largest.header.peak_bytes.values())
