"""Operators that a file leaves to be computed from constants alone, computed once when it is read.

Converters leave chains such as SHAPE, STRIDED_SLICE, PACK in front of a RESHAPE whose shapes are all static. SHAPE of a
tensor is a constant, an operator whose inputs are all constants gives one, and neither runs afterwards. The values are
those of LiteRT's kernels. TensorFlow Lite Micro does not fold: it runs these operators each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mcusim.errors import ModelError
from mcusim.model.graph import Operator, Tensor
from mcusim.model.operators import shown_type

Array = np.ndarray[Any, Any]
MOST_BYTES = 16 << 20  # of all folded results of a file
MOST_READ = 256 << 20  # of the constants that they are computed from, each as often as it is read
INTEGERS = ("int32", "int64")
CASTS = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "float32")
_LOWEST: dict[str, tuple[int | None, int | None]] = {
    "NONE": (None, None), "RELU": (0, None), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1),
}  # fmt: skip


@dataclass(frozen=True)
class ConstantCall:
    """An operator to be computed: its input tensors, their values (None for SHAPE's), its options and its output."""

    inputs: Sequence[Tensor]
    values: Sequence[Array]
    output: Tensor
    options: Mapping[str, Any] = field(default_factory=dict)

    def expect(self, shape: Sequence[int]) -> None:
        """Before anything of that shape is made: it is the output's, whose size is within the limits."""
        if tuple(shape) != self.output.shape:
            raise ModelError(f"its inputs give the shape {[*map(int, shape)]}, the file says {list(self.output.shape)}")

    def require(self, holds: object, reason: str) -> None:
        if not holds:
            raise ModelError(reason)

    def integers(self, position: int) -> list[int]:
        """The values of an input of shapes, sizes or axes."""
        values = self.values[position]
        self.require(values.dtype.name in INTEGERS and values.ndim < 2, f"input {position} is no list of integers")
        return [int(v) for v in values.reshape(-1)]

    def axis(self, rank: int, name: str = "axis") -> int:
        value = int(self.options[name])
        self.require(-rank <= value < rank, f"{name} {value} is not within a tensor of {rank} dimensions")
        return value % rank


Compute = Callable[[ConstantCall], Array]


@dataclass(frozen=True)
class Folding:
    """How an operator of (fewest, most) inputs is computed; ``table`` and ``fields`` are those of an operator's entry.

    ``types``: of the first input; others are left to the graph check, which says what to do about floats and quantised
    arithmetic. With ``shape_alone`` the input need not be a constant. Without ``in_tflm`` TensorFlow Lite
    Micro has no kernel for it, or one with scratch buffers.
    """

    compute: Compute
    inputs: tuple[int, int] = (1, 1)
    table: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    needs_table: bool = False
    types: tuple[str, ...] = ()
    shape_alone: bool = False
    in_tflm: bool = True


@dataclass(frozen=True)
class Remainder:
    """The operators that are left, renumbered; the tensors, folded ones with their values; the operators ``folded``."""

    operators: tuple[Operator, ...]
    tensors: tuple[Tensor, ...]
    folded: tuple[Operator, ...]


def _shape(call: ConstantCall) -> Array:
    return np.array(call.inputs[0].shape, call.output.dtype if call.output.dtype in INTEGERS else "int32")


def _rank(call: ConstantCall) -> Array:
    return np.array(len(call.inputs[0].shape), "int32")


def _pack(call: ConstantCall) -> Array:
    first = call.values[0]
    call.require(all(v.shape == first.shape for v in call.values), "its inputs have different shapes")
    axis = call.axis(first.ndim + 1)
    call.expect((*first.shape[:axis], len(call.values), *first.shape[axis:]))
    return np.stack(call.values, axis)


def _concatenation(call: ConstantCall) -> Array:
    first = call.values[0]
    axis = call.axis(first.ndim)
    sides = {v.shape[:axis] + v.shape[axis + 1 :] if v.ndim == first.ndim else None for v in call.values}
    call.require(len(sides) == 1, "the shapes of its inputs do not join")
    call.require(call.options["activation"] == "NONE", "an activation is not computed here")
    same = all(t.quantization == call.output.quantization for t in call.inputs)
    call.require(same or call.output.dtype in INTEGERS, "its inputs have other scales than its output")
    call.expect((*first.shape[:axis], sum(v.shape[axis] for v in call.values), *first.shape[axis + 1 :]))
    return np.concatenate(call.values, axis)


def _strided_slice(call: ConstantCall) -> Array:
    begin, end, step = (call.integers(i) for i in (1, 2, 3))
    call.require(len(begin) == len(end) == len(step) <= 32, "begin, end and strides have different lengths")
    call.require(all(step), "a stride is 0")
    masks = {name: call.options[f"{name}_mask"] for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    picks: list[Any] = []
    for i, (first, last, by) in enumerate(zip(begin, end, step, strict=True)):
        on = {name for name, mask in masks.items() if mask >> i & 1}
        if "ellipsis" in on:
            picks.append(Ellipsis)
        elif "new_axis" in on:
            picks.append(None)
        elif "shrink_axis" in on:
            picks.append((0 if by > 0 else -1) if "begin" in on else first)
        else:
            picks.append(slice(None if "begin" in on else first, None if "end" in on else last, by))
    return np.asarray(call.values[0][tuple(picks)])


def _slice(call: ConstantCall) -> Array:
    source, begin, size = call.values[0], call.integers(1), call.integers(2)
    call.require(len(begin) == len(size) == source.ndim, "begin and size do not have an entry for each dimension")
    ends = [n if s == -1 else b + s for n, b, s in zip(source.shape, begin, size, strict=True)]
    inside = all(0 <= b <= e <= n for n, b, e in zip(source.shape, begin, ends, strict=True))
    call.require(inside, "a slice leaves its tensor")
    return source[tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))]


