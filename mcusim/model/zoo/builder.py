"""Builds a zoo network's graph from its architecture table, with seeded random weights; estimates its file size."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np

from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.shapes import output_size
from mcusim.model.zoo.architectures import Architecture, Layer
from mcusim.model.zoo.names import ZooName

PAIR_BYTES = 4 + 8  # a float32 scale and an int64 zero point, for each filter and bias channel and each activation
TENSOR_BYTES = 176  # tensor, quantisation, buffer and operator tables, alignment and names, spread over the tensors


def estimate_file_bytes(graph: Graph) -> int:
    """Constants + 12 B a scale + 176 B a tensor, in bytes.

    176 makes proxyless-w0.30-r144 the 929,784 B of its published ``.tflite``. Not modelled: what varies between
    converters: the length of names, metadata, and min/max vectors (8 B a channel where a converter keeps them).
    """
    pairs = sum(len(t.quantization.scales) for t in graph.tensors if t.quantization)
    constants = sum(t.bytes for t in graph.tensors if t.constant)
    return constants + PAIR_BYTES * pairs + TENSOR_BYTES * len(graph.tensors)


WEIGHT_LIMIT = 127


def seed_of(name: str, what: str) -> int:
    """A 64-bit seed that depends on the network's name and on what it is for, nothing else."""
    return int.from_bytes(hashlib.sha256(f"{name}/{what}".encode()).digest()[:8], "little")


