"""The functions that Unicorn calls while the core runs, compiled to C function pointers and kept on disk.

``user`` points at the addresses of the arrays the native functions share, in the order of the names below. A block hook
that stops leaves its block to run later: it charges nothing then. Load and store hooks cannot stop; they note a fault
and the registers it found, and the next block hook stops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from unicorn.arm_const import (
    UC_ARM_REG_BASEPRI,
    UC_ARM_REG_CONTROL,
    UC_ARM_REG_FPSCR,
    UC_ARM_REG_LR,
    UC_ARM_REG_PC,
    UC_ARM_REG_R0,
    UC_ARM_REG_S0,
    UC_ARM_REG_SP,
    UC_ARM_REG_XPSR,
)

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import accesses, blocks, exceptions, frames, race_detector
from mcusim.cpu.hooks.unicorn_calls import get, put, stop, words
from mcusim.cpu.pipeline import cortex_m4
from mcusim.cpu.system import nvic, ppb
from mcusim.cpu.system.exception_layout import CURRENT, ENABLED, EVENT, PRIORITY, SVCALL, VECTORS
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.native.compile import callback, native_as, shared_as
from mcusim.native.words import INT64_WORDS

ARRAYS = ("core", "memory", "table", "blocks", "accesses", "branches", "calls", "ppb", "console", "peripherals",
          "skip", "scratch", "marks", "exceptions", "divide")  # fmt: skip
CORE, MEMORY, HASH, BLOCKS, ACCESSES, BRANCHES, CALLS, PPB, CONSOLE, PERIPHERALS = range(10)
SKIP, SCRATCH, MARKS, EXCEPTIONS, DIVIDE = range(10, 15)

USER: Any = types.CPointer(types.voidptr)  # type: ignore[no-untyped-call]
_BLOCK = types.void(types.voidptr, types.uint64, types.uint32, USER)
_ACCESS = types.void(types.voidptr, types.int32, types.uint64, types.int32, types.int64, USER)
_UNMAPPED = types.boolean(types.voidptr, types.int32, types.uint64, types.int32, types.int64, USER)
_INTERRUPT = types.void(types.voidptr, types.uint32, USER)
_FAULT = types.int64(types.voidptr, types.int64, types.int64, USER)
UC_MEM_WRITE = 17
SVC, PREFETCH_ABORT, EXIT = 2, 3, 8  # Unicorn's numbers; EXIT in a handler that it was started in
IT_BITS = 0x0600FC00
IT_MASK = 0xFFFFFFFF ^ IT_BITS


def _make_put_byte(typing: Any, pointer: Any, value: Any) -> Any:
    """Store one byte at ``pointer``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = builder.trunc(arguments[1], ir.IntType(8))
        builder.store(byte, arguments[0])
        return context.get_dummy_value()

    return types.void(types.voidptr, types.int64), generate


_put_byte: Any = intrinsic(_make_put_byte)


@native_as(types.int64(types.voidptr, USER, INT64_WORDS, INT64_WORDS, types.int64))
def _saved_floats(uc: Any, user: Any, c: Any, s: Any, at: Any) -> Any:
    """Whether the FPU was off for a frame that still had room for its registers; now it is on. Else that is a fault."""
    if not frames.save_floats(uc, user[SCRATCH], c, s, words(user[EXCEPTIONS]), words(user[PPB]), at):
        accesses.fault(c, C.NO_FPU, at, 0, 0, at)
    return 1 if c[C.FAULT] == C.NO_FAULT else 0


@native_as(types.int64(types.voidptr, USER, INT64_WORDS, INT64_WORDS, types.int64, types.int64))
def _held_back(uc: Any, user: Any, c: Any, s: Any, at: Any, flags: Any) -> Any:
    """Whether the core stops before a block that waits, or that has no FPU. BASEPRI is made what MRS finds."""
    if flags & C.READS_BASEPRI:  # in a block behind the one that stored to it, as each ends with MSR
        put(uc, user[SCRATCH], UC_ARM_REG_BASEPRI, get(uc, user[SCRATCH], UC_ARM_REG_BASEPRI) & nvic.PRIORITY_BITS)
    if flags & C.WAITS and blocks.waits(c, s):
        c[C.STOP] = C.WAITING
        return 1
    return 1 if flags & C.HAS_FP and c[C.FPU] == 0 and not _saved_floats(uc, user, c, s, at) else 0


