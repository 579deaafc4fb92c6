"""The functions that Unicorn calls while the core runs, as C function pointers into the library of native code.

``user`` is the address of a :class:`~mcusim.cpu.hook_state.HookState`. A block hook that stops leaves its block to run
later: it charges nothing then. Load and store hooks cannot stop; they note a fault and the registers it found, and the
next block hook stops.
"""

from __future__ import annotations

from ctypes import c_bool, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

import numpy as np
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
from mcusim.cpu.hook_state import HookState
from mcusim.cpu.hooks import accesses, blocks, exceptions, frames, race_detector
from mcusim.cpu.hooks.unicorn_calls import get, put, stop
from mcusim.cpu.pipeline import cortex_m4
from mcusim.cpu.system import nvic, ppb
from mcusim.cpu.system.exception_layout import SVCALL
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import TICK, AddressRange
from mcusim.native import host_memory as host
from mcusim.native.functions import callback, native, shared

signed: Any = np.int64  # of what C code hands over unsigned
# what Unicorn calls them with: result, then itself, parameters, and the address that it was given for them
_BLOCK = None, c_void_p, c_uint64, c_uint32, c_int64
ACCESS = None, c_void_p, c_int32, c_uint64, c_int32, c_int64, c_int64
_UNMAPPED = c_bool, c_void_p, c_int32, c_uint64, c_int32, c_int64, c_int64
_INTERRUPT = None, c_void_p, c_uint32, c_int64
_FAULT = c_int64, c_void_p, c_int64, c_int64, c_int64
UC_MEM_WRITE = 17
SVC, PREFETCH_ABORT, EXIT = 2, 3, 8  # Unicorn's numbers; EXIT in a handler that it was started in
IT_BITS = 0x0600FC00
IT_MASK = 0xFFFFFFFF ^ IT_BITS


@native
def _saved_floats(hook: HookState, address: int) -> int:
    """Whether the FPU was off for a frame that still had room for its registers; now it is on. Else that is a fault."""
    if not frames.save_floats(hook, address):
        accesses.fault_of_instruction(hook.core, C.NO_FPU, address)
    return 1 if hook.core.fault == C.NO_FAULT else 0


@native
def _held_back(hook: HookState, address: int, flags: int) -> int:
    """Whether the core stops before a block that waits, or that has no FPU. BASEPRI is made what MRS finds."""
    core = hook.core
    if flags & C.READS_BASEPRI:  # in a block behind the one that stored to it, as each ends with MSR
        put(hook, UC_ARM_REG_BASEPRI, get(hook, UC_ARM_REG_BASEPRI) & nvic.PRIORITY_BITS)
    if flags & C.WAITS and blocks.waits(core, hook.memory.now):
        core.stop = C.WAITING
        return 1
    return 1 if flags & C.HAS_FP and core.fpu == 0 and not _saved_floats(hook, address) else 0


@native
def _stop_at(hook: HookState, address: int) -> None:
    """The block at ``address`` does not run."""
    hook.core.stop_address = address
    stop(hook)


@native
def _looked_up(hook: HookState, address: int) -> int:
    """When it is time to: what is due between two blocks; 1 when the core goes elsewhere."""
    core = hook.core
    if core.stop != C.RUNNING:
        return 0
    if address == core.return_address:
        core.stop = C.RETURNED
        return 0
    if hook.memory.now >= core.horizon and exceptions.attend(hook, address):
        return 1
    if core.stop == C.RUNNING and core.instructions >= core.instruction_limit:
        core.stop = C.AT_LIMIT
    return 0


