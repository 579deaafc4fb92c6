"""Where generated code has its data: offsets in the one array, and constants by the names they get in C.

Call structures are filled with addresses that no memory has: those of the array begin at ``ARRAY``, each constant has a
word of its own from ``CONSTANTS`` on, and what follows a structure is behind ``CALL``. :func:`Memory.expression` turns
them into C. Not modelled: where a linker puts array and constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mcusim.errors import UnsupportedError
from mcusim.model.graph import Graph
from mcusim.plan.allocators.greedy import align_up
from mcusim.plan.arena import ALIGN
from mcusim.plan.placement import MemoryNeeds

ARRAY, CONSTANTS, CALL = 0x1000, 0x8000_0000, 0xC000_0000
LARGEST = 64 << 20
C_TYPES = {
    "int8": "int8_t", "uint8": "uint8_t", "bool": "uint8_t", "int16": "int16_t", "int32": "int32_t",
    "int64": "int64_t", "float32": "float",
}  # fmt: skip


@dataclass(frozen=True)
class Constant:
    """An array of constants: its name in C, and its ``values`` in the order of the bytes."""

    name: str
    values: np.ndarray[Any, Any]

    @property
    def c_type(self) -> str:
        """Floats are written as the integers of their bits."""
        return "uint32_t" if self.values.dtype == np.float32 else C_TYPES[str(self.values.dtype)]


@dataclass
class Memory:
    """``tensors`` and ``scratch`` (by operator): offsets in the array of ``size`` bytes; ``state`` of the variables."""

    size: int
    tensors: dict[int, int]
    scratch: dict[int, int]
    state: dict[int, int]
    constants: list[Constant] = field(default_factory=list)
    _known: dict[object, int] = field(default_factory=dict)

    def constant(self, key: object, name: str, values: np.ndarray[Any, Any]) -> int:
        """The address that stands for a constant; those of one ``key`` are one array. Empty ones are 0."""
        if not values.size:
            return 0
        if key not in self._known:
            self._known[key] = CONSTANTS + 8 * len(self.constants)
            self.constants.append(Constant(name, values.reshape(-1)))
        return self._known[key]

    def at(self, tensor: int) -> int:
        """The address that stands for a tensor of the array."""
        return ARRAY + self.tensors[tensor]

    def named(self, address: int) -> Constant:
        """The constant that an address stands for."""
        return self.constants[(address - CONSTANTS) // 8]


def memory_of(graph: Graph, need: MemoryNeeds) -> Memory:
    """The array of ``graph`` as ``need`` plans it: activations, scratch, then variables.

    Raises UnsupportedError for one of more than 64 MiB, which is more than boards have in SRAM and SDRAM.
    """
    tensors: dict[int, int] = {}
    for life, offset in zip(need.lives, need.together.offsets, strict=False):
        tensors |= dict.fromkeys((life.tensor, *life.shared), offset)
    steps = [step for step, size in enumerate(need.scratch) if size]
    scratch = dict(zip(steps, need.together.offsets[len(need.lives) :], strict=False))
    end, state = need.together.bytes, {}
    for t in graph.tensors:
        if t.variable and t.bytes:
            state[t.index] = tensors[t.index] = end = align_up(end, ALIGN)
            end += align_up(t.bytes, ALIGN)
    if end > LARGEST:
        raise UnsupportedError(f"cannot generate {graph.name}: its array would have {end:,} B; at most 64 MiB can be")
    return Memory(end, tensors | dict.fromkeys(_nothing(graph, tensors), 0), scratch, state)


def _nothing(graph: Graph, tensors: dict[int, int]) -> Sequence[int]:
    """Tensors without bytes, and those that nothing makes or reads, are at the array's beginning."""
    return [t.index for t in graph.tensors if not t.constant and t.index not in tensors]
