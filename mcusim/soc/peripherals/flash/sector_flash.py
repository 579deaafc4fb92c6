"""FLASH of the STM32F4 and F7: sectors, programmed by bytes, halfwords, words or doublewords as PSIZE says.

ST RM0090 chapter 3, RM0385 and RM0410 chapter 3. Four sectors of a bank have the smallest size, one four times that,
the rest eight times. With two banks (an F4 of more than 1 MiB, an F7 of that size with nDBANK clear) only reads of the
bank at work wait. Bit 7 of SR is PGSERR on the F4 and ERSERR on the F7: set by a store without PG.

Not modelled: an F4 of 1 MiB with DB1M, BFB2, read and PCROP protection, write protection of an F7 with two banks, OTP,
the voltages that PSIZE needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcusim.soc.peripherals.flash.interface import FLASH_KEYS, OPTION_KEYS, FlashInterface

if TYPE_CHECKING:
    from mcusim.soc.program_flash import FlashStore

EOP, OPERR, WRPERR, PGAERR, PGPERR, PGSERR, BSY = 1, 2, 16, 32, 64, 128, 1 << 16
ERRORS = WRPERR | PGAERR | PGPERR | PGSERR
PG, SER, MER1, MER2, STRT, EOPIE, ERRIE, LOCK = 1, 2, 4, 1 << 15, 1 << 16, 1 << 24, 1 << 25, 1 << 31
OPTLOCK, OPTSTRT = 1, 2  # in OPTCR
TWO_BANKS_FROM = 2 << 20  # bytes
ROW = 16  # bytes that one store may lie in
SECOND_BANK = 16  # in SNB, of its first sector


class SectorFlash(FlashInterface):
    """``_half``: the first word of a doubleword that is programmed by two stores."""

    _half: FlashStore | None = None

    @property
    def banks(self) -> int:
        return 2 if self.flash.size >= TWO_BANKS_FROM else 1

    @property
    def smallest(self) -> int:
        """Bytes of a bank's first sectors."""
        return 16 << 10

    def sectors(self) -> Iterator[tuple[int, int, int]]:
        """Number in SNB, offset and bytes of each."""
        for bank in range(self.banks):
            size = self.flash.size // self.banks
            offset, number = bank * size, bank * SECOND_BANK
            while offset < (bank + 1) * size:
                at = number - bank * SECOND_BANK
                bytes_ = self.smallest * (1 if at < 4 else 4 if at == 4 else 8)
                yield number, offset, bytes_
                offset, number = offset + bytes_, number + 1

    def protected(self, number: int) -> bool:
        """By nWRP, a bit for each sector: of the second bank in OPTCR1."""
        word = self["OPTCR1" if number >= SECOND_BANK else "OPTCR"]
        return not word >> 16 + number % SECOND_BANK & 1

    # registers

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "KEYR":
            if self.keyed(register, value, FLASH_KEYS):
                self["CR"] &= ~LOCK
        elif register == "OPTKEYR":
            if self.keyed(register, value, OPTION_KEYS):
                self["OPTCR"] &= ~OPTLOCK
        elif register == "SR":
            self["SR"] = old & ~(value & (ERRORS | EOP | OPERR))
            self._request()
        elif register == "CR":
            self._control(old)
        elif register in ("OPTCR", "OPTCR1"):
            self._options(register, value, old)

    def on_read(self, register: str, word: int) -> int:
        return word | BSY * self.busy() if register == "SR" else word

    def _control(self, old: int) -> None:
        wanted = self["CR"]
        if old & LOCK:
            self["CR"] = old
            return
        self.wait_for(0)
        self["CR"] = wanted & ~STRT
        if wanted & LOCK:
            self.locked_again("KEYR")
        if wanted & STRT:
            self._start(wanted)
        self._request()

    def _options(self, register: str, value: int, old: int) -> None:
        locked = (old if register == "OPTCR" else self["OPTCR"]) & OPTLOCK
        if locked:
            self[register] = old
            return
        self.wait_for(0)
        if register == "OPTCR":
            self["OPTCR"] &= ~OPTSTRT
            if value & OPTLOCK:
                self.locked_again("OPTKEYR")
            if value & OPTSTRT:
                self.operate(0, 0, self.flash.size, self.flash.times.options(), self._finished)

    # operations

    def _start(self, control: int) -> None:
        size = self.flash.size // self.banks
        parallelism = control >> 8 & 3
        if control & SER and not control & (MER1 | MER2):
            number = control >> 3 & 0x1F
            sector = next((sector for sector in self.sectors() if sector[0] == number), None)
            if sector is None:
                self._fail(PGSERR)
            elif self.protected(number):
                self._fail(WRPERR)
            else:
                self._erase(sector[1], sector[2], self.flash.times.erase(sector[2], parallelism))
        elif not control & SER and control & (MER1 | MER2):
            banks = [bank for bank, bit in enumerate((MER1, MER2)) if control & bit and bank < self.banks]
            if any(self.protected(number) for number, offset, _ in self.sectors() if offset // size in banks):
                self._fail(WRPERR)
            elif banks:
                time = self.flash.times.mass_erase(parallelism) * len(banks)
                self._erase(banks[0] * size, len(banks) * size, time)

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
        self["SR"] |= flag | OPERR * bool(self["CR"] & ERRIE)
        self._request()

    def _request(self) -> None:
        self.request(bool((self["SR"] & EOP and self["CR"] & EOPIE) or (self["SR"] & OPERR and self["CR"] & ERRIE)))

    def programmed(self, store: FlashStore) -> None:
        control, size = self["CR"], len(store.data)
        parallelism = control >> 8 & 3
        number = next(sector[0] for sector in self.sectors() if sector[1] <= store.offset < sector[1] + sector[2])
        if not control & PG or control & LOCK:
            self.not_open(store, "FLASH_CR.LOCK is set" if control & LOCK else "FLASH_CR.PG is clear")
            self._fail(PGSERR)
        elif store.offset // ROW != (store.offset + size - 1) // ROW:
            self.refused(store, "PGAERR", "it crosses a row of 128 bits")
            self._fail(PGAERR)
        elif self.protected(number):
            self.refused(store, "WRPERR", f"sector {number} is write-protected by the option bytes")
            self._fail(WRPERR)
        elif parallelism == 3 and size == 4:
            self._of_a_doubleword(store)
        elif size != 1 << parallelism:
            self.refused(store, "PGPERR", f"FLASH_CR.PSIZE asks for stores of {1 << parallelism} B")
            self._fail(PGPERR)
        else:
            self._program(store, store.offset, store.data)

    def _of_a_doubleword(self, store: FlashStore) -> None:
        """The core stores a doubleword as two words."""
        half, self._half = self._half, None
        if half is not None and half.offset + 4 == store.offset and half.offset % 8 == 0:
            self._program(store, half.offset, half.data + store.data)
        else:
            self._half = store

    def _program(self, store: FlashStore, offset: int, data: bytes) -> None:
        self.put(offset, data, store.pc, store.address)
        self._operate(offset, len(data), self.flash.times.program(self["CR"] >> 8 & 3))

    def reset(self) -> None:
        """Option bytes stay."""
        options = self["OPTCR"] | OPTLOCK, self["OPTCR1"]
        super().reset()
        self["OPTCR"], self["OPTCR1"] = options


class SectorFlashF7(SectorFlash):
    """One bank, whose sectors are twice as large, unless nDBANK of a part with 2 MiB is clear."""

    @property
    def banks(self) -> int:
        return 2 if self.flash.size >= TWO_BANKS_FROM and not self["OPTCR"] & 1 << 29 else 1

    @property
    def smallest(self) -> int:
        return (32 << 10) // self.banks

    def protected(self, number: int) -> bool:
        return self.banks == 1 and super().protected(number)
