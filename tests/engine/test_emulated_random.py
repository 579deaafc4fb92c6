"""Random networks of several operators, emulated wherever a policy puts them: the bytes of LiteRT, however sliced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.engine.run import Run
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph, Operator
from mcusim.model.channel_tiles import channel_tileable
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import RULES
from mcusim.model.tflite.writer import write_tflite
from mcusim.plan import PlanOptions, plan, plan_options
from mcusim.plan.options import CHANNEL_TILES
from mcusim.plan.policies.tinyops import OVERLAYS
from mcusim.program import check_program, program_graph
from mcusim.request.tensors import random_inputs
from tests.support.cases import few, sampled
from tests.support.graphs.litert import LiteRT
from tests.support.kernels.kernel_case import RANGE, Case

KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D", "ADD", "MUL", "PAD", "AVERAGE_POOL_2D", "MAX_POOL_2D", "SPLIT",
         "CONCATENATION", "LOGISTIC", "HARD_SWISH", "RESIZE_BILINEAR", "TRANSPOSE")  # fmt: skip
WIDE = {"HARD_SWISH": "LEAKY_RELU"}  # what 16 bits have not, and what they have
BOARDS = ("stm32f469i-disco", "stm32f746g-disco")


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
        shape = (1, *size, count) if depthwise else (count, *size, channels)
        weights = self.weights(shape, count, 3 if depthwise else 0)
        product = self.scales(x)[0] * np.array(self.scales(weights))
        dtype, values = "int64" if self.wide else "int32", self.rng.integers(-3000, 3000, count)
        return [x, weights, self.add((count,), product, 0, dtype, values * (256 if self.wide else 1))]

    def graph_of_all(self) -> Graph:
        read = {t for op in self.operators for t in op.inputs}
        ends = tuple(t for op in self.operators for t in op.outputs if t not in read)
        return Graph("net", tuple(self.tensors), tuple(self.operators), tuple(self.data), ends, "")


def emulated(graph: Graph, rng: Any, cut: int | None) -> tuple[Run, list[Any]]:
    """A run somewhere, and every operator's outputs, one after the other."""
    board, policy = str(rng.choice(BOARDS)), str(rng.choice(("internal", "external", "tinyops", "tinyops")))
    changes = {"dma.dma2.beat": f"{rng.choice((1, 2, 4))} B", "dma.dma2.burst": str(rng.choice((1, 4))),
               "dma.dma2.threshold": "full", "dma.dma2.fifo": f"{rng.choice((0, 16))} B",
               "dma.dma2.streams": str(rng.choice((1, 2))),
               "dma.dma2.max_units": str(rng.choice((16, 65535)))}  # fmt: skip
    budget, overlay = int(rng.choice((9_000, 20_000))), [name for name in OVERLAYS if rng.random() < 0.7]
    buffering = str(rng.choice(("double", "single")))
    variant = "2023" if buffering == "double" and rng.random() < 0.5 else "2022"
    chosen = plan_options(
        sram_budget=budget, overlay=overlay, buffering=buffering, variant=variant, **knobs(graph, rng)
    )
    options = chosen if policy == "tinyops" else PlanOptions()
    machine, kernels = load_machine(board, changes), load_set("cmsis")
    program = plan(graph, machine, policy, kernels, options)
    check_program(program, machine)
    tensors, graph = [t for op in graph.operators for t in op.outputs], program_graph(program, graph)
    assert program_graph(program, graph) is graph and bool(graph.channel_tiles) == any(
        n > 1 for _, n in options[CHANNEL_TILES]
    )
    seen: dict[int, list[Any]] = {}
    core = EmulatedCore(
        program, machine, graph, kernels, random_inputs(graph), Options(cut=cut, observe=seen.__setitem__)
    )
    run = run_program(program, machine, core, "cmsis", "emulate")
    found = {t: value for op in graph.operators for t, value in zip(op.outputs, seen[op.index], strict=True)}
    return run, [found[t] for t in tensors]


def knobs(graph: Graph, rng: Any) -> dict[str, Any]:
    """Random parts of channels and rows, operands that are read in place, and what stays on chip."""
    numbers = [op.index for op in graph.operators]
    able = [op for op in graph.operators if channel_tileable(graph, op) is None and rng.random() < 0.5]
    parts = {op.index: int(rng.integers(1, graph.tensors[op.outputs[0]].shape[-1] + 1)) for op in able}
    rows = {int(rng.choice(numbers)): int(rng.integers(1, 9)) for _ in range(int(rng.integers(0, 3)))}
    kept = [f"{rng.choice(numbers)}:{rng.choice(OVERLAYS)}" for _ in range(int(rng.integers(0, 3)))]
    on_chip = int(rng.choice((0, 0, 700, 2000, 5000))) or None
    return {"channel_tiles": parts, "row_tiles": rows, "uncopied": ",".join(kept) or None, "on_chip": on_chip}


SEEDS = [(seed, "uint8" if seed % 4 == 3 else "int8") for seed in range(24)]


@few(3)
@pytest.mark.parametrize(("seed", "dtype"), sampled([*SEEDS, *((seed, "int16") for seed in range(12))], 12))
def test_random_networks_give_the_bytes_of_litert_wherever_they_run(seed: int, dtype: str) -> None:
    graph = Net(seed, dtype).graph_of_all()
    runtime = LiteRT(write_tflite(graph), keep=True)
    runtime.run(*random_inputs(graph))
    expected = [runtime.tensor(t).tobytes() for op in graph.operators for t in op.outputs]
    (whole, values), (sliced, again) = (emulated(graph, np.random.default_rng(seed), cut) for cut in (None, 997))
    assert whole == sliced
    for outputs in (values, again):
        assert [one.tobytes() for one in outputs] == expected
    assert all(cycles >= 0 for op in whole.operators for cycles in op.by_cause.values())
    large = [one for one in values if one.size >= 64]
    assert not large or any(len(np.unique(one)) > 3 for one in large)  # not all saturated
