"""Scales and biases of a zoo network, chosen the way a converter calibrates: one run in float32 on a random input.

Random filters would let the signal grow or die over sixty layers. So each filter gets the per-channel scale that makes
its norm 1, times one gain per operator that makes its accumulators' root mean square 1; before a SOFTMAX over n classes
it is ``sqrt(2 ln n)``, where its sum begins to be made by a few classes (below, each of 1000 gets about 1/1000, which
int8 cannot tell from 0; the random energy model, Derrida 1981, has the formula). An output scale then covers
``HEADROOM`` times the ``QUANTILE`` of the magnitudes: up to that quantile nothing saturates on the calibration input,
and another random input stays far below 5 % at the rails. Scales and gains are snapped to ``2 ** (k / 16)``, so that
the last bit of a BLAS sum does not change them.

Not modelled: any resemblance to trained weights; sparsity and value distributions are those of uniform noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcusim.model.geometry import geometry
from mcusim.model.graph import Graph, Operator, Quantization
from mcusim.model.zoo.builder import seed_of
from mcusim.model.zoo.float_reference import Array, unweighted, weighted

QUANTILE, HEADROOM, BIAS = 0.995, 1.25, 0.1
INPUT_SCALE = 2.0**-7
CLIPS = {"NONE": (-np.inf, np.inf), "RELU": (0.0, np.inf), "RELU6": (0.0, 6.0)}
SAME_SCALE = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "RESHAPE")


@dataclass(frozen=True)
class ValueRange:
    """Real values a tensor must represent: 0 to ``high``, or -``high`` to ``high`` when ``signed``."""

    high: float
    signed: bool

    def quantization(self) -> Quantization:
        steps, zero = (127, 0) if self.signed else (255, -128)
        return Quantization((float(np.float32(self.high / steps)),), (zero,))


def snap(value: float) -> float:
    """The next ``2 ** (k / 16)`` at or above ``value``, as float32; 1 for 0."""
    return float(np.float32(2.0 ** (math.ceil(16 * math.log2(value)) / 16))) if value > 0 else 1.0


def _quantile(magnitudes: Array) -> float:
    """The :data:`QUANTILE` of them, between the two nearest; numpy's own imports its masked arrays first."""
    position = (magnitudes.size - 1) * QUANTILE
    below = math.floor(position)
    above = min(below + 1, magnitudes.size - 1)
    ordered = np.partition(magnitudes, (below, above), axis=None)
    return float(ordered[below]) + (position - below) * (float(ordered[above]) - float(ordered[below]))


class ZooQuantizer:
    """Runs a graph once and keeps every tensor's range, every filter's scales and every bias in real numbers."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: dict[int, Array] = {}
        self.ranges: dict[int, ValueRange] = {}
        self.scales: dict[int, Array] = {}
        self.biases: dict[int, Array] = {}

    def run(self) -> Graph:
        start = self.graph.inputs[0]
        rng = self._random("calibration")
        self.values[start] = rng.uniform(-1, 1, self.graph.tensors[start].shape[1:]).astype(np.float32)
        self.ranges[start] = ValueRange(INPUT_SCALE * 127, signed=True)
        for op in self.graph.operators:
            self._weighted(op) if op.traits.parametric else self._unweighted(op)
        self._join()
        return self._quantized()

    def _random(self, what: str) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(seed_of(self.graph.name, what)))

    def _weighted(self, op: Operator) -> None:
        source, filters, bias = op.inputs
        data = self.graph.tensors[filters].data
        assert data is not None
        axis = filter_axis(op)
        real = data.astype(np.float32)
        others = tuple(i for i in range(real.ndim) if i != axis)
        norms = 1 / np.sqrt((real * real).sum(axis=others))
        shape = [-1 if i == axis else 1 for i in range(real.ndim)]
        sums = weighted(op.type, self.values[source], real * norms.reshape(shape), geometry(self.graph, op))
        gain = self._rms(op) / snap(float(np.sqrt(np.mean(sums * sums))))
        self.scales[filters] = (norms * gain).astype(np.float32)
        self.biases[bias] = BIAS * self._random(f"bias_{op.index}").standard_normal(len(norms), np.float32)
        low, high = CLIPS[op.options["activation"]]
        self._keep(op.outputs[0], np.clip(sums * np.float32(gain) + self.biases[bias], low, high), low != 0)

    def _rms(self, op: Operator) -> float:
        """What the root mean square of an operator's accumulators becomes."""
        rest = self.graph.operators[op.index + 1 :]
        if [o.type for o in rest if o.type != "RESHAPE"] != ["SOFTMAX"]:
            return 1.0
        return snap(math.sqrt(2 * math.log(self.graph.tensors[op.outputs[0]].shape[-1])))

    def _unweighted(self, op: Operator) -> None:
        data = [i for i in op.inputs if not self.graph.tensors[i].constant]
        result = unweighted(op.type, [self.values[i] for i in data], geometry(self.graph, op))
        self._keep(op.outputs[0], result, any(self.ranges[i].signed for i in data))
        if op.type in SAME_SCALE:
            self.ranges[op.outputs[0]] = self.ranges[data[0]]
        elif op.type == "SOFTMAX":
            self.ranges[op.outputs[0]] = ValueRange(255 / 256, signed=False)

    def _keep(self, tensor: int, value: Array, signed: bool) -> None:
        self.values[tensor] = value
        self.ranges[tensor] = ValueRange(snap(HEADROOM * _quantile(np.abs(value))), signed)

    def _join(self) -> None:
        """A CONCATENATION copies bytes: its inputs and its output take the widest range among them."""
        for op in self.graph.operators:
            if op.type == "CONCATENATION":
                parts = [self.ranges[i] for i in (*op.inputs, *op.outputs)]
                widest = ValueRange(max(r.high for r in parts), any(r.signed for r in parts))
                self.ranges |= dict.fromkeys((*op.inputs, *op.outputs), widest)

    def _quantized(self) -> Graph:
        tensors = list(self.graph.tensors)
        for index, value_range in self.ranges.items():
            tensors[index] = replace(tensors[index], quantization=value_range.quantization())
        for op in self.graph.operators:
            if op.traits.parametric:
                self._quantize_weights(op, tensors)
        return replace(self.graph, tensors=tuple(tensors))

    def _quantize_weights(self, op: Operator, tensors: list[Any]) -> None:
        source, filters, bias = op.inputs
        scales = self.scales[filters].astype(np.float64)
        steps = scales * tensors[source].quantization.scales[0]
        values = np.rint(self.biases[bias] / steps).astype(np.int32)
        values.setflags(write=False)
        zeros = (0,) * len(scales)
        quantization = Quantization(tuple(scales.tolist()), zeros, filter_axis(op))
        tensors[filters] = replace(tensors[filters], quantization=quantization)
        quantization = Quantization(tuple(steps.astype(np.float32).tolist()), zeros, 0)
        tensors[bias] = replace(tensors[bias], quantization=quantization, data=values)


def filter_axis(op: Operator) -> int:
    """The axis of a filter that counts output channels."""
    return 3 if op.traits.depthwise else 0
