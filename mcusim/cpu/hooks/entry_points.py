"""The functions that Unicorn calls while the core runs, compiled to C function pointers and kept on disk.

``user`` points at the addresses of the arrays the native functions share, in the order of the names below. A block hook
that stops leaves its block to run later: it charges nothing then. Load and store hooks cannot stop; they note a fault
and the registers it found, and the next block hook stops.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from unicorn.arm_const import UC_ARM_REG_LR, UC_ARM_REG_PC, UC_ARM_REG_R0, UC_ARM_REG_SP, UC_ARM_REG_XPSR
from unicorn.unicorn_py3.unicorn import uclib

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import accesses, blocks
from mcusim.cpu.pipeline import cortex_m4
from mcusim.cpu.system import ppb
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.native.compile import callback, native_as
from mcusim.native.words import INT64_WORDS

__all__ = ["ARRAYS", "on_access", "on_block", "on_divide", "on_undefined", "on_unmapped"]

ARRAYS = ("core", "memory", "table", "blocks", "accesses", "branches", "calls", "ppb", "console", "peripherals",
          "skip", "scratch", "marks", "divide")  # fmt: skip
CORE, MEMORY, HASH, BLOCKS, ACCESSES, BRANCHES, CALLS, PPB, CONSOLE, PERIPHERALS, SKIP, SCRATCH, MARKS, DIVIDE = range(
    14
)

for _name in ("uc_emu_stop", "uc_reg_read", "uc_reg_write"):
    llvm.add_symbol(_name, ctypes.cast(getattr(uclib, _name), ctypes.c_void_p).value)
_stop: Any = types.ExternalFunction("uc_emu_stop", types.int32(types.voidptr))
_reg_read: Any = types.ExternalFunction("uc_reg_read", types.int32(types.voidptr, types.int32, types.voidptr))
_reg_write: Any = types.ExternalFunction("uc_reg_write", types.int32(types.voidptr, types.int32, types.voidptr))

USER: Any = types.CPointer(types.voidptr)  # type: ignore[no-untyped-call]
_BLOCK = types.void(types.voidptr, types.uint64, types.uint32, USER)
_ACCESS = types.void(types.voidptr, types.int32, types.uint64, types.int32, types.int64, USER)
_UNMAPPED = types.boolean(types.voidptr, types.int32, types.uint64, types.int32, types.int64, USER)
UC_MEM_WRITE = 17
IT_BITS = 0x0600FC00
IT_MASK = 0xFFFFFFFF ^ IT_BITS


def _make_words(typing: Any, pointer: Any) -> Any:
    """The int64 words at ``pointer``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64).as_pointer())

    return INT64_WORDS(types.voidptr), generate


def _make_put_byte(typing: Any, pointer: Any, value: Any) -> Any:
    """Store one byte at ``pointer``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = builder.trunc(arguments[1], ir.IntType(8))
        builder.store(byte, arguments[0])
        return context.get_dummy_value()

    return types.void(types.voidptr, types.int64), generate


_words: Any = intrinsic(_make_words)
_put_byte: Any = intrinsic(_make_put_byte)


def _on_block(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A basic block is about to run: close the last one, stop if it is time, charge this one."""
    c = _words(user[CORE])
    s = _words(user[MEMORY])
    t = _words(user[BLOCKS])
    at: Any = np.int64(address)
    b = _words(user[BRANCHES])
    blocks.leave(c, s, t, b, _words(user[CALLS]), at)
    if c[C.STOP] == C.RUNNING:
        if at == c[C.RETURN]:
            c[C.STOP] = C.RETURNED
        elif s[L.NOW] >= c[C.HORIZON]:
            c[C.STOP] = C.AT_HORIZON
        elif c[C.INSTRUCTIONS] >= c[C.LIMIT]:
            c[C.STOP] = C.AT_LIMIT
    if c[C.STOP] != C.RUNNING:
        c[C.STOP_ADDRESS] = at
        _stop(uc)
        return
    h = _words(user[HASH])
    slot = blocks.slot_of(h, at)
    i = h[slot + 1] * C.BLOCK
    if h[slot] < 0 or t[i + C.SIZE] != size:
        c[C.STOP] = C.UNKNOWN
        c[C.STOP_ADDRESS] = at
        c[C.STOP_SIZE] = size
        _stop(uc)
        return
    flags = t[i + C.FLAGS]
    if flags & C.HAS_FP and c[C.FPU] == 0:
        accesses.fault(c, C.NO_FPU, at, 0, 0, at)
        c[C.STOP_ADDRESS] = at
        _stop(uc)
        return
    blocks.enter(c, s, t, i, c[C.ENTERED])
    c[C.SLOW] = flags & C.CONDITIONAL_ACCESS
    _put_byte(user[SKIP], 1 - c[C.SLOW])


