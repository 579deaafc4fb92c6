"""Arrays in a device's memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mcusim.errors import UsageError
from mcusim.units import quoted

Array = np.ndarray[Any, Any]


class DeviceMemory(Protocol):
    """What a tensor lies in: a session."""

    def read(self, address: int, size: int) -> bytes: ...
    def write(self, address: int, data: bytes) -> None: ...
    def release(self, address: int) -> None: ...
    def require(self, tensor: SessionTensor) -> None: ...


@dataclass
class SessionTensor:
    """An array of ``shape`` and ``dtype`` in the device's memory, from ``address`` on."""

    session: DeviceMemory
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    number: int = 0  # of all that the session gave out

    def __str__(self) -> str:
        return f"tensor {'x'.join(map(str, self.shape)) or 'of one value'} {self.dtype} at {self.address:#010x}"

    @property
    def bytes(self) -> int:
        """How many it has."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def array(self) -> Array:
        """A copy of it as it is there now, after all calls that wait. Raises UsageError for one that is freed."""
        self.session.require(self)
        return np.frombuffer(self.session.read(self.address, self.bytes), self.dtype).reshape(self.shape).copy()

    def write(self, array: Array) -> None:
        """Put other values there, of the same shape and type. Raises UsageError for others, and for a freed one."""
        self.session.require(self)
        values = np.asarray(array)
        if values.shape != self.shape or values.dtype != self.dtype:
            raise UsageError(f"the tensor is {self.shape} {self.dtype}, what is written {values.shape} {values.dtype}")
        self.session.write(self.address, values.tobytes())

    def free(self) -> None:
        """Give its memory back. Raises UsageError where that was done."""
        self.session.require(self)
        self.session.release(self.address)


def device_array(array: Array | tuple[int, ...], dtype: Any) -> Array:
    """The values to put there. Raises UsageError for a type that a device has not, and for a shape that is none."""
    try:
        room = isinstance(array, tuple)
        values = np.zeros(array, dtype or np.int8) if room else np.ascontiguousarray(array, dtype)
    except (TypeError, ValueError, MemoryError) as error:
        raise UsageError(f"no tensor of {str(array)[:60]} {dtype or ''}: {error}") from None
    simple = values.dtype.kind in "iufb" and values.dtype.itemsize <= 8
    if not simple and not (values.dtype.fields and not values.dtype.hasobject):
        raise UsageError(f"a tensor of {values.dtype} has no place on a device; integers, floats and structures have")
    return values


def structure_array(members: Mapping[str, Any]) -> Array:
    """A C structure with these members, in their order and aligned as a compiler does: one element.

    Integers and tensors (their addresses) are words, numpy scalars have their own size, arrays lie inside. Raises
    UsageError for others.
    """
    values: dict[str, Array] = {}
    for name, value in members.items():
        if isinstance(value, SessionTensor):
            values[name] = np.asarray(value.address, np.uint32)
        elif isinstance(value, bool | int) and -(1 << 31) <= value < 1 << 32:
            values[name] = np.asarray(value & 0xFFFF_FFFF, np.uint32)
        elif isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "iufbV" and not value.dtype.hasobject:
            values[name] = np.asarray(value)
        else:
            raise UsageError(
                f"member {quoted(name)} = {str(value)[:40]!r}: integers of 32 bits, tensors, and numpy scalars and"
                " arrays of numbers can be members"
            )
    kinds: list[Any] = [(name, value.dtype, value.shape) for name, value in values.items()]
    structure = np.zeros((), np.dtype(kinds, align=True))
    for name, value in values.items():
        structure[name] = value
    return structure
