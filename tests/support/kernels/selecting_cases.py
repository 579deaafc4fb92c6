"""Random graphs of operators that select, reorder, repeat or compare elements, of CAST, of int32 and float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mcusim.model import Graph
from mcusim.model.operators import OPERATORS
from tests.support.kernels.kernel_case import RANGE, Case


def kept(c: Case, source: int) -> dict[str, Any]:
    """Scale and zero point of the input, for operators that do not change values; its type."""
    found = c.tensors[source].quantization
    more: dict[str, Any] = {"dtype": c.tensors[source].dtype}
    return more if found is None else more | {"scale": found.scales[0], "zero": found.zero_points[0]}


def arg(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4, 5), 7))
    rank, last = len(c.tensors[source].shape), c.types[1]
    axis = c.add(c.pick((), (1,)), dtype="int32", data=c.integer(-rank, rank - 1))
    return c.graph([source, axis], {"output_type": {"int32": 2, "int64": 4}[last]}, dtype=last, plain=True)


def reduce(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4, 4, 5), 6))
    rank = len(c.tensors[source].shape)
    axes = c.rng.choice(rank, c.integer(1, min(rank, 3)), replace=False)
    if rank == 5:  # four changes between kept and reduced axes at most
        axes = np.array([c.integer(0, 4)])
    axes = np.where(c.rng.random(axes.shape) < 0.3, axes - rank, axes)
    more = kept(c, source)
    if c.kind == "SUM":
        more = {"scale": float(np.float32(c.scales(source)[0] * c.rng.uniform(0.5, 9)))}
    return c.graph([source, c.integers(axes)], {"keep_dims": c.pick(True, False)}, **more)


def prelu(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4, 4), 6))
    shape = [n if c.integer(0, 2) else 1 for n in c.tensors[source].shape][c.integer(0, 1) :] or [1]
    low, high = RANGE[c.dtype]
    alpha = c.add(shape, c.scale(), c.zero(), data=c.rng.integers(low, high + 1, shape))
    inputs = [source, alpha]
    scale = max(c.scales(source)[0], c.scales(source)[0] * c.scales(alpha)[0] * 100) * c.rng.uniform(0.2, 2)
    return c.graph(inputs, {}, scale=float(np.float32(scale)))


def pack(c: Case) -> Graph:
    shape, count = c.shape(c.pick(0, 1, 2, 3, 3, 4), 5), c.integer(1, 4)
    inputs = [c.activation(shape)]
    inputs += [c.activation(shape, **kept(c, inputs[0])) for _ in range(1, count)]
    options = {"values_count": count, "axis": c.integer(-len(shape) - 1, len(shape))}
    return c.graph(inputs, options, **kept(c, inputs[0]))


def unpack(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4), 6))
    shape = c.tensors[source].shape
    axis = c.integer(-len(shape), len(shape) - 1)
    return c.graph([source], {"num": shape[axis], "axis": axis}, **kept(c, source))


def split_v(c: Case) -> Graph:
    sizes, shape = [c.integer(1, 4) for _ in range(c.integer(1, 4))], [*c.shape(c.pick(1, 2, 3, 4), 5)]
    axis = c.integer(-len(shape), len(shape) - 1)
    shape[axis] = sum(sizes)
    source = c.activation(shape)
    if c.integer(0, 1):
        sizes[c.integer(0, len(sizes) - 1)] = -1
    where = c.add((), dtype="int32", data=axis)
    return c.graph([source, c.integers(sizes), where], {"num_splits": len(sizes)}, **kept(c, source))


def gather(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4), 6))
    shape = c.tensors[source].shape
    axis = c.integer(0, len(shape) - 1)
    batch = c.pick(0, 0, c.integer(0, axis))
    indices = (*shape[:batch], *c.shape(c.integer(0, 2), 5))
    where = c.add(indices, dtype="int32", data=c.rng.integers(0, shape[axis], indices))
    options = {"axis": axis - c.pick(0, len(shape)), "batch_dims": batch}
    return c.graph([source, where], options, **kept(c, source))


def gather_nd(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4, 5), 5))
    shape = c.tensors[source].shape
    depth = c.integer(1, len(shape))
    size = c.shape(c.integer(1, 2), 5)
    where = np.stack([c.rng.integers(0, shape[d], size) for d in range(depth)], -1)
    return c.graph([source, c.integers(where)], {}, **kept(c, source))


def space_to_batch(c: Case) -> Graph:
    rank = c.pick(3, 4, 4)
    block = [c.integer(1, 3) for _ in range(rank - 2)]
    pads = [(c.integer(0, 3), c.integer(0, 3)) for _ in block]
    sizes = [b * c.integer(1, 4) + 3 * b * 2 - sum(p) for b, p in zip(block, pads, strict=True)]
    source = c.activation((c.integer(1, 3), *sizes, c.integer(1, 5)))
    return c.graph([source, c.integers(block), c.integers(pads)], {}, **kept(c, source))


def batch_to_space(c: Case) -> Graph:
    rank = c.pick(3, 4, 4)
    block = [c.integer(1, 3) for _ in range(rank - 2)]
    sizes = [c.integer(1, 5) for _ in block]
    low = [c.integer(0, n * b - 1) for n, b in zip(sizes, block, strict=True)]
    crops = [(a, c.integer(0, n * b - 1 - a)) for a, n, b in zip(low, sizes, block, strict=True)]
    source = c.activation((c.integer(1, 3) * int(np.prod(block)), *sizes, c.integer(1, 5)))
    return c.graph([source, c.integers(block), c.integers(crops)], {}, **kept(c, source))


def space_to_depth(c: Case) -> Graph:
    b = c.integer(2, 4)
    source = c.activation((c.integer(1, 3), b * c.integer(1, 4), b * c.integer(1, 4), c.integer(1, 5)))
    return c.graph([source], {"block_size": b}, **kept(c, source))


def depth_to_space(c: Case) -> Graph:
    b = c.integer(2, 4)
    source = c.activation((c.integer(1, 3), c.integer(1, 5), c.integer(1, 5), b * b * c.integer(1, 3)))
    return c.graph([source], {"block_size": b}, **kept(c, source))


def mirror_pad(c: Case) -> Graph:
    source, mode = c.activation(c.shape(c.pick(1, 2, 3, 4, 5), 5)), c.integer(0, 1)
    most = [n - 1 + mode for n in c.tensors[source].shape]
    table = [[c.integer(0, n), c.integer(0, n)] for n in most]
    return c.graph([source, c.integers(table)], {"mode": mode}, **kept(c, source))


def tile(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4), 5))
    times = [c.pick(1, 1, 2, 3) for _ in c.tensors[source].shape]
    return c.graph([source, c.integers(times)], {}, **kept(c, source))


def broadcast_to(c: Case) -> Graph:
    target = c.shape(c.pick(1, 2, 3, 4, 5), 5)
    own = [n if c.integer(0, 1) else 1 for n in target][c.integer(0, len(target) - 1) :]
    source = c.activation(own)
    return c.graph([source, c.integers(target)], {}, **kept(c, source))


def cast(c: Case) -> Graph:
    first, last = c.types
    numbers = {"float32": 0, "int32": 2, "uint8": 3, "int16": 7, "int8": 9, "uint32": 15}
    source = c.add(c.shape(c.pick(2, 3, 4), 6), dtype=first)
    c.data.append(source)
    options = {"in_type": numbers[first], "out_type": numbers[last]}
    return c.graph([source], options, dtype=last, plain=True)


def plain_binary(c: Case) -> Graph:
    """int32 and float32, without scales."""
    shape = c.shape(c.pick(1, 2, 3, 4, 4), 6)
    sides = [[1 if c.integer(0, 4) == 0 else n for n in shape], list(shape)]
    if c.integer(0, 1) and c.kind != "FLOOR_DIV":
        sides.reverse()
    first = c.add(sides[0], dtype=c.dtype)
    c.data.append(first)
    if c.kind in ("FLOOR_DIV", "DIV"):  # nothing is divided by 0
        values = c.rng.choice([-1, 1], sides[1]) * c.rng.integers(1, 9, sides[1])
        inputs = [first, c.add(sides[1], dtype=c.dtype, data=values)]
    else:
        inputs = [first, c.add(sides[1], dtype=c.dtype)]
        c.data.append(inputs[1])
    fused = {"activation": c.pick("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")}
    fused = fused if OPERATORS[c.kind].fields else {}
    return c.graph(inputs, fused, dtype=c.dtype, plain=True)


def plain_unary(c: Case) -> Graph:
    source = c.add(c.shape(c.pick(1, 2, 4), 6), dtype=c.dtype)
    c.data.append(source)
    return c.graph([source], {}, dtype=c.dtype, plain=True)


def matrices(c: Case) -> Graph:
    rows, depth, columns, rank = c.integer(1, 7), c.integer(1, 20), c.integer(1, 7), c.integer(2, 5)
    batch = c.shape(rank - 2, 3)
    options = {"adj_x": c.pick(False, True), "adj_y": c.pick(False, True)}
    shapes = []
    for matrix in (
        (depth, rows) if options["adj_x"] else (rows, depth),
        (columns, depth) if options["adj_y"] else (depth, columns),
    ):
        alone = [1 if c.integer(0, 4) == 0 else n for n in batch]
        shapes.append((*alone[c.pick(0, 0, len(alone)) :], *matrix))
    left = c.activation(shapes[0])
    low, high = RANGE[c.dtype]
    if c.integer(0, 2):
        right = c.activation(shapes[1])
    else:
        right = c.add(shapes[1], c.scale(), c.zero(), data=c.rng.integers(low, high + 1, shapes[1]))
    scale = c.scales(left)[0] * c.scales(right)[0] * (high - low) * depth**0.5 * c.rng.uniform(0.05, 1)
    return c.graph([left, right], options, scale=float(np.float32(scale)))


MAKERS: dict[str, Callable[[Case], Graph]] = {
    "arg": arg, "reduce": reduce, "prelu": prelu, "pack": pack, "unpack": unpack, "split_v": split_v,
    "gather": gather, "gather_nd": gather_nd, "space_to_batch": space_to_batch, "batch_to_space": batch_to_space,
    "space_to_depth": space_to_depth, "depth_to_space": depth_to_space, "mirror_pad": mirror_pad, "tile": tile,
    "broadcast_to": broadcast_to, "batch_matmul": matrices,
}  # fmt: skip
"""By shape rule."""
