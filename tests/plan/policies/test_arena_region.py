"""Where data are: any on-chip memory, also one that no DMA reaches, and the region that was asked for."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim import plan_memory, simulate
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import load_machine, machine_names
from mcusim.plan.pools import data_pools, sram_pool
from mcusim.plan.verdict import unused_memory
from mcusim.report.text.run import run_table
from mcusim.results import to_json
from mcusim.text import size

F469, F746, H743 = "stm32f469i-disco", "stm32f746g-disco", "nucleo-h743zi"
SMALL = """
extends = "nucleo-h743zi"
name = "small"
[memory]
sram1 = false
sram2 = false
sram3 = false
sram4 = false
[memory.axisram]
size = "16 KiB"
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    """A part with 16 KiB on the bus matrix, and 128 KiB of DTCM."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", machine_names())
def test_every_byte_of_ram_is_in_a_pool_and_the_first_is_what_published_runs_used(name: str) -> None:
    machine = load_machine(name)
    pools = data_pools(machine)
    ram = {one.name: one.size for one in machine.memory.values() if one.writable and one.kind in ("sram", "tcm")}
    assert {region for pool in pools for region in pool.name.split("+")} == ram.keys()
    assert sum(pool.size for pool in pools) == sum(ram.values()) and pools[0] == sram_pool(machine, dma=True)
    first = {machine.memory[region].dma or machine.memory[region].kind == "sram" for region in pools[0].name.split("+")}
    assert first == {True}


@pytest.mark.parametrize(("board", "region"), [(F469, "ccm"), (H743, "dtcm"), (F746, "itcm"), (F469, "sdram")])
def test_the_arena_is_where_it_was_asked_for_and_computes_the_same(board: str, region: str) -> None:
    usual, asked = (simulate("figure-1", board, fidelity="emulate", **options) for options in ({}, {"arena": region}))  # type: ignore[arg-type]
    assert usual.run is not None and asked.run is not None and asked.verdict is not None
    assert {one.span.region for one in asked.run.header.buffers if one.kind == "activation"} == {region}
    assert (asked.verdict.region, asked.verdict.available) == (region, load_machine(board).memory[region].size)
    for one, other in zip(usual.outputs, asked.outputs, strict=True):
        assert np.array_equal(one.values, other.values)
    assert (asked.run.cycles < usual.run.cycles) is (region == "dtcm") or region in ("ccm", "itcm")


def test_a_model_that_fits_the_second_memory_alone_fits(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same bytes as where there is room; ``memory`` and ``run`` say the same."""
    first = simulate("ds-cnn", H743, fidelity="emulate")
    found = simulate("ds-cnn", small, fidelity="emulate")
    assert found.verdict is not None and (found.verdict.region, found.verdict.available) == ("dtcm", 128 << 10)
    assert all(np.array_equal(a.values, b.values) for a, b in zip(first.outputs, found.outputs, strict=True))
    plan = plan_memory("ds-cnn", machine=small, kernels="cmsis")
    assert plan.verdict is not None and plan.room is not None
    assert plan.verdict.region == plan.room.name == "dtcm" and plan.verdict.needed == found.verdict.needed
    assert main(["run", "ds-cnn", "--machine", small]) == 0
    assert capsys.readouterr().out.startswith("fits: 23.3 KiB of 128 KiB ")
    assert main(["run", "mcunet-vww0", "--machine", small]) == 1
    assert "does not fit axisram" in capsys.readouterr().err


@pytest.mark.parametrize("board", machine_names())
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sram_budget": "40 KiB"},
        {"policy": "tinyops", "sram_budget": "40 KiB"},
        {"arena": "sram1"},
        {"arena": "dtcm"},
    ],
    ids=str,
)
def test_what_counts_and_what_is_left_out_are_all_of_the_ram(board: str, options: dict[str, Any]) -> None:
    machine = load_machine(board)
    if options.get("arena", "sram1") not in machine.memory or (
        "policy" in options and not any(one.kind == "sdram" for one in machine.memory.values())
    ):
        return
    found = simulate("ds-cnn", board, **options)
    ram = sum(one.size for one in machine.memory.values() if one.writable and one.kind in ("sram", "tcm"))
    assert found.verdict is not None
    unused = unused_memory(found.verdict, machine)
    assert found.verdict.available + sum(one.bytes for one in unused) == ram and all(one.why for one in unused)
    text = " ".join(run_table(found).split())
    assert all(f"{one.region} {size(one.bytes)}" in text and one.why in text for one in unused)
    assert to_json(found)["verdict"]["unused"] == [asdict(one) for one in unused]


def test_without_memory_on_the_bus_matrix_data_are_tightly_coupled(small: str) -> None:
    machine = load_machine(small)
    alone = replace(machine, memory={name: one for name, one in machine.memory.items() if name != "axisram"})
    assert [pool.name for pool in data_pools(alone)] == ["dtcm", "itcm"] and sram_pool(alone).name == "dtcm"
    with pytest.raises(UsageError, match="machine small has no on-chip SRAM that a DMA reaches"):
        sram_pool(alone, dma=True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--arena", "flash"], '--arena "flash": flash of stm32f746g-disco; data can be in itcm, dtcm, sram1'),
        (["--arena", "sram9"], '--arena "sram9": no region of stm32f746g-disco; data can be in'),
        (["--arena", "dtcm", "--sram-budget", "65 KiB"], "an SRAM budget of 66,560 B is more than dtcm of"),
        (["--arena", "dtcm", "--policy", "tinyops"], "--arena has no effect under policy tinyops; it is for internal"),
    ],
)
def test_what_cannot_be_used_is_one_line(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "--machine", F746, *options]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
