"""Operators that only move bytes, as steps through the input: RESHAPE, SLICE, STRIDED_SLICE, SPLIT, TRANSPOSE ...

Element ``i`` of the output, counted in a shape of five, is the input's element ``begin + sum(i[d] * step[d])``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from mcusim.errors import UnsupportedError
from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.operators import OPERATORS

AXES = 5  # of the tensors that kernels move and pad
Shape = Sequence[int]


class Move(NamedTuple):
    """``shape`` and ``step`` have five entries, ones and zeros in front."""

    shape: tuple[int, ...]
    step: tuple[int, ...]
    begin: int


def move(graph: Graph, op: Operator, part: int = 0) -> Move:
    """How output ``part`` of the operator reads its input. Raises UnsupportedError where five axes are too few."""
    tensors = [graph.tensors[i] for i in op.inputs if i >= 0]
    return MOVES.get(OPERATORS[op.type].rule, _all)(tensors, graph.tensors[op.outputs[part]].shape, op, part)


def five(values: Sequence[int], fill: int) -> tuple[int, ...]:
    """``values`` with ``fill`` in front, five in all. Raises UnsupportedError when there are more."""
    if len(values) > AXES:
        raise UnsupportedError(f"{len(values)} axes; kernels move tensors of up to {AXES}")
    return (*(fill,) * (AXES - len(values)), *values)


def _ints(tensor: Tensor) -> list[int]:
    assert tensor.data is not None  # the reader checks it
    return [int(v) for v in tensor.data.reshape(-1)]


def _steps(shape: Sequence[int]) -> list[int]:
    return [prod(shape[d + 1 :]) for d in range(len(shape))]


def _window(shape: Sequence[int], begin: Sequence[int], size: Sequence[int]) -> Move:
    steps = _steps(shape)
    return merged(size, steps, sum(b * s for b, s in zip(begin, steps, strict=True)))


def _all(tensors: Sequence[Tensor], _: Shape, op: Operator, part: int) -> Move:
    return merged([tensors[0].elements], [1], 0)


def _slice(tensors: Sequence[Tensor], size: Shape, op: Operator, part: int) -> Move:
    return _window(tensors[0].shape, _ints(tensors[1]), size)


def _split(tensors: Sequence[Tensor], size: Shape, op: Operator, part: int) -> Move:
    shape, axis = tensors[1].shape, _ints(tensors[0])[0] % len(tensors[1].shape)
    return _window(shape, [part * size[axis] if d == axis else 0 for d in range(len(shape))], size)


def _split_v(tensors: Sequence[Tensor], size: Shape, op: Operator, part: int) -> Move:
    shape, axis = tensors[0].shape, _ints(tensors[2])[0] % len(tensors[0].shape)
    sizes = _ints(tensors[1])
    before = sum(sizes[:part])
    if -1 in sizes[:part]:
        before += shape[axis] - sum(sizes)
    return _window(shape, [before if d == axis else 0 for d in range(len(shape))], size)


def _unpack(tensors: Sequence[Tensor], _: Shape, op: Operator, part: int) -> Move:
    shape, steps = tensors[0].shape, _steps(tensors[0].shape)
    axis = op.options["axis"] % len(shape)
    rest = [d for d in range(len(shape)) if d != axis]
    return merged([shape[d] for d in rest], [steps[d] for d in rest], part * steps[axis])


def _space_to_depth(tensors: Sequence[Tensor], _: Shape, op: Operator, part: int) -> Move:
    (n, h, w, c), b = tensors[0].shape, op.options["block_size"]
    return merged((n, h // b, w // b, b, b, c), (h * w * c, b * w * c, b * c, w * c, c, 1), 0)


def _depth_to_space(tensors: Sequence[Tensor], size: Shape, op: Operator, part: int) -> Move:
    (n, h, w, d), b, c = tensors[0].shape, op.options["block_size"], size[3]
    return merged((n, h, b, w, b, c), (h * w * d, w * d, b * c, d, c, 1), 0)


def _broadcast(tensors: Sequence[Tensor], size: Shape, op: Operator, part: int) -> Move:
    own = (1,) * (len(size) - len(tensors[0].shape)) + tuple(tensors[0].shape)
    steps = [0 if n == 1 else step for n, step in zip(own, _steps(own), strict=True)]
    return merged(size, steps, 0)


def _transpose(tensors: Sequence[Tensor], _: Shape, op: Operator, part: int) -> Move:
    order, steps = _ints(tensors[1]), _steps(tensors[0].shape)
    return merged([tensors[0].shape[a] for a in order], [steps[a] for a in order], 0)


def _strided(tensors: Sequence[Tensor], _: Shape, op: Operator, part: int) -> Move:
    shape, (begin, end, stride) = tensors[0].shape, map(_ints, tensors[1:4])
    sizes, steps, at = [], [], 0
    for d, step in enumerate(_steps(shape)):
        bit = 1 << d
        if op.options.get("shrink_axis_mask", 0) & bit:
            at += begin[d] % shape[d] * step
            continue
        low = None if op.options.get("begin_mask", 0) & bit else begin[d]
        high = None if op.options.get("end_mask", 0) & bit else end[d]
        first, last, by = slice(low, high, stride[d]).indices(shape[d])
        sizes.append(len(range(first, last, by)))
        steps.append(by * step)
        at += first * step
    return merged(sizes, steps, at)


def merged(sizes: Sequence[int], steps: Sequence[int], begin: int) -> Move:
    """``sizes`` of the output's axes and, for each, ``steps`` through the input, from element ``begin`` of it on.

    Axes of one element are dropped, axes that lie behind each other in both tensors joined. Raises UnsupportedError
    where more than five are left.
    """
    shape: list[int] = []
    step: list[int] = []
    for n, s in zip(sizes, steps, strict=True):
        if n == 1:
            continue
        if shape and step[-1] == n * s:
            shape[-1], step[-1] = shape[-1] * n, s
        else:
            shape, step = [*shape, n], [*step, s]
    if not shape:
        shape, step = [1], [1]
    return Move(five(shape, 1), five(step, 0), begin)


MOVES: dict[str, Callable[[Sequence[Tensor], Shape, Operator, int], Move]] = {
    "slice": _slice, "split": _split, "strided_slice": _strided, "transpose": _transpose,
    "split_v": _split_v, "unpack": _unpack, "space_to_depth": _space_to_depth, "depth_to_space": _depth_to_space,
    "broadcast_to": _broadcast,
}  # fmt: skip
"""By shape rule: inputs, shape of the output, operator, number of the output; other rules copy all in order."""