def _on_block(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A basic block is about to run: close the last one, stop if it is time, charge this one."""
    hook = HookState(user)
    core = hook.core
    begin = signed(address)
    blocks.leave(hook, begin)
    if _looked_up(hook, begin):
        return
    if core.stop != C.RUNNING:
        _stop_at(hook, begin)
        return
    slot = hook.block_hash.slots[blocks.slot_of(hook.block_hash, begin)]
    block = hook.blocks.records[slot.index]
    if slot.address < 0 or block.size != size:
        core.stop = C.UNKNOWN
        core.stop_size = size
        _stop_at(hook, begin)
        return
    flags = block.flags
    special = flags & (C.WAITS | C.READS_BASEPRI) or (flags & C.HAS_FP and core.fpu == 0)
    if special and _held_back(hook, begin, flags):
        _stop_at(hook, begin)
        return
    blocks.enter(hook, slot.index)
    core.slow = flags & C.CONDITIONAL_ACCESS
    host.put8(hook.skip_flag, 1 - core.slow)


@native
def _exact_pc(hook: HookState) -> None:
    """In a block with conditional accesses: find which one this is, and undo what Unicorn's state restore does to IT.

    Unicorn has restored the state of the accessing instruction; its IT bits would leak into the next block.
    """
    accesses.seek(hook, get(hook, UC_ARM_REG_PC))
    state = get(hook, UC_ARM_REG_XPSR)
    if state & IT_BITS:
        put(hook, UC_ARM_REG_XPSR, state & IT_MASK)


@native
def _snapshot(hook: HookState) -> None:
    """The registers as the faulting access found them; the block itself runs on to its end."""
    core = hook.core
    for i in range(C.SAVED_FLOATS - 1):
        core.floats[i] = get(hook, UC_ARM_REG_S0 + i)
    core.floats[C.SAVED_FLOATS - 1] = get(hook, UC_ARM_REG_FPSCR)
    core.journal_used, core.fault_in_block = 0, 1
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
        core.registers[i] = get(hook, register)
    core.registers[15] = core.fault_pc


@shared
def _fault_or_race(hook: HookState) -> None:
    """A fault; or who watches asks whether a handler could come now."""
    core, memory, interrupts = hook.core, hook.memory, hook.exceptions
    if core.fault != C.WATCHED:
        _snapshot(hook)
        return
    core.fault = C.NO_FAULT
    for i in range(race_detector.PROBES):
        index = race_detector.asked(memory, i)
        if index == 0 or nvic.has(interrupts.enabled, index) == 0:
            continue
        running = frames.masks(hook, nvic.active_level(interrupts))
        if nvic.group(interrupts, interrupts.priority[index]) < running and race_detector.raced(core, memory, i):
            return


@native
def _system_access(hook: HookState, record_index: int) -> None:
    """The access that is made is of the private peripheral bus."""
    core, memory, access = hook.core, hook.memory, hook.core.access
    unprivileged = hook.exceptions.current == 0 and get(hook, UC_ARM_REG_CONTROL) & 1
    if unprivileged and not ppb.is_open(hook.ppb, access.address, access.write):
        accesses.fault(core, C.UNPRIVILEGED)
    elif access.write:
        now = memory.now
        core.system_pc = access.pc
        ppb.write(hook, access.address - accesses.PRIVATE, access.size, access.value)
        hook.accesses.records[record_index].penalty += memory.now - now
    else:
        core.system_reads += 1
        ppb.read(hook, access.address - accesses.PRIVATE)


def _on_access(uc: Any, kind: Any, address: Any, size: Any, value: Any, user: Any) -> None:
    """A load or store is about to happen: advance the clock to it and charge what it costs."""
    hook = HookState(user)
    core = hook.core
    first, count = signed(address), signed(size)
    write = 1 if kind == UC_MEM_WRITE else 0
    if core.fault != C.NO_FAULT:  # what the block does behind a fault does not count
        if write:
            accesses.remember(hook, first, count)
        return
    if core.slow:
        _exact_pc(hook)
    index = accesses.foreseen(hook, count, write)
    record = hook.accesses.records[index]
    region = find(hook.memory, first)
    addresses = AddressRange(hook.memory, region)
    if index and region >= 0 and accesses.is_plain(hook, addresses, first, record):
        accesses.plain(hook, addresses, first, record, value)
        return
    accesses.begin(core, first, count, write, record.pc)
    core.access.value, core.access.flags = value, record.flags
    if region >= 0:
        accesses.ordinary(hook, addresses, index)
    elif first >= accesses.PRIVATE:
        _system_access(hook, index)
    else:
        accesses.peripheral(hook)
    if core.fault != C.NO_FAULT:
        _fault_or_race(hook)
        if write and core.fault != C.NO_FAULT:
            accesses.remember(hook, first, count)


@native
def _stop_before(hook: HookState, code: int, address: int) -> None:
    """Fault ``code`` of the instruction at ``address``, which does not execute."""
    accesses.fault_of_instruction(hook.core, code, address)
    _snapshot(hook)
    stop(hook)


def _on_divide(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A divide is about to execute: the cycles that its operands add to the least."""
    hook = HookState(user)
    core = hook.core
    if core.fault != C.NO_FAULT:
        return
    dividend, divisor = get(hook, hook.divide[0]), get(hook, hook.divide[1])
    if divisor == 0 and core.trap_divide:
        _stop_before(hook, C.DIVIDED_BY_ZERO, signed(address))
        return
    extra = 0
    if core.traits & C.EARLY_DIVIDE:
        extra = cortex_m4.divide_extra(dividend, divisor, hook.divide[2]) * TICK
    hook.memory.now += extra
    record = hook.accesses.records[hook.divide[3]]
    record.count += 1
    record.penalty += extra


def _on_undefined(uc: Any, address: Any, size: Any, user: Any) -> None:
    """An instruction that the core lacks is about to execute: the core stops before it."""
    hook = HookState(user)
    if hook.core.fault == C.NO_FAULT:
        _stop_before(hook, C.UNDEFINED, signed(address))


def _on_floats(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A floating-point instruction is about to execute, in a block that was begun with the FPU off."""
    hook = HookState(user)
    place = signed(address)
    if hook.core.fault == C.NO_FAULT and hook.core.fpu == 0 and not _saved_floats(hook, place):
        _stop_before(hook, C.NO_FPU, place)


def _on_event(uc: Any, address: Any, size: Any, user: Any) -> None:
    """A SEV is about to execute."""
    HookState(user).exceptions.event = 1


def _on_stack_moved(uc: Any, address: Any, size: Any, user: Any) -> None:
    """SP has been set to something else: a core ignores its two lowest bits (Arm DDI0403 B1.4.1), Unicorn does not."""
    hook = HookState(user)
    sp = get(hook, UC_ARM_REG_SP)
    if sp & 3:
        put(hook, UC_ARM_REG_SP, sp & 0xFFFFFFFC)


def _on_unmapped(uc: Any, kind: Any, address: Any, size: Any, value: Any, user: Any) -> Any:
    """An access or fetch found no memory: note where; the core stops."""
    HookState(user).core.unmapped = signed(address)
    return False


@native
def _end_of_handler(hook: HookState, address: int) -> None:
    """The block that branched to EXC_RETURN ends; its branch's refill is part of the return."""
    index = hook.core.open_block
    block = hook.blocks.records[index]
    lost = block.branch_ticks if index >= 0 else 0
    blocks.leave(hook, address)
    if index >= 0:
        hook.memory.now -= block.branch_ticks - lost
        block.branch_ticks = lost
    exceptions.leave_handler(hook, address | 1)


def _on_interrupt(uc: Any, kind: Any, user: Any) -> None:
    """Unicorn has an exception for the host: a branch to EXC_RETURN, or an SVC; any other one stops the core."""
    hook = HookState(user)
    core, interrupts = hook.core, hook.exceptions
    address = get(hook, UC_ARM_REG_PC)
    core.stop_address = address
    if core.fault != C.NO_FAULT:
        stop(hook)
        return
    returns = kind in (PREFETCH_ABORT, EXIT) and address >= exceptions.RETURNS_FROM
    if interrupts.vector_table and returns and interrupts.current:
        _end_of_handler(hook, address)
    elif interrupts.vector_table and kind == SVC:
        blocks.leave(hook, address)
        nvic.pend(interrupts, SVCALL, hook.memory.now)
        exceptions.supervise(hook, address)
    else:
        core.stop = C.EXCEPTION
    if core.stop != C.RUNNING:
        stop(hook)


def _level(uc: Any, index: Any, unused: Any, user: Any) -> Any:
    """The priority of what runs, masks included; ``index``: as which exception that fault is taken, 0: lockup."""
    hook = HookState(user)
    running = frames.masks(hook, nvic.active_level(hook.exceptions))
    return exceptions.taken_as(hook.exceptions, index, running) if index else running


def _take_fault(uc: Any, back: Any, index: Any, user: Any) -> Any:
    """Enter what pends; 0 when a fault or an event of the host comes between.

    ``index`` 0: the frame is there; a fault ``index``: of code that goes on at ``back``; -1: a handler has branched to
    EXC_RETURN ``back``.
    """
    hook = HookState(user)
    if index < 0:
        return exceptions.chain(hook, back)
    if index > 0:
        frames.push(hook, back, index)
        if hook.core.fault != C.NO_FAULT:
            return 0
    return exceptions.attend(hook, back)


on_block = callback(*_BLOCK)(_on_block)
level = callback(*_FAULT)(_level)
take_fault = callback(*_FAULT)(_take_fault)
on_floats = callback(*_BLOCK)(_on_floats)
on_event = callback(*_BLOCK)(_on_event)
on_access = callback(*ACCESS)(_on_access)
on_divide = callback(*_BLOCK)(_on_divide)
on_undefined = callback(*_BLOCK)(_on_undefined)
on_interrupt = callback(*_INTERRUPT)(_on_interrupt)
on_stack_moved = callback(*_BLOCK)(_on_stack_moved)
on_unmapped = callback(*_UNMAPPED)(_on_unmapped)
