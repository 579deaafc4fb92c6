"""The kernel set ``reference``: byte for byte what LiteRT's reference kernels give, on random shapes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.machine.cores import CORES
from mcusim.model import Graph, load_model
from mcusim.model.operators import OPERATORS
from tests.support.cases import few, in_turn, sampled
from tests.support.kernels.kernel_cases import inputs_for, one_operator
from tests.support.kernels.kernel_guest import MACHINES, STACK, Guest, run_litert, run_reference
from tests.support.kernels.single_operators import alone, tiles
from tests.support.paths import shared_model

SET = load_set("reference")
# scripts/evidence/kernel_shapes finds every single fault of this set with the first three; 300 are its
SEEDS = 30
KINDS = sorted(SET.kernels)
TILED = ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "MUL", "HARD_SWISH", "PAD")
NETWORKS = ("swiftnet_vwwc19_uint8", "vww_96_int8", "kws_ref_model", "ad01_int8")


@cache
def guest(isa: str) -> Guest:
    return Guest(SET, isa)


# steps of a float by which functions of exp and log may differ, and a difference that is let pass near 0
STEPS = {"TANH": (2, 0.0), "LOGISTIC": (2, 0.0), "ELU": (2, 2e-7), "SOFTMAX": (4, 0.0), "LOG_SOFTMAX": (4, 2e-7)}


def same(kind: str, ours: Any, theirs: Any) -> bool:
    """Byte for byte; floats of functions of exp and log nearly so."""
    if ours.tobytes() == theirs.tobytes():
        return True
    if ours.dtype != np.float32 or kind not in STEPS:
        return False
    most, least = STEPS[kind]
    both = [values.reshape(-1).view(np.int32).astype(np.int64) for values in (ours, theirs)]
    first, second = (np.where(bits < 0, -(1 << 31) - bits, bits) for bits in both)
    return bool(((np.abs(first - second) <= most) | (np.abs(ours - theirs).reshape(-1) <= least)).all())


def same_as_litert(kind: str, types: str, isa: str, seeds: range) -> None:
    refused, varied = [], 0
    for seed in seeds:
        graph = one_operator(kind, types, seed)
        data = inputs_for(graph, seed)
        try:
            wanted = run_reference(graph, data)
        except (RuntimeError, ValueError) as error:
            refused.append(f"seed {seed}: {error}")
            continue
        varied += len(np.unique(wanted[0])) > 3
        found = guest(isa).run(graph, data)
        for i, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
            if not same(kind, ours, theirs):
                at = np.flatnonzero(ours != theirs)
                pytest.fail(
                    f"{kind} {types} seed {seed} output {i}: {len(at)} of {ours.size} differ, first at {at[0]}:"
                    f" {ours[at[0]]}, LiteRT has {theirs[at[0]]}; {graph.operators[0].options} {graph.tensors}"
                )
    assert varied > len(seeds) // 6 or OPERATORS[kind].traits.fills, (
        f"{varied} of {len(seeds)} cases have outputs that differ from each other"
    )
    assert not refused, f"LiteRT refuses {len(refused)} cases: {refused[0]}"


def test_every_operator_of_the_reader_has_a_kernel() -> None:
    assert {kind for kind, _ in KINDS} == set(OPERATORS)


STATELESS = [kind for kind in KINDS if not OPERATORS[kind[0]].traits.stateful]


@few(36)
@pytest.mark.parametrize(("kind", "isa"), in_turn(STATELESS, CORES), ids=str)
def test_random_shapes_as_in_litert(kind: tuple[str, str], isa: str) -> None:
    same_as_litert(*kind, isa, range(SEEDS))


@pytest.mark.parametrize("kind", TILED)
def test_tiles_put_together_are_the_whole(kind: str) -> None:
    done = 0
    for seed in range(2000):
        graph = one_operator(kind, "int8", seed)
        shapes = [graph.tensors[i].shape for i in (*graph.inputs, *graph.outputs)]
        if any(len(shape) != 4 or shape[0] > 1 for shape in shapes) or len({shape[1] for shape in shapes[:-1]}) > 1:
            continue
        data = inputs_for(graph, seed)
        whole = guest("cortex-m4").run(graph, data)[0]
        rows = tiles(graph, 3)
        if any(tile.in_rows == 0 for tile in rows):  # all padding: nothing to copy, so nothing to tile
            continue
        parts = [guest("cortex-m4").run(graph, [d[:, t.in_row : t.in_row + t.in_rows] for d in data], t) for t in rows]
        assert np.concatenate([part[0] for part in parts]).tobytes() == whole.tobytes(), f"{kind} seed {seed}"
        done += 1
        if done == 8:
            break
    assert done == 8


@pytest.mark.parametrize("name", sampled(reversed(NETWORKS), 1))
def test_operators_of_real_models(name: str) -> None:
    """Every operator of a real file on random data: scales and shapes that nobody here thought of."""
    graph = load_model(shared_model(f"{name}.tflite"))
    for op in graph.operators:
        one = alone(graph, op)
        data = inputs_for(one, op.index)
        found, wanted = guest("cortex-m7").run(one, data), run_litert(one, data)
        assert [part.tobytes() for part in found] == [part.tobytes() for part in wanted], f"{name} {op.index} {op.type}"


def with_axis_0(graph: Graph) -> Graph:
    """The graph, the one axis of its vectors called 0."""
    tensors = [
        replace(t, quantization=replace(t.quantization, axis=0)) if t.quantization and len(t.shape) == 1 else t
        for t in graph.tensors
    ]
    return replace(graph, tensors=tuple(tensors))


@pytest.mark.parametrize("name", sampled(["hello_world_int8", "pretrainedResnet_quant", "person_detect", *NETWORKS], 1))
def test_whole_networks(name: str) -> None:
    """All operators of a real file, one after another on the bare core."""
    path = shared_model(f"{name}.tflite")
    graph = load_model(path)
    data = inputs_for(graph, 1)
    values = dict(zip(graph.inputs, data, strict=True))
    for op in graph.operators:
        given = [i for i in dict.fromkeys(op.inputs) if i >= 0 and not graph.tensors[i].constant]
        outputs = guest("cortex-m7").run(alone(graph, op), [values[i] for i in given])
        values |= {i: o.reshape(graph.tensors[i].shape) for i, o in zip(op.outputs, outputs, strict=True)}
    if name == "person_detect":  # its biases have the axis of the filters, which LiteRT refuses: written again
        wanted = run_litert(with_axis_0(graph), data)
    else:
        wanted = run_litert(graph, data, path.read_bytes())
    assert [values[i].tobytes() for i in graph.outputs] == [part.tobytes() for part in wanted]


class Emulated(Guest):
    """The same on the core with timing, memory system and faults."""

    def __init__(self, isa: str) -> None:
        super().__init__(SET, isa)
        self.emulator = Emulator(load_machine(MACHINES[isa]))
        self.emulator.load(SET.image(isa), as_started=True)
        self.core = self.emulator.core

    def call(self, symbol: str, argument: int) -> None:
        self.emulator.set_stack(STACK, STACK - 4096)
        self.emulator.call(self.image.symbol(symbol).address, [argument])
        stop = self.emulator.run(50_000_000)
        assert stop.kind == "returned", stop
        assert self.emulator.registers()["r0"] == 0


@pytest.mark.parametrize("isa", CORES)
def test_the_emulated_core_gives_the_same(isa: str) -> None:
    emulated = Emulated(isa)
    for kind, types in (("CONV_2D", "int8"), ("SOFTMAX", "int8"), ("QUANTIZE", "float32_to_int8"), ("MEAN", "int8")):
        before = emulated.emulator.cycles
        graph = one_operator(kind, types, 4)
        data = inputs_for(graph, 4)
        assert emulated.run(graph, data)[0].tobytes() == run_litert(graph, data)[0].tobytes()
        assert emulated.emulator.cycles > before
