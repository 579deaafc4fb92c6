"""A layer to tune: one operator with its values, where its operands lie, and what comes out by LiteRT.

Not modelled: operands at the very addresses of a plan (they are in its regions, each at a line of its own), caches
that are warm from the layer before: a trial begins with cold ones, as the first run after a reset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.api.functions import plan_program
from mcusim.engine.free_memory import code_place
from mcusim.errors import ModelError, UnsupportedError, UsageError
from mcusim.model.channel_tiles import model_operators
from mcusim.model.geometry import Geometry, geometry
from mcusim.model.graph import Graph, Operator, Quantization, Tensor
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import output_size
from mcusim.program import program_graph
from mcusim.program.program import Compute
from mcusim.verification.equivalence import litert_outputs

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.model.traits import Traits

Array = np.ndarray[Any, Any]
CODE = 32 << 10  # bytes that a place for code has room for


@dataclass(frozen=True)
class Layer:
    """``graph`` has one operator; ``places`` are regions of input, filter, bias, scratch, output, code.

    ``operators`` are the numbers of those of the model that are alike.
    """

    graph: Graph
    places: Mapping[str, str]
    input: Array
    expected: Array
    operators: tuple[int, ...] = (0,)

    @property
    def op(self) -> Operator:
        return self.graph.operators[0]

    @property
    def geometry(self) -> Geometry:
        return geometry(self.graph, self.op)

    @property
    def name(self) -> str:
        """On a line: type, sizes, window, stride."""
        return shape_text(self.geometry)


def shape_text(g: Geometry) -> str:
    """As ``CONV_2D 16x16x32->16x16x32 5x5 stride 1x1 pad 2,2,2,2``."""
    return (
        f"{g.type} {g.in_h}x{g.in_w}x{g.in_c}->{g.out_h}x{g.out_w}x{g.out_c} {g.kernel_h}x{g.kernel_w}"
        f" stride {g.stride_h}x{g.stride_w} pad {g.pad_top},{g.pad_bottom},{g.pad_left},{g.pad_right}"
        + (f" dilation {g.dilation_h}x{g.dilation_w}" if g.dilation_h * g.dilation_w > 1 else "")
        + (f" batch {g.batch}" if g.batch > 1 else "")
    )


def layers_of(graph: Graph, machine: Machine, policy: str = "internal", **options: Any) -> list[Layer]:
    """The layers of a network that have weights, those of equal shape once, where a policy's plan has their operands.

    Raises what planning does, UsageError where LiteRT is missing, UnsupportedError for a network without such layers.
    """
    program = plan_program(graph, machine, policy, None, **options)
    numbers = model_operators(program_graph(program, graph))
    code = code_place(program, machine, None, CODE).region
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[int]] = {}
    for op in graph.operators:
        if op.traits.parametric and _types(graph, op) == {"int8"}:
            places = {**_places(program.tasks, numbers.index(op.index)), "code": code}
            alike.setdefault((shape_text(geometry(graph, op)), tuple(sorted(places.items()))), []).append(op.index)
    if not alike:
        raise UnsupportedError(f"{graph.name}: no convolution or fully connected layer of int8; nothing to tune")
    return [
        _layer(_alone(graph, graph.operators[several[0]]), dict(places), tuple(several))
        for (_, places), several in alike.items()
    ]


def _types(graph: Graph, op: Operator) -> set[str]:
    return {graph.tensors[t].dtype for t in (op.inputs[0], op.inputs[1], op.outputs[0])}


def _places(tasks: Any, index: int) -> dict[str, str]:
    """Regions by operand, of the operator's first tile; scratch that the plan has none of is beside the input."""
    task = next(task for task in tasks if isinstance(task, Compute) and task.operator == index)
    regions = {operand.role: operand.span.region for operand in task.operands}
    source, weights = regions["input0"], regions["filter"]
    return {
        "input": source, "filter": weights, "bias": regions.get("bias", weights),
        "scratch": regions.get("scratch", source), "output": regions["output"],
    }  # fmt: skip


def _alone(graph: Graph, op: Operator) -> Graph:
    """A graph of one operator."""
    kept = [t for t in (*op.inputs, *op.outputs) if t >= 0]
    place = {t: i for i, t in enumerate(dict.fromkeys(kept))}
    tensors = tuple(replace(graph.tensors[t], index=i) for t, i in place.items())
    inputs = tuple(place[t] if t >= 0 else -1 for t in op.inputs)
    alone = Operator(0, op.type, inputs, (place[op.outputs[0]],), op.options)
    source = (place[op.inputs[0]],)
    return Graph(f"{graph.name}, operator {op.index}", tensors, (alone,), source, alone.outputs, graph.sha256)


