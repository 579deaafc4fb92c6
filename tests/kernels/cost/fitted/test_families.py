"""Costs by family, of TinyEngine's own kernels: against the layers that they were fitted to, those that were left out,
and the firmware as a whole."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.errors import UnsupportedError, UsageError
from mcusim.kernels import load_profile
from mcusim.kernels.cost.fitted.families import FAMILIES, family, family_cycles
from mcusim.kernels.cost.profile import FOLDER
from mcusim.model.geometry import Geometry, whole
from mcusim.report.run.table import run_table
from tests.support.paths import shared_model

NAME = "tinyengine-mit"
OF_FIRMWARE = {"stm32f746g-disco": 25_703_574, "stm32f469i-disco": 50_012_103}  # mcusim emulate vww.elf --call invoke
SIZES = ("in_h", "in_w", "in_c", "out_h", "out_w", "out_c")


def rows() -> list[tuple[dict[str, str], Geometry]]:
    """The layers as measured, and their shapes."""
    with (FOLDER / f"{NAME}.csv").open(encoding="utf-8") as file:
        return [(row, shape(row)) for row in csv.DictReader(file)]


def shape(row: dict[str, str]) -> Geometry:
    window, stride, sizes = int(row["kernel_h"]), int(row["stride_h"]), (int(row[name]) for name in SIZES)
    inputs = 2 if row["type"] == "ADD" else 1
    g = Geometry(row["type"], 1, *sizes, window, window, stride, stride, inputs=inputs)
    return g if g.traits.parametric else replace(g, kernel_h=1, kernel_w=1, stride_h=1, stride_w=1)


def test_each_layer_is_predicted_as_the_profile_says() -> None:
    """Those that the fit did not have within 10 %, calls of other shapes within 12 %."""
    worst: dict[tuple[str, str, str], float] = {}
    for row, g in rows():
        costs = load_profile(NAME).core(row["core"]).families
        assert family(g) == row["family"]
        error = 100 * abs(family_cycles(g, whole(g), costs) / float(row["cycles"]) - 1)
        side = "other" if not row["layer"] else "left out" if row["left_out"] == "1" else "fitted"
        assert error < {"other": 12, "left out": 10, "fitted": 5}[side], row
        worst[row["core"], row["family"], side] = max(error, worst.get((row["core"], row["family"], side), 0.0))
    for core, costs in load_profile(NAME).cores.items():
        assert set(costs.families) == set(FAMILIES)
        for name, of_family in costs.families.items():
            assert of_family.error == pytest.approx(worst[core, name, "fitted"], abs=0.06)
            assert of_family.left_out_error == pytest.approx(worst.get((core, name, "left out"), 0.0), abs=0.06)


def test_every_third_layer_of_a_family_was_left_out() -> None:
    layers = [row for row, _ in rows() if row["layer"]]
    for core in load_profile(NAME).cores:
        for name in FAMILIES:
            own = [int(row["left_out"]) for row in layers if (row["core"], row["family"]) == (core, name)]
            assert own == [int(i % 3 == 2) for i in range(len(own))] and own


def test_error_beyond_the_layers_is_that_of_the_other_calls() -> None:
    for core, costs in load_profile(NAME).cores.items():
        errors = [
            math.log(family_cycles(g, whole(g), costs.families) / float(row["cycles"]))
            for row, g in rows()
            if row["core"] == core and not row["layer"]
        ]
        assert costs.outside["channels"] == pytest.approx(math.sqrt(sum(e**2 for e in errors) / len(errors)), abs=1e-3)


@pytest.mark.parametrize("board", OF_FIRMWARE)
def test_the_network_takes_what_the_firmware_does(board: str) -> None:
    model = shared_model("mcunet_vww1.tflite")
    result = mcusim.simulate(model, board, runtime="tinyengine", kernels=NAME)
    assert result.run is not None and result.interval is not None
    assert result.run.cycles == pytest.approx(OF_FIRMWARE[board], rel=0.01)
    assert result.interval.not_fitted == ""


@pytest.mark.parametrize("policy", ["internal", "tinyops"])
def test_a_run_of_our_kernels_has_the_other_code_beside_it(policy: str) -> None:
    """As the command that it names would run it: of the buffers that are best for it."""
    model = shared_model("mcunet_vww1.tflite")
    ours = mcusim.simulate(model, "stm32f746g-disco", policy, runtime="tinyengine")
    theirs = mcusim.simulate(model, "stm32f746g-disco", policy, runtime="tinyengine", kernels=NAME)
    (other,) = ours.other_code
    assert theirs.energy is not None and other.latency_ms == pytest.approx(theirs.energy.latency_ms)
    assert theirs.other_code == () and mcusim.simulate("ds-cnn", "stm32f746g-disco").other_code == ()
    assert f"MIT's own code: {120 if policy == 'internal' else 152} ms, --kernels tinyengine-mit" in run_table(ours)
    (refused,) = mcusim.simulate("ds-cnn", "stm32f746g-disco", runtime="tinyengine").other_code
    assert refused.latency_ms is None and "operator 0: CONV_2D 10x4, stride 2x2," in refused.reason


CONV = Geometry("CONV_2D", 1, 8, 8, 16, 8, 8, 16)
DEPTHWISE = replace(CONV, type="DEPTHWISE_CONV_2D", kernel_h=3, kernel_w=3)
REFUSED: dict[str, tuple[Geometry, dict[str, Any]]] = {
    "a depth that is no multiple of four": (CONV, {"in_c": 18}),
    "a window of 5": (CONV, {"kernel_h": 5, "kernel_w": 5}),
    "3x3 of another depth": (CONV, {"kernel_h": 3, "kernel_w": 3, "stride_h": 2, "stride_w": 2}),
    "dilation": (CONV, {"dilation_h": 2}),
    "int16": (CONV, {"types": "int16", "item": 2}),
    "two images": (CONV, {"batch": 2}),
    "a depthwise window of 9": (DEPTHWISE, {"kernel_h": 9, "kernel_w": 9}),
    "a depthwise window that is not square": (DEPTHWISE, {"kernel_w": 5}),
    "a multiplier": (DEPTHWISE, {"depth_multiplier": 2, "out_c": 32}),
    "a stride of 3": (DEPTHWISE, {"stride_h": 3, "stride_w": 3}),
    "another operator": (CONV, {"type": "SOFTMAX"}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_was_not_measured_is_refused(what: str) -> None:
    base, changes = REFUSED[what]
    assert family(base)
    with pytest.raises(UnsupportedError, match="measured"):
        family(replace(base, **changes))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"runtime": "tflm"}, "another's code for runtime tinyengine: add --runtime tinyengine"),
        ({"runtime": "tinyengine", "without": "fusion"}, "leave out --without"),
        ({"runtime": "tinyengine", "fidelity": "emulate"}, "code that is not here"),
    ],
)
def test_only_all_of_its_runtime_takes_it_and_no_emulation(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        mcusim.simulate("ds-cnn", "stm32f746g-disco", kernels=NAME, **options)


DAMAGED = {
    "no profile to take accesses from": (
        'accesses = "tinyengine-gcc12"',
        'accesses = "mine"',
        'accesses = "mine": known are',
    ),
    "one coefficient of two": (
        "depthwise = { cycles = [",
        "depthwise = { cycles = [1.0, ",
        "depthwise.cycles: of macs",
    ),
    "no such family": ("add = {", "subtract = {", "cortex-m4.families.subtract is no family"),
    "no shapes": (", shapes = {  } }", " }", "add.shapes: a table of some of in_c"),
    "no count of layers": ("layers = 10, ", "", "pointwise.layers = None"),
    "a set": (
        'accesses = "tiny',
        'set = "cmsis"\naccesses = "tiny',
        "set has no effect where accesses names a profile",
    ),
    "a range the other way round": ("in_c = [40, 480]", "in_c = [480, 40]", "in_c = .480, 40.: the least comes first"),
    "another basis": ('basis = "emulated"', 'basis = "guessed"', 'cortex-m4.basis = "guessed": one of datasheet'),
    "no title": ("title =", "# title =", "title = None: a text is needed"),
    "a misspelt key": ("left_out = 5", "leftout = 5", "unknown key cortex-m4.families.pointwise.leftout"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_file_that_lacks_something_is_named(what: str, tmp_path: Path) -> None:
    old, new, message = DAMAGED[what]
    path = tmp_path / "mine.toml"
    text = (FOLDER / f"{NAME}.toml").read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        load_profile(str(path))