def _tile(call: ConstantCall) -> Array:
    source, times = call.values[0], call.integers(1)
    call.require(len(times) == source.ndim and min(times, default=0) >= 0, "its multiples do not fit the dimensions")
    call.expect([n * k for n, k in zip(source.shape, times, strict=True)])
    return np.tile(source, times)


def _gather(call: ConstantCall) -> Array:
    source, places = call.values
    axis = call.axis(source.ndim)
    call.require(call.options["batch_dims"] == 0, "batch_dims is not 0")
    call.require(places.dtype.name in INTEGERS, "its indices are no integers")
    inside = not places.size or (places.min() >= 0 and places.max() < source.shape[axis])
    call.require(inside, f"an index is outside of axis {axis} of the shape {list(source.shape)}")
    call.expect(source.shape[:axis] + places.shape + source.shape[axis + 1 :])
    return np.take(source, places, axis)


def _cast(call: ConstantCall) -> Array:
    source, target = call.values[0], call.output.dtype
    call.require({source.dtype.name, target} <= set(CASTS), f"{source.dtype.name} does not become {target}")
    if source.dtype.name == "float32" and target not in ("float32", "bool"):
        limits = np.iinfo(target)
        inside = np.isfinite(source).all() and (source > limits.min - 1.0).all() and (source < limits.max + 1.0).all()
        call.require(inside, f"a value is outside of {target}")
    call.expect(source.shape)
    return source.astype(target)


def _reshape(call: ConstantCall) -> Array:
    """To the output's shape; inputs that name it agree with it, as for a RESHAPE that runs."""
    source = call.values[0]
    call.require(source.size == call.output.elements, f"{source.size:,} elements do not fill {list(call.output.shape)}")
    return source.reshape(call.output.shape)


def _broadcast_to(call: ConstantCall) -> Array:
    call.expect(call.integers(1))
    return np.broadcast_to(call.values[0], call.output.shape)


def _fill(call: ConstantCall) -> Array:
    call.require(call.values[1].size == 1, "its value is not one number")
    call.expect(call.integers(0))
    return np.full(call.output.shape, call.values[1].reshape(-1)[0], call.values[1].dtype)


def _range(call: ConstantCall) -> Array:
    call.require(all(v.size == 1 and v.dtype.name in INTEGERS for v in call.values), "its inputs are no integers")
    start, limit, delta = (int(v.reshape(-1)[0]) for v in call.values)
    call.require(delta and (limit - start) * delta >= 0, f"no steps of {delta} lead from {start} to {limit}")
    call.expect((len(range(start, limit, delta)),))
    return np.arange(start, limit, delta).astype(call.values[0].dtype)


