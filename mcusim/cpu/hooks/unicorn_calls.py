"""What native functions call of Unicorn: registers of the core, stopping it.

Not modelled: errors; the register numbers are Unicorn's own, and the core is running.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from unicorn.unicorn_py3.unicorn import uclib

from mcusim.native.compile import native_as
from mcusim.native.words import INT64_WORDS

for _name in ("uc_emu_stop", "uc_reg_read", "uc_reg_write"):
    llvm.add_symbol(_name, ctypes.cast(getattr(uclib, _name), ctypes.c_void_p).value)
stop: Any = types.ExternalFunction("uc_emu_stop", types.int32(types.voidptr))
_read: Any = types.ExternalFunction("uc_reg_read", types.int32(types.voidptr, types.int32, types.voidptr))
_write: Any = types.ExternalFunction("uc_reg_write", types.int32(types.voidptr, types.int32, types.voidptr))


def _make_words(typing: Any, pointer: Any) -> Any:
    """The int64 words at ``pointer``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64).as_pointer())

    return INT64_WORDS(types.voidptr), generate


words: Any = intrinsic(_make_words)


@native_as(types.int64(types.voidptr, types.voidptr, types.int64))
def get(uc: Any, scratch: Any, register: Any) -> Any:
    """The register of that number, by way of the word at ``scratch``."""
    value = words(scratch)
    value[0] = 0
    _read(uc, register, scratch)
    return value[0]


@native_as(types.void(types.voidptr, types.voidptr, types.int64, types.int64))
def put(uc: Any, scratch: Any, register: Any, value: Any) -> None:
    """Set the register of that number."""
    words(scratch)[0] = value
    _write(uc, register, scratch)
