"""FLASH of the STM32L4+ and G4: pages, programmed by aligned doublewords, which the core stores as two words.

ST RM0432 chapter 3, RM0440 chapter 3. An L4+ of 2 MiB has two banks of 4 KiB pages (OPTR.DBANK set, as it comes from
ST) or one of 8 KiB pages, a G4 of 512 KiB of 2 KiB or 4 KiB. A doubleword is programmed where all its bits are set, or
with zeros. An error flag of an operation before keeps the next one from being done, with PGSERR. EOP is set with EOPIE
only.

Not modelled: fast programming (FSTPG ends the run with that name), BFB2, read, write and PCROP protection, OTP, ECC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.soc.peripherals.flash.interface import FLASH_KEYS, OPTION_KEYS, FlashInterface

if TYPE_CHECKING:
    from mcusim.soc.program_flash import FlashStore

EOP, OPERR, PROGERR, WRPERR, PGAERR, SIZERR, PGSERR, BSY = 1, 2, 8, 16, 32, 64, 128, 1 << 16
ERRORS = PROGERR | WRPERR | PGAERR | SIZERR | PGSERR
PG, PER, MER1, MER2, START, OPTSTRT, FSTPG = 1, 2, 4, 1 << 15, 1 << 16, 1 << 17, 1 << 18
EOPIE, ERRIE, OBL_LAUNCH, OPTLOCK, LOCK = 1 << 24, 1 << 25, 1 << 27, 1 << 30, 1 << 31
DBANK = 1 << 22  # in OPTR
OPTIONS = ("OPTR", "PCROP1SR", "PCROP1ER", "WRP1AR", "WRP1BR", "PCROP2SR", "PCROP2ER", "WRP2AR", "WRP2BR")
DOUBLEWORD = 8


class PageFlash(FlashInterface):
    """``_half``: the first word of a doubleword."""

    _half: FlashStore | None = None

    @property
    def banks(self) -> int:
        return 2 if self["OPTR"] & DBANK else 1

    @property
    def page(self) -> int:
        """Bytes: with two banks the smaller ones."""
        return self.flash.times.pages[0 if self.banks == 2 else -1]

    # registers

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "KEYR":
            if self.keyed(register, value, FLASH_KEYS):
                self["CR"] &= ~LOCK
        elif register == "OPTKEYR":
            if self.keyed(register, value, OPTION_KEYS):
                self["CR"] &= ~OPTLOCK
        elif register == "SR":
            self["SR"] = old & ~(value & (ERRORS | EOP | OPERR))
            self._request()
        elif register == "CR":
            self._control(old)
        elif register in OPTIONS and self["CR"] & OPTLOCK:
            self[register] = old

    def on_read(self, register: str, word: int) -> int:
        if register == "CR":
            return word | (START if self.busy() else 0)
        return word | BSY * self.busy() if register == "SR" else word

    def _control(self, old: int) -> None:
        wanted = self["CR"]
        if old & LOCK:
            self["CR"] = old
            return
        self.wait_for(0)
        if old & OPTLOCK:  # once set only the keys clear it, and options need them
            wanted = wanted & ~(OPTSTRT | OBL_LAUNCH) | OPTLOCK
        self["CR"] = wanted & ~(START | OPTSTRT | OBL_LAUNCH)
        for bit, register in ((LOCK, "KEYR"), (OPTLOCK, "OPTKEYR")):
            if wanted & bit:
                self.locked_again(register)
        if wanted & LOCK:
            self["CR"] |= OPTLOCK
        if wanted & FSTPG and not old & FSTPG:
            self.host.stop("fast programming", "FLASH_CR.FSTPG is set: fast programming by rows is not modelled")
        if wanted & OBL_LAUNCH:
            self.host.resets("option bytes", "FLASH_CR.OBL_LAUNCH loads the option bytes")
        elif wanted & OPTSTRT:
            self.operate(0, 0, self.flash.size, self.flash.times.options(), self._finished)
        elif wanted & START:
            self._start(wanted)
        self._request()

    # operations

    def _start(self, control: int) -> None:
        size = self.flash.size // self.banks
        if self["SR"] & ERRORS:
            self._fail(PGSERR)
        elif control & PER and not control & (MER1 | MER2 | PG):
            bank = control >> 11 & 1 if self.banks == 2 else 0
            offset = bank * size + (control >> 3 & 0xFF) * self.page
            self._erase(offset, self.page, self.flash.times.erase(self.page))
        elif control & (MER1 | MER2) and not control & (PER | PG):
            banks = [bank for bank, bit in enumerate((MER1, MER2)) if control & bit and bank < self.banks]
            if banks:
                self._erase(banks[0] * size, len(banks) * size, self.flash.times.mass_erase() * len(banks))
        else:
            self._fail(PGSERR)

    def _erase(self, offset: int, size: int, cycles: int) -> None:
        self.flash.erase(offset, size)
        self._operate(offset, size, cycles)

    def _operate(self, offset: int, size: int, cycles: int) -> None:
        bank = self.flash.size // self.banks
        low, high = offset // bank * bank, -(-(offset + size) // bank) * bank
        self.operate(0, low, high, cycles, self._finished)

    def _finished(self) -> None:
        if self["CR"] & EOPIE:
            self["SR"] |= EOP
        self._request()

    def _fail(self, flag: int) -> None:
        self._half = None
        self["SR"] |= flag | OPERR * bool(self["CR"] & ERRIE)
        self._request()

    def _request(self) -> None:
        self.request(bool((self["SR"] & EOP and self["CR"] & EOPIE) or (self["SR"] & OPERR and self["CR"] & ERRIE)))

    def programmed(self, store: FlashStore) -> None:
        control, half = self["CR"], self._half
        if not control & PG or control & LOCK:
            self.not_open(store, "FLASH_CR.LOCK is set" if control & LOCK else "FLASH_CR.PG is clear")
            self._fail(PGSERR)
        elif self["SR"] & ERRORS:
            self.refused(store, "PGSERR", "FLASH_SR has an error flag of an operation before, which is to be cleared")
            self._fail(PGSERR)
        elif len(store.data) < 4:
            self.refused(store, "SIZERR", "doublewords are programmed, by two stores of a word")
            self._fail(SIZERR)
        elif half is None and store.offset % DOUBLEWORD == 0:
            self._first(store)
        elif half is None or half.offset + 4 != store.offset or len(store.data) != 4:
            self.refused(store, "PGAERR", "a doubleword is stored as its lower word, then its upper one")
            self._fail(PGAERR)
        else:
            self._program(store, half.offset, half.data + store.data)

    def _first(self, store: FlashStore) -> None:
        if len(store.data) == DOUBLEWORD:
            self._program(store, store.offset, store.data)
        else:
            self._half = store

    def _program(self, store: FlashStore, offset: int, data: bytes) -> None:
        self._half = None
        if any(data) and self.flash.read(offset, DOUBLEWORD) != b"\xff" * DOUBLEWORD:
            self.refused(store, "PROGERR", "the doubleword is not erased, and not all of it is to be zeros")
            self._fail(PROGERR)
            return
        self.put(offset, data, store.pc, store.address)
        self._operate(offset, len(data), self.flash.times.program())

    def reset(self) -> None:
        """Option bytes stay."""
        options = {register: self[register] for register in OPTIONS}
        super().reset()
        for register, word in options.items():
            self[register] = word