def _transpose(call: ConstantCall) -> Array:
    order = call.integers(1)
    rank = call.values[0].ndim
    fits = len(order) == rank and sorted(i % max(rank, 1) for i in order) == list(range(rank))
    call.require(fits and all(-rank <= i < rank for i in order), f"{order} is no order of {rank} dimensions")
    return call.values[0].transpose(order)


def _dequantize(call: ConstantCall) -> Array:
    """Of float16, weights that a converter halved, or of quantised integers with one scale."""
    source, quantization = call.values[0], call.inputs[0].quantization
    call.expect(source.shape)
    if source.dtype == np.float16:
        return source.astype(np.float32)
    call.require(quantization is not None and len(quantization.scales) == 1, "its input has several scales, or none")
    assert quantization is not None
    return (quantization.scales[0] * (source.astype(np.int32) - quantization.zero_points[0]).astype(np.float64)).astype(
        np.float32
    )


def _reduced(ufunc: np.ufunc) -> Compute:
    def compute(call: ConstantCall) -> Array:
        source, rank = call.values[0], call.values[0].ndim
        axes = call.integers(1)
        call.require(all(-rank <= a < rank for a in axes), f"axes {axes} of a tensor of {rank} dimensions")
        over = tuple({a % rank for a in axes})
        return np.asarray(ufunc.reduce(source, over, source.dtype, keepdims=bool(call.options["keep_dims"])))

    return compute


def _elementwise(ufunc: np.ufunc) -> Compute:
    def compute(call: ConstantCall) -> Array:
        first, second = call.values
        call.require(first.dtype == second.dtype, f"its inputs are {first.dtype.name} and {second.dtype.name}")
        call.require(ufunc is not np.floor_divide or second.all(), "it divides by 0")
        call.expect(np.broadcast_shapes(first.shape, second.shape))
        with np.errstate(all="ignore"):  # what is too large wraps, as in LiteRT
            values = np.asarray(ufunc(first, second))
        least, most = _activation(call)
        return values if least is None and most is None else np.clip(values, least, most)

    return compute


def _activation(call: ConstantCall) -> tuple[int | None, int | None]:
    name = call.options.get("activation", "NONE")
    call.require(name in _LOWEST, f"the activation {name} of integers is not computed here")
    return _LOWEST[name]


_AXIS = {"axis": "Axis"}
_ACTIVATION = {"activation": "FusedActivationFunction"}
_KEEP = {"keep_dims": "KeepDims"}
_MASKS = {
    "begin_mask": "BeginMask", "end_mask": "EndMask", "ellipsis_mask": "EllipsisMask", "new_axis_mask": "NewAxisMask",
    "shrink_axis_mask": "ShrinkAxisMask",
}  # fmt: skip
FOLDED: Mapping[str, Folding] = {
    "SHAPE": Folding(_shape, shape_alone=True),
    "RANK": Folding(_rank, shape_alone=True, in_tflm=False),
    "PACK": Folding(_pack, (1, 1024), "PackOptions", _AXIS, needs_table=True),
    "CONCATENATION": Folding(_concatenation, (1, 1024), "ConcatenationOptions", _AXIS | _ACTIVATION),
    "STRIDED_SLICE": Folding(_strided_slice, (4, 4), "StridedSliceOptions", _MASKS),
    "SLICE": Folding(_slice, (3, 3)),
    "TILE": Folding(_tile, (2, 2), in_tflm=False),
    "GATHER": Folding(_gather, (2, 2), "GatherOptions", _AXIS | {"batch_dims": "BatchDims"}, in_tflm=False),
    "CAST": Folding(_cast),
    "RESHAPE": Folding(_reshape, (1, 2)),
    "SQUEEZE": Folding(_reshape),
    "EXPAND_DIMS": Folding(_reshape, (2, 2)),
    "BROADCAST_TO": Folding(_broadcast_to, (2, 2)),
    "FILL": Folding(_fill, (2, 2)),
    "RANGE": Folding(_range, (3, 3), in_tflm=False),
    "TRANSPOSE": Folding(_transpose, (2, 2)),
    "DEQUANTIZE": Folding(_dequantize, types=("float16", "int8", "uint8"), in_tflm=False),
    "REDUCE_PROD": Folding(_reduced(np.multiply), (2, 2), "ReducerOptions", _KEEP, types=INTEGERS, in_tflm=False),
    "SUM": Folding(_reduced(np.add), (2, 2), "ReducerOptions", _KEEP, types=INTEGERS, in_tflm=False),
    "REDUCE_MAX": Folding(_reduced(np.maximum), (2, 2), "ReducerOptions", _KEEP, types=INTEGERS, in_tflm=False),
    "REDUCE_MIN": Folding(_reduced(np.minimum), (2, 2), "ReducerOptions", _KEEP, types=INTEGERS, in_tflm=False),
    "ADD": Folding(_elementwise(np.add), (2, 2), "AddOptions", _ACTIVATION, types=INTEGERS),
    "SUB": Folding(_elementwise(np.subtract), (2, 2), "SubOptions", _ACTIVATION, types=INTEGERS),
    "MUL": Folding(_elementwise(np.multiply), (2, 2), "MulOptions", _ACTIVATION, types=INTEGERS),
    "MAXIMUM": Folding(_elementwise(np.maximum), (2, 2), types=INTEGERS),
    "MINIMUM": Folding(_elementwise(np.minimum), (2, 2), types=INTEGERS),
    "FLOOR_DIV": Folding(_elementwise(np.floor_divide), (2, 2), types=INTEGERS),
}
Options = Callable[[int, Folding], Mapping[str, Any]]


