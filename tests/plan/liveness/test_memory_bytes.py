"""Networks run in an arena byte by byte at the places that a plan gives: every operator reads and leaves what it does
when each tensor has its own memory. Operators are stand-ins whose output depends on every byte that they read."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np
import pytest

from mcusim.model import Graph, Operator, Tensor
from mcusim.plan.allocators import ALLOCATORS, Placed, allocate
from mcusim.plan.liveness.accounting import WEIGHTS, Accounting
from mcusim.plan.liveness.timeline import Timeline, timeline
from mcusim.plan.ordering import optimal_order
from tests.support.cases import few

SHAPES = [(1, 4), (4,), (2, 2), (1, 2, 2), (1,), (1, 1), (2, 1), (1, 2), (2, 3), (6,), (3, 2), (8,), (17,), (33,)]
TYPES = ["int8", "int8", "uint8", "int16", "int32", "float32"]
BINARY = ("ADD", "MUL", "PRELU", "SUB")
VIEWS = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")


class Sketch:
    """A random network: element-wise operators that broadcast, read a tensor twice or change its type, views of views,
    of inputs and of constants, several outputs, results that nobody reads, and outputs that are read or are inputs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tensors: list[Tensor] = []
        inputs = [self.tensor(self.one(SHAPES), self.one(TYPES)) for _ in range(self.random.randint(1, 3))]
        self.ready, operators = list(inputs), []
        for index in range(self.random.randint(1, 9)):
            make = self.random.choices([self.elementwise, self.view, self.split, self.any], [5, 3, 1, 1])[0]
            kind, read, outputs = make()
            operators.append(Operator(index, kind, tuple(read), tuple(outputs)))
            self.ready += outputs
        kept = self.random.sample(self.ready, min(len(self.ready), self.random.randint(1, 3)))
        self.graph = Graph("random", tuple(self.tensors), tuple(operators), tuple(inputs), tuple(kept), "")

    def one(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def tensor(self, shape: tuple[int, ...], dtype: str, constant: bool = False) -> int:
        data = np.zeros(shape, dtype) if constant else None
        self.tensors.append(Tensor(len(self.tensors), "", shape, dtype, None, data))
        return len(self.tensors) - 1

    def elementwise(self) -> tuple[str, list[int], list[int]]:
        read = [self.one(self.ready)]
        kind, shape, dtype = self.one((*BINARY, "RELU", "QUANTIZE", "CAST")), *self.form(read[0])
        if kind in BINARY:
            other = self.tensor(self.one([shape, (1,)]), dtype, True) if self.random.random() < 0.2 else None
            read.append(self.one((read[0], self.one(self.ready))) if other is None else other)
            try:
                shape = np.broadcast_shapes(shape, self.form(read[1])[0])
            except ValueError:
                read[1] = read[0]
            self.random.shuffle(read)
        return kind, read, [self.tensor(shape, self.one(TYPES) if kind in ("QUANTIZE", "CAST") else dtype)]

    def view(self) -> tuple[str, list[int], list[int]]:
        """Now and then it is none: of other bytes, another type, or a constant."""
        odd = self.random.random()
        shape, dtype = self.form(source := self.tensor((4,), "int8", True) if odd < 0.1 else self.one(self.ready))
        shapes = [s for s in SHAPES if np.prod(s) == np.prod(shape) or odd > 0.9]
        output = self.tensor(self.one(shapes), self.one(TYPES) if odd > 0.8 else dtype)
        return self.one(VIEWS), [source], [output]

    def split(self) -> tuple[str, list[int], list[int]]:
        outputs = [self.tensor(self.one(SHAPES), "int8") for _ in range(self.random.randint(2, 4))]
        return self.one(("SPLIT", "RELU", "RESHAPE")), [self.one(self.ready)], outputs

    def any(self) -> tuple[str, list[int], list[int]]:
        read = [self.one(self.ready) for _ in range(self.random.randint(1, 3))]
        return "CONV_2D", read, [self.tensor(self.one(SHAPES), self.one(TYPES))]

    def form(self, tensor: int) -> tuple[tuple[int, ...], str]:
        return self.tensors[tensor].shape, self.tensors[tensor].dtype


def value(size: int, *parts: bytes) -> bytes:
    """``size`` bytes that depend on all of ``parts``."""
    return hashlib.shake_128(b"|".join(parts)).digest(size)


def runs_by_element(graph: Graph, op: Operator) -> bool:
    return op.traits.elementwise and len(op.outputs) == 1


def is_view(graph: Graph, op: Operator) -> bool:
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    alike = (source.dtype, source.bytes) == (target.dtype, target.bytes)
    return op.type in VIEWS and len(op.outputs) == 1 and alike and not source.constant


class Run:
    """``memory`` holds tensor ``t`` from ``at[t]`` on while an operator runs."""

    def __init__(self, graph: Graph, memory: bytearray) -> None:
        self.graph, self.memory = graph, memory
        self.at: dict[int, int] = {}

    def read(self, t: int) -> bytes:
        return bytes(self.memory[self.at[t] : self.at[t] + self.graph.tensors[t].bytes])

    def write(self, t: int, data: bytes) -> None:
        self.memory[self.at[t] : self.at[t] + len(data)] = data

    def operator(self, op: Operator) -> None:
        """Element-wise operators go from the first element to the last; others fill their outputs before they read, as
        far as a result that they overwrite their inputs with would show."""
        read = [t for t in op.inputs if not self.graph.tensors[t].constant]
        if is_view(self.graph, op):
            self.write(op.outputs[0], self.read(op.inputs[0]))
        elif runs_by_element(self.graph, op):
            self.elements(op, read)
        else:
            for t in op.outputs:
                self.write(t, b"\xa5" * self.graph.tensors[t].bytes)
            found = [self.read(t) for t in read]
            for number, t in enumerate(op.outputs):
                self.write(t, value(self.graph.tensors[t].bytes, bytes([op.index, number]), *found))

    def elements(self, op: Operator, read: list[int]) -> None:
        tensors, target = self.graph.tensors, self.graph.tensors[op.outputs[0]]
        places = []
        for t in read:
            one = np.arange(tensors[t].elements).reshape(tensors[t].shape)
            width = tensors[t].bytes // tensors[t].elements
            places.append([(self.at[t] + int(i) * width, width) for i in np.broadcast_to(one, target.shape).flat])
        width = target.bytes // target.elements
        for element in range(target.elements):
            found = [bytes(self.memory[each[element][0] :][: each[element][1]]) for each in places]
            at = self.at[target.index] + element * width
            self.memory[at : at + width] = value(width, bytes([op.index]), *found)


def apart(graph: Graph, order: tuple[int, ...], inputs: dict[int, bytes]) -> dict[int, bytes]:
    """Every tensor's bytes when each has memory of its own."""
    run = Run(graph, bytearray())
    for t in graph.tensors:
        run.at[t.index] = len(run.memory)
        run.memory += inputs.get(t.index, bytes(t.bytes))
    for index in order:
        run.operator(graph.operators[index])
    return {t.index: run.read(t.index) for t in graph.tensors if not t.constant}


def check(graph: Graph, found: Timeline, placed: Placed, inputs: dict[int, bytes]) -> None:
    """Runs ``graph`` in an arena of ``placed.bytes``, moves included."""
    wanted = apart(graph, found.order, inputs)
    home = {t: i for i, resident in enumerate(found.residents) for t in resident.tensors}
    assert sorted(home) == sorted(wanted)
    run = Run(graph, bytearray(b"\x5a" * placed.bytes))
    for step, index in enumerate(found.order):
        alive = found.alive(step)
        run.at = {t: placed.offset(i, step) for t, i in home.items() if i in alive}
        if step == 0:
            for t, data in inputs.items():
                run.write(t, data)
        op = graph.operators[index]
        assert all(run.read(t) == wanted[t] for t in op.inputs if t in wanted), (placed.allocator, step)
        run.operator(op)
        assert all(run.read(t) == wanted[t] for t in op.outputs), (placed.allocator, step)
        if step < len(found.order) - 1:
            for move in [m for m in placed.moves if m.step == step]:
                for byte in range(move.bytes):  # lowest first
                    run.memory[move.target + byte] = run.memory[move.source + byte]
    assert len(run.memory) == placed.bytes and all(run.read(t) == wanted[t] for t in graph.outputs)


@few(1)
@pytest.mark.parametrize("in_place", [False, True])
def test_no_byte_is_lost_while_it_is_needed(in_place: bool) -> None:
    shared = 0
    for seed in range(150):
        sketch = Sketch(seed)
        graph, draw = sketch.graph, sketch.random
        accounting, align = Accounting(in_place, draw.choice(WEIGHTS)), draw.choice([1, 4, 16])
        inputs = {t: draw.randbytes(graph.tensors[t].bytes) for t in graph.inputs}
        for order in (None, optimal_order(graph, 5, accounting).order):
            found = timeline(graph, order, accounting)
            shared += sum(len(resident.tensors) > 1 for resident in found.residents)
            for name in ALLOCATORS:
                check(graph, found, allocate(found.blocks, name, align, 2), inputs)
    assert (shared > 100) == in_place
