"""What the flash controllers of all families share: keys, operations that take their time, errors as findings.

A key that is wrong locks the register until the next reset, and is a bus error (ST RM0090 3.6.1, RM0385 3.3.5, RM0432
3.3.5, RM0433 4.5.1). A store to the control register waits while an operation runs (RM0090 3.6, RM0385 3.3.5).

Not modelled: times that depend on voltage and temperature, read protection, ECC.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcusim.soc.register_block import RegisterBlock

if TYPE_CHECKING:
    from mcusim.soc.program_flash import FlashStore, ProgramFlash

FLASH_KEYS = 0x4567_0123, 0xCDEF_89AB
OPTION_KEYS = 0x0819_2A3B, 0x4C5D_6E7F


class FlashInterface(RegisterBlock):
    """``_keys``: by key register how many of its keys have come, -1 after a wrong one."""

    by_events = True

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._keys: dict[str, int] = {}
        self._under_way: dict[int, tuple[int, tuple[int, int, int], Callable[[], None]]] = {}

    @property
    def flash(self) -> ProgramFlash:
        return self.host.flash

    # accesses

    def read(self, offset: int, size: int) -> int:
        self.look()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self.look()
        super().write(offset, size, value)

    def look(self) -> None:
        """Take what was stored to the flash, and end operations whose time has come."""
        for store in self.flash.stores():
            self.wait_for(self.bank_of(store.offset), store.record)
            self.programmed(store)
        self._end_operations()

    def reset(self) -> None:
        """An operation that is under way comes to its end without a flag."""
        for bank in list(self._under_way):
            self.flash.end(self._under_way.pop(bank)[1])
        self._keys.clear()
        super().reset()

    @property
    def waiting(self) -> bool:
        return bool(self._under_way) or super().waiting

    # for the controllers

    def bank_of(self, offset: int) -> int:
        """The bank, by a number from 0 on, whose operations those at ``offset`` wait for; 0 where all do."""
        return 0

    def programmed(self, store: FlashStore) -> None:
        """A store to the flash."""
        raise NotImplementedError

    def keyed(self, register: str, value: int, keys: tuple[int, int]) -> bool:
        """A store to a key register: whether it was the last one of the sequence."""
        had = self._keys.get(register, 0)
        if 0 <= had < len(keys) and value == keys[had]:
            self._keys[register] = had + 1
            if had + 1 < len(keys):
                return False
            self.flash.accept_stores(True)
            return True
        self._keys[register] = -1
        self.host.bus_error(self.base + self._at[register])
        return False

    def locked_again(self, register: str) -> None:
        """LOCK is set: the keys are wanted anew."""
        if self._keys.get(register, 0) > 0:
            self._keys[register] = 0

    def busy(self, bank: int = 0) -> bool:
        return bank in self._under_way

    def wait_for(self, bank: int, record: int | None = None) -> None:
        """Let the core wait until no operation runs in ``bank``."""
        if bank in self._under_way:
            self.host.stall(self._under_way[bank][0], record)
            self._end_operations()

    def operate(self, bank: int, low: int, high: int, cycles: int, finished: Callable[[], None]) -> None:
        """An operation runs so long, in which nobody reads between the offsets; then ``finished`` is called."""
        until = self.host.cycles + cycles
        self._under_way[bank] = until, self.flash.begin(low, high, until), finished
        self.host.at(until, self._end_operations)

    def _end_operations(self) -> None:
        for bank, (until, held, finished) in list(self._under_way.items()):
            if until <= self.host.cycles:
                del self._under_way[bank]
                self.flash.end(held)
                finished()

    # findings

    def not_open(self, store: FlashStore, control: str) -> None:
        """A store to a flash that is not to be programmed."""
        text = (
            f"a store of {len(store.data)} B at {store.address:#010x}, which is flash: {control}, so nothing is"
            " programmed"
        )
        fix = "unlock the flash by its keys and set PG first, or look for a pointer that was not set"
        self.host.report("flash-store", text, fix, store.pc, store.address)

    def refused(self, store: FlashStore, flag: str, why: str) -> None:
        """The controller sets an error flag instead of programming."""
        text = f"a store of {len(store.data)} B to flash is not programmed, {flag} is set: {why}"
        self.host.report("flash-error", text, "", store.pc, store.address)

    def put(self, offset: int, data: bytes, pc: int, address: int) -> None:
        """Program ``data``; bits that stay clear where it has ones are a finding."""
        if not self.flash.program(offset, data):
            text = "flash is programmed that was not erased: bits can be cleared only, and ones that it asks for stay 0"
            self.host.report("flash-not-erased", text, "erase the sector or page first", pc, address)