def fold(
    source: object, operators: Sequence[Operator], tensors: Sequence[Tensor], inputs: Sequence[int], options: Options
) -> Remainder:
    """What is left of a network when the operators of constants have been computed.

    Operators keep their order. ``inputs`` are those of the graph, which are no constants. ``options`` reads the
    options of the operator at a position. Raises ModelError, naming ``source`` and the operator, for one that cannot
    be computed as the file says, and when results or what is read for them exceed the limits.

    Not modelled: operators with several outputs, strings, quantised arithmetic, results that have no elements.
    """
    known = [*tensors]
    left: list[Operator] = []
    folded: list[Operator] = []
    made = read = 0
    for op in operators:
        folding = FOLDED.get(shown_type(op.type))
        if folding is None or not _foldable(op, folding, known, inputs):
            left.append(op)
            continue
        target, sources = known[op.outputs[0]], [known[i] for i in op.inputs]
        made, read = made + target.bytes, read + sum(t.bytes for t in sources if not folding.shape_alone)
        where = f"{source}: operator {op.index} {shown_type(op.type)}, whose inputs are constants"
        if made > MOST_BYTES or read > MOST_READ:
            raise ModelError(
                f"{where}: all that the file leaves to be computed has more than {MOST_BYTES >> 20} MiB, or is computed"
                f" from more than {MOST_READ >> 20} MiB; fold constants when converting"
            )
        values = [t.data for t in sources if t.data is not None]
        known[op.outputs[0]] = _computed(
            ConstantCall(sources, values, target, options(op.index, folding)), folding, where
        )
        folded.append(replace(op, type=shown_type(op.type)))
    return Remainder(tuple(replace(op, index=i) for i, op in enumerate(left)), tuple(known), tuple(folded))


def _foldable(op: Operator, folding: Folding, tensors: Sequence[Tensor], given: Sequence[int]) -> bool:
    """Whether its inputs are there and its output can become a constant; the graph check names what is wrong."""
    known = range(len(tensors))
    fewest, most = folding.inputs
    if len(op.outputs) != 1 or not fewest <= len(op.inputs) <= most:
        return False
    if any(i not in known for i in (*op.inputs, *op.outputs)) or op.outputs[0] in (*given, *op.inputs):
        return False
    target = tensors[op.outputs[0]]
    ready = folding.shape_alone or all(tensors[i].constant and i not in given for i in op.inputs)
    known_type = not folding.types or tensors[op.inputs[0]].dtype in folding.types
    return ready and known_type and not target.constant and target.elements > 0


def _computed(call: ConstantCall, folding: Folding, where: str) -> Tensor:
    try:
        value = folding.compute(call)
        call.expect(value.shape)
        call.require(value.dtype.name == call.output.dtype, f"gives {value.dtype.name}, the file {call.output.dtype}")
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None
    except (ValueError, IndexError, TypeError, OverflowError, ArithmeticError, MemoryError) as error:
        raise ModelError(f"{where}: cannot be computed ({error})") from None
    data = np.ascontiguousarray(value).reshape(call.output.shape)
    data.flags.writeable = False
    return replace(call.output, data=data)