def _layer(graph: Graph, places: Mapping[str, str], operators: tuple[int, ...]) -> Layer:
    tensor = graph.tensors[graph.inputs[0]]
    values = np.random.default_rng(0).integers(-128, 128, tensor.shape).astype(np.int8)
    try:
        (expected,) = litert_outputs(graph, [values])[0]
    except ImportError:
        raise UsageError(
            "tuning needs LiteRT, which says what a kernel must compute: pip install 'mcusim[tune]'"
        ) from None
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"{graph.name}: LiteRT does not take it: {str(error)[:200]}") from None
    return Layer(graph, places, values, expected, operators)


def graph_of_shape(kind: str, shape: Mapping[str, int], padding: str) -> Graph:
    """A network of one layer by its sizes, with random weights: ``in_h in_w in_c out_c``, and of ``kernel_h kernel_w
    stride_h stride_w`` those that are not 1. Raises UsageError for a window larger than the input, and for a depthwise
    layer's output channels that are no multiple of its input's."""
    dice, traits = np.random.default_rng(1), OPERATORS[kind].traits
    if traits.depthwise and shape["out_c"] % shape["in_c"]:
        raise UsageError(f"out = {shape['out_c']}: {kind} has a multiple of the input's {shape['in_c']} channels")
    size = {"stride_h": 1, "stride_w": 1, "kernel_h": 1, "kernel_w": 1, **shape}
    if not traits.windowed:
        size |= {"in_h": 1, "in_w": 1, "in_c": size["in_h"] * size["in_w"] * size["in_c"], "kernel_h": 1, "kernel_w": 1}
    outs = [
        output_size(size[f"in_{axis}"], size[f"kernel_{axis}"], size[f"stride_{axis}"], 1, padding) for axis in "hw"
    ]
    if min(outs) < 1:
        raise UsageError(f"a window of {size['kernel_h']}x{size['kernel_w']} is larger than the input")
    tensors = _tensors(size, outs, traits, dice)
    options: dict[str, Any] = {"activation": "NONE"}
    if traits.windowed:
        options |= {"padding": padding, "stride_h": size["stride_h"], "stride_w": size["stride_w"]}
        options |= {"dilation_h": 1, "dilation_w": 1}
    options |= {"depth_multiplier": size["out_c"] // size["in_c"]} if traits.depthwise else {}
    op = Operator(0, kind, (0, 1, 2), (3,), options)
    return Graph("layer", tensors, (op,), (0,), (3,), "0" * 64, random_weights=True)


def _tensors(
    size: Mapping[str, int], outs: Sequence[int], traits: Traits, dice: np.random.Generator
) -> tuple[Tensor, ...]:
    """Input, filter, bias and output: most outputs are within the range."""
    in_c, out_c, kernel = size["in_c"], size["out_c"], (size["kernel_h"], size["kernel_w"])
    source: tuple[int, ...]
    result: tuple[int, ...]
    channels: tuple[int, ...]
    if traits.windowed:
        source, result = (1, size["in_h"], size["in_w"], in_c), (1, *outs, out_c)
        channels = (1, *kernel, out_c) if traits.depthwise else (out_c, *kernel, in_c)
    else:
        source, result, channels = (1, in_c), (1, out_c), (out_c, in_c)
    scale, taps = 0.02, kernel[0] * kernel[1] * (1 if traits.depthwise else in_c)
    count = out_c if traits.per_channel else 1
    scales = tuple(float(scale * (0.8 + 0.4 * dice.random())) for _ in range(count))
    zeros, axis = (0,) * count, 3 if traits.depthwise else 0
    weights = dice.integers(-127, 128, channels).astype(np.int8)
    bias = dice.integers(-2000, 2000, out_c).astype(np.int32)
    return (
        _tensor(0, "input", source, Quantization((scale,), (3,))),
        _tensor(1, "filter", channels, Quantization(scales, zeros, axis), weights),
        _tensor(2, "bias", (out_c,), Quantization(tuple(scale * s for s in scales), zeros, 0), bias),
        _tensor(3, "output", result, Quantization((scale * scale * 74 * 74 * taps**0.5 / 40,), (-5,))),
    )


def _tensor(index: int, name: str, shape: tuple[int, ...], scale: Quantization, data: Array | None = None) -> Tensor:
    return Tensor(index, name, shape, "int8" if data is None else str(data.dtype), scale, data)