@native_as(types.void(types.voidptr, USER, INT64_WORDS, INT64_WORDS))
def _exact_pc(uc: Any, user: Any, c: Any, a: Any) -> None:
    """In a block with conditional accesses: find which one this is, and undo what Unicorn's state restore does to IT.

    Unicorn has restored the state of the accessing instruction; its IT bits would leak into the next block.
    """
    scratch = _words(user[SCRATCH])
    scratch[0] = 0
    _reg_read(uc, UC_ARM_REG_PC, user[SCRATCH])
    accesses.seek(c, a, scratch[0])
    scratch[0] = 0
    _reg_read(uc, UC_ARM_REG_XPSR, user[SCRATCH])
    if scratch[0] & IT_BITS:
        scratch[0] &= IT_MASK
        _reg_write(uc, UC_ARM_REG_XPSR, user[SCRATCH])


@native_as(types.void(types.voidptr, USER, INT64_WORDS))
def _snapshot(uc: Any, user: Any, c: Any) -> None:
    """The registers as the faulting access found them; the block itself runs on to its end."""
    scratch = _words(user[SCRATCH])
    for i in range(17):
        scratch[0] = 0
        register = UC_ARM_REG_R0 + i
        if i == 13:
            register = UC_ARM_REG_SP
        elif i == 14:
            register = UC_ARM_REG_LR
        elif i == 15:
            register = UC_ARM_REG_PC
        elif i == 16:
            register = UC_ARM_REG_XPSR
        _reg_read(uc, register, user[SCRATCH])
        c[C.REGISTERS + i] = scratch[0]
    c[C.REGISTERS + 15] = c[C.FAULT_PC]


def _on_access(uc: Any, kind: Any, address: Any, size: Any, value: Any, user: Any) -> None:
    """A load or store is about to happen: advance the clock to it and charge what it costs."""
    c = _words(user[CORE])
    if c[C.FAULT] != C.NO_FAULT:  # what the block does behind a fault does not count
        return
    s = _words(user[MEMORY])
    a = _words(user[ACCESSES])
    at: Any = np.int64(address)
    n: Any = np.int64(size)
    write = 1 if kind == UC_MEM_WRITE else 0
    if c[C.SLOW]:
        _exact_pc(uc, user, c, a)
    r = accesses.reach(c, s, a, n, write)
    q = core_data.find(s, at)
    if q >= 0:
        b = _words(user[BRANCHES])
        accesses.ordinary(c, s, a, b, _words(user[MARKS]), q, r, at, n, write, value)
    elif at >= accesses.PRIVATE:
        registers = _words(user[PPB])
        if write:
            console = _words(user[CONSOLE])
            now = s[L.NOW]
            ppb.write(c, s, registers, console, at - accesses.PRIVATE, n, value)
            a[r + C.PENALTY] += s[L.NOW] - now
        else:
            ppb.read(c, s, registers, at - accesses.PRIVATE)
    else:
        accesses.peripheral(c, a, _words(user[PERIPHERALS]), r, at, n, write)
    if c[C.FAULT] != C.NO_FAULT:
        _snapshot(uc, user, c)


def _on_divide(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A divide is about to execute: the cycles that its operands add to the least."""
    c = _words(user[CORE])
    if c[C.FAULT] != C.NO_FAULT:
        return
    s = _words(user[MEMORY])
    a = _words(user[ACCESSES])
    info = _words(user[DIVIDE])
    scratch = _words(user[SCRATCH])
    scratch[0] = 0
    _reg_read(uc, np.int32(info[0]), user[SCRATCH])
    dividend = scratch[0]
    scratch[0] = 0
    _reg_read(uc, np.int32(info[1]), user[SCRATCH])
    divisor = scratch[0]
    extra = 0
    if c[C.TRAITS] & C.EARLY_DIVIDE:
        extra = cortex_m4.divide_extra(dividend, divisor, info[2]) * L.TICK
    s[L.NOW] += extra
    r = info[3] * C.ACCESS
    a[r + C.MADE] += 1
    a[r + C.PENALTY] += extra


def _on_undefined(uc: Any, address: Any, size: Any, user: Any) -> None:
    """An instruction that the core lacks is about to execute: the core stops before it."""
    c = _words(user[CORE])
    if c[C.FAULT] != C.NO_FAULT:
        return
    at: Any = np.int64(address)
    accesses.fault(c, C.UNDEFINED, at, 0, 0, at)
    _snapshot(uc, user, c)
    _stop(uc)


def _on_unmapped(uc: Any, kind: Any, address: Any, size: Any, value: Any, user: Any) -> Any:
    """An access or fetch found no memory: note where; the core stops."""
    _words(user[CORE])[C.UNMAPPED] = np.int64(address)
    return False


on_block = callback(_BLOCK)(_on_block)
on_access = callback(_ACCESS)(_on_access)
on_divide = callback(_BLOCK)(_on_divide)
on_undefined = callback(_BLOCK)(_on_undefined)
on_unmapped = callback(_UNMAPPED)(_on_unmapped)
