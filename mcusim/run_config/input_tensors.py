"""The values that go into a network and come out of it, from and to numpy files.

Not modelled: images and sounds; their preparation belongs to the application.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mcusim.errors import UsageError
from mcusim.model.graph import Graph, Tensor
from mcusim.npy_file import read_npy
from mcusim.units import quoted

Array = np.ndarray[Any, Any]
Input = str | Path | Array
SEED = 0
_HEADER = 64 << 10


def random_inputs(graph: Graph, seed: int = SEED) -> list[Array]:
    """Seeded values over the whole range of each input's type (float32: -1 to 1); a shape what it must be."""
    return _random_series(graph, seed, 1)[0]


def _random_series(graph: Graph, seed: int, count: int) -> list[list[Array]]:
    generator, fixed = np.random.default_rng(seed), _shapes(graph)
    series = [[_random(graph.tensors[t], generator) for t in graph.inputs] for _ in range(count)]
    return [[fixed.get(t, values) for t, values in zip(graph.inputs, series, strict=True)] for series in series]


def _shapes(graph: Graph) -> dict[int, Array]:
    """Tensors that are the output shape of an operator, by index, and what they have to hold."""
    pairs = [(op.inputs[0], op.outputs[0]) for op in graph.operators if op.traits.transposed]
    return {t: np.array(graph.tensors[out].shape, graph.tensors[t].dtype) for t, out in pairs}


def _random(tensor: Tensor, generator: np.random.Generator) -> Array:
    if tensor.dtype.startswith("float"):
        return generator.uniform(-1, 1, tensor.shape).astype(tensor.dtype)
    info = np.iinfo(tensor.dtype)
    return generator.integers(info.min, info.max, tensor.shape, endpoint=True).astype(tensor.dtype)


def input_series(graph: Graph, given: Input | Sequence[Input] | None, count: int) -> list[list[Array]]:
    """The inputs of ``count`` inferences, each as :func:`model_inputs` gives them.

    Where there are several, each array has them along a leading axis of its own. Raises UsageError.
    """
    if given is None:
        return _random_series(graph, SEED, count)
    if count == 1:
        return [model_inputs(graph, given)]
    tensors = tuple(replace(t, shape=(count, *t.shape)) if t.index in graph.inputs else t for t in graph.tensors)
    arrays = model_inputs(replace(graph, tensors=tensors), given)
    return [[np.ascontiguousarray(values[i]) for values in arrays] for i in range(count)]


def model_inputs(graph: Graph, given: Input | Sequence[Input] | None) -> list[Array]:
    """One array for each input of ``graph``, in its order; ``given`` are ``.npy`` files or arrays, None random values.

    An array has the input's type and shape, or that shape without a leading 1. Raises UsageError.
    """
    if given is None:
        return random_inputs(graph)
    many: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    names = [graph.tensors[t] for t in graph.inputs]
    if len(many) != len(names):
        shown = ", ".join(f"{quoted(t.name)} {t.dtype} {_shape(t.shape)}" for t in names)
        raise UsageError(f"{len(many)} inputs given; {graph.name} takes {len(names)}: {shown}")
    return [_checked(tensor, item) for tensor, item in zip(names, many, strict=True)]


def _checked(tensor: Tensor, given: Input) -> Array:
    what = f"input {given}" if isinstance(given, str | Path) else f"input for {quoted(tensor.name)}"
    values = _load(Path(given), tensor) if isinstance(given, str | Path) else np.asarray(given)
    if values.dtype != np.dtype(tensor.dtype):
        order = f" ({values.dtype.str}: bytes in the other order)" if values.dtype.str[:1] == ">" else ""
        raise UsageError(f"{what}: is {values.dtype.name}{order}; the model takes {tensor.dtype}{_formula(tensor)}")
    if values.shape not in (tensor.shape, tensor.shape[1:] if tensor.shape[:1] == (1,) else tensor.shape):
        raise UsageError(f"{what}: has shape {_shape(values.shape)}; the model takes {_shape(tensor.shape)}")
    return np.ascontiguousarray(values).reshape(tensor.shape)


def _load(path: Path, tensor: Tensor) -> Array:
    """A ``.npy`` file that is no larger than the tensor asks for; what is no regular file is not even opened."""
    less = f"; {tensor.dtype} {_shape(tensor.shape)} takes less"
    most, several = 8 * tensor.elements + _HEADER, "give one .npy for each input"
    return read_npy(path, most, UsageError, shown=f"input {path}", too_large=less, several=several)


def _formula(tensor: Tensor) -> str:
    quantization = tensor.quantization
    if quantization is None or not quantization.scales:
        return ""
    zero = quantization.zero_points[0] if quantization.zero_points else 0
    return f" (a real value x is round(x / {quantization.scales[0]:.8g}) + {zero})"


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def npy_bytes(arrays: Sequence[tuple[str, Array]], several: bool) -> bytes:
    """The bytes of a ``.npy`` file, or with ``several`` of a ``.npz`` with the arrays by name."""
    buffer = io.BytesIO()
    if several:
        files: dict[str, Any] = dict(arrays)
        np.savez(buffer, **files)
    else:
        np.save(buffer, arrays[0][1])
    return buffer.getvalue()
