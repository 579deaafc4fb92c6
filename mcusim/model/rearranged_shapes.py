"""Shape rules and loop nests of operators that select, reorder or repeat elements, and of TRANSPOSE_CONV.

The nests describe copies as rows: ``in_c`` elements lie one behind the other, ``stride_w`` is 2 where each is copied by
itself. Of ARG_MAX and REDUCE_MAX all elements are in ``in_c``; ``kernel_w`` is the distance, in elements, between
those that are compared (ARG_MAX), or how many follow each other before an index further out changes (REDUCE_MAX).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.shape_checks import Inputs, Options, Shape, axis_of, constant_integers, rank4
from mcusim.model.strided_copy import move

Sizes = dict[str, int]
MOST = 1 << 16  # rows or columns of a geometry; further rows are left out of it


def transpose_conv(inputs: Inputs, options: Options) -> list[Shape]:
    target = tuple(constant_integers(inputs[0], "output shape", 4))
    kernel, source = rank4(inputs[1], "filter"), rank4(inputs[2], "input")
    if kernel[3] != source[3] or kernel[0] != target[3] or source[0] != target[0] or min(target) < 1:
        raise ModelError(f"filter {list(kernel)} does not make {list(target)} of the input {list(source)}")
    if len(inputs) > 3 and inputs[3].elements != kernel[0]:
        raise ModelError(f"bias '{inputs[3].name}' has {inputs[3].elements} elements for {kernel[0]} output channels")
    return [target]


def arg(inputs: Inputs, _: Options) -> list[Shape]:
    source = inputs[0].shape
    axis = axis_of(constant_integers(inputs[1], "axis", 1)[0], len(source), "axis")
    return [source[:axis] + source[axis + 1 :]]


def prelu(inputs: Inputs, _: Options) -> list[Shape]:
    source, alpha = inputs[0].shape, inputs[1].shape
    padded = (1,) * (len(source) - len(alpha)) + alpha
    if len(alpha) > len(source) or any(a not in (1, d) for a, d in zip(padded, source, strict=True)):
        raise ModelError(f"alpha of shape {list(alpha)} does not broadcast to the input's {list(source)}")
    return [source]


def pack(inputs: Inputs, options: Options) -> list[Shape]:
    first = inputs[0].shape
    axis = axis_of(options["axis"], len(first) + 1, "axis")
    for tensor in inputs[1:]:
        if tensor.shape != first:
            raise ModelError(f"packs the shapes {list(first)} and {list(tensor.shape)}; they must be equal")
    if options["values_count"] != len(inputs):
        raise ModelError(f"values_count is {options['values_count']}, it has {len(inputs)} inputs")
    return [(*first[:axis], len(inputs), *first[axis:])]


def unpack(inputs: Inputs, options: Options) -> list[Shape]:
    source = inputs[0].shape
    axis = axis_of(options["axis"], len(source), "axis")
    if options["num"] != source[axis]:
        raise ModelError(f"num is {options['num']}, axis {axis} of {list(source)} has {source[axis]}")
    return [source[:axis] + source[axis + 1 :]] * source[axis]


def split_v(inputs: Inputs, options: Options) -> list[Shape]:
    source, sizes = inputs[0].shape, constant_integers(inputs[1], "sizes")
    axis = axis_of(constant_integers(inputs[2], "axis", 1)[0], len(source), "axis")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = source[axis] - sum(sizes) - 1
    if min(sizes) < 0 or sum(sizes) != source[axis] or options["num_splits"] != len(sizes):
        raise ModelError(f"axis {axis} of {list(source)} does not split into {sizes} ({options['num_splits']} parts)")
    return [(*source[:axis], size, *source[axis + 1 :]) for size in sizes]


def gather(inputs: Inputs, options: Options) -> list[Shape]:
    source, indices = inputs[0].shape, inputs[1].shape
    axis = axis_of(options["axis"], len(source), "axis")
    batch = options["batch_dims"] + len(indices) * (options["batch_dims"] < 0)
    if not 0 <= batch <= min(axis, len(indices)) or source[:batch] != indices[:batch]:
        raise ModelError(f"indices of {list(indices)} do not gather from {list(source)} ({batch} batch dimensions)")
    return [(*source[:axis], *indices[batch:], *source[axis + 1 :])]


def gather_nd(inputs: Inputs, _: Options) -> list[Shape]:
    source, indices = inputs[0].shape, inputs[1].shape
    if not indices or not 1 <= indices[-1] <= min(len(source), 5):
        raise ModelError(f"indices of {list(indices)} do not gather from {list(source)}")
    return [(*indices[:-1], *source[indices[-1] :])]


def _block_sizes(inputs: Inputs, what: str) -> tuple[Shape, list[int], list[tuple[int, int]]]:
    """Shape as NHWC, block heights and widths, pairs of paddings or crops; a rank of 3 is NHC."""
    source = inputs[0].shape
    if len(source) not in (3, 4):
        raise UnsupportedError(
            f"input '{inputs[0].name}' has shape {list(source)}; three or four dimensions are needed"
        )
    spatial = len(source) - 2
    block = constant_integers(inputs[1], "block shape", spatial)
    flat = constant_integers(inputs[2], what, 2 * spatial)
    pairs = [(flat[2 * i], flat[2 * i + 1]) for i in range(spatial)]
    if min(block) < 1 or min(flat) < 0:
        raise ModelError(f"block shape {block} must be at least 1, {what} {flat} not negative")
    if spatial == 1:
        return (source[0], source[1], 1, source[2]), [*block, 1], [*pairs, (0, 0)]
    return source, block, pairs


def space_to_batch(inputs: Inputs, _: Options) -> list[Shape]:
    source, block, pads = _block_sizes(inputs, "paddings")
    padded = [n + sum(pad) for n, pad in zip(source[1:3], pads, strict=True)]
    if any(n % b for n, b in zip(padded, block, strict=True)):
        raise ModelError(f"padded height and width {padded} are not multiples of the block shape {block}")
    sizes = [n // b for n, b in zip(padded, block, strict=True)]
    return [(source[0] * prod(block), *sizes[: len(inputs[0].shape) - 2], source[3])]


def batch_to_space(inputs: Inputs, _: Options) -> list[Shape]:
    source, block, crops = _block_sizes(inputs, "crops")
    sizes = [n * b - sum(crop) for n, b, crop in zip(source[1:3], block, crops, strict=True)]
    if source[0] % prod(block) or min(sizes) < 1:
        raise ModelError(f"{list(source)} has no {block} blocks in its batch, or crops {crops} leave nothing")
    return [(source[0] // prod(block), *sizes[: len(inputs[0].shape) - 2], source[3])]


def space_to_depth(inputs: Inputs, options: Options) -> list[Shape]:
    (n, h, w, c), block = rank4(inputs[0], "input"), options["block_size"]
    if block < 1 or h % block or w % block:
        raise ModelError(f"height {h} and width {w} are not multiples of the block size {block}")
    return [(n, h // block, w // block, c * block * block)]


def depth_to_space(inputs: Inputs, options: Options) -> list[Shape]:
    (n, h, w, c), block = rank4(inputs[0], "input"), options["block_size"]
    if block < 1 or c % (block * block):
        raise ModelError(f"{c} channels are not a multiple of the block size {block} squared")
    return [(n, h * block, w * block, c // (block * block))]


def mirror_pad(inputs: Inputs, options: Options) -> list[Shape]:
    source = inputs[0].shape
    table = constant_integers(inputs[1], "paddings", 2 * len(source))
    edge = 1 if options["mode"] == 0 else 0
    if options["mode"] not in (0, 1) or inputs[1].shape != (len(source), 2):
        raise ModelError(f"mode {options['mode']} must be 0 or 1, paddings {table} a pair for each dimension")
    if any(not 0 <= pad <= d - edge for i, d in enumerate(source) for pad in table[2 * i : 2 * i + 2]):
        raise ModelError(f"paddings {table} are larger than what {list(source)} has to mirror")
    return [tuple(d + table[2 * i] + table[2 * i + 1] for i, d in enumerate(source))]


def tile(inputs: Inputs, _: Options) -> list[Shape]:
    source = inputs[0].shape
    times = constant_integers(inputs[1], "multiples", len(source))
    if min(times, default=1) < 1:
        raise ModelError(f"multiples {times} must be at least 1")
    return [tuple(d * n for d, n in zip(source, times, strict=True))]


def broadcast_to(inputs: Inputs, _: Options) -> list[Shape]:
    source, target = inputs[0].shape, tuple(constant_integers(inputs[1], "shape"))
    padded = (1,) * (len(target) - len(source)) + source
    if len(source) > len(target) or any(s not in (1, t) for s, t in zip(padded, target, strict=True)):
        raise ModelError(f"shape {list(source)} does not broadcast to {list(target)}")
    return [target]


def normalized(inputs: Inputs, _: Options) -> list[Shape]:
    if not inputs[0].shape:
        raise ModelError(f"input '{inputs[0].name}' has no axis to normalise")
    return [inputs[0].shape]


RULES: dict[str, Callable[[Inputs, Options], list[Shape]]] = {
    "normalized": normalized,
    "transpose_conv": transpose_conv,
    "arg": arg, "prelu": prelu, "pack": pack, "unpack": unpack, "split_v": split_v, "gather": gather,
    "gather_nd": gather_nd, "space_to_batch": space_to_batch, "batch_to_space": batch_to_space,
    "space_to_depth": space_to_depth, "depth_to_space": depth_to_space, "mirror_pad": mirror_pad, "tile": tile,
    "broadcast_to": broadcast_to,
}  # fmt: skip


def _rows(read: int, written: int, row: int, each: bool = False) -> Sizes:
    """``read`` and ``written`` elements in rows of ``row``, copied at once or ``each`` by itself."""
    source = max(1, min(row, read))  # a row may be of one element that is written again and again
    sizes = {"batch": 1, "in_h": 1, "in_w": min(MOST, max(1, read // row)), "in_c": source, "out_h": 1}
    return sizes | {"out_w": min(MOST, max(1, written // row)), "out_c": row, "stride_w": 1 + each}


def _ends(graph: Graph, op: Operator) -> tuple[Tensor, list[Tensor]]:
    return graph.tensors[op.inputs[op.traits.data_input]], [graph.tensors[i] for i in op.outputs]


def _copied(graph: Graph, op: Operator, row: int, each: bool = False) -> Sizes:
    source, outputs = _ends(graph, op)
    return _rows(source.elements, sum(t.elements for t in outputs), row, each)


def _compared(graph: Graph, op: Operator) -> Sizes:
    """ARG_MAX compares elements ``in_c`` apart; for REDUCE_MAX all of ``in_c`` is reduced or all is kept."""
    source, (target,) = _ends(graph, op)
    axes = graph.tensors[op.inputs[1]].data
    assert axes is not None  # the rule asks for constants
    rank, inner = len(source.shape), 1
    marked = {int(a) % rank for a in axes.reshape(-1)}
    last = rank - 1
    while last >= 0 and (last in marked) == (rank - 1 in marked and op.traits.reduces):
        inner *= source.shape[last]
        last -= 1
    rows = min(MOST, source.elements // inner)
    sizes = {"batch": 1, "in_h": 1, "in_w": rows, "in_c": inner}
    return sizes | {"out_h": 1, "out_w": 1, "out_c": target.elements, "kernel_w": rows}


def _packed(graph: Graph, op: Operator) -> Sizes:
    """One row for each piece, which is what the inputs have behind the new axis."""
    first, target = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    pieces = prod(target.shape[: op.options["axis"] % len(target.shape)])
    sizes = _rows(first.elements, target.elements, first.elements // pieces)
    return sizes | {"out_w": min(MOST, pieces), "out_c": target.elements // pieces}


def _unpacked(graph: Graph, op: Operator) -> Sizes:
    source, outputs = _ends(graph, op)
    inner = prod(source.shape[op.options["axis"] % len(source.shape) + 1 :])
    return _copied(graph, op, outputs[0].elements if inner == 1 else inner, each=inner == 1 and len(outputs) > 1)


def _split(graph: Graph, op: Operator) -> Sizes:
    source, outputs = _ends(graph, op)
    axis = graph.tensors[op.inputs[2]].data
    assert axis is not None  # the rule asks for a constant
    pieces = prod(source.shape[: int(axis.reshape(-1)[0]) % len(source.shape)])
    return _copied(graph, op, max(1, source.elements // (pieces * len(outputs))))


def _gathered(graph: Graph, op: Operator) -> Sizes:
    axis = op.options["axis"] % len(_ends(graph, op)[0].shape)
    return _copied(graph, op, prod(_ends(graph, op)[0].shape[axis + 1 :]))


def _gathered_nd(graph: Graph, op: Operator) -> Sizes:
    depth = graph.tensors[op.inputs[1]].shape[-1]
    return _copied(graph, op, prod(_ends(graph, op)[0].shape[depth:]))


def _blocks(graph: Graph, op: Operator) -> Sizes:
    """A row for each place, of what lies along the last axis."""
    return _copied(graph, op, _ends(graph, op)[0].shape[-1])


def _depths(graph: Graph, op: Operator) -> Sizes:
    source, (target,) = _ends(graph, op)
    return _copied(graph, op, op.options["block_size"] * min(source.shape[3], target.shape[3]))


def _mirrored(graph: Graph, op: Operator) -> Sizes:
    return _copied(graph, op, _ends(graph, op)[1][0].shape[-1], each=True)


def _repeated(graph: Graph, op: Operator) -> Sizes:
    """TILE copies rows that end in the last axis it repeats, BROADCAST_TO those behind it or single elements."""
    source, (target,) = _ends(graph, op)
    own = (1,) * (len(target.shape) - len(source.shape)) + source.shape
    axes = [axis for axis, (a, b) in enumerate(zip(own, target.shape, strict=True)) if a != b]
    last = axes[-1] if axes else -1
    row = prod(own[last + 1 :])
    if axes and op.traits.repeats:
        return _copied(graph, op, row * own[last])
    return _copied(graph, op, row if row > 1 or not axes else target.shape[last], each=bool(axes) and row == 1)


def _moved(graph: Graph, op: Operator) -> Sizes:
    """Rows as the copy goes through its input: the innermost axis of the output, at once where it is one in the input.

    None for a copy with more axes than a kernel has, which is refused where it is called.
    """
    try:
        pair = move(graph, op)
    except UnsupportedError:
        return {}
    return _copied(graph, op, pair.shape[-1], each=pair.step[-1] != 1)


NESTS: dict[str, Callable[[Graph, Operator], Sizes]] = {
    "arg": _compared, "reduce": _compared, "pack": _packed, "unpack": _unpacked, "split_v": _split,
    "gather": _gathered, "gather_nd": _gathered_nd, "space_to_batch": _blocks, "batch_to_space": _blocks,
    "normalized": _blocks, "space_to_depth": _depths, "depth_to_space": _depths, "mirror_pad": _mirrored,
    "tile": _repeated, "broadcast_to": _repeated, "slice": _moved, "strided_slice": _moved, "split": _moved,
    "transpose": _moved,
}  # fmt: skip
