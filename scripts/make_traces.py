"""Write the sample programs under traces/. Deterministic: the same files every time.

Usage: python scripts/make_traces.py [FOLDER]     (default: traces/ beside this folder)
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mcusim.kernels import load_profile
from mcusim.machine import load_machine
from mcusim.model import Graph, Operator, Tensor, load_model
from mcusim.plan import PlanOptions, Program, plan, write_program

KIB = 1024
F469, F746 = "stm32f469i-disco", "stm32f746g-disco"


@dataclass
class Sketch:
    """A small int8 graph, built operator by operator; the last result is its output."""

    name: str
    shape: tuple[int, int, int, int]  # NHWC of the input
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tensors.append(Tensor(0, "input", self.shape, "int8"))

    def conv(self, channels: int, kernel: int, stride: int = 1, source: int = -1) -> int:
        """CONV_2D with SAME padding; returns the result's tensor index."""
        n, h, w, c = self._shape(source)
        filters = self._constant(np.zeros((channels, kernel, kernel, c), np.int8))
        return self._window("CONV_2D", source, filters, (n, -(-h // stride), -(-w // stride), channels), stride)

    def depthwise(self, kernel: int, stride: int = 1) -> int:
        """DEPTHWISE_CONV_2D with SAME padding on the last result."""
        n, h, w, c = self._shape(-1)
        filters = self._constant(np.zeros((1, kernel, kernel, c), np.int8))
        return self._window("DEPTHWISE_CONV_2D", -1, filters, (n, -(-h // stride), -(-w // stride), c), stride)

    def add(self, first: int, second: int) -> int:
        """ADD of two results."""
        return self._operator("ADD", (first, second), self._shape(first), {})

    def graph(self) -> Graph:
        """The finished graph."""
        last = self.operators[-1].outputs
        digest = hashlib.sha256(self.name.encode()).hexdigest()
        return Graph(self.name, tuple(self.tensors), tuple(self.operators), (0,), last, digest, random_weights=True)

    def _window(self, kind: str, source: int, filters: int, shape: tuple[int, ...], stride: int) -> int:
        bias = self._constant(np.zeros(shape[3], np.int32))
        options = {"padding": "SAME", "stride_h": stride, "stride_w": stride, "dilation_h": 1, "dilation_w": 1}
        return self._operator(kind, (self._index(source), filters, bias), shape, options)

    def _operator(self, kind: str, inputs: tuple[int, ...], shape: tuple[int, ...], options: dict[str, object]) -> int:
        self.tensors.append(Tensor(len(self.tensors), f"result{len(self.operators)}", shape, "int8"))
        result = self.tensors[-1].index
        self.operators.append(Operator(len(self.operators), kind, inputs, (result,), options))
        return result

    def _constant(self, data: np.ndarray) -> int:
        index = len(self.tensors)
        self.tensors.append(Tensor(index, f"constant{index}", data.shape, str(data.dtype), data=data))
        return index

    def _index(self, source: int) -> int:
        return source if source >= 0 else (self.operators[-1].outputs[0] if self.operators else 0)

    def _shape(self, source: int) -> tuple[int, ...]:
        return self.tensors[self._index(source)].shape


def one_conv() -> Graph:
    sketch = Sketch("sample-one-conv", (1, 16, 16, 8))
    sketch.conv(16, 3)
    return sketch.graph()


def tall_conv() -> Graph:
    sketch = Sketch("sample-tall-conv", (1, 64, 32, 16))
    sketch.conv(8, 3)
    return sketch.graph()


def large_conv() -> Graph:
    sketch = Sketch("sample-large-conv", (1, 96, 96, 16))
    sketch.conv(4, 1)
    return sketch.graph()


def residual() -> Graph:
    sketch = Sketch("sample-residual", (1, 16, 16, 8))
    first = sketch.conv(8, 3)
    second = sketch.conv(8, 3)
    sketch.add(first, second)
    return sketch.graph()


def two_convs() -> Graph:
    sketch = Sketch("sample-two-convs", (1, 96, 48, 16))
    sketch.conv(16, 3)
    sketch.conv(8, 1)
    return sketch.graph()


def mobile_block() -> Graph:
    sketch = Sketch("sample-mobile-block", (1, 16, 16, 8))
    sketch.conv(24, 1)
    sketch.depthwise(3)
    sketch.conv(8, 1)
    return sketch.graph()


@dataclass(frozen=True)
class Sample:
    title: str
    model: str | Callable[[], Graph]
    machine: str
    policy: str
    options: PlanOptions = field(default_factory=PlanOptions)


SAMPLES = {
    "one-conv-internal": Sample("One convolution in SRAM, weights in flash", one_conv, F746, "internal"),
    "ds-cnn-internal": Sample("Keyword spotting in SRAM, weights in flash", "ds-cnn", F469, "internal"),
    "one-conv-qspi": Sample(
        "One convolution in SDRAM, weights read in place from QSPI",
        one_conv,
        F746,
        "external",
        PlanOptions(weights="qspi"),
    ),
    "figure-1-external": Sample("A graph with two branches, all in SDRAM", "figure-1", F469, "external"),
    "ping-pong-four-tiles": Sample(
        "One convolution in four tiles: two buffers by turns", tall_conv, F469, "tinyops", PlanOptions(22 * KIB)
    ),
    "split-transfer": Sample(
        "Tiles of more than 65,535 B: each transfer in two parts", large_conv, F469, "tinyops", PlanOptions(180 * KIB)
    ),
    "add-second-input": Sample("A residual ADD: both inputs copied", residual, F469, "tinyops"),
    "cache-maintenance": Sample("Clean before, invalidate after each copy", two_convs, F746, "tinyops"),
    "filters-alternate": Sample(
        "Three convolutions: the next filter copied while one runs", mobile_block, F469, "tinyops"
    ),
    "filter-overlay-only": Sample(
        "The same with nothing but filters copied",
        mobile_block,
        F469,
        "tinyops",
        PlanOptions(overlay=frozenset({"filter"})),
    ),
}


def program(sample: Sample) -> Program:
    """The sample's program, with its title among the header's options."""
    graph = load_model(sample.model) if isinstance(sample.model, str) else sample.model()
    kernels = load_profile("cmsis-2021-gcc9")
    made = plan(graph, load_machine(sample.machine), sample.policy, kernels, sample.options)
    return replace(made, header=replace(made.header, options={**made.header.options, "title": sample.title}))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, sample in SAMPLES.items():
        write_program(program(sample), folder / f"{name}.jsonl")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "traces")
