"""What random graphs of one operator are put together from: tensors, scales, zero points, weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Quantization, Tensor
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import RULES

ACTIVATIONS = ("NONE", "NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")
RANGE = {"int8": (-128, 127), "uint8": (0, 255)}


class Case:
    """Collects the tensors of one operator; every random choice comes from ``seed``."""

    def __init__(self, kind: str, dtype: str, seed: int) -> None:
        self.kind, self.dtype, self.tensors = kind, dtype, list[Tensor]()
        self.rng = np.random.default_rng([seed, sum(map(ord, kind + dtype))])
        self.data: list[int] = []
        self.reach = 0

    def pick(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def scale(self) -> float:
        """Log-uniform; one in eight far out."""
        far = 1e4 if self.integer(0, 7) == 0 else 20
        return float(np.float32(np.exp(self.rng.uniform(-np.log(far), np.log(far))) * 0.02))

    def zero(self, dtype: str | None = None) -> int:
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
        """An input computed at run time."""
        scale, zero = more.pop("scale", None) or self.scale(), more.pop("zero", None)
        index = self.add(shape, scale, self.zero(more.get("dtype")) if zero is None else zero, **more)
        self.data.append(index)
        return index

    def integers(self, values: Any) -> int:
        return self.add(np.shape(values), dtype="int32", data=values)

    def weights(self, shape: tuple[int, ...], channels: int, axis: int) -> int:
        """A filter: int8 symmetric, one scale or one a channel; uint8 with a zero point."""
        low, high = RANGE[self.dtype]
        count = channels if self.dtype == "int8" and self.integer(0, 3) else 1
        scales = np.exp(self.rng.uniform(-6, -1, count))
        zero = 0 if self.dtype == "int8" else self.integer(1, 254)
        index = self.add(shape, scales, zero, data=self.rng.integers(low, high + 1, shape))
        old = self.tensors[index]
        assert old.quantization is not None
        turned = Quantization(old.quantization.scales, old.quantization.zero_points, axis if count > 1 else 0)
        self.tensors[index] = Tensor(index, old.name, old.shape, old.dtype, turned, old.data)
        return index

    def bias(self, source: int, weights: int, channels: int) -> int:
        self.reach = reach = self.pick(1000, 1000, 100_000, 2**30, 2**31 - 2**24)  # sums reach 2**24 at most
        product = self.scales(source)[0] * np.array(self.scales(weights))
        return self.add((channels,), product, 0, "int32", self.rng.integers(-reach, reach, channels))

    def scales(self, index: int) -> tuple[float, ...]:
        found = self.tensors[index].quantization
        assert found is not None
        return found.scales

    def graph(self, inputs: list[int], options: dict[str, Any], **output: Any) -> Graph:
        """The graph; the shape of the output is the one the reader would ask for."""
        operands = [self.tensors[i] for i in inputs]
        rule = OPERATORS[self.kind].rule
        shapes = [output.pop("shape")] if "shape" in output else RULES[rule](operands, options)
        scale = output.pop("scale", None) or self.scale()
        zero = output.pop("zero", None)
        zero = self.zero(output.get("dtype")) if zero is None else zero
        outputs = [self.add(shape, scale, zero, **output) for shape in shapes]
        op = Operator(0, self.kind, tuple(inputs), tuple(outputs), options)
        return Graph("case", tuple(self.tensors), (op,), tuple(self.data), tuple(outputs), "")
