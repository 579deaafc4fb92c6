"""Where data are: any on-chip memory, also one that no DMA reaches, and the region that was asked for."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim import generate, plan_memory, simulate
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.nas_search.stats import NasRules
from mcusim.plan import plan_options
from mcusim.plan.pools import data_pools, sram_pool
from mcusim.plan.ram_pools import RamSizes, chosen_pools
from mcusim.plan.verdict import MemoryVerdict, unused_memory
from mcusim.report.run.table import run_table
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


SPLIT = """
extends = "nucleo-h743zi"
name = "split"
[memory]
sram1 = false
sram2 = false
sram3 = false
itcm = false
[memory.axisram]
size = "18 KiB"
[memory.sram4]
size = "8 KiB"
[memory.dtcm]
size = "8 KiB"
"""


@pytest.fixture
def split(tmp_path: Path) -> str:
    """A part on which the tensors of DS-CNN fit one memory, and the interpreter's data another."""
    path = tmp_path / "split.toml"
    path.write_text(SPLIT, encoding="utf-8")
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
    assert "does not fit dtcm" in str(simulate("mcunet-in4", small).negative)


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


@pytest.mark.parametrize(
    "regions",
    [{}, {"persistent": "dtcm"}, {"scratch": "sram4", "persistent": "dtcm", "stack_region": "sram4"}],
    ids=str,
)
def test_tensors_and_what_persists_may_be_in_two_memories(split: str, regions: dict[str, Any]) -> None:
    """The same bytes as in one; ``memory`` and ``run`` say the same, and each part lies where the verdict says."""
    usual = simulate("ds-cnn", H743, fidelity="emulate")
    result = simulate("ds-cnn", split, fidelity="emulate", **regions)
    assert result.run is not None and result.verdict is not None
    assert all(np.array_equal(a.values, b.values) for a, b in zip(usual.outputs, result.outputs, strict=True))
    memory_of = {name: regions.get(name, "axisram") for name in ("activations", "scratch")}
    memory_of["runtime"] = regions.get("persistent", "sram4")
    assert result.verdict.fits and result.verdict.memory_of == memory_of == to_json(result)["verdict"]["memory_of"]
    header, kinds = result.run.header, {"activations": "activation", "scratch": "scratch", "runtime": "runtime"}
    for part, region in memory_of.items():
        assert {one.span.region for one in header.buffers if one.kind == kinds[part]} == {region}
    stack = regions.get("stack_region", "sram4" if "persistent" in regions else "dtcm")
    assert any(one.startswith("stack") and f"({stack})" in one for one in result.assumptions)
    planned = {name: region for name, region in regions.items() if name != "stack_region"}
    memory = plan_memory("ds-cnn", machine=split, kernels="cmsis", **planned).verdict
    assert memory is not None and (memory.needed, memory.memory_of) == (result.verdict.needed, memory_of)


def of_memories(rooms: list[int]) -> Machine:
    """A board with memories of so many bytes, each far from the others, the last of them SDRAM."""
    usual = load_machine(F746)
    chip = {f"r{i}": replace(usual.memory["sram1"], name=f"r{i}", base=0x2000_0000 + (i << 16), size=room)
            for i, room in enumerate(rooms[:-1])}  # fmt: skip
    return replace(usual, memory=chip | {"sdram": replace(usual.memory["sdram"], size=rooms[-1])})


