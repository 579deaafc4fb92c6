"""The whole state of an emulated core between two blocks, as far as a round of a loop can change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from unicorn import arm_const as arm

from mcusim.cpu import state_layout as C
from mcusim.cpu.system import exception_layout as X
from mcusim.emulator.fast_forward.slots import OWN

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore
    from mcusim.soc.register_block import RegisterBlock

_REGISTERS = [
    *(arm.UC_ARM_REG_R0 + n for n in range(13)), arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR, arm.UC_ARM_REG_XPSR,
    arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_BASEPRI, arm.UC_ARM_REG_FAULTMASK,
    arm.UC_ARM_REG_CONTROL,
]  # fmt: skip
_SYSTEM = ((0x0000, 0x2000), (0xE000, 0xF000))  # of the private peripheral bus: ITM, DWT; the system control space


@dataclass(frozen=True, slots=True)
class LoopPlaces:
    """The slots of the tables of blocks, accesses and calls that the blocks of a loop may change."""

    blocks: Any
    accesses: Any
    calls: Any


class CoreSnapshot:
    """``places``: the slots of the tables to look at, None: all. ``loads`` and ``stores`` are those since the core was
    let go for this round; None: there were too many."""

    def __init__(self, core: GuestCore, places: LoopPlaces | None, registers: tuple[int, ...]) -> None:
        c, tables = core.state, core.tables
        self.registers = registers
        self.core = c[: C.FLOATS].copy()
        self.taken_to = int(c[C.RING_AT])
        self.core[OWN] = 0
        self.memory = core.memory.state.copy()
        self.branches = core.branches.copy()
        self.blocks = tables.blocks.copy() if places is None else tables.blocks[places.blocks]
        self.accesses = tables.accesses.copy() if places is None else tables.accesses[places.accesses]
        self.calls = core.calls.copy() if places is None else core.calls[places.calls]
        self.exceptions = core.interrupts.state[: X.LOG].copy()
        words = core.ppb_words
        self.system = np.concatenate([words[low >> 3 : high >> 3] for low, high in _SYSTEM])
        used = int(c[C.JOURNAL_USED])
        self.stores = c[C.JOURNAL : C.JOURNAL + used].copy() if used <= C.JOURNAL_SIZE else None
        self.loads = tuple(core.peripherals.polled or ())
        asked = {core.peripherals.block_at(address) for address, _ in self.loads}
        self.held = [(block.name, _held(block)) for block in core.peripherals.blocks if block in asked]


def registers_of(core: GuestCore) -> tuple[int, ...]:
    """All registers but those of the FPU."""
    return tuple(int(value) for value in core.core.uc.reg_read_batch(_REGISTERS))


def _held(block: RegisterBlock) -> dict[str, Any]:
    """What a block remembers."""
    return {name: value.copy() if isinstance(value, dict | list) else value for name, value in vars(block).items()}
