"""Networks in the form with explicit PADs: shapes, MACs, arena, and the buffers that the TinyOps firmware gave them."""

from __future__ import annotations

from collections import Counter

import pytest

from mcusim.commands.app import main
from mcusim.errors import ModelError
from mcusim.kernels import load_profile
from mcusim.kernels.cost.counted.loop_counts import compute_cycles, counts
from mcusim.machine import load_machine
from mcusim.model import geometry, graph_macs, load_model
from mcusim.model.geometry import Geometry, Tile, whole
from mcusim.model.zoo.explicit_pads import with_pads
from mcusim.plan import PlanOptions, plan, plan_options
from tests.support.cases import few

NETWORKS = ["proxyless-w0.25-r160", "mbv3-w0.40-r096", "mnasnet-w1.00-r080", "mcunet-f746"]
# tile buffers in the public TinyOps firmware for the STM32F469I-DISCO (overlay_base.h), and those without PADs
FIRMWARE = [("proxyless-w0.25-r160", 45_360, 43_200), ("mbv3-w0.40-r096", 43_200, 38_400)]


@few(1)
@pytest.mark.parametrize("name", NETWORKS)
def test_strided_windows_pad_no_longer(name: str) -> None:
    plain, padded = load_model(name), load_model(f"{name}-pad")
    assert graph_macs(padded) == graph_macs(plain)
    kinds = Counter(op.type for op in padded.operators) - Counter(op.type for op in plain.operators)
    assert set(kinds) == {"PAD"}
    outputs = [geometry(padded, op) for op in padded.operators if op.type != "PAD"]
    for op, now in zip(plain.operators, outputs, strict=True):
        then = geometry(plain, op)
        assert (now.out_h, now.out_w, now.out_c) == (then.out_h, then.out_w, then.out_c)
        assert now.stride_h == 1 or not now.pad_top + now.pad_bottom + now.pad_left + now.pad_right


@few(2)
@pytest.mark.parametrize("name", NETWORKS)
def test_its_arena_is_the_one_that_was_inferred(name: str) -> None:
    """Planned with the PADs in the graph, to the byte of what :mod:`mcusim.plan.pytorch_arena` makes of it without."""
    machine, profile = load_machine("stm32f746g-disco"), load_profile()
    arenas = [
        plan(load_model(model), machine, "external", profile, PlanOptions()).header.memory
        for model in (name, f"{name}-pad")
    ]
    assert arenas[1].arena == arenas[1].arena_exported == arenas[0].arena_exported


@pytest.mark.parametrize(("name", "padded", "plain"), FIRMWARE)
def test_buffers_as_the_firmware_had_them(name: str, padded: int, plain: int) -> None:
    """The firmware's buffers are those of the networks with PADs."""
    machine, options = load_machine("stm32f469i-disco"), plan_options(sram_budget=256 * 1024)
    planned = [
        plan(load_model(model), machine, "tinyops", load_profile(), options).header.options["tile_buffer"]
        for model in (f"{name}-pad", name)
    ]
    assert planned == [padded, plain]


def test_a_network_without_strided_windows_stays_as_it_is() -> None:
    graph = load_model("cifar10-arm")
    assert with_pads(graph).operators != () and Counter(op.type for op in with_pads(graph).operators)["PAD"] == 0
    assert with_pads(with_pads(load_model("ds-cnn"))).operators == with_pads(load_model("ds-cnn")).operators


def test_the_list_of_networks_says_how_to_name_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    assert "NAME-pad is the same with an explicit PAD" in capsys.readouterr().out


def test_a_bad_name_is_named_without_the_ending() -> None:
    with pytest.raises(ModelError, match="'proxyless': proxyless takes a width and a resolution"):
        load_model("proxyless-pad")


def test_pad_costs_per_byte_and_pixel() -> None:
    g = Geometry("PAD", 1, 4, 6, 8, 6, 8, 8, pad_top=1, pad_bottom=1, pad_left=1, pad_right=1)
    assert counts(g, 6) == {"element": 4 * 6 * 8, "zero": (6 * 8 - 4 * 6) * 8, "pixel": 6 * 8}
    assert counts(g, 1) == {"element": 0, "zero": 8 * 8, "pixel": 8}, "the first row is padding"
    costs = load_profile().core("cortex-m4")
    level = costs.levels["pad"]
    total = 192 * level["element"] + 192 * level["zero"] + 48 * level["pixel"]
    assert compute_cycles(g, whole(g), costs) == total // 1000
    halves = [Tile(0, 3, 0, 2), Tile(3, 3, 2, 2)]
    assert sum(compute_cycles(g, tile, costs) for tile in halves) == compute_cycles(g, whole(g), costs)
