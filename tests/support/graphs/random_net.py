"""A random network: a chain of operators with some that read something older too."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.model import Graph, Operator
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import RULES
from tests.support.kernels.kernel_case import RANGE, Case

SEEDS = [(seed, "uint8" if seed % 4 == 3 else "int8") for seed in range(24)]
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D", "ADD", "MUL", "PAD", "AVERAGE_POOL_2D", "MAX_POOL_2D", "SPLIT",
         "CONCATENATION", "LOGISTIC", "HARD_SWISH", "RESIZE_BILINEAR", "TRANSPOSE")  # fmt: skip
WIDE = {"HARD_SWISH": "LEAKY_RELU"}  # what 16 bits have not, and what they have


class Net(Case):
    """A chain of random operators; each reads what the one before wrote, some of them something older too."""

    def __init__(self, seed: int, dtype: str) -> None:
        super().__init__("net", dtype, seed)
        self.operators: list[Operator] = []
        self.wide = dtype == "int16"
        self.middle, self.unit = (0, 1 / 256) if self.wide else (RANGE[self.dtype][0] + 128, 1)
        batch = 2 if seed % 5 == 4 else 1
        self.last = self.activation((batch, *(self.integer(4, 15) for _ in range(2)), self.integer(1, 16)),
                                    scale=0.05 * self.unit, zero=self.middle)  # fmt: skip
        for _ in range(self.integer(3, 6)):
            kind = self.pick(*KINDS)
            self.last = self.one(WIDE.get(kind, kind) if self.wide else kind)

    def one(self, kind: str) -> int:
        """Append an operator; its (last) output."""
        inputs, options, keep = self.operands(kind)
        shapes = RULES[OPERATORS[kind].rule]([self.tensors[i] for i in inputs], options)
        source = self.tensors[self.last].quantization
        assert source is not None
        scale, zero = 0.06 * self.unit, 0 if self.wide else self.middle + self.integer(-9, 9)
        if keep:
            scale, zero = source.scales[0], source.zero_points[0]
        if kind == "LOGISTIC":
            scale, zero = (2.0**-15, 0) if self.wide else (2.0**-8, RANGE[self.dtype][0])
        if kind.endswith("CONV_2D"):  # spread the sums over the output's range
            weights = self.tensors[inputs[1]]
            terms = weights.elements / weights.shape[3 if kind[0] == "D" else 0]
            scale = source.scales[0] * max(self.scales(inputs[1])) * 100 * float(np.sqrt(terms))
        outputs = tuple(self.add(shape, scale, zero) for shape in shapes)
        self.operators.append(Operator(len(self.operators), kind, tuple(inputs), outputs, options))
        return outputs[-1]

    def operands(self, kind: str) -> tuple[list[int], dict[str, Any], bool]:
        """Inputs, options, and whether the output is quantised as the input."""
        x = self.last
        shape = self.tensors[x].shape
        window = {"padding": self.pick("SAME", "VALID"), "stride_h": self.integer(1, 2), "stride_w": self.integer(1, 2)}
        size = [self.integer(1, min(3, d)) for d in shape[1:3]]
        fused = {"activation": self.pick("NONE", "NONE", "RELU")}
        if kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            return self.convolution(kind, x, size), window | fused | {"dilation_h": 1, "dilation_w": 1} | (
                {"depth_multiplier": 1} if kind == "DEPTHWISE_CONV_2D" else {}), False  # fmt: skip
        if kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            return [x], window | fused | {"filter_h": size[0], "filter_w": size[1]}, True
        if kind in ("ADD", "MUL"):
            older = [t.index for t in self.tensors if t.shape == shape and t.dtype == self.dtype and t.data is None]
            return [x, self.pick(*older)], fused, False
        if kind == "PAD":
            return (
                [x, self.integers([[0, 0], *([self.integer(0, 2), self.integer(0, 2)] for _ in range(2)), [0, 0]])],
                {},
                True,
            )
        if kind == "SPLIT":
            axis = self.integer(1, 3)
            return [self.integers(axis), x], {"num_splits": next(d for d in (3, 2, 1) if shape[axis] % d == 0)}, True
        if kind == "CONCATENATION":
            return [x, x], {"axis": self.integer(1, 3), "activation": "NONE"}, True
        if kind == "TRANSPOSE":
            return [x, self.integers([0, *(1 + self.rng.permutation(3))])], {}, True
        if kind == "RESIZE_BILINEAR":
            sizes = self.integers([self.integer(2, 14), self.integer(2, 14)])
            return [x, sizes], {"align_corners": False, "half_pixel_centers": True}, True
        options = {"alpha": 0.3} if kind == "LEAKY_RELU" else {}
        return [x], options, kind == "HARD_SWISH"  # LiteRT takes no output scale that is much smaller

    def convolution(self, kind: str, x: int, size: list[int]) -> list[int]:
        channels, depthwise = self.tensors[x].shape[3], kind == "DEPTHWISE_CONV_2D"
        count = channels if depthwise else self.integer(1, 16)
        groups = 1 if depthwise else self.pick(*(n for n in (1, 1, 2, 4) if channels % n == 0))
        count = max(count // groups, 1) * groups
        shape = (1, *size, count) if depthwise else (count, *size, channels // groups)
        weights = self.weights(shape, count, 3 if depthwise else 0)
        product = self.scales(x)[0] * np.array(self.scales(weights))
        dtype, values = "int64" if self.wide else "int32", self.rng.integers(-3000, 3000, count)
        return [x, weights, self.add((count,), product, 0, dtype, values * (256 if self.wide else 1))]

    def graph_of_all(self) -> Graph:
        read = {t for op in self.operators for t in op.inputs}
        ends = tuple(t for op in self.operators for t in op.outputs if t not in read)
        return Graph("net", tuple(self.tensors), tuple(self.operators), tuple(self.data), ends, "")