def scale_channels(channels: int, factor: Fraction, rounding: str) -> int:
    """``channels * factor`` rounded as :class:`Architecture` says."""
    exact = channels * factor
    if rounding.startswith("up-"):
        step = int(rounding.removeprefix("up-"))
        return -int(-exact // step) * step
    near = max(8, int(exact + 4) // 8 * 8)
    return near if near >= exact * 9 / 10 else near + 8


class GraphBuilder:
    """Appends operators one after another; ``current`` is the tensor the next one reads."""

    def __init__(
        self, name: str, architecture: Architecture, width: Fraction = Fraction(1), resolution: int | None = None
    ) -> None:
        self.name, self.architecture = name, architecture
        self.width, self.activation = width, architecture.activation
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.saved: dict[str, int] = {}
        self.unscaled = 0  # channels of the last convolution or block at width 1
        h, w, c = self.architecture.input
        self.current = self._tensor("input", (1, h or resolution or 0, w or resolution or 0, c))

    def build(self) -> None:
        for position, layer in enumerate(self.architecture.layers):
            self._layer(layer, last_conv=self._is_head(position))

    def _is_head(self, position: int) -> bool:
        later = self.architecture.layers[position + 1 :]
        return not any(layer[0] in ("conv", "block", "depthwise") for layer in later)

    def _layer(self, layer: Layer, last_conv: bool) -> None:
        kind, *numbers = layer
        if kind == "conv":
            kernel, stride, channels = numbers
            fixed = last_conv and self.architecture.fixed_head and self.width < 1
            self.conv(kernel, stride, channels if fixed else self._channels(channels), self.activation)
            self.unscaled = channels
        elif kind == "classes":
            self.conv(1, 1, numbers[0], "NONE")
        else:
            getattr(self, f"_{kind}")(*numbers)

    def _channels(self, channels: int) -> int:
        return scale_channels(channels, self.width, self.architecture.rounding)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensors[self.current].shape

    def _tensor(self, name: str, shape: tuple[int, ...], data: Any = None, dtype: str = "int8") -> int:
        self.tensors.append(Tensor(len(self.tensors), name, shape, dtype, data=data))
        return len(self.tensors) - 1

    def _operator(self, kind: str, inputs: list[int], shape: tuple[int, ...], **options: Any) -> None:
        index = len(self.operators)
        self.current = self._tensor(f"{kind.lower()}_{index}", shape)
        self.operators.append(Operator(index, kind, tuple(inputs), (self.current,), options))

    def _weights(self, shape: tuple[int, ...], channels: int) -> list[int]:
        """Filter and bias tensors; the bias holds zeros until the scales are known."""
        index = len(self.operators)
        rng = np.random.Generator(np.random.PCG64(seed_of(self.name, f"filter_{index}")))
        data = rng.integers(-WEIGHT_LIMIT, WEIGHT_LIMIT, size=shape, dtype=np.int8, endpoint=True)
        data.setflags(write=False)
        return [
            self._tensor(f"filter_{index}", shape, data),
            self._tensor(f"bias_{index}", (channels,), np.zeros(channels, np.int32), "int32"),
        ]

    def _window(self, kernel: int | tuple[int, int], stride: int, padding: str = "SAME") -> tuple[int, int]:
        kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
        _, h, w, _ = self.shape
        return output_size(h, kh, stride, 1, padding), output_size(w, kw, stride, 1, padding)

    def conv(self, kernel: int | tuple[int, int], stride: int, channels: int, activation: str) -> None:
        size = self._window(kernel, stride)
        kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
        inputs = [self.current, *self._weights((channels, kh, kw, self.shape[3]), channels)]
        options = _window_options(stride) | {"activation": activation}
        self._operator("CONV_2D", inputs, (1, *size, channels), **options)

    def _depthwise(self, kernel: int, stride: int) -> None:
        size, channels = self._window(kernel, stride), self.shape[3]
        inputs = [self.current, *self._weights((1, kernel, kernel, channels), channels)]
        options = _window_options(stride) | {"activation": self.activation, "depth_multiplier": 1}
        self._operator("DEPTHWISE_CONV_2D", inputs, (1, *size, channels), **options)

    def _block(self, expand: str, kernel: int, channels: int, stride: int, repeat: int) -> None:
        for step in (stride, *[1] * (repeat - 1)):
            source, source_channels, out = self.current, self.shape[3], self._channels(channels)
            if expand != "1":
                self.conv(1, 1, self._expanded(source_channels, expand), self.activation)
            self._depthwise(kernel, step)
            self.conv(1, 1, out, "NONE")
            exported = self.architecture.exported
            same = source_channels == out and (not exported or self.unscaled == channels)
            self.unscaled = channels
            if step == 1 and same:
                inputs = [self.current, source] if exported else [source, self.current]
                self._operator("ADD", inputs, self.shape, activation="NONE")

    def _expanded(self, channels: int, expand: str) -> int:
        return -int(-channels * Fraction(expand) // 4) * 4

    def _pool(self, kind: str, kernel: tuple[int, int], stride: int, padding: str) -> None:
        size = self._window(kernel, stride, padding)
        options = {"padding": padding, "stride_h": stride, "stride_w": stride, "activation": "NONE"}
        options |= {"filter_h": kernel[0], "filter_w": kernel[1]}
        self._operator(kind, [self.current], (1, *size, self.shape[3]), **options)

    def _max_pool(self, kernel: int, stride: int) -> None:
        self._pool("MAX_POOL_2D", (kernel, kernel), stride, "SAME")

    def _average_pool(self, kernel: int, stride: int) -> None:
        self._pool("AVERAGE_POOL_2D", (kernel, kernel), stride, "SAME")

    def _global_pool(self) -> None:
        stride = self.shape[1] if self.architecture.exported else 1
        self._pool("AVERAGE_POOL_2D", (self.shape[1], self.shape[2]), stride, "VALID")

    def _flatten(self) -> None:
        shape = (1, self.tensors[self.current].elements)
        table = self._tensor(f"shape_{len(self.operators)}", (2,), np.array(shape, np.int32), "int32")
        self._operator("RESHAPE", [self.current, table], shape)

    def _dense(self, units: int) -> None:
        inputs = [self.current, *self._weights((units, self.shape[1]), units)]
        options = {"activation": "NONE", "keep_num_dims": False, "weights_format": 0}
        self._operator("FULLY_CONNECTED", inputs, (1, units), **options)

    def _softmax(self) -> None:
        self._operator("SOFTMAX", [self.current], self.shape, beta=1.0)

    def _save(self, name: str) -> None:
        self.saved[name] = self.current

    def _from(self, name: str) -> None:
        self.current = self.saved[name]

    def _concatenate(self, name: str) -> None:
        parts = [self.saved[name], self.current]
        channels = sum(self.tensors[p].shape[3] for p in parts)
        self._operator("CONCATENATION", parts, (*self.shape[:3], channels), axis=3, activation="NONE")

    @property
    def graph(self) -> Graph:
        """What was built, with filters, without scales and with biases of zero."""
        return Graph(
            name=self.name, tensors=tuple(self.tensors), operators=tuple(self.operators), inputs=(0,),
            outputs=(self.current,), sha256=definition_sha256(self.name, self.architecture), random_weights=True,
        )  # fmt: skip


def _window_options(stride: int) -> dict[str, Any]:
    return {"padding": "SAME", "stride_h": stride, "stride_w": stride, "dilation_h": 1, "dilation_w": 1}


def definition_sha256(name: ZooName | str, architecture: Architecture) -> str:
    """sha256 of what the network is built from: its canonical name and its architecture table."""
    return hashlib.sha256(f"mcusim-zoo-1 {name} {architecture!r}".encode()).hexdigest()


def build_layers(name: ZooName) -> Graph:
    """The network's operators with filters, without scales and with biases of zero."""
    builder = GraphBuilder(str(name), name.architecture, name.width, name.resolution)
    builder.build()
    return builder.graph
