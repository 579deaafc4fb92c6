"""The whole state of an emulated core between two blocks, as far as a round of a loop can change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from unicorn import arm_const as arm

from mcusim.cpu.state_layout import JOURNAL_SIZE, CoreState
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.emulator.fast_forward.slots import CORE_SLOTS, hide_own
from mcusim.native.structs import offset_of

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore
    from mcusim.soc.register_block import RegisterBlock

_REGISTERS = [
    *(arm.UC_ARM_REG_R0 + n for n in range(13)), arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR, arm.UC_ARM_REG_XPSR,
    arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_BASEPRI, arm.UC_ARM_REG_FAULTMASK,
    arm.UC_ARM_REG_CONTROL,
]  # fmt: skip
EXCEPTION_SLOTS = offset_of(ExceptionState.log)  # those before the log
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
        state, tables, edges = core.state, core.tables, core.call_edges.array
        self.registers = registers
        self.core = state.array[:CORE_SLOTS].copy()
        hide_own(CoreState(self.core))
        self.memory = core.memory.state.array.copy()
        self.branches = core.branches.array.copy()
        blocks, accesses = tables.blocks.array, tables.accesses.array
        self.blocks = blocks.copy() if places is None else blocks[places.blocks]
        self.accesses = accesses.copy() if places is None else accesses[places.accesses]
        self.calls = edges.copy() if places is None else edges[places.calls]
        self.exceptions = core.interrupts.state.array[:EXCEPTION_SLOTS].copy()
        words = core.ppb_words.array
        self.system = np.concatenate([words[low >> 3 : high >> 3] for low, high in _SYSTEM])
        used = state.journal_used
        self.stores = [state.journal[i] for i in range(used)] if used <= JOURNAL_SIZE else None
        self.loads = tuple(core.peripherals.polled or ())
        asked = {core.peripherals.block_at(address) for address, _ in self.loads}
        self.held = [(block.name, _held(block)) for block in core.peripherals.blocks if block in asked]


def registers_of(core: GuestCore) -> tuple[int, ...]:
    """All registers but those of the FPU."""
    return tuple(int(value) for value in core.core.uc.reg_read_batch(_REGISTERS))


def _held(block: RegisterBlock) -> dict[str, Any]:
    """What a block remembers."""
    return {name: value.copy() if isinstance(value, dict | list) else value for name, value in vars(block).items()}
