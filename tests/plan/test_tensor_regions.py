"""Tensors in memories of their own: where a program has them, what is not copied, and that the outputs are right."""

from __future__ import annotations

from typing import Any

import pytest

import mcusim
from mcusim.errors import UsageError
from mcusim.plan.options import TENSOR_REGIONS
from mcusim.program.program import Transfer
from mcusim.results import Result

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"


def planned(machine: str = F469, **options: Any) -> Result:
    return mcusim.simulate("figure-1", machine, "tinyops", kernels="cmsis-gcc12", buffer_sizes="largest", **options)


def regions(result: Result) -> dict[str, str]:
    assert result.run is not None
    return {buffer.name: buffer.span.region for buffer in result.run.header.buffers}


def copied(result: Result) -> set[tuple[int, str]]:
    assert result.request is not None and result.request.program is not None
    return {(task.operator, task.kind) for task in result.request.program.tasks if isinstance(task, Transfer)}


def test_a_tensor_is_where_it_is_said_and_read_there() -> None:
    """Tensor 3 is the input of operators 1 and 3, 4 the filter of operator 1, 10 that of operator 3."""
    plain, moved = planned(), planned(tensor_regions={3: "ccm", 4: "sram1", 10: "flash"})
    assert {regions(plain)[f"tensor{t}"] for t in (3, 4, 10)} == {"sdram"}
    assert [regions(moved)[f"tensor{t}"] for t in (3, 4, 10)] == ["ccm", "sram1", "flash"]
    others = {name for name in regions(plain) if name.startswith("tensor")} - {"tensor3", "tensor4", "tensor10"}
    assert all(regions(moved)[name] == regions(plain)[name] for name in others)
    assert copied(plain) - copied(moved) == {(1, "input"), (3, "input"), (1, "filter")}
    assert plain.run is not None and moved.run is not None and moved.run.cycles < plain.run.cycles
    waits = {(wait.operator, wait.role, wait.region) for wait in moved.run.waits}
    assert not {(1, "input0", "sdram"), (1, "filter", "sdram")} & waits


def test_the_interpreters_data_is_read_where_it_is() -> None:
    moved = planned(persistent="ccm")
    assert {regions(moved)[name] for name in ("multiplier0", "shift3", "node0")} == {"ccm"}
    assert not {kind for _, kind in copied(moved)} & {"multiplier", "shift"}


def test_flash_keeps_what_is_read_there() -> None:
    plain, moved = planned(), planned(tensor_regions="7:qspi,10:flash")
    assert plain.flash is not None and moved.flash is not None and plain.flash.total == moved.flash.total
    assert moved.flash.used["qspi"] == 9216 and "qspi" not in plain.flash.used
    assert plain.flash.used["flash"] - moved.flash.used["flash"] == 9216


@pytest.mark.parametrize(
    ("machine", "options"),
    [
        (F746, {"tensor_regions": "0-3:sram1,5:itcm,7:flash"}),  # the bias has the lowest address of the ITCM, not 0
        (F746, {"tensor_regions": "3:dtcm,6:itcm", "runtime": "tinyengine"}),
        (F469, {"tensor_regions": "3:ccm,4:sram2,10:flash", "persistent": "sram1", "variant": "2023"}),
    ],
)
def test_outputs_are_right(machine: str, options: dict[str, Any]) -> None:
    checked = mcusim.verify("figure-1", machine=machine, policy="tinyops", **options)
    assert not checked.findings and checked.litert is not None and checked.litert.difference is None
    assert checked.litert.note is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("3", "is no tensor's number with a region, as 3:sdram"),
        ("7-3:sram1", "is no tensor's number"),
        ("3:sram1,2-4:ccm", "tensor 3 is in two regions"),
        (5, "must be a text as 3:sdram"),
        ("900:ccm", "has no data in tensor 900"),
        ("3:flash", "flash of stm32f469i-disco; data can be in ccm"),
        ("3:dtcm", "no region of stm32f469i-disco"),
        ("4:dtcm", "has no region 'dtcm'"),
    ],
)
def test_what_cannot_be_is_named(value: object, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        planned(tensor_regions=value)


def test_on_chip_chooses_itself() -> None:
    with pytest.raises(UsageError, match="leave out --tensor-regions"):
        planned(tensor_regions="3:ccm", on_chip="4 KiB")


def test_tensors_that_share_their_bytes_are_in_one_memory() -> None:
    """Tensor 30 of ds-cnn lies in the bytes of tensor 28."""
    with pytest.raises(UsageError, match="tensors 28, 30 share their bytes"):
        mcusim.simulate("ds-cnn", F469, "tinyops", in_place=True, tensor_regions="28:ccm,30:sram1")


def test_runs_of_tensors_are_written_shortly() -> None:
    value = TENSOR_REGIONS.parse("3:sdram,4-7:sram1, 8:sram1,10:ccm")
    assert TENSOR_REGIONS.to_cli(value) == "3:sdram,4-8:sram1,10:ccm" and TENSOR_REGIONS.parse({3: "a"}) == ((3, "a"),)
    assert TENSOR_REGIONS.parse(TENSOR_REGIONS.to_cli(value)) == value and TENSOR_REGIONS.parse("none") == ()