def _on_block(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A basic block is about to run: close the last one, stop if it is time, charge this one."""
    c = words(user[CORE])
    s = words(user[MEMORY])
    t = words(user[BLOCKS])
    at: Any = np.int64(address)
    b = words(user[BRANCHES])
    blocks.leave(c, s, t, b, words(user[CALLS]), at)
    if c[C.STOP] == C.RUNNING:
        if at == c[C.RETURN]:
            c[C.STOP] = C.RETURNED
        else:
            if s[L.NOW] >= c[C.HORIZON] and exceptions.attend(
                uc, user[SCRATCH], c, s, words(user[EXCEPTIONS]), words(user[PPB]), at
            ):
                return
            if c[C.STOP] == C.RUNNING and c[C.INSTRUCTIONS] >= c[C.LIMIT]:
                c[C.STOP] = C.AT_LIMIT
    if c[C.STOP] != C.RUNNING:
        c[C.STOP_ADDRESS] = at
        stop(uc)
        return
    h = words(user[HASH])
    slot = blocks.slot_of(h, at)
    i = h[slot + 1] * C.BLOCK
    if h[slot] < 0 or t[i + C.SIZE] != size:
        c[C.STOP] = C.UNKNOWN
        c[C.STOP_ADDRESS] = at
        c[C.STOP_SIZE] = size
        stop(uc)
        return
    flags = t[i + C.FLAGS]
    special = flags & (C.WAITS | C.READS_BASEPRI) or (flags & C.HAS_FP and c[C.FPU] == 0)
    if special and _held_back(uc, user, c, s, at, flags):
        c[C.STOP_ADDRESS] = at
        stop(uc)
        return
    blocks.enter(c, s, t, i, c[C.ENTERED])
    c[C.SLOW] = flags & C.CONDITIONAL_ACCESS
    _put_byte(user[SKIP], 1 - c[C.SLOW])


@native_as(types.void(types.voidptr, USER, INT64_WORDS, INT64_WORDS))
def _exact_pc(uc: Any, user: Any, c: Any, a: Any) -> None:
    """In a block with conditional accesses: find which one this is, and undo what Unicorn's state restore does to IT.

    Unicorn has restored the state of the accessing instruction; its IT bits would leak into the next block.
    """
    accesses.seek(c, a, get(uc, user[SCRATCH], UC_ARM_REG_PC))
    state = get(uc, user[SCRATCH], UC_ARM_REG_XPSR)
    if state & IT_BITS:
        put(uc, user[SCRATCH], UC_ARM_REG_XPSR, state & IT_MASK)


@native_as(types.void(types.voidptr, USER, INT64_WORDS))
def _snapshot(uc: Any, user: Any, c: Any) -> None:
    """The registers as the faulting access found them; the block itself runs on to its end."""
    for i in range(C.SAVED_FLOATS - 1):
        c[C.FLOATS + i] = get(uc, user[SCRATCH], UC_ARM_REG_S0 + i)
    c[C.FLOATS + C.SAVED_FLOATS - 1] = get(uc, user[SCRATCH], UC_ARM_REG_FPSCR)
    c[C.JOURNAL_USED], c[C.FAULT_INSIDE] = 0, 1
    for i in range(17):
        register = UC_ARM_REG_R0 + i
        if i == 13:
            register = UC_ARM_REG_SP
        elif i == 14:
            register = UC_ARM_REG_LR
        elif i == 15:
            register = UC_ARM_REG_PC
        elif i == 16:
            register = UC_ARM_REG_XPSR
        c[C.REGISTERS + i] = get(uc, user[SCRATCH], register)
    c[C.REGISTERS + 15] = c[C.FAULT_PC]


@shared_as(types.void(types.voidptr, USER, INT64_WORDS, INT64_WORDS))
def _noted(uc: Any, user: Any, c: Any, s: Any) -> None:
    """A fault; or who watches asks whether a handler could come now."""
    if c[C.FAULT] != C.WATCHED:
        _snapshot(uc, user, c)
        return
    c[C.FAULT] = C.NO_FAULT
    x = words(user[EXCEPTIONS])
    for i in range(race_detector.PROBES):
        place = race_detector.asked(s, i)
        if place == 0 or nvic.has(x, ENABLED, place) == 0:
            continue
        preempts = nvic.group(x, x[PRIORITY + place]) < frames.masks(uc, user[SCRATCH], x, nvic.active_level(x))
        if preempts and race_detector.raced(c, s, i):
            return


def _on_access(uc: Any, kind: Any, address: Any, size: Any, value: Any, user: Any) -> None:
    """A load or store is about to happen: advance the clock to it and charge what it costs."""
    c = words(user[CORE])
    s = words(user[MEMORY])
    a = words(user[ACCESSES])
    at: Any = np.int64(address)
    n: Any = np.int64(size)
    write = 1 if kind == UC_MEM_WRITE else 0
    if c[C.FAULT] != C.NO_FAULT:  # what the block does behind a fault does not count
        if write:
            accesses.remember(c, s, words(user[PPB]), at, n)
        return
    if c[C.SLOW]:
        _exact_pc(uc, user, c, a)
    r = accesses.reach(c, s, a, n, write)
    q = core_data.find(s, at)
    if q >= 0:
        b = words(user[BRANCHES])
        accesses.ordinary(c, s, a, b, words(user[MARKS]), q, r, at, n, write, value)
    elif at >= accesses.PRIVATE:
        registers, x = words(user[PPB]), words(user[EXCEPTIONS])
        if x[CURRENT] == 0 and get(uc, user[SCRATCH], UC_ARM_REG_CONTROL) & 1 and not ppb.is_open(registers, at, write):
            accesses.fault(c, C.UNPRIVILEGED, at, n, write, a[r + C.PC])
        elif write:
            console = words(user[CONSOLE])
            now = s[L.NOW]
            c[C.SYSTEM_PC] = a[r + C.PC]
            ppb.write(c, s, x, registers, console, at - accesses.PRIVATE, n, value)
            a[r + C.PENALTY] += s[L.NOW] - now
        else:
            c[C.SYSTEM_READS] += 1
            ppb.read(c, s, x, registers, at - accesses.PRIVATE)
    else:
        accesses.peripheral(c, a, words(user[PERIPHERALS]), r, at, n, write)
    if c[C.FAULT] != C.NO_FAULT:
        _noted(uc, user, c, s)
        if write and c[C.FAULT] != C.NO_FAULT:
            accesses.remember(c, s, words(user[PPB]), at, n)


@native_as(types.void(types.voidptr, USER, INT64_WORDS, types.int64, types.int64))
def _stop_before(uc: Any, user: Any, c: Any, code: Any, at: Any) -> None:
    """Fault ``code`` of the instruction at ``at``, which does not execute."""
    accesses.fault(c, code, at, 0, 0, at)
    _snapshot(uc, user, c)
    stop(uc)


def _on_divide(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A divide is about to execute: the cycles that its operands add to the least."""
    c = words(user[CORE])
    if c[C.FAULT] != C.NO_FAULT:
        return
    s = words(user[MEMORY])
    a = words(user[ACCESSES])
    info = words(user[DIVIDE])
    dividend, divisor = get(uc, user[SCRATCH], info[0]), get(uc, user[SCRATCH], info[1])
    if divisor == 0 and c[C.TRAP_DIVIDE]:
        _stop_before(uc, user, c, C.DIVIDED_BY_ZERO, np.int64(address))
        return
    extra = 0
    if c[C.TRAITS] & C.EARLY_DIVIDE:
        extra = cortex_m4.divide_extra(dividend, divisor, info[2]) * L.TICK
    s[L.NOW] += extra
    r = info[3] * C.ACCESS
    a[r + C.MADE] += 1
    a[r + C.PENALTY] += extra


def _on_undefined(uc: Any, address: Any, size: Any, user: Any) -> None:
    """An instruction that the core lacks is about to execute: the core stops before it."""
    c = words(user[CORE])
    if c[C.FAULT] == C.NO_FAULT:
        _stop_before(uc, user, c, C.UNDEFINED, np.int64(address))


def _on_floats(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A floating-point instruction is about to execute, in a block that was begun with the FPU off."""
    c = words(user[CORE])
    at: Any = np.int64(address)
    if c[C.FAULT] == C.NO_FAULT and c[C.FPU] == 0 and not _saved_floats(uc, user, c, words(user[MEMORY]), at):
        _stop_before(uc, user, c, C.NO_FPU, at)


def _on_event(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A SEV is about to execute."""
    words(user[EXCEPTIONS])[EVENT] = 1


def _on_stack_moved(uc: Any, address: Any, size: Any, user: Any) -> None:
    """SP has been set to something else: a core ignores its two lowest bits (Arm DDI0403 B1.4.1), Unicorn does not."""
    sp = get(uc, user[SCRATCH], UC_ARM_REG_SP)
    if sp & 3:
        put(uc, user[SCRATCH], UC_ARM_REG_SP, sp & 0xFFFFFFFC)


def _on_unmapped(uc: Any, kind: Any, address: Any, size: Any, value: Any, user: Any) -> Any:
    """An access or fetch found no memory: note where; the core stops."""
    words(user[CORE])[C.UNMAPPED] = np.int64(address)
    return False


@native_as(types.void(types.voidptr, USER, INT64_WORDS, INT64_WORDS, INT64_WORDS, types.int64))
def _end_of_handler(uc: Any, user: Any, c: Any, s: Any, x: Any, at: Any) -> None:
    """The block that branched to EXC_RETURN ends; its branch's refill is part of the return."""
    t = words(user[BLOCKS])
    p = c[C.PREVIOUS]
    lost = t[p + C.BRANCH_TICKS] if p >= 0 else 0
    blocks.leave(c, s, t, words(user[BRANCHES]), words(user[CALLS]), at)
    if p >= 0:
        s[L.NOW] -= t[p + C.BRANCH_TICKS] - lost
        t[p + C.BRANCH_TICKS] = lost
    exceptions.leave_handler(uc, user[SCRATCH], c, s, x, words(user[PPB]), at | 1)


def _on_interrupt(uc: Any, kind: Any, user: Any) -> None:
    """Unicorn has an exception for the host: a branch to EXC_RETURN, or an SVC; any other one stops the core."""
    c, s, x = words(user[CORE]), words(user[MEMORY]), words(user[EXCEPTIONS])
    at = get(uc, user[SCRATCH], UC_ARM_REG_PC)
    c[C.STOP_ADDRESS] = at
    if c[C.FAULT] != C.NO_FAULT:
        stop(uc)
        return
    if x[VECTORS] and kind in (PREFETCH_ABORT, EXIT) and at >= exceptions.RETURNS_FROM and x[CURRENT]:
        _end_of_handler(uc, user, c, s, x, at)
    elif x[VECTORS] and kind == SVC:
        blocks.leave(c, s, words(user[BLOCKS]), words(user[BRANCHES]), words(user[CALLS]), at)
        nvic.pend(x, SVCALL, s[L.NOW])
        exceptions.supervise(uc, user[SCRATCH], c, s, x, words(user[PPB]), at)
    else:
        c[C.STOP] = C.EXCEPTION
    if c[C.STOP] != C.RUNNING:
        stop(uc)


def _level(uc: Any, place: Any, unused: Any, user: Any) -> Any:
    """The priority of what runs, masks included; ``place``, as which exception that fault is taken, 0: lockup."""
    x = words(user[EXCEPTIONS])
    running = frames.masks(uc, user[SCRATCH], x, nvic.active_level(x))
    return exceptions.taken_as(x, place, running) if place else running


def _take_fault(uc: Any, back: Any, place: Any, user: Any) -> Any:
    """Enter what pends; 0 when a fault or an event of the host comes between.

    ``place`` 0: the frame is there; a fault ``place``: of code that goes on at ``back``; -1: a handler has branched to
    EXC_RETURN ``back``.
    """
    c, s, x = words(user[CORE]), words(user[MEMORY]), words(user[EXCEPTIONS])
    if place < 0:
        return exceptions.chain(uc, user[SCRATCH], c, s, x, words(user[PPB]), back)
    if place > 0:
        frames.push(uc, user[SCRATCH], c, s, x, words(user[PPB]), back, place)
        if c[C.FAULT] != C.NO_FAULT:
            return 0
    return exceptions.attend(uc, user[SCRATCH], c, s, x, words(user[PPB]), back)


on_block = callback(_BLOCK)(_on_block)
level = callback(_FAULT)(_level)
take_fault = callback(_FAULT)(_take_fault)
on_floats = callback(_BLOCK)(_on_floats)
on_event = callback(_BLOCK)(_on_event)
on_access = callback(_ACCESS)(_on_access)
on_divide = callback(_BLOCK)(_on_divide)
on_undefined = callback(_BLOCK)(_on_undefined)
on_interrupt = callback(_INTERRUPT)(_on_interrupt)
on_stack_moved = callback(_BLOCK)(_on_stack_moved)
on_unmapped = callback(_UNMAPPED)(_on_unmapped)
