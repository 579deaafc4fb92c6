"""A run's outputs against those of others that must be the same: an untiled run's, LiteRT's.

Every operator's outputs are compared byte for byte, in the order of execution; what is named is the first difference.
Floats of a network that computes exp or log are compared with LiteRT's within :data:`NEAR`.

Not modelled: values that no operator puts out (scratch, overlay buffers); what the runtime does with the network's
outputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from mcusim.errors import DoesNotFit, InputError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.operators import is_curve
from mcusim.plan import plan
from mcusim.program.program import Compute, Program, Task
from mcusim.units import quoted
from mcusim.verification.verification import Agreement, OutputDifference
from mcusim.verification.verified_emulation import Array, Emulation, Outputs

UNTILED = ("internal", "external")
NEAR = 1e-5  # of the largest value of a tensor: those of exp and log go into the sums of what follows


def first_difference(
    program: Program,
    graph: Graph,
    ours: Mapping[int, Sequence[Array]],
    theirs: Mapping[int, Sequence[Array]],
    near: float = 0.0,
) -> OutputDifference | None:
    """Where the outputs of an operator first differ, floats by more than ``near`` times the tensor's largest; those
    that only one of them has are not compared."""
    for op in graph.operators:
        pairs = zip(op.outputs, ours.get(op.index, ()), theirs.get(op.index, ()), strict=False)
        for tensor, got, want in pairs:
            wrong = _wrong_bytes(got, want, near)
            if wrong.size:
                return _difference(program, graph.tensors[tensor], op.index, got, want, wrong)
    return None


def _wrong_bytes(got: Array, want: Array, near: float) -> Array:
    """Positions of the bytes that differ."""
    ours, theirs = (np.ascontiguousarray(x).reshape(-1) for x in (got, want))
    wrong = ours.view(np.uint8) != theirs.view(np.uint8)
    if near and theirs.dtype == np.float32 and np.isfinite(theirs).all():
        wrong &= np.repeat(~(np.abs(ours - theirs) <= near * np.abs(theirs).max()), theirs.itemsize)
    return np.flatnonzero(wrong)


def _difference(
    program: Program, tensor: Tensor, operator: int, got: Array, want: Array, wrong: Array
) -> OutputDifference:
    index = int(wrong[0]) // got.itemsize
    shape = (1,) * (4 - len(tensor.shape)) + tuple(tensor.shape)
    *_, row, column, channel = map(int, np.unravel_index(index, shape))
    tile, tiles, kind = _tile(program, operator, row, shape[-3])
    value, expected = (float(x.reshape(-1)[index]) for x in (got, want))
    return OutputDifference(
        operator, kind, tensor.index, tile, tiles, row, column, channel, value, expected, int(wrong.size), got.nbytes
    )


def _tile(program: Program, operator: int, row: int, rows: int) -> tuple[int, int, str]:
    """The tile that puts out ``row``, how many there are, and the operator's type."""
    calls = [t for t in program.tasks if isinstance(t, Compute) and t.operator == operator]
    kind = next((info.type for info in program.header.operators if info.index == operator), "?")
    for task in calls:
        spatial = task.geometry.out_h == rows
        if spatial and task.rows.out_row <= row < task.rows.out_row + task.rows.out_rows:
            return task.tile, task.tiles, kind
    return 0, max((task.tiles for task in calls), default=1), kind


# the same model without tiles


def with_untiled(emulation: Emulation, outputs: Outputs, progress: Callable[[Task], object] | None = None) -> Agreement:
    """``outputs`` of a run of ``emulation`` against those of an undisturbed run of the same kernels without tiles.

    It runs on the same machine if it fits, under policy internal before external, but first under the one that is not
    the program's own; else on the first shipped machine that has the room.
    """
    for machine, policy, where in _places(emulation.machine, emulation.program.header.policy):
        name = f"the untiled run ({policy} on {where})"
        try:
            program = plan(emulation.graph, machine, policy, kernels=emulation.kernels)
            outcome = replace(emulation, program=program, machine=machine, code=None, sanitize="off").run(
                progress=progress
            )
        except (DoesNotFit, InputError):
            continue
        if outcome.fault is not None:
            return Agreement(name, note=f"it faults: {outcome.fault}")
        return Agreement(name, first_difference(emulation.program, emulation.graph, outputs, outcome.outputs))
    return Agreement("an untiled run", note="without tiles the model fits none of the machines that mcusim knows")


def _places(machine: Machine, own: str) -> Iterator[tuple[Machine, str, str]]:
    for policy in sorted(UNTILED, key=lambda p: p == own):
        yield machine, policy, machine.name
    for name in machine_names():
        for policy in UNTILED:
            yield load_machine(name), policy, f"{name} as shipped" if name == machine.name else name


# LiteRT


def with_litert(emulation: Emulation, outputs: Outputs) -> Agreement:
    """``outputs`` against those of LiteRT's reference kernels, when that is installed and takes the model."""
    name = "LiteRT's reference kernels"
    try:
        theirs = litert_outputs(emulation.graph, emulation.inputs)
    except ImportError:
        return Agreement(name, note="LiteRT is not installed (pip install ai-edge-litert)")
    except (InputError, RuntimeError, ValueError) as reason:
        return Agreement(name, note=f"LiteRT does not take the model: {quoted(str(reason))}")
    near = tolerance_of(emulation.graph)
    difference = first_difference(emulation.program, emulation.graph, outputs, theirs, near)
    return Agreement(name, difference, tolerance=near)


def tolerance_of(graph: Graph) -> float:
    """What values of a network may differ by, of a tensor's largest: nothing without exp and log."""
    return NEAR if any(map(partial(_is_curve, graph), graph.operators)) else 0.0


def _is_curve(graph: Graph, op: Operator) -> bool:
    return is_curve(op.type) and graph.tensors[op.outputs[0]].dtype == "float32"


def litert_outputs(graph: Graph, inputs: Sequence[Array]) -> Outputs:
    """Every operator's outputs from LiteRT's reference kernels, which run ``graph`` as mcusim writes it.

    A quantisation of a tensor with one axis is written along that one: biases of some models name another, which LiteRT
    refuses. Raises ImportError when LiteRT is not installed, ValueError or RuntimeError when it refuses the model,
    ModelError when it cannot be written.
    """
    interpreter = import_module("ai_edge_litert.interpreter")
    from mcusim.model.tflite.tflite_writer import write_tflite
    from mcusim.model.tflite.written_pads import with_written_pads

    written = with_written_pads(graph)
    data = write_tflite(replace(written, tensors=tuple(map(_along_its_axis, written.tensors))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # keeping tensors warns of memory
        runtime: Any = interpreter.Interpreter(
            model_content=data,
            experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
        )
    runtime.allocate_tensors()
    for detail, values in zip(runtime.get_input_details(), inputs, strict=True):
        runtime.set_tensor(detail["index"], values)
    runtime.invoke()
    return {
        op.index: [np.array(runtime.get_tensor(t)) for t in op.outputs if not graph.tensors[t].variable]
        for op in graph.operators
    }


def _along_its_axis(tensor: Tensor) -> Tensor:
    if tensor.quantization is None or len(tensor.shape) != 1:
        return tensor
    return replace(tensor, quantization=replace(tensor.quantization, axis=0))
