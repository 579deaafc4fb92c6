"""Whether the handler of a fault goes round for ever: it comes to a state again, and nothing can have changed.

Not modelled: rounds of more blocks than are watched, and those that read time or a peripheral; these end at the limit
of instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.cpu import state_layout as C
from mcusim.cpu.system.exception_layout import NEVER

if TYPE_CHECKING:
    from mcusim.cpu.emulator import Emulator

__all__ = ["Round"]

LONGEST = 500  # blocks


class Round:
    """The states met since watching began, block by block; ``watching``: the next block's is wanted."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], tuple[int, int, int]] = {}

    @property
    def watching(self) -> bool:
        return bool(self._seen)

    def closed(self, emulator: Emulator, interruptible: bool) -> bool:
        """Look at the state between two blocks; True when it has been there, and will be again."""
        if interruptible or emulator.faults.open(emulator.interrupts.state) is None:
            self._seen.clear()
            return False
        state, counts = tuple(emulator.registers().values()), _counts(emulator)
        before = self._seen.get(state)
        if before is not None and (before == counts or (before[1:] == counts[1:] and _still(emulator))):
            return True
        self._seen[state] = counts
        if len(self._seen) > LONGEST:
            self._seen.clear()
        return False


def _counts(emulator: Emulator) -> tuple[int, int, int]:
    """Accesses, stores among them, and loads of system registers."""
    table = emulator.tables.accesses
    made = table[: len(table) // C.ACCESS * C.ACCESS].reshape(-1, C.ACCESS)[: emulator.tables.records]
    stores = int(made[made[:, C.WRITE] == 1, C.MADE].sum()) + emulator.unforeseen
    return int(made[:, C.MADE].sum()), stores, int(emulator.state[C.SYSTEM_READS])


def _still(emulator: Emulator) -> bool:
    """Nothing but the core changes memory or registers."""
    due = int(emulator.state[C.EVENT_DUE]) < NEVER
    return not due and not any(block.waiting for block in emulator.peripherals.blocks)
