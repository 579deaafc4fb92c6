"""From a graph's numbers to the integers that a kernel gets, against independent arithmetic."""

from __future__ import annotations

import struct
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.errors import ModelError, ProgramError, UnsupportedError
from mcusim.kernels.calls import call_bytes as P
from mcusim.kernels.calls import quantize as Q
from mcusim.kernels.calls.structs import LAYOUTS, layout_of, size_of
from mcusim.model import Graph, Operator, Quantization, Tensor, Tile
from mcusim.model.strided_copy import move
from tests.support.kernels.kernel_cases import one_operator


def members(graph: Graph, places: P.Places | None = None, tile: Tile | None = None) -> dict[str, Any]:
    """The structure of the graph's one operator, unpacked."""
    op = graph.operators[0]
    places = places or P.Places(0x1000, [0x100 * (i + 1) for i in range(9)], [0x2000, 0x3000, 0x4000, 0x5000])
    layout = LAYOUTS[layout_of(op.type)]
    data = P.call_bytes(graph, op, places, tile)
    assert len(data) == P.call_size(graph, op, layout_of(op.type))
    words = list(struct.unpack(f"<{size_of(layout_of(op.type)) // 4}i", data[: size_of(layout_of(op.type))]))
    found: dict[str, Any] = {}
    for name, count in layout.items():
        found[name] = words[0] if count == 1 else words[:count]
        del words[:count]
    return found


@given(st.floats(2.0**-30, 2.0**20, allow_nan=False))
def test_quantize_multiplier_is_the_nearest_of_31_bits(real: float) -> None:
    multiplier, shift = Q.quantize_multiplier(real)
    assert 1 << 30 <= multiplier < 1 << 31
    error = Fraction(real) - Fraction(multiplier) * Fraction(2) ** (shift - 31)
    assert abs(error) <= Fraction(2) ** (shift - 32)


def test_quantize_multiplier_at_its_edges() -> None:
    assert Q.quantize_multiplier(0.0) == (0, 0)
    assert Q.quantize_multiplier(1.0) == (1 << 30, 1)
    assert Q.quantize_multiplier(1 - 2.0**-40) == (1 << 30, 1)  # rounds up to 2**31, which is halved
    assert Q.quantize_multiplier(2.0**-31) == (1 << 30, -30)
    assert Q.quantize_multiplier(2.0**-33) == (0, 0)
    assert Q.quantize_multiplier(-0.75) == (-3 << 29, 0)
    assert Q.quantize_multiplier(-(0.5 + 2.0**-32)) == (-(1 << 30) - 1, 0)  # a half goes away from 0
    assert Q.quantize_multiplier(-(1 - 2.0**-40)) == (-(1 << 31), 0)  # as in LiteRT: this end has room for -1
    assert Q.quantize_multiplier(-(2.0**-33)) == (0, 0)


@pytest.mark.parametrize(("kind", "scale"), [("CONV_2D", 0.0), ("ADD", 0.0), ("RELU", 1e-45), ("MEAN", 0.0)])
def test_scales_that_cannot_be_computed_with(kind: str, scale: float) -> None:
    graph = one_operator(kind, "int8", 3)
    out = graph.operators[0].outputs[0]
    tensors = [replace(t, quantization=Quantization((scale,), (0,))) if t.index == out else t for t in graph.tensors]
    found = replace(graph, tensors=tuple(tensors))
    with pytest.raises(ModelError, match=f"operator 0 {kind}: its kernel cannot compute with the scales {scale:g}, "):
        P.channel_arrays(found, found.operators[0])
        members(found)


@given(st.floats(-1e9, 1e9))
def test_round_away(value: float) -> None:
    exact, found = Fraction(value), Q.round_away(value)
    assert abs(exact - found) <= Fraction(1, 2)
    if abs(exact - found) == Fraction(1, 2):
        assert abs(found) > abs(exact)


