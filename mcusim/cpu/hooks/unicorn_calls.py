"""What native functions call of Unicorn: registers of the core, stopping it.

Not modelled: errors; the register numbers are Unicorn's own, and the core is running.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64
from typing import Any

from unicorn.unicorn_py3.unicorn import uclib

from mcusim.cpu.hook_state import HookState
from mcusim.native.declarations import External
from mcusim.native.functions import native
from mcusim.native.structs import address_of, offset_of


def _external(name: str, *parameters: Any) -> Any:
    address = ctypes.cast(getattr(uclib, name), ctypes.c_void_p).value or 0
    return External(__name__, name, address, c_int32, parameters)


_stop = _external("uc_emu_stop", c_int64)
_read = _external("uc_reg_read", c_int64, c_int32, c_int64)
_write = _external("uc_reg_write", c_int64, c_int32, c_int64)
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
