"""Reading and writing the host's memory by address, for the bytes that a simulated memory holds.

Not modelled: checks of any kind; addresses come from arrays that Python keeps alive.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mcusim.native.compile import native


def _getter(bits: int) -> Any:
    def get(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            value = builder.load(place, align=1)
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return types.int64(types.int64), generate

    return intrinsic(get)


def _putter(bits: int) -> Any:
    def put(typing: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            part = arguments[1] if bits == 64 else builder.trunc(arguments[1], ir.IntType(bits))
            builder.store(part, place, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return intrinsic(put)


get8, get16, get32, get64 = (_getter(bits) for bits in (8, 16, 32, 64))
put8, put16, put32, put64 = (_putter(bits) for bits in (8, 16, 32, 64))


@native
def copy(target: int, source: int, size: int) -> None:
    """Copy ``size`` bytes between places that do not overlap."""
    at = 0
    while size - at >= 8:
        put64(target + at, get64(source + at))
        at += 8
    while at < size:
        put8(target + at, get8(source + at))
        at += 1