def some_choice_fits(
    rooms: list[int], parts: tuple[int, ...], named: tuple[int | None, ...], budget: int | None
) -> bool:
    """Whether there is a memory for tensors, scratch and what persists; the last of ``rooms`` is off the chip, and
    ``named`` are the memories that were asked for."""
    arena, scratch, persistent = named
    chip = range(len(rooms) - 1)
    for i in chip if arena is None else [arena]:
        for j in [i] if arena is not None and persistent is None else chip if persistent is None else [persistent]:
            load = [0] * len(rooms)
            for size_of, memory in zip(parts, (i, i if scratch is None else scratch, j), strict=True):
                load[memory] += size_of
            fits = all(used <= room for used, room in zip(load, rooms, strict=True))
            if fits and (budget is None or sum(load[:-1]) <= budget):
                return True
    return False


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    need=st.tuples(st.integers(0, 16), st.integers(0, 8), st.integers(0, 12)),
    budget=st.none() | st.integers(1, 12),
    named=st.lists(st.none() | st.integers(0, 4), min_size=3, max_size=3),
)
def test_data_fit_when_one_memory_holds_them_or_two_do(
    sizes: list[int], need: tuple[int, int, int], budget: int | None, named: list[int | None]
) -> None:
    """Against all choices of a memory for each part; the last one is SDRAM, which holds what is named for it alone.

    Each memory is far from the others. What has a named region is there or nowhere; the budget is for the chip.
    """
    rooms = [*(kib << 10 for kib in sizes), 12 << 10]
    board = of_memories(rooms)
    names, bytes_of = [*board.memory], rooms[:-1]
    budget = None if budget is None else min(budget << 10, sum(bytes_of))
    arena, persistent, scratch = (None if i is None else min(i, len(bytes_of)) for i in named)
    tensors, buffers, kept = (kib << 10 for kib in need)
    options = {option: None if i is None else names[i]
               for option, i in (("arena", arena), ("persistent", persistent), ("scratch", scratch))}  # fmt: skip
    pools = chosen_pools(
        board, RamSizes(tensors, tensors + buffers, buffers, kept), plan_options(sram_budget=budget, **options)
    )
    verdict = MemoryVerdict.of_data("x", board, pools, {"activations": tensors, "scratch": buffers, "runtime": kept})
    named_memories = (arena, scratch, persistent)
    assert verdict.fits is some_choice_fits(rooms, (tensors, buffers, kept), named_memories, budget)
    for name, region in options.items():
        pool = getattr(pools, name)
        assert region is None or pool.name == region
    if verdict.fits and named == [None] * 3:
        assert verdict.available == min(budget or 1 << 30, sum(pool.size for pool in pools.separate))


def test_sdram_holds_the_tensors_and_the_chip_the_rest() -> None:
    usual, fast = (
        simulate("ds-cnn", F746, "external", **regions)  # type: ignore[arg-type]
        for regions in ({}, {"scratch": "sram1", "persistent": "dtcm"})
    )
    assert usual.run is not None and fast.run is not None and fast.run.cycles < usual.run.cycles
    assert fast.run.header.peak_bytes["sram1"] == max(
        b.span.bytes for b in fast.run.header.buffers if b.kind == "scratch"
    )
    assert fast.run.header.memory.arena == sum(fast.verdict.parts.values())  # type: ignore[union-attr]


def test_generated_code_and_searches_use_the_memory_that_has_room(small: str, tmp_path: Path) -> None:
    generate("figure-1", tmp_path / "c", small)
    assert "data in 16 KiB of axisram" in (tmp_path / "c" / "board.ld").read_text(encoding="utf-8")
    generate("ds-cnn", tmp_path / "d", small)
    assert "of dtcm" in (tmp_path / "d" / "board.ld").read_text(encoding="utf-8")
    assert NasRules.of(load_machine(small), "tflm").ram == 128 << 10


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
        (["--sram-budget", "337 KiB"], "an SRAM budget of 345,088 B is more than dtcm+sram1+sram2+itcm of"),
        (["--persistent", "flash"], '--persistent "flash": flash of stm32f746g-disco; data can be in'),
        (["--stack-region", "sram1"], "--stack-region has no effect with --fidelity replay; it is for emulate"),
        (
            ["--fidelity", "emulate", "--stack-region", "x"],
            '--stack-region "x": no region of stm32f746g-disco; data can',
        ),
        (
            ["--scratch", "dtcm", "--policy", "tinyops"],
            "--scratch has no effect under policy tinyops; it is for internal",
        ),
        (["--arena", "dtcm", "--policy", "tinyops"], "--arena has no effect under policy tinyops; it is for internal"),
    ],
)
def test_what_cannot_be_used_is_one_line(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "--machine", F746, *options]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
