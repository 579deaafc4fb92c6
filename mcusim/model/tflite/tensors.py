"""Tensors of a ``.tflite``: shape, type, quantisation, constant data; each checked on its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tflite

from mcusim.errors import UnsupportedError
from mcusim.model.graph import ITEM_BYTES, Quantization, Tensor, item_bytes
from mcusim.model.tflite.flatbuffer import File, shown

MOST_DIMENSIONS = 8
MOST_TENSOR_ELEMENTS = 2**31 - 1
NAME_SLOT = 10
ZERO_POINTS = {"int8": (-128, 127), "uint8": (0, 255)}
ANY_ZERO_POINT = (-(2**31), 2**31 - 1)
TYPE_NAMES = {value: name.lower() for name, value in vars(tflite.TensorType).items() if isinstance(value, int)}


class TensorReader:
    """Reads the tensors of one subgraph; ``odd_axes`` counts tensors whose quantized_dimension does not fit,
    ``open_sizes`` names those whose signature leaves a size open."""

    def __init__(self, file: File, model: Any, subgraph: Any) -> None:
        self.file, self.model, self.subgraph = file, model, subgraph
        self.buffers = file.count(model.BuffersLength(), 4, 1_000_000, "buffers")
        self.odd_axes = 0
        self.open_sizes: list[str] = []

    def tensor(self, index: int) -> Tensor:
        file = self.file
        with file.reading(f"tensor {index}"):
            table = file.table(self.subgraph.Tensors(index))
            name = file.text(table, NAME_SLOT)
            file.what = f"tensor {index} '{shown(name)}'"
            shape = self._shape(table, name)
            dtype = TYPE_NAMES.get(table.Type(), f"type {table.Type()}")
            if item_bytes(dtype) is None:
                raise UnsupportedError(f"{file.source}: {file.what} is of type {dtype}, which is not known")
            packed = dtype not in ITEM_BYTES or table.Sparsity() is not None
            data, variable = self._constant(table, shape, dtype, packed), bool(table.IsVariable())
            if variable and data is not None:
                raise UnsupportedError(f"{file.source}: {file.what} is variable (state) and has stored values")
            stored = data.nbytes if packed and data is not None else None
            quantization = self._quantization(table, shape, dtype)
            return Tensor(index, name, shape, dtype, quantization, data, variable, stored_bytes=stored)

    def warnings(self) -> list[str]:
        if not self.odd_axes:
            return []
        return [
            f"{self.odd_axes} tensors name a quantized_dimension that does not fit their scales;"
            " the axis that fits is used"
        ]

    def _shape(self, table: Any, name: str) -> tuple[int, ...]:
        shape = tuple(self.file.numbers(table, "Shape", 4, MOST_DIMENSIONS))
        signature = self.file.numbers(table, "ShapeSignature", 4, MOST_DIMENSIONS)
        if -1 in signature:
            self.open_sizes.append(f"'{shown(name)}' {signature}")
        if -1 in shape:
            raise UnsupportedError(
                f"{self.file.source}: {self.file.what} has the dynamic shape {list(shape)}; convert with fixed shapes"
            )
        if any(d < 0 for d in shape) or math.prod(shape) > MOST_TENSOR_ELEMENTS:
            raise self.file.error(f"shape {list(shape)} is negative or too large")
        return shape

    def _constant(self, table: Any, shape: tuple[int, ...], dtype: str, packed: bool) -> np.ndarray[Any, Any] | None:
        """The stored values as a read-only view of the file, those of another form as bytes; None for a tensor without
        any."""
        index = table.Buffer()
        if index >= self.buffers:
            raise self.file.error(f"buffer {index} does not exist, the file has {self.buffers}")
        buffer = self.file.table(self.model.Buffers(index))
        if buffer.Offset() > 1 or buffer.Size() > 1:
            raise UnsupportedError(
                f"{self.file.source}: {self.file.what} is stored outside the flatbuffer (large model)"
            )
        length = buffer.DataLength()
        if length == 0:
            return None
        values: np.ndarray[Any, Any] = buffer.DataAsNumpy()
        if packed:
            return values
        expected = math.prod(shape) * ITEM_BYTES[dtype]
        if length != expected:
            raise self.file.error(f"{dtype}{list(shape)} needs {expected:,} B, its buffer {index} has {length:,}")
        return values.view(np.dtype(dtype).newbyteorder("<")).reshape(shape)

    def _quantization(self, table: Any, shape: tuple[int, ...], dtype: str) -> Quantization | None:
        parameters = table.Quantization()
        if parameters is None:
            return None
        self.file.table(parameters)
        scales = self.file.numbers(parameters, "Scale", 4, 1_000_000)
        points = self.file.numbers(parameters, "ZeroPoint", 8, 1_000_000)
        if not scales:
            return None
        if len(points) not in (0, 1, len(scales)):
            raise self.file.error(f"{len(scales)} scales but {len(points)} zero points")
        wrong = [s for s in scales if not math.isfinite(s)]
        if wrong:
            raise self.file.error(f"a scale is {wrong[0]}, must be a finite number")
        low, high = ZERO_POINTS.get(dtype, ANY_ZERO_POINT)
        if not all(low <= p <= high for p in points):
            raise self.file.error(f"a zero point is not within {low} to {high} ({dtype})")
        if len(points) < len(scales):
            points = (points or [0]) * len(scales)
        return Quantization(tuple(scales), tuple(points), self._axis(parameters.QuantizedDimension(), scales, shape))

    def _axis(self, axis: int, scales: list[float], shape: tuple[int, ...]) -> int:
        """The axis the scales run along. Some converters write another than the one whose size fits: then that one."""
        if len(scales) == 1:
            return 0
        if 0 <= axis < len(shape) and shape[axis] == len(scales):
            return axis
        fits = [i for i, d in enumerate(shape) if d == len(scales)]
        if not fits:
            raise self.file.error(f"{len(scales)} scales fit no axis of the shape {list(shape)}")
        self.odd_axes += 1
        return fits[-1]
