"""Faults that handlers of the program take: which exception, what the status registers say, and where it goes on.

A block runs on behind a fault that a load or store met; what it wrote from there on is put back, and the registers are
those that the faulting instruction found. The frame's return address is that instruction's (Arm DDI0403 B1.5.6 to
B1.5.15 for status bits, escalation and lockup).

Not modelled: imprecise bus faults (a store that no memory takes is precise), CCR.BFHFNMIGN,
DebugMonitor (a BKPT is a HardFault). What the simulator finds (a stack's overflow, the sanitizer's violations) is no
fault of the core, and ends the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mcusim.cpu import state_layout as C
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import fault_status, nvic
from mcusim.cpu.system.ppb_words import put, word
from mcusim.emulator.stops.fault_log import TakenFault
from mcusim.emulator.stops.stop import Fault, Stop
from mcusim.emulator.stops.stop_reason import explain_fault
from mcusim.memory import state_layout as L
from mcusim.memory.range_lookup import addresses_at

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

VTOR, TABLE = 0xED08, 0xFFFF_FF80
IT_BITS = 0x0600_FC00
RESUME, CHAIN = 0, -1  # instead of the exception that is entered
FORCED, VECTOR_READ, DEBUG_EVENT = 1 << 30, 1 << 1, 1 << 31  # HFSR
NAMES = {X.HARD_FAULT: "HardFault", X.MEM_MANAGE: "MemManage", X.BUS_FAULT: "BusFault", X.USAGE_FAULT: "UsageFault"}


class _TakenAs(NamedTuple):
    """The exception, and the bits of CFSR: of a data access those that say that its address is known are added."""

    place: int
    bits: int
    data: bool = False


_CAUSES = {
    "unaligned access": _TakenAs(X.USAGE_FAULT, 1 << 24),
    "divide by zero": _TakenAs(X.USAGE_FAULT, 1 << 25),
    "no coprocessor": _TakenAs(X.USAGE_FAULT, 1 << 19),
    "bad exception return": _TakenAs(X.USAGE_FAULT, 1 << 18),
    "invalid state": _TakenAs(X.USAGE_FAULT, 1 << 17),
    "undefined instruction": _TakenAs(X.USAGE_FAULT, 1 << 16),
    "execution violation": _TakenAs(X.MEM_MANAGE, 1 << 0),
    "access violation": _TakenAs(X.MEM_MANAGE, 1 << 1, True),
    "bus fault": _TakenAs(X.BUS_FAULT, 1 << 9, True),
    "unprivileged access": _TakenAs(X.BUS_FAULT, 1 << 9, True),
    "no such peripheral": _TakenAs(X.BUS_FAULT, 1 << 9, True),
    "unstacking": _TakenAs(X.MEM_MANAGE, 1 << 3),
    "stacking": _TakenAs(X.MEM_MANAGE, 1 << 4),
    "lazy stacking": _TakenAs(X.MEM_MANAGE, 1 << 5),
    "bad vector": _TakenAs(X.HARD_FAULT, 0),
    "exception": _TakenAs(X.HARD_FAULT, 0),
    "breakpoint": _TakenAs(X.HARD_FAULT, 0),
}
_FETCH = _TakenAs(X.BUS_FAULT, 1 << 8)
_KNOWN = 1 << 7  # MMARVALID; BFARVALID is 8 bits higher up
_HFSR = {"bad vector": VECTOR_READ, "breakpoint": DEBUG_EVENT, "exception": FORCED}


def take(emulator: GuestCore, fault: Fault) -> Stop | None:
    """Enter the handler of ``fault`` (None), or say how the run ends: no handler, or the core locks up."""
    x, core = emulator.interrupts.state, emulator.core
    cause = _cause(emulator, fault)
    if cause is None or emulator.confined or not x.vector_table:
        return Stop("fault", fault=_first(emulator, fault))
    entering = x.entering if fault.kind in ("stacking", "bad vector") else 0
    index = core.taken_as(cause.place)
    derived = entering in (X.NMI, X.HARD_FAULT)
    if derived and fault.kind == "stacking":  # its handler begins all the same
        x.cfsr |= cause.bits
        emulator.state.fault = C.NO_FAULT
        return _enter(emulator, 0, RESUME)
    handler = handler_of(emulator, index or X.HARD_FAULT)
    if handler is None:
        return Stop("fault", fault=_first(emulator, fault))
    if not index or derived:
        return Stop("fault", fault=_lockup(emulator, fault))
    if emulator.faults.again(fault):
        why = f"{fault.text}; the handler of {NAMES[index]} returns to it again and again, and nothing changes"
        return Stop("fault", fault=replace(fault, text=why))
    hfsr = _HFSR.get(fault.kind, FORCED if index != cause.place else 0)
    emulator.faults.add(index, TakenFault(fault, NAMES[index], handler, cause.bits, hfsr))
    _note(emulator, fault, cause, hfsr)
    back = _restored(emulator, fault)
    emulator.state.fault = C.NO_FAULT
    nvic.pend(x, index, emulator.memory.state.now)
    if entering:
        return _enter(emulator, 0, RESUME)
    if fault.kind in ("unstacking", "bad exception return"):
        return _enter(emulator, fault.pc | 1, CHAIN)
    return _enter(emulator, back, index)


def handler_of(emulator: GuestCore, place: int) -> int | None:
    """The address that the vector table has for ``place``; None where no code can be."""
    at = (word(emulator.ppb_words, VTOR) & TABLE) + 4 * X.number_of(place)
    vector = int.from_bytes(emulator.core.peek(at, 4) or b"", "little")
    code = emulator.core.peek(vector & ~1, 4) if vector & 1 else None
    addresses = addresses_at(emulator.memory.state, vector & ~1)
    runs = addresses is not None and addresses.flags & L.EXECUTE
    return vector & ~1 if runs and code not in (None, bytes(4), b"\xff" * 4) else None


def _cause(emulator: GuestCore, fault: Fault) -> _TakenAs | None:
    """The exception and its bits, by what is at the address: an MPU region is MemManage's, else BusFault's."""
    cause = _CAUSES.get(fault.kind)
    if fault.kind == "bus fault" and fault.address == fault.pc:
        return _FETCH
    if cause is not None and cause.place == X.MEM_MANAGE and fault.kind != "execution violation":
        address = fault.address or 0
        regions = emulator.machine.memory.values()
        there = [r for r in regions if any(base <= address < base + r.size for base in (r.base, *r.aliases))]
        if not there or (emulator.state.fault_write and not there[0].writable):
            bits = 1 << 9 if cause.data else cause.bits << 8
            return _TakenAs(X.BUS_FAULT, bits, cause.data)
    return cause


def _note(emulator: GuestCore, fault: Fault, cause: _TakenAs, hfsr: int) -> None:
    """Write the status registers."""
    x = emulator.interrupts.state
    x.cfsr |= cause.bits
    x.hfsr |= hfsr
    if cause.data and fault.address is not None:
        manage = cause.place == X.MEM_MANAGE
        x.cfsr |= _KNOWN if manage else _KNOWN << 8
        put(emulator.ppb_words, fault_status.MMFAR if manage else fault_status.BFAR, fault.address)


def _restored(emulator: GuestCore, fault: Fault) -> int:
    """Let the faulting instruction, and what the block did behind it, not have been; returns where it is."""
    state, core = emulator.state, emulator.core
    if state.fault == C.NO_FAULT or state.fault_in_block == 0:
        return fault.pc - 2 if fault.kind == "exception" else fault.pc  # SVC
    for i in reversed(range(min(state.journal_used, C.JOURNAL_SIZE))):
        core.poke(state.journal[i] >> 8, bytes([state.journal[i] & 0xFF]))
    state.journal_used = 0
    for name, value in fault.registers.items():
        if name not in ("pc", "xpsr"):
            core[name] = value
    core.floats = [state.floats[i] for i in range(C.SAVED_FLOATS)]
    block = emulator.tables.known[state.last_block]
    code = core.peek(block.address, fault.pc - block.address) or b""
    it_state = emulator.code.it_state_behind(state.last_block, code)
    it_bits = (it_state & 0xFC) << 8 | (it_state & 3) << 25
    core["xpsr"] = fault.registers["xpsr"] & ~IT_BITS | it_bits
    return fault.pc


def _enter(emulator: GuestCore, back: int, place: int) -> Stop | None:
    """Enter ``place`` from code that goes on at ``back``; events of the host and further faults may come between."""
    state = emulator.state
    while True:
        state.stop = C.RUNNING
        if emulator.core.take_fault(back, place):
            return None
        if state.fault != C.NO_FAULT:
            return take(emulator, explain_fault(emulator))
        emulator.events.run()
        back, place = 0, RESUME


def _first(emulator: GuestCore, fault: Fault) -> Fault:
    """A breakpoint in the handler of a fault shows that fault."""
    first = emulator.faults.open(emulator.interrupts.state)
    return first if first is not None and fault.kind == "breakpoint" else fault


def _lockup(emulator: GuestCore, fault: Fault) -> Fault:
    """A fault where none can be taken."""
    first = emulator.faults.open(emulator.interrupts.state)
    if first is not None and fault.kind == "breakpoint":
        return first
    where = "with FAULTMASK set, or in the handler of NMI"
    if first is not None:
        where = f"in the handler of a fault ({first.kind} at {first.pc:#010x})"
    return replace(fault, kind="lockup", text=f"{fault.kind} {where}, where the core can take none: {fault.text}")


def in_handler(emulator: GuestCore, stop: Stop) -> Stop:
    """How a run ended that would go no further: in the handler of a fault that is the fault's end."""
    fault = emulator.faults.open(emulator.interrupts.state)
    if fault is None:
        return stop
    return Stop("fault", fault=replace(fault, text=f"{fault.text}; its handler does not come to an end"))
