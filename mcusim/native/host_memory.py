"""Reading and writing the host's memory by address, for the bytes that a simulated memory holds.

In native functions each is a load, a store or a memcpy (:mod:`mcusim.native.numba_types`); here it is Python's.

Not modelled: checks of any kind; addresses come from arrays that Python keeps alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


def _getter(kind: Any) -> Callable[[int], int]:
    def get(address: int) -> int:
        return int(kind.from_address(address).value)

    return get


def _putter(kind: Any) -> Callable[[int, int], None]:
    def put(address: int, value: int) -> None:
        kind.from_address(address).value = value

    return put


get8, get16, get32, get64 = map(_getter, (ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_int64))
put8, put16, put32, put64 = map(_putter, (ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_int64))


def copy(target: int, source: int, size: int) -> None:
    """Copy ``size`` bytes between places that do not overlap."""
    ctypes.memmove(target, source, size)
