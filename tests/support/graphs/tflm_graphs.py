"""Random graphs that TFLM runs: what an arena planner meets, with as many lives and sizes as possible."""

from __future__ import annotations

import random

import numpy as np

from mcusim.model import Graph, Operator, Quantization, Tensor

Q = Quantization((0.05,), (3,))


class Sketch:
    """Tensors of shape (1, 1, 1, size), and operators on them, one after the other."""

    def __init__(self, *inputs: int) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.inputs = tuple(self.tensor((1, 1, 1, size)) for size in inputs)

    def tensor(self, shape: tuple[int, ...], values: list[int] | None = None) -> int:
        """A new activation, or a constant of int32 ``values``."""
        index = len(self.tensors)
        data = None if values is None else np.array(values, np.int32)
        kind = "int8" if values is None else "int32"
        self.tensors.append(Tensor(index, f"t{index}", shape, kind, Q if values is None else None, data))
        return index

    def size(self, tensor: int) -> int:
        return self.tensors[tensor].shape[-1]

    def op(self, kind: str, sources: list[int], *sizes: int, shape: tuple[int, ...] = (), **options: object) -> int:
        """An operator of outputs of ``sizes`` elements (or of ``shape``); the first output."""
        outputs = tuple(self.tensor(s) for s in ([shape] if shape else [(1, 1, 1, size) for size in sizes]))
        self.operators.append(Operator(len(self.operators), kind, tuple(sources), outputs, options))
        return outputs[0]

    def join(self, sources: list[int]) -> int:
        return self.op("CONCATENATION", sources, sum(map(self.size, sources)), axis=3, activation="NONE")

    def cut(self, source: int, size: int) -> int:
        begin, extent = self.tensor((4,), [0, 0, 0, 0]), self.tensor((4,), [1, 1, 1, size])
        return self.op("SLICE", [source, begin, extent], size)

    def add(self, a: int, b: int) -> int:
        return self.op("ADD", [a, b], self.size(a), activation="NONE")

    def relu(self, source: int) -> int:
        return self.op("RELU", [source], self.size(source))

    def split(self, source: int) -> int:
        axis = self.tensor((1,), [3])
        return self.op("SPLIT", [axis, source], *[self.size(source) // 2] * 2, num_splits=2)

    def mean(self, source: int, rows: int) -> int:
        """The mean over ``rows`` rows of the input, which is seen as (1, rows, 1, the rest)."""
        rest = self.size(source) // rows
        seen = self.op("RESHAPE", [source], shape=(1, rows, 1, rest))
        return self.op("MEAN", [seen, self.tensor((2,), [1, 2])], shape=(1, 1, 1, rest), keep_dims=True)

    def graph(self, outputs: tuple[int, ...] | None = None) -> Graph:
        read = {t for op in self.operators for t in op.inputs}
        made = [t for op in self.operators for t in op.outputs]
        ends = outputs if outputs is not None else tuple(t for t in made if t not in read)
        return Graph("tflm", tuple(self.tensors), tuple(self.operators), self.inputs, ends, "")


def random_network(count: int, seed: int) -> Graph:
    """About ``count`` operators; some inputs and results nobody reads, some tensors nobody even makes."""
    rng = random.Random(seed)
    s = Sketch(*(rng.randint(2, 900) for _ in range(rng.randint(1, 3))))
    alive = list(s.inputs[: rng.randint(1, len(s.inputs))])
    for _ in range(count):
        source = rng.choice(alive[-4:] if rng.random() < 0.6 else alive)
        size, kind = s.size(source), rng.randrange(7)
        first = len(s.tensors)
        if kind == 0 or size > 2000:
            s.cut(source, rng.randint(1, min(size, 2000)))
        elif kind == 1:
            s.join([source, *rng.choices(alive, k=rng.randint(0, 2))])
        elif kind == 2:
            s.add(source, rng.choice([t for t in alive if s.size(t) == size]))
        elif kind == 3 and size % 2 == 0:
            s.split(source)
        elif kind == 4 and size % 2 == 0:
            s.mean(source, 2)
        else:
            s.relu(source)
        if rng.random() < 0.1:
            s.tensor((1, 1, 1, rng.randint(1, 3000)))  # of nobody
        made = {t for op in s.operators for t in op.outputs if len(s.tensors[t].shape) == 4}
        alive += [t for t in range(first, len(s.tensors)) if t in made and s.tensors[t].shape[1] == 1]
    ends = s.graph().outputs
    return s.graph(tuple(t for t in ends if rng.random() < 0.8) or ends[-1:])
