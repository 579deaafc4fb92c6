"""What native functions call of Unicorn: registers of the core, stopping it.

Not modelled: errors; the register numbers are Unicorn's own, and the core is running.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
from numba import types
from unicorn.unicorn_py3.unicorn import uclib

from mcusim.cpu.hook_state import HookState
from mcusim.native.compile import native
from mcusim.native.structs import address_of, offset_of

for _name in ("uc_emu_stop", "uc_reg_read", "uc_reg_write"):
    llvm.add_symbol(_name, ctypes.cast(getattr(uclib, _name), ctypes.c_void_p).value)
_stop: Any = types.ExternalFunction("uc_emu_stop", types.int32(types.int64))
_read: Any = types.ExternalFunction("uc_reg_read", types.int32(types.int64, types.int32, types.int64))
_write: Any = types.ExternalFunction("uc_reg_write", types.int32(types.int64, types.int32, types.int64))
REGISTER = 8 * offset_of(HookState.register)


@native
def stop(hook: HookState) -> None:
    """Stop the core before the next instruction."""
    _stop(hook.engine)


@native
def get(hook: HookState, register: int) -> int:
    """The register of that number."""
    hook.register = 0
    _read(hook.engine, register, address_of(hook) + REGISTER)
    return hook.register


@native
def put(hook: HookState, register: int, value: int) -> None:
    """Set the register of that number."""
    hook.register = value
    _write(hook.engine, register, address_of(hook) + REGISTER)
