"""Why a program stopped: its exit, a limit, or a fault explained from the state in which the core stopped.

A fault that a handler of the program takes is explained here too (:mod:`mcusim.emulator.stops.taken_faults`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from unicorn import unicorn_const as uc

from mcusim.cpu import state_layout as C
from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system.memory_attributes import default_attributes
from mcusim.emulator.stops.stop import Fault
from mcusim.memory import state_layout as L
from mcusim.memory.range_lookup import addresses_at
from mcusim.soc.families.family import name_of

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore
    from mcusim.soc.peripheral_findings import Ending

_TEXTS = {
    C.UNALIGNED: (
        "unaligned access",
        "{what} at {address} is not aligned, as this instruction (or CCR.UNALIGN_TRP) asks",
    ),
    C.UNALIGNED_DEVICE: (
        "unaligned access",
        "{what} at {address} is not aligned, and the address is Device memory, where every access must be; align it, or"
        " make the range Normal by an MPU region",
    ),
    C.NO_ACCESS: ("access violation", "{what} at {address}: the MPU gives no access to it"),
    C.READ_ONLY: ("access violation", "{what} at {address}: the memory is read-only there"),
    C.NO_PERIPHERAL: (
        "no such peripheral",
        "{what} at {address}{block}: the machine has no memory there, and no register block is described; add one as"
        " [peripherals.<name>] with base, size and reads",
    ),
    C.WRONG_KEY: (
        "bus fault",
        "{what} at {address}{block}: a wrong key; the flash's registers stay locked until the next reset",
    ),
    C.VIOLATION: ("sanitizer", "{what} at {address}: other bytes are there than the program means"),
    C.STACK: ("stack overflow", "{what} at {address} is {below} the stack, whose lowest address is {limit}"),
    C.NO_FPU: (
        "no coprocessor",
        "a floating-point instruction while the FPU is off; enable it in CPACR (bits 20 to 23) first",
    ),
    C.ARM_STATE: (
        "invalid state",
        "a branch to an even address asks for Arm state, which Cortex-M does not have",
    ),
    C.ENDLESS_CODE: (
        "code without end",
        "at {address}: the program has run over 400,000 different instructions; a jump into memory without code?",
    ),
    C.STACKING: ("stacking", "{what} at {address}, of an exception's frame: no memory is there that allows it"),
    C.UNSTACKING: ("unstacking", "{what} at {address}, of an exception's frame: no memory is there that allows it"),
    C.LAZY_STACKING: (
        "lazy stacking",
        "{what} at {address}, of an exception's frame whose floating-point registers are saved now: no memory is there"
        " that allows it",
    ),
    C.UNPRIVILEGED: (
        "unprivileged access",
        "{what} at {address}{block}: only privileged code may access the private peripheral bus",
    ),
    C.DIVIDED_BY_ZERO: ("divide by zero", "a divide by zero, and CCR.DIV_0_TRP asks for a fault"),
    C.BAD_VECTOR: ("bad vector", "{what} at {address}, of an exception's vector: no memory is there"),
    C.BAD_RETURN: (
        "bad exception return",
        "a branch to {address}, which is no EXC_RETURN value for the exceptions that are active",
    ),
    C.NOT_EXECUTABLE: (
        "execution violation",
        "the address {address}{block} is execute-never by the default memory map or the MPU",
    ),
}

_LOCKED = (
    "{what} at {address}, which is flash: nobody has unlocked it by its keys, so that a board keeps what is there and"
    " sets an error flag"
)


def describe(code: int, address: int, size: int, write: bool, limit: int, block: str | None) -> tuple[str, str]:
    """Kind and sentence for a fault code of :mod:`mcusim.cpu.state_layout`."""
    kind, text = _TEXTS[code]
    what = f"a {'store' if write else 'load'} of {size} B"
    where = f" ({block})" if block else ""
    below = "below" if address < limit else "in the guard at the end of"
    return kind, text.format(what=what, address=f"{address:#010x}", limit=f"{limit:#010x}", block=where, below=below)


_ACCESS = {
    uc.UC_ERR_READ_UNMAPPED: "load",
    uc.UC_ERR_WRITE_UNMAPPED: "store",
    uc.UC_ERR_FETCH_UNMAPPED: "fetch",
}
_PERIPHERAL_AREA = 0x4000_0000, 0x6000_0000
BREAKPOINT, WIDE = 0xBE, 0xE8  # upper bytes of a first halfword


def _branches(state: CoreState) -> tuple[tuple[int, int], ...]:
    """The last taken branches, oldest first."""
    branches = (state.branch_ring[(state.ring_next + k) % C.RING_SIZE] for k in range(C.RING_SIZE))
    pairs = ((branch.source, branch.target) for branch in branches)
    return tuple(pair for pair in pairs if pair != (0, 0))


def explain_ending(emulator: GuestCore, ending: Ending) -> Fault:
    """Why a register block has ended the run."""
    registers = {**ending.registers, "pc": ending.pc}
    return Fault(ending.kind, ending.text, ending.pc, ending.address, registers, _branches(emulator.state))


def explain_fault(emulator: GuestCore) -> Fault:
    """The fault that a hook noted, with the registers the faulting access found.

    Where a block was not let run, they are those at its beginning.
    """
    state = emulator.state
    code, address, pc = state.fault, state.fault_address, state.fault_pc
    if state.open_block < 0:
        registers: Mapping[str, int] = emulator.registers()
    else:
        pc = pc or emulator.code.unforeseen_in(state.last_block)
        rollback_block(emulator, pc)
        names = [*(f"r{i}" for i in range(13)), "sp", "lr", "pc", "xpsr"]
        registers = {name: state.registers[i] & 0xFFFF_FFFF for i, name in enumerate(names)} | {"pc": pc}
    block = name_of(emulator.machine, address)
    if code == C.UNDEFINED:
        return Fault("undefined instruction", _undefined(emulator, pc), pc, None, registers, _branches(state))
    if code == C.DIVIDED_BY_ZERO:
        return Fault(*_TEXTS[code], pc, None, registers, _branches(state))
    size, write = state.fault_size, bool(state.fault_write)
    kind, text = describe(code, address, size, write, state.stack_limit, block)
    if code == C.READ_ONLY and emulator.peripherals.flash_locked_at(address):
        kind, text = "store to flash", _LOCKED.format(what=f"a store of {size} B", address=f"{address:#010x}")
    if code == C.NO_PERIPHERAL and block is None and not _PERIPHERAL_AREA[0] <= address < _PERIPHERAL_AREA[1]:
        what = f"a {'store' if write else 'load'} of {size} B"
        kind, text = "bus fault", f"{what} at {address:#010x}, where {emulator.machine.name} has no memory"
    return Fault(kind, text, pc, address, registers, _branches(state))


def explain_error(emulator: GuestCore, error: int, refused: str = "") -> Fault:
    """The fault that Unicorn stopped at; the core's registers are those of the faulting instruction.

    ``refused``: why the host could not answer a semihosting call.
    """
    registers = emulator.registers()
    pc = registers["pc"]
    rollback_block(emulator, pc)
    kind, text, address = _error(emulator, error, pc)
    if refused:
        kind, text = "semihosting", f"operation {registers['r0']:#x}: {refused}"
    return Fault(kind, text, pc, address, registers, _branches(emulator.state))


def stopped_at_hint(emulator: GuestCore, pc: int) -> str:
    """The YIELD or WFE that has just run, else nothing: Unicorn stops after both."""
    record = emulator.state.open_block
    if record < 0:
        return ""
    last = emulator.tables.known[record].instructions[-1]
    return last.mnemonic if last.end == pc and last.mnemonic in ("yield", "wfe") else ""


def _error(emulator: GuestCore, error: int, pc: int) -> tuple[str, str, int | None]:
    if error in _ACCESS:
        return _unmapped(emulator, _ACCESS[error], pc)
    entered = emulator.state.last_block
    if error == uc.UC_ERR_EXCEPTION and entered >= 0:
        last = emulator.tables.known[entered].instructions[-1]
        if last.end == pc and last.mnemonic == "svc":
            number = (emulator.core.peek(last.address, 1) or b"\0")[0]
            why = (
                "its priority does not preempt"
                if emulator.interrupts.state.vector_table
                else "there is no vector table"
            )
            return "exception", f"SVC {number} is not taken: {why}", None
    code = emulator.core.peek(pc, 2)
    if code is not None and code[1] == BREAKPOINT:
        if code[0] == 0xAB:
            return "semihosting", f"semihosting operation {emulator.registers()['r0']:#x} is not known", None
        return "breakpoint", f"BKPT {code[0]:#x}: no debugger is there to take it", None
    if emulator.registers()["xpsr"] & 1 << 24 == 0:
        return *describe(C.ARM_STATE, pc, 0, False, 0, None), pc
    if not _executable(emulator, pc):
        return *describe(C.NOT_EXECUTABLE, pc, 0, False, 0, name_of(emulator.machine, pc)), pc
    if not default_attributes(pc).executable:
        text = (
            f"the address {pc:#010x} is execute-never by the default memory map, and what the MPU allows there is not"
        )
        return "execution violation", f"{text} modelled", pc
    return "undefined instruction", _undefined(emulator, pc), None


def _undefined(emulator: GuestCore, pc: int) -> str:
    """Which instruction the core lacks, where, and why."""
    word = emulator.core.peek(pc, 4) or emulator.core.peek(pc, 2) or b""
    halfwords = [word[i : i + 2][::-1].hex() for i in range(0, 4 if word[1:2] >= bytes([WIDE]) else 2, 2)]
    entered = emulator.state.last_block
    block = emulator.tables.known[entered].instructions if entered >= 0 else ()
    instruction = next((item for item in block if item.address == pc), None)
    named = f"{instruction.text} " if instruction is not None and instruction.mnemonic != "undefined" else ""
    why = emulator.code.lacked(instruction) if instruction is not None else ""
    reason = f": {why}" if why else ""
    return f"{named}({' '.join(halfwords)}) at {pc:#010x} is no instruction of this {emulator.machine.core.isa}{reason}"


def _executable(emulator: GuestCore, address: int) -> bool:
    """By the ranges of the program; elsewhere by the default map, which Unicorn knows too."""
    addresses = addresses_at(emulator.memory.state, address)
    if addresses is not None:
        return bool(addresses.flags & L.EXECUTE)
    return address < _PERIPHERAL_AREA[0] or _PERIPHERAL_AREA[1] <= address < 0xA000_0000


def _unmapped(emulator: GuestCore, what: str, pc: int) -> tuple[str, str, int | None]:
    if what == "fetch":
        where = name_of(emulator.machine, pc)
        shown = f" ({where})" if where else ""
        return "bus fault", f"the core went to {pc:#010x}{shown}, where {emulator.machine.name} has no memory", pc
    address = emulator.state.unmapped
    where = name_of(emulator.machine, address)
    if where and address < 0x6000_0000:
        return (
            "no such peripheral",
            f"a {what} at {address:#010x} ({where}): the machine lists no such peripheral; add one as"
            " [peripherals.<name>] with base, size and reads",
            address,
        )
    return "bus fault", f"a {what} at {address:#010x}, where {emulator.machine.name} has no memory", address


def _remember_branch(state: CoreState, source: int, target: int) -> None:
    branch = state.branch_ring[state.ring_next]
    branch.source, branch.target = source, target
    state.ring_next = (state.ring_next + 1) % C.RING_SIZE


def rollback_block(emulator: GuestCore, pc: int) -> None:
    """Take back what a block that broke off at ``pc`` was charged for its instructions from there on.

    A ``pc`` outside it is where its branch went.
    """
    state, memory = emulator.state, emulator.memory.state
    index = state.open_block
    if index < 0:
        return
    block, record = emulator.tables.known[index], emulator.tables.blocks.records[index]
    record.runs -= 1  # as if it had been another, shorter block
    first, end = block.instructions[0].address, block.instructions[-1].end
    rest = [i for i, instruction in enumerate(block.instructions) if first <= pc <= instruction.address < end]
    if not first <= pc <= end:
        _remember_branch(state, block.instructions[-1].address, pc)
    state.open_block = -1
    state.instructions -= len(rest)
    emulator.tables.broken.append((block, rest[0] if rest else len(block.instructions)))
    reached = block.timing.at[rest[0]] if rest else block.timing.cycles
    ticks = max(reached * L.TICK, state.consumed)
    memory.now += ticks - state.consumed
    record.carry_ticks += ticks
