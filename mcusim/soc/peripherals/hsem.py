"""HSEM: hardware semaphores, as the one core here takes and frees them.

ST RM0433 chapter 10. R takes a semaphore by a store with LOCK, and frees it by one without from the same process; RLR
takes it by a load. Not modelled: a second core, interrupts of freed semaphores.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

LOCK, OWNER, CORE = 1 << 31, 0xFFF, 3 << 8  # COREID of the Cortex-M7
SEMAPHORES = 32
READ_LOCK = 0x80


class Hsem(RegisterBlock):
    """Semaphore n is the word at 4 n; a load at 0x80 + 4 n takes it."""

    def read(self, offset: int, size: int) -> int:
        at = offset & ~3
        if READ_LOCK <= at < READ_LOCK + 4 * SEMAPHORES:
            if not self.word(at - READ_LOCK) & LOCK:
                self._words[at - READ_LOCK] = LOCK | CORE
            at -= READ_LOCK
        return self.word(at) >> 8 * (offset & 3) & (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        if offset >= 4 * SEMAPHORES or offset & 3 or size != 4:
            super().write(offset, size, value)
        elif not self.word(offset) & LOCK:
            self._words[offset] = (
                value & (LOCK | OWNER) if value & LOCK and value & 0xF00 == CORE else self.word(offset)
            )
        elif not value & LOCK and value & OWNER == self.word(offset) & OWNER:
            self._words[offset] = value & OWNER
