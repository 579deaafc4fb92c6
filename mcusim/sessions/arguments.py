"""What a call is made with: values in registers and on the stack, by the procedure call standard.

Procedure Call Standard for the Arm Architecture (AAPCS32), "Parameter passing", rules C.1 to C.8, with floating-point
registers for ``float``, ``double`` and structures of up to four of them. Not modelled: functions with a variable number
of arguments (``printf``), which have their floats in core registers; half precision; results larger than a
``long long`` (give their address as the first value, as compiled code does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.sessions.tensor import SessionTensor

    Value = int | np.generic | SessionTensor

CORE_WORDS, FLOAT_WORDS = 4, 16
MOST_FLOATS = 4  # of a structure in floating-point registers


@dataclass
class CallArguments:
    """``core`` are r0 to r3, ``floats`` the bits of s0 to s15, by number; ``stack`` lies from the stack pointer on."""

    core: list[int] = field(default_factory=list)
    floats: dict[int, int] = field(default_factory=dict)
    stack: bytearray = field(default_factory=bytearray)
    _floats_full: bool = False

    @classmethod
    def of(cls, values: Sequence[Value]) -> CallArguments:
        """Those of ``values``, in their order.

        Integers and tensors, whose address is passed, are words; ``numpy.int64`` and ``uint64`` two;
        ``numpy.float32`` and ``float64`` are ``float`` and ``double``; a structured scalar is a structure by value.
        Raises UsageError for others.
        """
        arguments = cls()
        for value in values:
            arguments._add(value)
        return arguments

    @property
    def words(self) -> int:
        """How many words all of them are."""
        return len(self.core) + len(self.floats) + len(self.stack) // 4

    @property
    def core_and_stack(self) -> list[int]:
        """Four words for r0 to r3, then those of the stack."""
        core = [*self.core, *(0,) * (CORE_WORDS - len(self.core))]
        return [*core, *np.frombuffer(self.stack, "<u4").tolist()]

    def _add(self, value: Value) -> None:
        address = getattr(value, "address", None)
        if address is not None:
            self._in_core(int(address).to_bytes(4, "little"), 4)
        elif isinstance(value, np.void | np.floating | np.int64 | np.uint64):
            item = _item(value)
            if item is not None:
                self._in_floats(value.tobytes(), item)
            else:
                self._in_core(value.tobytes(), 8 if value.dtype.alignment == 8 else 4)
        elif isinstance(value, bool | np.bool_ | int | np.integer) and -(1 << 31) <= int(value) < 1 << 32:
            self._in_core((int(value) & 0xFFFF_FFFF).to_bytes(4, "little"), 4)
        else:
            raise UsageError(f"{_shown(value)} cannot be passed to a function: {_instead(value)}")

    def _in_floats(self, data: bytes, item: int) -> None:
        """Whole registers next to each other, the first that are free; or all of it on the stack."""
        words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
        for first in range(0, FLOAT_WORDS - len(words) + 1, item // 4):
            if not self._floats_full and not any(first + i in self.floats for i in range(len(words))):
                self.floats.update({first + i: word for i, word in enumerate(words)})
                return
        self._floats_full = True
        self._on_stack(data, item)

    def _in_core(self, data: bytes, alignment: int) -> None:
        """Core registers; what is too long begins there and ends on the stack, unless something lies there already."""
        data += bytes(-len(data) % 4)
        if alignment == 8 and len(self.core) % 2:
            self.core.append(0)
        room = 4 * (CORE_WORDS - len(self.core))
        if len(data) > room and self.stack:
            room = 0
        here, rest = data[:room], data[room:]
        self.core += [int.from_bytes(here[i : i + 4], "little") for i in range(0, len(here), 4)]
        if rest:
            self.core += [0] * (CORE_WORDS - len(self.core))
            self._on_stack(rest, 4 if here else alignment)

    def _on_stack(self, data: bytes, alignment: int) -> None:
        self.stack += bytes(-len(self.stack) % alignment) + data


def _item(value: np.generic) -> int | None:
    """Bytes of a float, or of one of a structure's, up to four, which are all alike; None: core registers."""
    fields = value.dtype.fields
    kinds = [value.dtype] if fields is None else [kind for kind, *_ in fields.values()]
    first = kinds[0]
    alike = first.kind == "f" and first.itemsize in (4, 8) and all(kind == first for kind in kinds)
    return first.itemsize if alike and len(kinds) <= MOST_FLOATS else None


def _shown(value: Any) -> str:
    """A few characters of a value; Python writes no integer of over 4,300 digits in decimal."""
    large = isinstance(value, int) and value.bit_length() > 64
    return repr((hex(value) if large else str(value))[:40])


def _instead(value: Any) -> str:
    if isinstance(value, float):
        return "numpy.float32 is a float, numpy.float64 a double"
    if isinstance(value, int | np.integer):
        return "it has over 32 bits; numpy.int64 and numpy.uint64 have 64"
    if isinstance(value, np.ndarray):
        return "tensor() puts an array into the device's memory"
    return "integers, numpy scalars and tensors can"
