"""Shapes that a profile was not fitted to are named, with their share of the cycles, and widen the interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mcusim
from mcusim.kernels import load_profile, profile_names
from mcusim.kernels.cost.fitted.fitted_shapes import fitted_ranges, group, outside
from mcusim.measurements.interval.intervals import interval, ratio_interval
from mcusim.model import Graph, Operator, Quantization, Tensor, geometry

F746 = "stm32f746g-disco"
FITTED = [name for name in profile_names() if load_profile(name).set]


def network(side: int) -> Graph:
    """Two convolutions: of a window of ``side`` times ``side``, and pointwise."""
    rng = np.random.default_rng(1)

    def tensor(index: int, shape: tuple[int, ...], data: bool = False, scale: float = 0.05) -> Tensor:
        values = rng.integers(-127, 128, shape, np.int8) if data else None
        return Tensor(index, f"t{index}", shape, "int8", Quantization((scale,), (0,)), values)

    tensors = (
        tensor(0, (1, 24, 24, 4)), tensor(1, (8, side, side, 4), True, 0.01), tensor(2, (1, 24, 24, 8), scale=0.5),
        tensor(3, (16, 1, 1, 8), True, 0.01), tensor(4, (1, 24, 24, 16)),
        *(Tensor(5 + i, f"b{i}", (n,), "int32", None, np.zeros(n, np.int32)) for i, n in enumerate((8, 16))),
    )  # fmt: skip
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "activation": "NONE"}
    first, second = (
        Operator(i, "CONV_2D", inputs, (out,), options) for i, inputs, out in ((0, (0, 1, 5), 2), (1, (2, 3, 6), 4))
    )
    return Graph(f"of-{side}", tensors, (first, second), (0,), (4,), f"of-{side}")


@pytest.mark.parametrize("name", FITTED)
def test_every_fitted_profile_says_its_shapes_and_its_error_outside(name: str) -> None:
    for isa, costs in load_profile(name).cores.items():
        assert all(0.001 < costs.outside[name] < 0.5 for name in ("channels", "window")), isa
        convolutions = [kind for kind in costs.fitted if "conv" in kind or "depthwise" in kind]
        assert convolutions and all(costs.fitted[kind].shapes for kind in convolutions)
        assert all(low <= high for kind in costs.fitted.values() for low, high in kind.shapes.values())


def test_what_is_outside_is_named_with_its_range() -> None:
    small, large = (geometry(graph, graph.operators[0]) for graph in (network(3), network(13)))
    ranges = fitted_ranges([small, replace(small, kernel_h=9)])
    assert outside(small, ranges) == outside(replace(small, kernel_h=9, in_h=999), ranges) == {}
    assert [*outside(large, ranges).values()] == ["kernel_h 13 (3 to 9)", "kernel_w 13 (3 to 3)"]
    assert group(outside(large, ranges)) == "window" and group(["out_c"]) == "channels"
    assert outside(replace(small, type="RESHAPE", kernel_h=1, kernel_w=1, in_c=7), ranges) == {}


@pytest.mark.parametrize(("runtime", "kernels"), [("tflm", "cmsis-gcc12"), ("tinyengine", None)])
def test_a_run_says_what_share_is_in_such_shapes(runtime: str, kernels: str | None) -> None:
    near, far = (mcusim.simulate(network(side), F746, kernels=kernels, runtime=runtime) for side in (3, 23))
    assert near.interval is not None and far.interval is not None and far.run is not None
    assert near.interval.not_fitted == "" and near.interval.situation.unfitted == 0
    share = far.run.operators[0].cycles / far.run.cycles
    assert far.interval.not_fitted.startswith(
        f"{100 * share:.1f} % of the cycles are in shapes that {far.run.kernels} was"
    )
    assert "CONV_2D kernel_h 23 (1 to " in far.interval.not_fitted
    error = load_profile(far.run.kernels).core("cortex-m7").outside["window"]
    assert far.interval.situation.unfitted == pytest.approx(share * error, abs=0.001)


def test_such_a_run_has_a_wider_interval() -> None:
    run = mcusim.simulate(network(23), F746, kernels="cmsis-gcc12")
    assert run.interval is not None and run.energy is not None
    inside = replace(run.interval.situation, unfitted=0.0)
    widths = [
        high / low
        for low, high in (
            interval(replace(inside, unfitted=error), run.energy).latency_ms for error in (0.0, 0.05, 0.3)
        )
    ]
    assert widths == sorted(widths) and widths[2] > 1.5 * widths[0]
    named, other = (ratio_interval(replace(inside, unfitted=error), inside, 2.0, "latency") for error in (0.3, 0.0))
    assert named.high / named.low > 1.5 * other.high / other.low


def test_an_emulation_is_outside_of_nothing() -> None:
    run = mcusim.simulate(network(23), F746, kernels="cmsis", fidelity="emulate")
    assert run.interval is not None and run.interval.not_fitted == ""
