"""Whole networks on the emulated core, and what LiteRT and TFLite Micro make of the same files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import mcusim
from mcusim.model import Graph, load_model
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.results import Result
from mcusim.run_config.input_tensors import random_inputs
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.tflm import runtime as tflm_runtime
from tests.support.paths import shared_model
from tests.support.programs.plans import DISCOS, FILES, SWIFTNET

Array = np.ndarray[Any, Any]
Outputs = dict[int, list[Array]]  # by operator
PERSON = "person_detect"
TFLM_ARENA = 4 << 20


@cache
def network(name: str) -> tuple[Graph, bytes]:
    """A shared file, or a network of the zoo as ``mcusim export`` writes it: graph and bytes."""
    if name in (*FILES, SWIFTNET):
        path = shared_model(f"{name}.tflite")
        return load_model(path), path.read_bytes()
    graph = load_model(name)
    return graph, write_tflite(graph)


@cache
def litert_file(name: str) -> bytes:
    """The file as LiteRT takes it: the biases of person_detect name an axis they do not have."""
    graph, data = network(name)
    if name != PERSON:
        return data
    tensors = [
        replace(t, quantization=replace(t.quantization, axis=0)) if t.quantization and len(t.shape) == 1 else t
        for t in graph.tensors
    ]
    return write_tflite(replace(graph, tensors=tuple(tensors)))


def emulated(
    graph: Graph, board: str, policy: str, inputs: Sequence[Array], kernels: str = "cmsis"
) -> tuple[Result, Outputs]:
    """The result, and every operator's outputs as they were in the emulated memory when it was done."""
    seen: Outputs = {}
    result = mcusim.simulate(
        graph, board, policy, kernels, fidelity="emulate", input=list(inputs), observe=seen.__setitem__
    )
    return result, seen


def litert_outputs(graph: Graph, data: bytes, inputs: Sequence[Array]) -> Outputs:
    """Every operator's outputs from LiteRT's reference kernels."""
    runtime = LiteRT(data, keep=True)
    runtime.run(*inputs)
    return {op.index: [runtime.tensor(t) for t in op.outputs] for op in graph.operators}


def tflm_outputs(graph: Graph, data: bytes, inputs: Sequence[Array]) -> Outputs:
    """Every operator's outputs from TFLite Micro's reference kernels."""
    runtime = tflm_runtime()
    keep = runtime.InterpreterConfig.kPreserveAllTensors
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=TFLM_ARENA, intrepreter_config=keep)
    for i, values in enumerate(inputs):
        interpreter.set_input(values, i)
    interpreter.invoke()
    return {
        op.index: [np.array(interpreter.GetTensor(t, 0)["tensor_data"]) for t in op.outputs] for op in graph.operators
    }


def differences(graph: Graph, ours: Mapping[int, list[Array]], theirs: Mapping[int, list[Array]]) -> list[str]:
    """One line for each output that differs, in the order of execution: the operator, how many and by how much."""
    found = []
    for op in graph.operators:
        for t, got, want in zip(op.outputs, ours[op.index], theirs[op.index], strict=True):
            assert (got.dtype, got.size) == (want.dtype, want.size)
            if got.tobytes() != want.tobytes():
                gap = np.abs(got.reshape(-1).astype(float) - want.reshape(-1).astype(float))
                where = f"{np.count_nonzero(gap)} of {got.size} differ, first at {np.flatnonzero(gap)[0]}"
                found.append(f"operator {op.index} {op.type} tensor {t}: {where}, by up to {gap.max():g}")
    return found


def inputs_of(name: str, seed: int) -> list[Array]:
    return random_inputs(network(name)[0], seed)


def same_everywhere(name: str, board: str, policy: str, seed: int, kernels: str = "cmsis") -> None:
    """Fail unless every operator's outputs are LiteRT's, byte for byte, and vary; person_detect also TFLM's."""
    graph, data = network(name)
    inputs = inputs_of(name, seed)
    result, seen = emulated(graph, board, policy, inputs, kernels)
    assert result.fits, result.does_not_fit
    assert result.fault is None, result.fault
    assert list(seen) == [op.index for op in graph.operators]
    assert not differences(graph, seen, litert_outputs(graph, litert_file(name), inputs))
    if name == PERSON:
        assert not differences(graph, seen, tflm_outputs(graph, data, inputs))
    last = {t: v for op in graph.operators for t, v in zip(op.outputs, seen[op.index], strict=True)}
    assert [o.values.tobytes() for o in result.outputs] == [last[t].tobytes() for t in graph.outputs]
    large = [v for values in seen.values() for v in values if v.size >= 64]
    assert sum(len(np.unique(v)) > 3 for v in large) >= 0.9 * len(large)  # not all saturated


F469, F746 = DISCOS
POLICIES = ("internal", "external", "tinyops")
EXPORTED = ("proxyless-w0.30-r096", "mbv3-w0.40-r096", "cifar10-arm")
NETWORKS = (*FILES, SWIFTNET, *EXPORTED)
# what a board has no room for, and the board that runs it instead
INSTEAD = {
    (SWIFTNET, F469, "internal"): "nucleo-f767zi",
    (SWIFTNET, F746, "internal"): "nucleo-f767zi",
    ("mbv3-w0.40-r096", F746, "internal"): "nucleo-f767zi",  # its weights, its file and its code together
}
