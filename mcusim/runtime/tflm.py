"""``tflm``: TensorFlow Lite Micro, an interpreter with a structure for each node, and an arena planned when it starts.

What it asks its planner for, the buffers of its arena's head, is after TFLM's micro_allocation_info.cc (lifetimes) and
kernels/*.cc (scratch buffers of the reference kernels). Three things differ from :mod:`mcusim.plan.liveness.lifetimes`:
kernels' scratch buffers are in the arena too; a graph input that nobody reads lives before the first operator alone; so
does, still earlier, a tensor that nobody makes or reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from mcusim.machine.cores import CoreTraits
from mcusim.model.graph import Graph, Operator, item_bytes
from mcusim.model.operators import interpreter_scratch, shown_type, traits_of
from mcusim.runtime.runtime import InferenceEngine, Request, Runtime

ALIGNMENT = 16  # MicroArenaBufferAlignment
INT = 4  # sizeof(int), sizeof(int32_t)
_NOBODY, _INPUTS, _FIRST = 0, 1, 2  # steps: of what nobody makes or reads, of the inputs' arrival, of operator 0


def scratch_bytes(graph: Graph, op: Operator) -> tuple[tuple[str, int], ...]:
    """Name and bytes of each buffer that TFLM's reference kernel of ``op`` has in the arena while it runs.

    MEAN and SUM (kernels/reduce_common.cc, PrepareMeanOrSumHelper): an int32 sum for each element of the output (8- and
    16-bit types), an int for each dimension of the input (the position in it) and one for each axis (the axes
    resolved); REDUCE_MAX, REDUCE_MIN and REDUCE_ALL the last two. TRANSPOSE_CONV: an int32 sum for each element of an
    int8 output. MIRROR_PAD: an int for each dimension of output and input. SVDF
    (kernels/svdf_common.cc): an int32 for each filter and, of integers, one for each unit. LSTM
    (kernels/unidirectional_sequence_lstm.cc): four times the size of the cell's state. Filters of int4
    (kernels/{conv_common,depthwise_conv_common,fully_connected}.cc): the filter unpacked. ADD_N: a pointer for each
    input. SignalRfft and TFLite_Detection_PostProcess by their options. The
    reference kernels of all other operators that TFLM has ask for none.

    Not modelled: compressed tensors, and other kernels (CMSIS-NN's convolutions have scratch buffers).
    """
    kind = shown_type(op.type)
    traits = traits_of(kind)
    rule = _RULES.get(interpreter_scratch(kind) or "")
    if rule is not None:
        return rule(graph, op)
    if traits.keeps_state:
        return _with_state(graph, op)
    if traits.transposed:
        source, target = (graph.tensors[t] for t in (op.inputs[traits.data_input], op.outputs[0]))
        item = {"int8": INT, "int16": 2 * INT}.get(source.dtype, 0)
        return (("sums", item * target.elements),) if item else ()
    if traits.parametric:
        weights = graph.tensors[op.inputs[1]]
        return (("unpacked filter", weights.elements),) if weights.dtype == "int4" else ()
    if traits.mirrors:
        rank = len(graph.tensors[op.outputs[0]].shape)
        return ("output steps", INT * rank), ("input steps", INT * rank)
    if not traits.reduces:
        return ()
    source, target = (graph.tensors[t] for t in (op.inputs[0], op.outputs[0]))
    sums = (("sums", INT * target.elements),) if source.dtype in ("int8", "int16") and not traits.selects else ()
    return (*sums, *_axes(graph, op))


def _axes(graph: Graph, op: Operator) -> Scratch:
    source, axes = (graph.tensors[t] for t in op.inputs[:2])
    return ("position", INT * len(source.shape)), ("axes", INT * axes.elements)


def _pointers(_: Graph, op: Operator) -> Scratch:
    return (("pointers", INT * len(op.inputs)),)


def _spectrum(graph: Graph, op: Operator) -> Scratch:
    item = item_bytes(graph.tensors[op.inputs[0]].dtype) or 0
    return (("spectrum", item * int(op.options.get("fft_length", 0))),)


def _detections(graph: Graph, op: Operator) -> Scratch:
    """kernels/detection_postprocess.cc; ``op.options`` are those that its converter writes."""
    boxes, scores = graph.tensors[op.inputs[0]].shape[1], graph.tensors[op.inputs[1]]
    most, classes = (int(op.options.get(name, 0)) for name in ("max_detections", "num_classes"))
    sizes = {
        "active candidates": boxes,
        "boxes": 4 * INT * boxes,
        "scores": INT * scores.elements,
        "score of a class": INT * boxes,
        "kept scores": INT * boxes,
        "scores after suppression": INT * most * boxes,
        "sorted values": INT * most * boxes,
        "kept": INT * boxes,
        "sorted": INT * most * boxes,
        "buffer": INT * max(classes, most) * boxes,
        "selected": INT * min(boxes, most) * boxes,
    }
    return tuple(sizes.items())


Scratch = tuple[tuple[str, int], ...]
_RULES: dict[str, Callable[[Graph, Operator], Scratch]] = {
    "axes": _axes,
    "pointers": _pointers,
    "spectrum": _spectrum,
    "detections": _detections,
}


def _with_state(graph: Graph, op: Operator) -> Scratch:
    traits = traits_of(shown_type(op.type))
    source, filters = (graph.tensors[t] for t in op.inputs[:2])
    if traits.filters_in_time:
        count = source.shape[0] * filters.shape[0]
        units = count // int(op.options.get("rank", 1)) if filters.dtype == "int8" else 0
        return ("filters", INT * count), *((("units", INT * units),) if units else ())
    cell = next(graph.tensors[t] for t in reversed(op.inputs) if t >= 0 and graph.tensors[t].variable)
    return tuple((f"gate {i}", cell.bytes) for i in range(traits.gates))


def requests(graph: Graph) -> tuple[Request, ...]:
    """What TFLM plans for ``graph``, in its order: tensors by index, then scratch buffers by operator. Operator ``i``
    runs at step ``i + 2``.

    Constants, variables (TFLM has them in the tail) and tensors without bytes are not planned. Not modelled: what
    :func:`scratch_bytes` does not model.
    """
    first, last = _lives(graph)
    asked = []
    for t in graph.tensors:
        if t.constant or t.variable or t.bytes == 0:
            continue
        kind: Literal["activation", "unused"] = "activation" if t.index in last else "unused"
        steps = first.get(t.index, _NOBODY), last.get(t.index, _NOBODY)
        asked.append(Request(t.name, kind, t.bytes, *steps, t.index))
    for step, op in enumerate(graph.operators, _FIRST):
        for name, size in scratch_bytes(graph, op):
            asked.append(Request(f"{name} of operator {op.index} {op.type}", "scratch", size, step, step))
    return tuple(asked)


def _lives(graph: Graph) -> tuple[dict[int, int], dict[int, int]]:
    """First and last step of every tensor that has one."""
    first = dict.fromkeys(graph.inputs, _INPUTS)
    last = dict(first)
    for step, op in enumerate(graph.operators, _FIRST):
        for t in op.outputs:
            first.setdefault(t, step)
        for t in (*op.inputs, *op.outputs):
            last[t] = step
    end = len(graph.operators) + _FIRST - 1
    for t in graph.outputs:
        first.setdefault(t, end)
        last[t] = end
    return first, last


def _interpreter_cycles(core: CoreTraits) -> int:
    """Find the node, its registration and tensors, fill the kernel's parameter structures."""
    return 1800 if core.dual_issue else 2500


RUNTIME = Runtime(
    name="tflm",
    description="TensorFlow Lite Micro: an interpreter and an arena",
    executed=lambda graph: graph,
    requests=requests,
    kernels=("cmsis-2021-gcc9", "cmsis"),
    engines=(
        InferenceEngine("TFLM reference", "TensorFlow", "reference-gcc12"),
        InferenceEngine("TFLM CMSIS-NN", "Arm"),
    ),
    builds=("cmsis-2021-gcc9", "cmsis-gcc12", "cmsis-nano-gcc12", "cmsis-2020-gcc12", "cmsis-2020-os-gcc12"),
    alignment=ALIGNMENT,
    node_bytes=160,  # TfLiteEvalTensor, node, registration and parameters
    per_channel_bytes=8,  # one int32 multiplier, one int32 shift
    code_bytes=16 << 10,
    code_source="TFLM's core, 16 KB (tensorflow.org/lite/microcontrollers)",
    keeps_file=True,
    cycles=_interpreter_cycles,
    cycles_of=("interpreter", "assumed: a few thousand cycles to invoke a node, not measured"),
)
