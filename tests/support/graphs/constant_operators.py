"""Files with an operator that computes with constants alone, in front of a network that runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tflite

from mcusim.model import Graph, Operator, Quantization, Tensor
from mcusim.model.tflite.folding import FOLDED
from tests.support.graphs.tflite_writer import Unchecked

Array = np.ndarray[Any, Any]
Drawn = tuple[list[Array], dict[str, Any], str]
X, Y, OUT = 0, 1, 2  # tensors: the network's input and output, and what the operator computes; constants follow


_TABLES = {kind: (found.table, found.fields) for kind, found in FOLDED.items() if found.table}
_TABLES["SHAPE"] = ("ShapeOptions", {})


class WithTables(Unchecked):
    """Writes the option tables of operators that are computed when read, which need no entry of their own."""

    def version(self, op: Operator) -> int:
        return 2 if op.type == "BROADCAST_TO" else 1

    def _options(self, op: Operator) -> tuple[str, int]:
        table, fields = _TABLES.get(op.type, ("", {}))
        if not table:
            return super()._options(op)
        values = {name: op.options.get(ours, 0) for ours, name in fields.items() if ours != "activation"}
        values |= {"ValuesCount": len(op.inputs)} if op.type == "PACK" else {}
        values |= {"OutType": tflite.TensorType.INT32} if op.type == "SHAPE" else {}
        getattr(tflite, f"{table}Start")(self.builder)
        for name, value in values.items():
            getattr(tflite, f"{table}Add{name}")(self.builder, value)
        return table, int(getattr(tflite, f"{table}End")(self.builder))


def written(graph: Graph) -> bytes:
    return WithTables(graph, 1, 3, 0).write()


def network(kind: str, values: Sequence[Array], options: dict[str, Any], dtype: str, shape: Sequence[int]) -> Graph:
    """``kind`` on constants of ``values``, then a RELU on the network's input. SHAPE and RANK read that input too."""
    q = Quantization((0.5,), (0,))
    tensors = [Tensor(X, "x", (1, 2, 3), "int8", q), Tensor(Y, "y", (1, 2, 3), "int8", q)]
    tensors.append(Tensor(OUT, "out", tuple(map(int, shape)), dtype))
    for value in values:
        scaled = Quantization((0.0123 * len(tensors),), (7,)) if value.dtype.itemsize == 1 else None
        tensors.append(Tensor(len(tensors), f"c{len(tensors)}", value.shape, value.dtype.name, scaled, value))
    reads = tuple(range(OUT + 1, len(tensors))) or (X,)
    operators = (Operator(0, kind, reads, (OUT,), options), Operator(1, "RELU", (X,), (Y,)))
    return Graph("constants", tuple(tensors), operators, (X,), (Y,), "")


def drawn(kind: str, seed: int) -> Drawn:
    """Constants, options and the output's type of a random ``kind``."""
    rng = np.random.default_rng([seed, *kind.encode()])
    shape = [int(n) for n in rng.integers(1, 5, rng.integers(1, 4))]
    dtype = str(rng.choice(["int32", "int64"]))
    source = rng.integers(-50, 50, shape).astype(dtype)
    axis = int(rng.integers(-len(shape), len(shape)))
    if kind in ("SHAPE", "RANK"):
        return [], {}, "int32"
    if kind in ("PACK", "CONCATENATION"):
        return [source + i for i in range(int(rng.integers(1, 4)))], {"axis": axis}, dtype
    if kind in ("STRIDED_SLICE", "SLICE"):
        return _sliced(kind, source, rng)
    if kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "FLOOR_DIV"):
        return _pair(kind, source.astype("int32"), rng)
    if kind.startswith("REDUCE") or kind == "SUM":
        axes = np.array(rng.choice(len(shape), int(rng.integers(1, len(shape) + 1)), replace=False), "int32")
        return [source.astype("int32"), axes], {"keep_dims": bool(rng.integers(2))}, "int32"
    if kind == "CAST":
        target = str(rng.choice(["int32", "int64", "float32", "bool"]))
        return [(source / 7).astype("float32") if rng.integers(2) else source], {}, target
    if kind == "DEQUANTIZE":
        half = source.astype("float16") / np.float16(3)
        return [half if rng.integers(2) else source.astype(rng.choice(["int8", "uint8"]))], {}, "float32"
    return _other(kind, source, rng)


def _sliced(kind: str, source: Array, rng: np.random.Generator) -> Drawn:
    begin = np.array([rng.integers(0, n) for n in source.shape], "int32")
    if kind == "SLICE":
        size = [rng.choice([-1, rng.integers(1, n - b + 1)]) for n, b in zip(source.shape, begin, strict=True)]
        return [source, begin, np.array(size, "int32")], {}, source.dtype.name
    end = np.array([rng.integers(b + 1, n + 2) for n, b in zip(source.shape, begin, strict=True)], "int32")
    step = rng.integers(1, 3, source.ndim).astype("int32")
    if rng.integers(3) == 0:  # backwards, to the front
        begin, end, step = begin * 0 - 1, end * 0 - 9, -step
    masks = {name: int(rng.integers(8) & rng.integers(8)) for name in ("begin_mask", "end_mask")}
    extra = {"shrink_axis_mask": int(rng.integers(8) & rng.integers(8)) if step[0] > 0 else 0}
    if step[0] > 0 and rng.integers(4) == 0:
        extra["new_axis_mask" if rng.integers(2) else "ellipsis_mask"] = 1
    return [source, begin, end, step], masks | extra, source.dtype.name


def _pair(kind: str, source: Array, rng: np.random.Generator) -> Drawn:
    other = rng.integers(1, 60, [n if rng.integers(2) else 1 for n in source.shape]).astype("int32")
    other *= np.int32(rng.choice([-1, 1, 1 if kind == "FLOOR_DIV" else 1 << 26]))  # products wrap
    return [source, other], {}, "int32"


def _other(kind: str, source: Array, rng: np.random.Generator) -> Drawn:
    dims, dtype = np.array(source.shape, "int32"), source.dtype.name
    if kind == "TILE":
        return [source, rng.integers(1, 4, source.ndim).astype("int32")], {}, dtype
    if kind == "GATHER":
        axis = int(rng.integers(source.ndim))
        places = rng.integers(0, source.shape[axis], [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))])
        return [source, np.asarray(places, "int32")], {"axis": axis}, dtype
    if kind == "BROADCAST_TO":
        return [source, np.array([*rng.integers(1, 4, 1), *source.shape], "int32")], {}, dtype
    if kind == "FILL":
        return [dims, np.array(source.reshape(-1)[0], dtype)], {}, dtype
    if kind == "RANGE":
        step = int(rng.choice([-3, -1, 1, 2]))
        start = int(rng.integers(-9, 9))
        return (
            [np.array(n, "int32") for n in (start, start + step * int(rng.integers(1, 9)) - 1 % step, step)],
            {},
            "int32",
        )
    if kind == "TRANSPOSE":
        return [source, rng.permutation(source.ndim).astype("int32")], {}, dtype
    if kind == "EXPAND_DIMS":
        return [source, np.array([rng.integers(source.ndim + 1)], "int32")], {}, dtype
    if kind == "SQUEEZE":
        return [source.reshape(1, *source.shape)], {}, dtype
    return [source, np.array([source.size], "int32")], {}, dtype  # RESHAPE
