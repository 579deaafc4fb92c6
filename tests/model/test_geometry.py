"""Geometries against hand-computed values and against the definition of padding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.model import Geometry, Graph, activation_inputs, constant_inputs, geometry, graph_macs
from mcusim.model.shapes import output_size, padding_split
from tests.support.graphs.small_graphs import WINDOW, activation, constant, convolution, one_operator, zeros


def of(graph: Graph) -> Geometry:
    return geometry(graph, graph.operators[0])


@given(st.integers(1, 64), st.integers(1, 9), st.integers(1, 5), st.integers(1, 4))
def test_same_padding_is_the_least_that_gives_ceil(size: int, kernel: int, stride: int, dilation: int) -> None:
    out = output_size(size, kernel, stride, dilation, "SAME")
    before, after = padding_split(size, kernel, stride, dilation, out)
    reach = (out - 1) * stride + (kernel - 1) * dilation + 1
    assert (out - 1) * stride < size <= out * stride
    assert before <= after <= before + 1
    assert before + after == max(0, reach - size)


@given(st.integers(1, 64), st.integers(1, 9), st.integers(1, 5), st.integers(1, 4))
def test_valid_counts_the_windows_inside(size: int, kernel: int, stride: int, dilation: int) -> None:
    reach = (kernel - 1) * dilation + 1
    inside = len([first for first in range(0, size, stride) if first + reach <= size])
    out = output_size(size, kernel, stride, dilation, "VALID")
    assert max(out, 0) == inside
    if inside:
        assert padding_split(size, kernel, stride, dilation, out) == (0, 0)


def test_convolution() -> None:
    graph = convolution((1, 48, 47, 3), (8, 3, 5, 3), (1, 24, 24, 8), stride_h=2, stride_w=2)
    assert of(graph) == Geometry(
        "CONV_2D", 1, 48, 47, 3, 24, 24, 8, kernel_h=3, kernel_w=5, stride_h=2, stride_w=2,
        pad_top=0, pad_bottom=1, pad_left=2, pad_right=2,
    )  # fmt: skip
    assert graph_macs(graph) == 24 * 24 * 8 * 3 * 5 * 3


def test_depthwise_with_multiplier_and_dilation() -> None:
    graph = convolution((1, 10, 10, 4), (1, 3, 3, 8), (1, 10, 10, 8), dilation_h=2, dilation_w=3)
    assert of(graph) == Geometry(
        "DEPTHWISE_CONV_2D", 1, 10, 10, 4, 10, 10, 8, kernel_h=3, kernel_w=3, dilation_h=2, dilation_w=3,
        pad_top=2, pad_bottom=2, pad_left=3, pad_right=3, depth_multiplier=2,
    )  # fmt: skip
    assert graph_macs(graph) == 10 * 10 * 8 * 9


def test_fully_connected_folds_leading_dimensions_into_the_batch() -> None:
    graph = one_operator("FULLY_CONNECTED", [activation((2, 3, 8)), zeros((5, 8))], [activation((6, 5))])
    assert of(graph) == Geometry("FULLY_CONNECTED", 6, 1, 1, 8, 1, 1, 5)
    assert graph_macs(graph) == 6 * 8 * 5


def test_spatial_mean_is_a_pool_over_the_whole_map() -> None:
    graph = one_operator("MEAN", [activation((1, 7, 5, 16)), constant([1, 2])], [activation((1, 16))], keep_dims=False)
    assert of(graph) == Geometry("MEAN", 1, 7, 5, 16, 1, 1, 16, kernel_h=7, kernel_w=5)
    graph = one_operator("MEAN", [activation((1, 7, 5, 16)), constant([3])], [activation((1, 7, 5))], keep_dims=False)
    assert of(graph) == Geometry("MEAN", 1, 1, 1, 560, 1, 1, 35)


def test_pool_and_pad() -> None:
    options = WINDOW | {"filter_h": 3, "filter_w": 3, "stride_h": 2, "stride_w": 2}
    graph = one_operator("MAX_POOL_2D", [activation((1, 32, 32, 4))], [activation((1, 16, 16, 4))], **options)
    found = of(graph)
    assert (found.pad_top, found.pad_bottom, found.kernel_h, found.stride_w) == (0, 1, 3, 2)
    table = constant([[0, 0], [1, 2], [3, 4], [0, 0]])
    graph = one_operator("PAD", [activation((1, 4, 4, 2)), table], [activation((1, 7, 11, 2))])
    assert of(graph) == Geometry(
        "PAD", 1, 4, 4, 2, 7, 11, 2, pad_top=1, pad_bottom=2, pad_left=3, pad_right=4
    )  # fmt: skip


def test_a_pad_of_more_than_height_and_width_has_its_axes() -> None:
    table = constant([[1, 0], [1, 2], [0, 0], [0, 5]])
    of_images = of(one_operator("PAD", [activation((2, 4, 4, 2)), table], [activation((3, 7, 4, 7))]))
    assert of_images.paddings == ((1, 2, 3), (1, 4, 7), (0, 4, 4), (0, 2, 7))
    assert (of_images.pad_top, of_images.in_batch, of_images.batch) == (1, 2, 3)
    assert (of_images.in_bytes, of_images.out_bytes) == (2 * 4 * 4 * 2, 3 * 7 * 4 * 7)
    flat = of(one_operator("PAD", [activation((6, 4)), constant([[0, 2], [1, 1]])], [activation((8, 6))]))
    assert flat == Geometry("PAD", 1, 1, 1, 24, 1, 1, 48, paddings=((0, 6, 8), (1, 4, 6)))


def test_elementwise_keeps_rows_and_counts_activations() -> None:
    map_, channels = activation((1, 6, 5, 4)), activation((1, 1, 1, 4))
    assert of(one_operator("ADD", [map_, map_], [map_])) == Geometry("ADD", 1, 6, 5, 4, 6, 5, 4, inputs=2)
    assert of(one_operator("MUL", [channels, map_], [map_])) == Geometry("MUL", 1, 6, 5, 4, 6, 5, 4, inputs=2)
    assert of(one_operator("MUL", [map_, zeros((1, 1, 1, 4))], [map_])).inputs == 1
    joined = one_operator("CONCATENATION", [map_] * 3, [activation((1, 6, 5, 12))], axis=3)
    assert of(joined) == Geometry("CONCATENATION", 1, 6, 5, 4, 6, 5, 12, inputs=3)


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "sizes"),
    [
        ("RESHAPE", [(1, 4, 4, 2)], [(1, 32)], (32, 32)),
        ("SOFTMAX", [(1, 10)], [(1, 10)], (10, 10)),
        ("UNKNOWN:GATHER", [(1, 4, 4, 2)], [(1, 2, 2, 2), (3,)], (32, 11)),
        ("UNKNOWN:NOTHING", [], [(1, 2, 2, 2)], (8, 8)),
    ],
)
def test_flat(kind: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], sizes: tuple[int, int]) -> None:
    graph = one_operator(kind, [activation(s) for s in inputs], [activation(s) for s in outputs])
    assert of(graph) == Geometry(kind, 1, 1, 1, sizes[0], 1, 1, sizes[1])


def test_split_moves_all_its_outputs() -> None:
    graph = one_operator("SPLIT", [constant([3]), activation((1, 4, 4, 6))], [activation((1, 4, 4, 3))] * 2)
    assert of(graph) == Geometry("SPLIT", 1, 1, 32, 3, 1, 32, 3)


def test_a_move_has_the_rows_that_it_copies() -> None:
    """Single elements, a step apart, where the innermost axis of the output is not one in the input."""
    shape = activation((1, 4, 6, 8))
    turned = one_operator("TRANSPOSE", [shape, constant([0, 3, 1, 2])], [activation((1, 8, 4, 6))])
    assert of(turned) == Geometry("TRANSPOSE", 1, 1, 8, 24, 1, 8, 24, stride_w=2)
    swapped = one_operator("TRANSPOSE", [shape, constant([0, 2, 1, 3])], [activation((1, 6, 4, 8))])
    assert of(swapped) == Geometry("TRANSPOSE", 1, 1, 24, 8, 1, 24, 8)
    part = one_operator("SLICE", [shape, constant([0, 1, 0, 0]), constant([1, 2, 6, 8])], [activation((1, 2, 6, 8))])
    assert of(part) == Geometry("SLICE", 1, 1, 2, 96, 1, 1, 96)


def test_item_is_the_wider_side_of_a_cast() -> None:
    graph = one_operator("QUANTIZE", [activation((1, 8), "float32")], [activation((1, 8))])
    assert of(graph).item == 4


def test_what_an_operator_reads() -> None:
    graph = convolution((1, 4, 4, 2), (3, 1, 1, 2), (1, 4, 4, 3))
    op = graph.operators[0]
    assert [t.index for t in activation_inputs(graph, op)] == [0]
    assert [t.index for t in constant_inputs(graph, op)] == [1, 2]
