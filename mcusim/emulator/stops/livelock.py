"""Whether a program goes round for ever: it comes to a state again, and nothing can have changed.

The handler of a fault is watched at once, other code once it has stored nothing for a whole slice of the run: it waits
for memory that nothing changes any more. Not modelled: rounds of more blocks than are watched, and those that read time
or a peripheral; these end at the limit of instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unicorn import arm_const as arm
from unicorn.unicorn_const import UC_HOOK_MEM_READ

from mcusim.cpu import state_layout as C
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.emulator.stops.stop import Fault

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

_FLOATS = (*(arm.UC_ARM_REG_D0 + n for n in range(16)), arm.UC_ARM_REG_FPSCR)
LONGEST = 500  # blocks


class Round:
    """The states met since watching began, block by block; ``watching``: the next block's is wanted."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], tuple[int, int, int]] = {}
        self._last = (0, -1, -1)

    @property
    def watching(self) -> bool:
        return bool(self._seen)

    def closed(self, emulator: GuestCore, interruptible: bool) -> bool:
        """Look at the state between two blocks; True when it has been there, and will be again."""
        if interruptible:
            self._seen.clear()
            return False
        state, counts = _state(emulator), _counts(emulator)
        if not self._seen and emulator.faults.open(emulator.interrupts.state) is None:
            idle, self._last = self._last[1:] == counts[1:], counts
            if not idle:
                return False
        before = self._seen.get(state)
        if before is not None and (before == counts or (before[1:] == counts[1:] and _still(emulator))):
            return True
        self._seen[state] = counts
        if before is not None or len(self._seen) > LONGEST:  # the same would be seen again and again
            self._seen.clear()
        return False


def _state(emulator: GuestCore) -> tuple[int, ...]:
    """All registers, those of the FPU too."""
    floats = (int(emulator.core.uc.reg_read(register)) for register in _FLOATS)
    return (*emulator.registers().values(), *floats)


def explain_round(emulator: GuestCore) -> Fault | None:
    """The first load of the round that is watched, as the place of an endless poll; None: it loads nothing."""
    loads: list[tuple[int, int, int]] = []
    core, core_state = emulator.core, emulator.state
    core.forget_translations()  # translated code ignores new hooks
    seen = core.uc.hook_add(
        UC_HOOK_MEM_READ, lambda _uc, _kind, at, size, _v, _d: loads.append((emulator.peripherals.pc, at, size))
    )
    writable = [(r.base, r.base + r.size) for r in emulator.machine.memory.values() if r.writable]
    for _ in range(LONGEST):
        if any(low <= at < end for _, at, _ in loads for low, end in writable):
            break
        core_state.instruction_limit, core_state.stop = emulator.instructions + 1, C.RUNNING
        core.run(core["pc"])
    core.uc.hook_del(seen)
    if not loads:
        return None
    changing = (load for load in loads if any(low <= load[1] < end for low, end in writable))
    pc, address, size = next(changing, loads[0])  # rather than a constant of the code's
    value = int.from_bytes(core.peek(address, size) or b"", "little")
    symbols = emulator.image.symbols if emulator.image is not None else ()
    named = (
        symbol.name
        for symbol in symbols
        if symbol.kind == "object" and symbol.address <= address < symbol.address + symbol.size
    )
    text = (
        f"the program reads {next(named, 'memory')} at {address:#010x} again and again, finds {value:#x}, and nothing"
        " can change that any more: it stores nothing itself, no interrupt can come and no DMA works"
    )
    return Fault("endless poll", text, pc, address, emulator.registers() | {"pc": pc})


def _counts(emulator: GuestCore) -> tuple[int, int, int]:
    """Accesses, stores among them, and loads of system registers."""
    records = emulator.tables.access_records
    stores = int(records["count"][records["write"] == 1].sum()) + emulator.unforeseen
    return int(records["count"].sum()), stores, emulator.state.system_reads


def _still(emulator: GuestCore) -> bool:
    """Nothing but the core changes memory or registers."""
    due = emulator.state.event_due < NEVER
    return not due and not any(block.waiting for block in emulator.peripherals.blocks)
