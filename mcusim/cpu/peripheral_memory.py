"""The peripheral blocks that a machine file lists, as memory of the emulated core: reads answer as the file says.

Not modelled: what a peripheral does; registers that clear themselves or count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.cpu.system.register_names import answers
from mcusim.cpu.unicorn_core import PAGE, UnicornCore
from mcusim.machine.description import Machine

__all__ = ["PeripheralSpace"]


class PeripheralSpace:
    """``bounds`` has first address and end of every listed block, for the native hooks."""

    def __init__(self, machine: Machine, core: UnicornCore) -> None:
        self._blocks = list(machine.peripherals.values())
        self._core = core
        self.bounds: Any = np.zeros(2 * max(1, len(self._blocks)), np.int64)
        pages: set[int] = set()
        for i, block in enumerate(self._blocks):
            end = block.base + block.size
            self.bounds[2 * i : 2 * i + 2] = block.base, end
            pages.update(range(block.base // PAGE, -(-end // PAGE)))
        for page in sorted(pages):
            core.map(page * PAGE, PAGE)
        self.restore()

    @property
    def count(self) -> int:
        return len(self._blocks)

    def restore(self) -> None:
        """Let the registers read what the machine file says of them, whatever was written."""
        for block in self._blocks:
            for address, word in answers(block, self._word):
                self._core.poke(address, word.to_bytes(4, "little"))

    def _word(self, address: int) -> int:
        return int.from_bytes(self._core.peek(address, 4) or b"", "little")
