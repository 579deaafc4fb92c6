"""Files that are hostile to what a reader computes and to what it does not know; texts that are no costs."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import tflite

from mcusim.errors import ModelError
from mcusim.model import Graph, Operator, Tensor
from mcusim.model.tflite.folding import FOLDED
from tests.support.damaged_files import BINARY
from tests.support.graphs.constant_operators import OUT, WithTables, drawn, network, written

TYPES = ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "bool")
EXTREMES = (0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 2**30, 65_536, -7)
NAMES = ("my_op", "", "a=b", "x" * 5000, "\x1b[31mred", "\u202eder", "two\nlines", "CUSTOM(x)", "--cost", "\x00", "٣")
COSTS = (
    "12 cycles/B", "5000 cycles", "", " ", "12", "cycles", "-1 cycles", "1e9 cycles", "nan cycles", "inf cycles",
    "9" * 400 + " cycles", "1000000000000 cycles/B", "12 cycles/KiB", "12 cycles/B/B", "1.0000000000 cycles",
    "\x1b[0m cycles", "١٢ cycles", "0x10 cycles", "1_000 cycles", "12cycles/B", "0 cycles", "0.000001 cycles/B",
)  # fmt: skip


class AnyCode(WithTables):
    """Operator codes of any numbers in either field, or in none."""

    def __init__(self, graph: Graph, rng: random.Random) -> None:
        super().__init__(graph, 1, 3, 0)
        self.rng = rng

    def code(self, kind: str, version: int) -> int:
        b, known = self.builder, getattr(tflite.BuiltinOperator, kind, 32)
        old, new = (self.rng.choice((known, known, 0, 127, -1, -128, self.rng.randrange(128))) for _ in range(2))
        old = min(old, 127)
        new = self.rng.choice((new, 2**31 - 1, -(2**31), 206, 207, 500))
        name = b.CreateString(self.rng.choice(NAMES))
        tflite.OperatorCodeStart(b)
        for field, value in (("DeprecatedBuiltinCode", old), ("BuiltinCode", new), ("CustomCode", name)):
            if self.rng.random() < 0.7:
                getattr(tflite, f"OperatorCodeAdd{field}")(b, value)
        return int(tflite.OperatorCodeEnd(b))


def _graph(rng: random.Random) -> Graph:
    kind = rng.choice(list(FOLDED))
    values, options, dtype = drawn(kind, rng.randrange(1000))
    shape = values[0].shape if values else (3,)
    return network(kind, values, options, dtype, shape)


def _wild(graph: Graph, rng: random.Random) -> Graph:
    """Constants, options, shapes, types and operands of any kind."""
    tensors = list(graph.tensors)
    for index in range(OUT, len(tensors)):
        if rng.random() < 0.5:
            tensors[index] = _other(tensors[index], rng)
    op = graph.operators[0]
    options = {name: rng.choice(EXTREMES) if isinstance(value, int) else value for name, value in op.options.items()}
    options = {name: bool(value) if name == "keep_dims" else value for name, value in options.items()}
    kind = rng.choice((op.type, op.type, *FOLDED))
    reads = tuple(rng.choice((i, i, i, -1, OUT, 0)) for i in op.inputs)
    outputs = rng.choice(((OUT,), (OUT,), (OUT, 1), (0,)))
    first = Operator(0, kind, reads, outputs, options if rng.random() < 0.5 else dict(op.options))
    return replace(graph, tensors=tuple(tensors), operators=(first, *graph.operators[1:]))


def _other(tensor: Tensor, rng: random.Random) -> Tensor:
    dtype = rng.choice(TYPES)
    if tensor.data is None:
        shape = tuple(abs(rng.choice(EXTREMES)) % 2**31 for _ in range(rng.randrange(6)))
        return replace(tensor, shape=shape, dtype=dtype)
    count = rng.choice((1, 2, 3, tensor.elements))
    with np.errstate(all="ignore"):
        data: Any = np.array([rng.choice(EXTREMES) for _ in range(count)], np.int64).astype(dtype)
    return replace(tensor, shape=data.shape, dtype=dtype, data=data)


def hostile_model(seed: int) -> bytes:
    """A file of seed ``seed``: damaged bytes, wild constants, or operator codes of any numbers."""
    rng = random.Random(f"model {seed}")
    while True:
        try:
            return _hostile_model(seed, rng)
        except ModelError:  # a SQUEEZE that the writer cannot write
            continue


def _hostile_model(seed: int, rng: random.Random) -> bytes:
    graph = _graph(rng)
    if seed % 3 == 0:
        return bytes(BINARY[seed // 3 % len(BINARY)](bytearray(written(graph)), rng))
    if seed % 3 == 1:
        return written(_wild(graph, rng))
    return AnyCode(graph, rng).write()


def hostile_cost(seed: int) -> str:
    """A ``--cost`` of seed ``seed``."""
    rng = random.Random(f"cost {seed}")
    return (
        rng.choice(("", "=")).join((rng.choice(NAMES), rng.choice(COSTS)))
        if seed % 5 == 0
        else (f"{rng.choice(NAMES)}={rng.choice(COSTS)}")
    )
