"""A quantised network as plain data: tensors, operators, graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mcusim.display import Displayed
from mcusim.errors import UnsupportedError
from mcusim.model.operators import is_control_flow, shown_type, traits_of
from mcusim.model.traits import Traits
from mcusim.text import counted

if TYPE_CHECKING:
    import numpy as np

ITEM_BYTES = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "float16": 2, "int32": 4, "uint32": 4, "float32": 4,
    "int64": 8, "float64": 8,
}  # fmt: skip
"""Bytes of an element, of types that an operator here takes."""
_OTHER_ITEM_BYTES = {
    "int4": 1, "bfloat16": 2, "uint16": 2, "uint64": 8, "resource": 4, "variant": 4, "complex64": 8, "complex128": 16,
    "string": 0,
}  # fmt: skip


def item_bytes(dtype: str) -> int | None:
    """Bytes of an element in RAM as TensorFlow Lite Micro has it, int4 unpacked; of a text, whose size no file says,
    none. None for a type that is not known."""
    return ITEM_BYTES.get(dtype, _OTHER_ITEM_BYTES.get(dtype))


@dataclass(frozen=True)
class Quantization:
    """``real = scale * (stored - zero_point)``; one pair, or one per slice along ``axis``."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True)
class Tensor(Displayed):
    """``data`` is None for activations, the constant's array (shape ``shape``) otherwise.

    ``variable``: state, kept from one inference to the next; ``initial`` is what it has before the first (None: what
    the zero point says, 0 without one). ``stored_bytes``: of a constant that a file has in another form (packed int4,
    sparse, texts), which no operator here takes; its ``data`` are these bytes.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: np.ndarray[Any, Any] | None = field(default=None, repr=False, compare=False)
    variable: bool = False
    initial: np.ndarray[Any, Any] | None = field(default=None, repr=False, compare=False)
    stored_bytes: int | None = None

    @property
    def elements(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def bytes(self) -> int:
        return self.elements * (item_bytes(self.dtype) or 0) if self.stored_bytes is None else self.stored_bytes

    @property
    def constant(self) -> bool:
        return self.data is not None

    def _line(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        kind = "constant" if self.constant else "activation"
        return f"{self.index} {self.name[:60]!r}: {self.dtype} {shape}, {self.bytes:,} B, {kind}"


@dataclass(frozen=True)
class Operator(Displayed):
    """``inputs`` has -1 for an omitted optional input; ``options`` are TFLite's, by their snake_case names.

    Options used: ``padding`` ("SAME"/"VALID"), ``stride_h``, ``stride_w``, ``dilation_h``, ``dilation_w``,
    ``depth_multiplier``, ``filter_h``, ``filter_w``, ``activation`` ("NONE", "RELU", "RELU6", "RELU_N1_TO_1", ...),
    ``axis``, ``keep_dims``, ``beta``. A window that has absorbed a PAD, which no file has, has the padding "EXPLICIT"
    and ``pads``: (top, bottom, left, right).
    """

    index: int
    type: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def traits(self) -> Traits:
        """What is special about its type."""
        return traits_of(self.type)


@dataclass(frozen=True)
class Graph(Displayed):
    """Operators are in execution order as stored; ``sha256`` is that of the file (zoo: of the definition).

    ``order``: which of the stored operators each one is, where they are not as stored. ``offline_plan``: the numbers of
    the memory plan in the file's metadata, an offset for each tensor or -1, as they are there; None without one.
    ``folded``: operators of the file that the reader computed, with the file's indices; ``operators`` are numbered
    without them, and their outputs are constants. Outputs of the file among those are ``constant_outputs``, no longer
    ``outputs``. ``patches`` that the first operators were cut into, as 2x2@5, and ``channel_tiles``, as 75:14,73:2;
    empty for none.
    ``evaluated`` are the numbers in the file of operators that the reader evaluated, which are left out here.
    ``refused``: operators by index that nothing here runs, and why, of a graph that was read for its memory alone.
    """

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    sha256: str
    file_bytes: int = 0
    random_weights: bool = False
    warnings: tuple[str, ...] = ()
    order: tuple[int, ...] | None = None
    offline_plan: tuple[int, ...] | None = None
    evaluated: tuple[int, ...] = ()
    folded: tuple[Operator, ...] = ()
    constant_outputs: tuple[int, ...] = ()
    patches: str = ""
    channel_tiles: str = ""
    refused: Mapping[int, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the network when it was read, in words; empty for most."""
        if not self.folded:
            return ()
        counts = Counter(op.type for op in self.folded)
        names = ", ".join(f"{count} {name}" for name, count in counts.items())
        texts = [
            f"computed when read, since their inputs are constants: {names}; TensorFlow Lite Micro runs them at every"
            " inference, where it has kernels for them"
        ]
        if self.constant_outputs:
            listed = ", ".join(f"'{self.tensors[i].name[:80]}'" for i in self.constant_outputs[:8])
            texts.append(f"outputs of the file that are constants are left out: {listed}")
        return tuple(texts)

    @property
    def as_stored(self) -> Graph:
        """This network with the folded operators in their places, as a runtime that does not fold them sees it."""
        made = {i for op in self.folded for i in op.outputs}
        count = len(self.operators) + len(self.folded) + len(self.evaluated)
        folded, left = {op.index: op for op in self.folded}, iter(self.operators)
        every = (folded.get(i) or next(left) for i in range(count) if i not in self.evaluated)
        operators = (replace(op, index=i) for i, op in enumerate(every))
        tensors = tuple(replace(t, data=None) if t.index in made else t for t in self.tensors)
        outputs = (*self.outputs, *self.constant_outputs)
        return replace(self, operators=tuple(operators), tensors=tensors, outputs=outputs, folded=())

    def _line(self) -> str:
        return f"{self.name[:80]}: {counted(len(self.operators), 'operator')}, {counted(len(self.tensors), 'tensor')}"


def require_plain(graph: Graph, consequence: str) -> None:
    """Raise UnsupportedError for a graph whose operators run subgraphs, with what follows from that."""
    runs = [op for op in graph.operators if is_control_flow(op.type)]
    if runs:
        kind = shown_type(runs[0].type)
        raise UnsupportedError(f"{graph.name}: operator {runs[0].index} {kind} runs subgraphs: {consequence}")


def require_runnable(graph: Graph) -> None:
    """Raise UnsupportedError for a graph with operators that nothing here runs, naming the first."""
    for index, reason in graph.refused.items():
        raise UnsupportedError(f"{graph.name}: operator {index} {shown_type(graph.operators[index].type)}: {reason}")


def initial_values(tensor: Tensor) -> np.ndarray[Any, Any]:
    """What a variable has before the first inference: its zero point where it has no values of its own, as in
    TensorFlow Lite Micro."""
    import numpy as np

    if tensor.initial is not None:
        return tensor.initial.reshape(tensor.shape)
    point = tensor.quantization.zero_points[0] if tensor.quantization else 0
    return np.full(tensor.shape, point, tensor.dtype)
