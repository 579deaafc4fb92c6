"""Write the sample programs and their models under traces/. Deterministic: the same files every time.

The programs are planned for kernels that exist as a set, so that both fidelities play them. The models are small, with
seeded random weights and scales chosen as for the zoo's networks.

Usage: python scripts/traces/make.py [FOLDER]     (default: traces/ of this repository)
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from mcusim.kernels import load_profile
from mcusim.machine import load_machine
from mcusim.model import Graph, Operator, Tensor, load_model
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.model.zoo.builder import WEIGHT_LIMIT, seed_of
from mcusim.model.zoo.quantization import ZooQuantizer
from mcusim.plan import PlanOptions, plan, plan_options
from mcusim.program import Program, write_program

KIB = 1024
KERNELS = "cmsis-gcc12"
F469, F746 = "stm32f469i-disco", "stm32f746g-disco"


@dataclass
class Sketch:
    """A small int8 graph with seeded random filters, built operator by operator; the last result is its output."""

    name: str
    shape: tuple[int, int, int, int]  # NHWC of the input
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tensors.append(Tensor(0, "input", self.shape, "int8"))

    def conv(self, channels: int, kernel: int, stride: int = 1, source: int = -1) -> int:
        """CONV_2D with SAME padding; returns the result's tensor index."""
        n, h, w, c = self._shape(source)
        filters = self._filters((channels, kernel, kernel, c))
        return self._window("CONV_2D", source, filters, (n, -(-h // stride), -(-w // stride), channels), stride)

    def depthwise(self, kernel: int, stride: int = 1) -> int:
        """DEPTHWISE_CONV_2D with SAME padding on the last result."""
        n, h, w, c = self._shape(-1)
        filters, shape = self._filters((1, kernel, kernel, c)), (n, -(-h // stride), -(-w // stride), c)
        return self._window("DEPTHWISE_CONV_2D", -1, filters, shape, stride, depth_multiplier=1)

    def add(self, first: int, second: int) -> int:
        """ADD of two results."""
        return self._operator("ADD", (first, second), self._shape(first), {"activation": "NONE"})

    def graph(self) -> Graph:
        """The graph, without scales and with biases of zero."""
        last = self.operators[-1].outputs
        digest = hashlib.sha256(self.name.encode()).hexdigest()
        return Graph(self.name, tuple(self.tensors), tuple(self.operators), (0,), last, digest, random_weights=True)

    def _window(self, kind: str, source: int, filters: int, shape: tuple[int, ...], stride: int, **more: object) -> int:
        bias = self._constant(np.zeros(shape[3], np.int32))
        options: dict[str, object] = {"padding": "SAME", "stride_h": stride, "stride_w": stride, "activation": "NONE"}
        options |= {"dilation_h": 1, "dilation_w": 1, **more}
        return self._operator(kind, (self._index(source), filters, bias), shape, options)

    def _operator(self, kind: str, inputs: tuple[int, ...], shape: tuple[int, ...], options: dict[str, object]) -> int:
        self.tensors.append(Tensor(len(self.tensors), f"result{len(self.operators)}", shape, "int8"))
        result = self.tensors[-1].index
        self.operators.append(Operator(len(self.operators), kind, inputs, (result,), options))
        return result

    def _filters(self, shape: tuple[int, ...]) -> int:
        rng = np.random.Generator(np.random.PCG64(seed_of(self.name, f"filter_{len(self.operators)}")))
        return self._constant(rng.integers(-WEIGHT_LIMIT, WEIGHT_LIMIT, size=shape, dtype=np.int8, endpoint=True))

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


def shrinking() -> Graph:
    sketch = Sketch("sample-shrinking", (1, 64, 32, 16))
    sketch.depthwise(3, stride=4)
    return sketch.graph()


def large_filter() -> Graph:
    sketch = Sketch("sample-large-filter", (1, 32, 32, 8))
    sketch.conv(16, 1, stride=2)
    sketch.conv(64, 3, stride=4)
    return sketch.graph()


def stem() -> Graph:
    sketch = Sketch("sample-stem", (1, 96, 96, 8))
    sketch.conv(8, 3, stride=4)
    sketch.conv(8, 1)
    sketch.conv(16, 3)
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
        plan_options(weights="qspi"),
    ),
    "figure-1-external": Sample("A graph with two branches, all in SDRAM", "figure-1", F469, "external"),
    "ping-pong-four-tiles": Sample(
        "One convolution in four tiles: two buffers by turns",
        tall_conv,
        F469,
        "tinyops",
        plan_options(sram_budget=22 * KIB),
    ),
    "split-transfer": Sample(
        "Tiles of more than 65,535 B: each transfer in two parts",
        large_conv,
        F469,
        "tinyops",
        plan_options(sram_budget=180 * KIB),
    ),
    "copy-bound": Sample(
        "Tiles that take longer to copy than to compute",
        shrinking,
        F469,
        "tinyops",
        plan_options(sram_budget=22 * KIB, overlay=frozenset({"input"})),
    ),
    "next-filter": Sample("A large filter copied while the operator before runs", large_filter, F469, "tinyops"),
    "cached-filters": Sample(
        "Tiles in DTCM, filters and scratch in SRAM behind the cache",
        stem,
        F746,
        "tinyops",
        plan_options(overlay=frozenset({"input", "filter", "quant"})),
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
        plan_options(overlay=frozenset({"filter"})),
    ),
}


@cache
def model_file(make: Callable[[], Graph]) -> tuple[str, bytes]:
    """Name and bytes of a sketch's ``.tflite``."""
    graph = ZooQuantizer(make()).run()
    return f"{graph.name}.tflite", write_tflite(graph)


@cache
def model(made: str | Callable[[], Graph]) -> Graph:
    """A zoo network, or a sketch as it is read from its file."""
    if isinstance(made, str):
        return load_model(made)
    name, data = model_file(made)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return load_model(path)


def program(sample: Sample) -> Program:
    """The sample's program, with its title among the header's options."""
    made = plan(model(sample.model), load_machine(sample.machine), sample.policy, load_profile(KERNELS), sample.options)
    return replace(made, header=replace(made.header, options={**made.header.options, "title": sample.title}))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, sample in SAMPLES.items():
        write_program(program(sample), folder / f"{name}.jsonl")
        if not isinstance(sample.model, str):
            file, data = model_file(sample.model)
            (folder / file).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "traces")
