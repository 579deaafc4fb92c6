"""More small operators that kernel costs are fitted to: those that select, reorder, repeat, compare or normalise
elements, other arithmetic, matrices, TRANSPOSE_CONV, convolutions in groups. The same every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from micro_cases import (
    UNPACK_ALONE,
    WIDTHS,
    Maker,
    broadcast,
    padded_axes,
    padding,
    same_shapes,
    sides,
)

from mcusim.model import Graph

MOST = 6000  # elements


def _shape(m: Maker, most: int = MOST) -> tuple[int, ...]:
    depth = m.pick(*WIDTHS)
    height = m.pick(2, 3, 5, 8)
    return (1, height, max(1, min(m.pick(1, 3, 7, 16, 40), most // (depth * height))), depth)


def _table(m: Maker, values: object) -> int:
    return m.add(np.shape(values), 1.0, "int32", values)


def arg(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m)), _table(m, [m.pick(1, 2, 3, 3)])], {"output_type": 2}, dtype="int32")


def reduce(m: Maker) -> Graph:
    axes = m.pick([1, 2], [3], [2], [1, 2, 3], [1])
    return m.graph([m.add(_shape(m)), _table(m, axes)], {"keep_dims": m.pick(True, False)})


def prelu(m: Maker) -> Graph:
    shape = _shape(m)
    alpha = m.add((1, 1, shape[3]), 0.01, data=m.rng.integers(0, 100, shape[3]))
    return m.graph([m.add(shape), alpha], {})


def unary(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m))], {}, 1 / 128)


def cast(m: Maker) -> Graph:
    types = ["int8", "uint8", "int16", "int32", "float32"] if m.pick(0, 1, 1, 1, 1) else ["int8", "uint8"]
    first, last = m.rng.permutation(types)[:2]
    return m.graph([m.add(_shape(m), dtype=str(first))], {}, dtype=str(last))


def cast_words(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m), dtype="uint32")], {}, dtype="int32")


def normalized(m: Maker) -> Graph:
    shape = (m.pick(1, 2, 5, 16), m.pick(2, 3, 4, 5, 8, 10, 12, 16, 25, 50, 100, 256))
    return m.graph([m.add(shape, m.pick(0.05, 0.1))], {}, 1 / 128)


def transpose_conv(m: Maker) -> Graph:
    depth, out, size, stride = m.pick(1, 3, 8, 16, 32), m.pick(1, 3, 8, 16, 32), m.pick(1, 2, 3, 4, 5), m.pick(1, 2, 2)
    height, width = m.pick(1, 2, 4, 7), max(1, min(8, 40_000 // (depth * out * size * size)))
    padding = m.pick("SAME", "VALID")
    grow = 0 if padding == "SAME" else max(0, size - stride)
    target = (1, height * stride + grow, width * stride + grow, out)
    inputs = [_table(m, target), *m.weights((out, size, size, depth), out)]
    inputs.insert(2, m.add((1, height, width, depth)))
    options = {"padding": padding, "stride_h": stride, "stride_w": stride, "activation": "NONE"}
    return m.graph(inputs, options, float(np.float32(0.06 * depth**0.5)))


def unpack(m: Maker) -> Graph:
    count, axis = m.pick(2, 3, 5), m.pick(1, 2, 3)
    shape = [*_shape(m, MOST // 2)]
    shape[axis] = count
    return m.graph([m.add(shape)], {"num": count, "axis": axis})


def split_v(m: Maker) -> Graph:
    shape = [*_shape(m, MOST // 2)]
    shape[3] *= 2
    inputs = [m.add(shape), _table(m, [shape[3] // 2] * 2), _table(m, [3])]
    return m.graph(inputs, {"num_splits": 2})


def blocks(m: Maker) -> Graph:
    _, height, width, depth = _shape(m, MOST // 4)
    shape = (1, height, width, 4 * depth) if m.kind == "DEPTH_TO_SPACE" else (1, 2 * height, 2 * width, depth)
    return m.graph([m.add(shape)], {"block_size": 2})


def broadcast_to(m: Maker) -> Graph:
    shape = _shape(m, MOST // 3)
    source, target = m.pick(((1, 1, 1, shape[3]), shape), ((*shape[:3], 1), shape), (shape, (3, *shape[1:])))
    return m.graph([m.add(source), _table(m, target)], {})


def transpose(m: Maker) -> Graph:
    shape = _shape(m)
    order = m.pick([0, 2, 1, 3], [0, 3, 1, 2], [0, 2, 3, 1], [0, 3, 2, 1], [0, 1, 3, 2])
    return m.graph([m.add(shape), _table(m, order)], {})


def strided(m: Maker) -> Graph:
    shape, step = _shape(m), m.pick([1, 1, 1, 2], [1, 2, 2, 1], [1, 1, 1, 3], [1, 1, 2, 2])
    table = [_table(m, values) for values in ([0] * 4, shape, step)]
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    return m.graph([m.add(shape), *table], dict.fromkeys(masks, 0))


def gather(m: Maker) -> Graph:
    shape = _shape(m)
    axis = m.pick(1, 2, 3)
    where = _table(m, m.rng.integers(0, shape[axis], m.pick(1, 4, 12)))
    return m.graph([m.add(shape), where], {"axis": axis, "batch_dims": 0})


def gather_nd(m: Maker) -> Graph:
    shape, depth, count = _shape(m), m.pick(2, 3, 4), m.pick(1, 8, 40)
    where = np.stack([m.rng.integers(0, shape[d], count) for d in range(depth)], -1)
    return m.graph([m.add(shape), _table(m, where)], {})


def space_to_batch(m: Maker) -> Graph:
    _, height, width, depth = _shape(m, MOST // 4)
    pads = m.pick([[0, 0], [0, 0]], [[2, 2], [2, 2]], [[1, 1], [0, 2]])
    return m.graph([m.add((1, 2 * height, 2 * width, depth)), _table(m, [2, 2]), _table(m, pads)], {})


def batch_to_space(m: Maker) -> Graph:
    _, height, width, depth = _shape(m, MOST // 4)
    crops = m.pick([[0, 0], [0, 0]], [[0, 1], [1, 0]])
    return m.graph([m.add((4, height, width, depth)), _table(m, [2, 2]), _table(m, crops)], {})


def mirror_pad(m: Maker) -> Graph:
    shape = _shape(m, MOST // 3)
    table = [[0, 0], *([m.pick(0, n - 1), m.pick(0, n - 1)] for n in shape[1:3]), [0, 0]]
    return m.graph([m.add(shape), _table(m, table)], {"mode": 0})


def tile(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m, MOST // 4)), _table(m, [1, m.pick(1, 2), m.pick(1, 2), m.pick(1, 2)])], {})


def grouped(m: Maker) -> Graph:
    """CONV_2D in groups."""
    groups, depth, out = m.pick(2, 2, 3, 4, 8, 16), m.pick(1, 2, 3, 4, 5, 8, 16, 24), m.pick(1, 2, 3, 4, 8)
    size, stride = m.pick((1, 1), (3, 3), (3, 3), (5, 5), (1, 7), (2, 2)), m.pick(1, 1, 2)
    height, width = sides(m, 2 * size[0] * size[1] * groups * depth * out)
    source = m.add((1, height + size[0] - 1, width + size[1] - 1, groups * depth))
    weights = m.weights((groups * out, *size, depth), groups * out)
    options = {"padding": m.pick("SAME", "VALID"), "stride_h": stride, "stride_w": stride, "activation": "NONE"}
    options |= {"dilation_h": m.pick(1, 1, 1, 2), "dilation_w": 1}
    if options["padding"] == "VALID":
        options["dilation_h"] = 1
    return m.graph([source, *weights], options, float(np.float32(0.06 * (size[0] * size[1] * depth) ** 0.5)))


def matrices(m: Maker) -> Graph:
    rows, depth, columns = (m.pick(1, 2, 3, 4, 5, 8, 16, 24, 32) for _ in range(3))
    batch, adj_x, adj_y = m.pick(1, 1, 2, 3, 4), m.pick(False, False, True), m.pick(False, True)
    left = m.add((batch, depth, rows) if adj_x else (batch, rows, depth))
    shape = (m.pick(1, batch), *((columns, depth) if adj_y else (depth, columns)))
    right = m.add(shape, 0.02, data=m.rng.integers(-128, 128, shape) if m.pick(0, 0, 1) else None)
    return m.graph([left, right], {"adj_x": adj_x, "adj_y": adj_y}, float(np.float32(0.1 * depth**0.5)))


def unpacked(m: Maker) -> Graph:
    """What unpacks filters of int4, by the call of a RELU."""
    count = m.pick(1, 2, 3, 7, 16, 27, 72, 145, 576, 2304, 4609, 9216)
    return replace(m.graph([m.add((1, count))], {}), name=f"micro{UNPACK_ALONE}")


Case = tuple[str, Callable[[Maker], Graph], int, tuple[str, ...]]  # operator, shapes, how many, types
BOTH, REAL, WIDE = ("int8", "uint8"), ("float32",), ("int16", "float32")
CASES: tuple[Case, ...] = (
    *((kind, arg, 16, BOTH) for kind in ("ARG_MAX", "ARG_MIN")),
    *((kind, reduce, 20, BOTH) for kind in ("REDUCE_MAX", "REDUCE_MIN")),
    ("PRELU", prelu, 12, BOTH),
    ("LOG_SOFTMAX", normalized, 20, BOTH),
    ("L2_NORMALIZATION", normalized, 16, BOTH),
    ("TRANSPOSE_CONV", transpose_conv, 30, BOTH),
    ("SQUARED_DIFFERENCE", same_shapes, 8, ("int8",)),
    ("SQUARED_DIFFERENCE", broadcast, 6, ("int8",)),
    *((kind, same_shapes, 10, ("int32",)) for kind in ("ADD", "SUB", "MUL", "FLOOR_DIV", "DIV")),
    *((kind, same_shapes, 10, ("int32",)) for kind in ("MAXIMUM", "MINIMUM")),
    ("DIV", same_shapes, 8, ("float32",)),
    ("SQRT", unary, 8, ("float32",)),
    ("CAST", cast, 60, ("int8",)),
    ("CAST", cast_words, 6, ("int8",)),
    ("UNPACK", unpack, 24, ("int8",)),
    ("SPLIT_V", split_v, 12, ("int8",)),
    *((kind, blocks, 12, ("int8",)) for kind in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")),
    ("BROADCAST_TO", broadcast_to, 16, ("int8",)),
    ("GATHER", gather, 24, ("int8",)),
    ("GATHER_ND", gather_nd, 24, ("int8",)),
    ("SPACE_TO_BATCH_ND", space_to_batch, 24, ("int8",)),
    ("BATCH_TO_SPACE_ND", batch_to_space, 24, ("int8",)),
    ("MIRROR_PAD", mirror_pad, 16, ("int8",)),
    ("TILE", tile, 24, ("int8",)),
    ("TRANSPOSE_CONV", transpose_conv, 30, ("int16",)),
    ("CONV_2D", grouped, 60, (*BOTH, "int16")),
    ("RELU", unpacked, 40, ("int8",)),
    ("ZEROS_LIKE", unary, 24, ("int8", "int32", "float32")),
    ("PRELU", prelu, 12, REAL),
    ("ELU", unary, 8, REAL),
    ("SQUARED_DIFFERENCE", same_shapes, 8, REAL),
    *((kind, arg, 16, REAL) for kind in ("ARG_MAX", "ARG_MIN")),
    *((kind, reduce, 20, REAL) for kind in ("REDUCE_MAX", "REDUCE_MIN", "SUM")),
    ("LOG_SOFTMAX", normalized, 20, REAL),
    ("L2_NORMALIZATION", normalized, 16, REAL),
    ("TRANSPOSE_CONV", transpose_conv, 30, REAL),
    ("BATCH_MATMUL", matrices, 60, ("int8", "int16", "float32")),
    ("TRANSPOSE", transpose, 40, WIDE),
    ("STRIDED_SLICE", strided, 24, WIDE),
    ("UNPACK", unpack, 16, WIDE),
    ("BROADCAST_TO", broadcast_to, 8, WIDE),
    ("MIRROR_PAD", mirror_pad, 24, WIDE),
    ("PAD", padding, 16, REAL),
    ("PAD", padded_axes, 48, REAL),
)


def cases() -> Iterator[Graph]:
    """Every operator to run, the same for all sets."""
    for kind, shapes, count, types in CASES:
        for dtype in types:
            for seed in range(count):
                yield shapes(Maker(kind, dtype, seed))