def test_activation_ranges() -> None:
    tensor = Tensor(0, "t", (1,), "int8", Quantization((0.05,), (-20,)))
    ranges = {name: Q.activation_range(name, tensor) for name in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")}
    assert ranges == {"NONE": (-128, 127), "RELU": (-20, 127), "RELU6": (-20, 100), "RELU_N1_TO_1": (-40, 0)}
    with pytest.raises(ModelError, match="the activation TANH is not fused"):
        Q.activation_range("TANH", tensor)
    with pytest.raises(ModelError, match="tensor 't' has 0 scales"):
        Q.activation_range("RELU", replace(tensor, quantization=None))


def test_softmax_scaling() -> None:
    multiplier, shift, least = Q.softmax_scaling(1.0, 0.1)
    assert multiplier * 2.0 ** (shift - 31) == pytest.approx(0.1 * 2**26, rel=1e-9)
    assert least == -(31 * 2**26 // 2**shift)
    with pytest.raises(ModelError, match="too fine"):
        Q.softmax_scaling(1.0, 1e-9)


def test_channel_arrays_are_one_pair_a_channel() -> None:
    for seed in range(20):
        graph = one_operator("DEPTHWISE_CONV_2D", "int8", seed)
        source, weights, _, output = graph.tensors
        assert source.quantization and weights.quantization and output.quantization
        arrays = P.channel_arrays(graph, graph.operators[0])
        assert arrays is not None
        multipliers, shifts = (np.frombuffer(part, "<i4") for part in arrays)
        scales = np.array(weights.quantization.scales) * np.ones(weights.shape[3])
        wanted = source.quantization.scales[0] * scales / output.quantization.scales[0]
        np.testing.assert_allclose(multipliers * 2.0 ** (shifts - 31.0), wanted, rtol=1e-8)
    tensors = [
        replace(t, quantization=Quantization((1.0,) * 50, (0,) * 50)) if t is weights else t for t in graph.tensors
    ]
    with pytest.raises(ModelError, match="has 50 scales for"):
        P.channel_arrays(replace(graph, tensors=tuple(tensors)), graph.operators[0])
    pool = one_operator("MAX_POOL_2D", "int8", 0)
    assert P.channel_arrays(pool, pool.operators[0]) is None


def conv(rows: int) -> Graph:
    tensors = (
        Tensor(0, "in", (1, rows, 8, 3), "int8", Quantization((0.5,), (4,))),
        Tensor(1, "w", (5, 3, 3, 3), "int8", Quantization((0.1,), (0,)), np.zeros((5, 3, 3, 3), np.int8)),
        Tensor(2, "out", (1, -(-rows // 2), 4, 5), "int8", Quantization((1.0,), (-7,))),
    )
    options = {"padding": "SAME", "activation": "RELU6"}
    options |= {f"{what}_{axis}": n for what, n in (("stride", 2), ("dilation", 1)) for axis in "hw"}
    return Graph("g", tensors, (Operator(0, "CONV_2D", (0, 1), (2,), options),), (0,), (2,), "")


def test_members_of_a_convolution_and_of_its_tile() -> None:
    places = P.Places(0x10, [0x100], [0x200], filter=0x300, multiplier=0x400, shift=0x500, scratch=0x600)
    found = members(conv(9), places)
    wanted = {"input": 0x100, "filter": 0x300, "bias": 0, "output": 0x200, "scratch": 0x600, "in_h": 9, "out_h": 5}
    wanted |= {"stride_h": 2, "pad_top": 1, "pad_left": 0, "input_offset": -4, "output_offset": -7, "least": -7}
    wanted |= {
        "most": -1,
        "multiplier": 0x400,
        "shift": 0x500,
        "filter_h": 3,
        "in_c": 3,
        "out_c": 5,
        "filter_offset": 0,
    }
    assert {name: found[name] for name in wanted} == wanted
    # output rows 2 and 3 read the input's rows 3 to 7: of the tile's rows 0 to 4, without padding
    tile = members(conv(9), places, Tile(2, 2, 3, 5))
    assert (tile["in_h"], tile["out_h"], tile["pad_top"]) == (5, 2, 0)
    first = members(conv(9), places, Tile(0, 2, 0, 4))
    assert (first["in_h"], first["out_h"], first["pad_top"]) == (4, 2, 1)


def test_the_pointers_of_a_concatenation_follow_its_structure() -> None:
    graph = one_operator("CONCATENATION", "int8", 3)
    op = graph.operators[0]
    at = [0x100 * (i + 1) for i in range(len(op.inputs))]
    data = P.call_bytes(graph, op, P.Places(0x1000, at, [0x2000]))
    pointers, sizes, output, count, pieces, tables = struct.unpack_from("<6I", data)
    assert (pointers, sizes, output, count, tables) == (0x1018, 0x1018 + 4 * len(at), 0x2000, len(at), 0)
    assert list(struct.unpack_from(f"<{count}I", data, 24)) == at
    lengths = struct.unpack_from(f"<{count}I", data, 24 + 4 * count)
    assert sum(lengths) * pieces == graph.tensors[op.outputs[0]].bytes


@pytest.mark.parametrize("kind", ["SLICE", "STRIDED_SLICE", "TRANSPOSE", "RESHAPE", "SPLIT"])
def test_moves_as_numpy_does_them(kind: str) -> None:
    for seed in range(40):
        graph = one_operator(kind, "int8", seed)
        op = graph.operators[0]
        source = graph.tensors[P.data_inputs(op)[0]]
        data = np.arange(source.elements).reshape(source.shape)
        for part, index in enumerate(op.outputs):
            found = move(graph, op, part)
            grid = np.indices(found.shape).reshape(5, -1)
            ours = data.reshape(-1)[found.begin + np.array(found.step) @ grid]
            assert np.array_equal(ours, by_numpy(graph, op, data, part).reshape(-1)), f"seed {seed}"
            assert ours.size == graph.tensors[index].elements


def by_numpy(graph: Graph, op: Operator, data: Any, part: int) -> Any:
    values = [graph.tensors[i].data for i in op.inputs]
    if op.type == "SLICE":
        ends = [n if s == -1 else b + s for n, b, s in zip(data.shape, values[1], values[2], strict=True)]
        return data[tuple(map(slice, values[1], ends))]
    if op.type == "TRANSPOSE":
        return data.transpose(values[1])
    if op.type == "SPLIT":
        return np.split(data, op.options["num_splits"], int(values[0][0]))[part]
    if op.type == "RESHAPE":
        return data
    index: list[Any] = []
    for d in range(data.ndim):
        bit, (begin, end, step) = 1 << d, (int(v[d]) for v in values[1:4])
        bounds = (None if op.options["begin_mask"] & bit else begin, None if op.options["end_mask"] & bit else end)
        index.append(begin if op.options["shrink_axis_mask"] & bit else slice(*bounds, step))
    return data[tuple(index)]


def test_what_is_refused() -> None:
    softmax = one_operator("SOFTMAX", "int8", 2)
    with pytest.raises(ProgramError, match=r"operator 0 SOFTMAX: its kernel computes the whole operator, not Tile\("):
        members(softmax, tile=Tile(3, 1, 3, 1))
    unknown = replace(softmax, operators=(replace(softmax.operators[0], type="UNKNOWN:7"),))
    with pytest.raises(UnsupportedError, match="UNKNOWN:7: there is no kernel call"):
        P.call_bytes(unknown, unknown.operators[0], P.Places(0, [0], [0]))
    tensors = (
        Tensor(0, "in", (2, 3, 2, 3, 2, 3), "int8", Quantization((1.0,), (0,))),
        Tensor(1, "order", (6,), "int32", None, np.array([1, 0, 3, 2, 5, 4], np.int32)),
        Tensor(2, "out", (3, 2, 3, 2, 3, 2), "int8", Quantization((1.0,), (0,))),
    )
    six = Graph("g", tensors, (Operator(0, "TRANSPOSE", (0, 1), (2,)),), (0,), (2,), "")
    with pytest.raises(UnsupportedError, match="6 axes; kernels move tensors of up to 5"):
        members(six)
