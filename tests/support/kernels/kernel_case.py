"""What random graphs of one operator are put together from: tensors, scales, zero points, weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Quantization, Tensor
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import RULES

ACTIVATIONS = ("NONE", "NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")
RANGE = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1)}


class Case:
    """Collects the tensors of one operator; every random choice comes from ``seed``."""

    def __init__(self, kind: str, dtype: str, seed: int) -> None:
        self.kind, self.dtype, self.tensors = kind, dtype, list[Tensor]()
        self.rng = np.random.default_rng([seed, sum(map(ord, kind + dtype))])
        self.data: list[int] = []
        self.reach = 0
        self.types = (dtype, dtype)  # of input and output

    def pick(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def scale(self) -> float:
        """Log-uniform; one in eight far out."""
        far = 1e4 if self.integer(0, 7) == 0 else 20
        step = {"int16": 1e-4, "int32": 1e-8}.get(self.dtype, 0.02)
        return float(np.float32(np.exp(self.rng.uniform(-np.log(far), np.log(far))) * step))

    def zero(self, dtype: str | None = None) -> int:
        if (dtype or self.dtype) in ("int16", "int32"):
            return 0
        low, high = RANGE[dtype or self.dtype]
        middle = [self.integer(low // 2 + high // 4, low // 4 + high // 2) for _ in range(3)]
        return self.pick(low, high, self.integer(low, high), (low + high + 1) // 2, *middle)

    def shape(self, rank: int = 4, most: int = 9) -> tuple[int, ...]:
        return tuple(self.integer(1, most) for _ in range(rank))

    def add(self, shape: Any, scales: Any = None, zeros: Any = 0, dtype: str | None = None, data: Any = None) -> int:
        quantization = None
        if scales is not None:
            scales = tuple(float(np.float32(s)) for s in np.atleast_1d(scales))
            quantization = Quantization(scales, (zeros,) * len(scales))
        if data is not None:
            data = np.asarray(data).astype(dtype or self.dtype).reshape(shape)
        index = len(self.tensors)
        self.tensors.append(Tensor(index, f"t{index}", tuple(map(int, shape)), dtype or self.dtype, quantization, data))
        return index

    def activation(self, shape: Any, **more: Any) -> int:
        """An input computed at run time; one that is not of a quantised type has no scale."""
        if self.dtype not in RANGE:
            self.data.append(self.add(shape, dtype=self.dtype))
            return self.data[-1]
        scale, zero = more.pop("scale", None) or self.scale(), more.pop("zero", None)
        index = self.add(shape, scale, self.zero(more.get("dtype")) if zero is None else zero, **more)
        self.data.append(index)
        return index

    def integers(self, values: Any) -> int:
        return self.add(np.shape(values), dtype="int32", data=values)

    def weights(self, shape: tuple[int, ...], channels: int, axis: int) -> int:
        """A filter: int8 symmetric, one scale or one a channel; uint8 with a zero point."""
        dtype = "uint8" if self.dtype == "uint8" else "int8"
        low, high = RANGE[dtype]
        count = channels if dtype == "int8" and self.integer(0, 3) else 1
        scales = np.exp(self.rng.uniform(-6, -1, count))
        zero = 0 if dtype == "int8" else self.integer(1, 254)
        index = self.add(shape, scales, zero, dtype, self.rng.integers(low, high + 1, shape))
        old = self.tensors[index]
        assert old.quantization is not None
        turned = Quantization(old.quantization.scales, old.quantization.zero_points, axis if count > 1 else 0)
        self.tensors[index] = Tensor(index, old.name, old.shape, old.dtype, turned, old.data)
        return index

    def bias(self, source: int, weights: int, channels: int) -> int:
        self.reach = reach = self.pick(1000, 1000, 100_000, 2**30, 2**31 - 2**24)  # sums reach 2**24 at most
        product, dtype = self.scales(source)[0] * np.array(self.scales(weights)), "int32"
        if self.dtype == "int16":
            reach, dtype = self.pick((1000, "int64"), (2**25, "int64"), (2**34, "int64"), (2**25, "int32"))
            dtype = "int64" if self.kind in ("DEPTHWISE_CONV_2D", "TRANSPOSE_CONV") else dtype
            self.reach = reach
        return self.add((channels,), product, 0, dtype, self.rng.integers(-reach, reach, channels))

    def scales(self, index: int) -> tuple[float, ...]:
        found = self.tensors[index].quantization
        assert found is not None
        return found.scales

    def graph(self, inputs: list[int], options: dict[str, Any], **output: Any) -> Graph:
        """The graph; the shape of the output is the one the reader would ask for."""
        operands = [self.tensors[i] for i in inputs]
        rule = OPERATORS[self.kind].rule
        shapes = [output.pop("shape")] if "shape" in output else RULES[rule](operands, options)
        scale, zero = output.pop("scale", None), output.pop("zero", None)
        if not output.pop("plain", self.dtype not in RANGE):
            output["scales"] = scale or self.scale()
            output["zeros"] = self.zero(output.get("dtype")) if zero is None else zero
        outputs = [self.add(shape, **output) for shape in shapes]
        op = Operator(0, self.kind, tuple(inputs), tuple(outputs), options)
        return Graph("case", tuple(self.tensors), (op,), tuple(self.data), tuple(outputs), "")
