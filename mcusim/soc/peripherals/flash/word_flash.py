"""FLASH of the STM32H7: two banks, programmed by flash words of 256 bits that the core's stores fill.

ST RM0433 chapter 4. Each bank has its registers (the second one's 0x100 higher up) and works by itself; the option
registers are common. A flash word is programmed when its 32 bytes are there, or with FW. SWAP_BANK exchanges the banks'
addresses at the reset after the options were changed.

Not modelled: ECC (a flash word that is programmed twice is a finding), CRC, read, write, PCROP and secure protection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.soc.peripherals.flash.interface import FLASH_KEYS, OPTION_KEYS, FlashInterface

if TYPE_CHECKING:
    from mcusim.soc.program_flash import FlashStore

LOCK, PG, SER, BER, FW, START = 1, 2, 4, 8, 1 << 6, 1 << 7  # CR
BSY, WBNE, QW, EOP, PGSERR, STRBERR, INCERR = 1, 2, 4, 1 << 16, 1 << 18, 1 << 19, 1 << 21  # SR; interrupts in CR too
EVENTS = 0x07EF_0000
OPTLOCK, OPTSTART, MER, SWAP_BANK = 1, 2, 1 << 4, 1 << 31  # OPTCR; SWAP_BANK in OPTSR too
WORD, SECTOR = 32, 128 << 10
CURRENT = {"OPTSR_CUR": "OPTSR_PRG", "BOOT_CUR": "BOOT_PRG", "WPSN_CUR1": "WPSN_PRG1", "WPSN_CUR2": "WPSN_PRG2"}
SECOND = {"OPTKEYR2": "OPTKEYR", "OPTCR2": "OPTCR", "OPTSR_CUR2": "OPTSR_CUR", "OPTSR_PRG2": "OPTSR_PRG"}


class WordFlash(FlashInterface):
    """``_filling``: by bank the offset of the flash word that is filled, its bytes, and which of them are there."""

    _filling: tuple[tuple[int, bytes, int], ...] = ((-1, b"", 0), (-1, b"", 0))
    _swapped = False

    def bank_of(self, offset: int) -> int:
        """Of the registers, which stay with the flash itself when addresses are exchanged."""
        return int(offset >= self.flash.size // 2) ^ self._swapped

    def _place(self, bank: int) -> int:
        """The offset at which ``bank`` is seen."""
        return (bank ^ self._swapped) * (self.flash.size // 2)

    # registers

    def on_write(self, register: str, value: int, old: int) -> None:
        if register in SECOND:
            self[SECOND[register]] = self[register]
            register = SECOND[register]
        name, bank = register[:-1], int(register[-1:] == "2")
        if name == "KEYR":
            if self.keyed(register, value, FLASH_KEYS):
                self[f"CR{bank + 1}"] &= ~LOCK
        elif register == "OPTKEYR":
            if self.keyed(register, value, OPTION_KEYS):
                self["OPTCR"] &= ~OPTLOCK
        elif name == "CR":
            self._control(bank, register, old)
        elif name == "CCR":
            self[f"SR{bank + 1}"] &= ~(value & EVENTS)
            self._request()
        elif register == "OPTCR":
            self._options(value, old)
        elif register in CURRENT.values() and self["OPTCR"] & OPTLOCK:
            self[register] = old
        for second, first in SECOND.items():
            self[second] = self[first]

    def on_read(self, register: str, word: int) -> int:
        bank = int(register[-1:] == "2")
        if register[:-1] != "SR":
            return word
        return word | (BSY | QW) * self.busy(bank) | WBNE * (self._filling[bank][0] >= 0)

    def _control(self, bank: int, register: str, old: int) -> None:
        wanted = self[register]
        if old & LOCK:
            self[register] = old
            return
        self.wait_for(bank)
        self[register] = wanted & ~(START | FW)
        if wanted & LOCK:
            self.locked_again(f"KEYR{bank + 1}")
        if wanted & FW and self._filling[bank][0] >= 0:
            self._program(bank, None)
        if wanted & START:
            self._start(bank, wanted)
        self._request()

    def _options(self, value: int, old: int) -> None:
        if old & OPTLOCK:
            self["OPTCR"] = old
            return
        self["OPTCR"] &= ~(OPTSTART | MER)
        if value & OPTLOCK:
            self.locked_again("OPTKEYR")
        if value & MER:
            for bank in (0, 1):
                self._erase(bank, 0, self.flash.size // 2, self.flash.times.mass_erase(3))
        elif value & OPTSTART:
            for current, wanted in CURRENT.items():
                self[current] = self[wanted]
            self.wait_for(0)
            self.operate(0, 0, self.flash.size, self.flash.times.options(), self._finished_options)

    def _finished_options(self) -> None:
        self._request()

    # operations

    def _start(self, bank: int, control: int) -> None:
        parallelism = control >> 4 & 3
        if control & BER:
            self._erase(bank, 0, self.flash.size // 2, self.flash.times.mass_erase(parallelism))
        elif control & SER:
            offset = (control >> 8 & 7) * SECTOR
            self._erase(bank, offset, SECTOR, self.flash.times.erase(SECTOR, parallelism))
        else:
            self._fail(bank, PGSERR)

    def _erase(self, bank: int, offset: int, size: int, cycles: int) -> None:
        self.wait_for(bank)
        self.flash.erase(self._place(bank) + offset, size)
        self._operate(bank, cycles)

    def _operate(self, bank: int, cycles: int) -> None:
        low = self._place(bank)
        self.operate(bank, low, low + self.flash.size // 2, cycles, lambda: self._finished(bank))

    def _finished(self, bank: int) -> None:
        self[f"SR{bank + 1}"] |= EOP
        self._request()

    def _fail(self, bank: int, flag: int) -> None:
        self._set(bank, (-1, b"", 0))
        self[f"SR{bank + 1}"] |= flag
        self._request()

    def _request(self) -> None:
        self.request(any(self[f"SR{n}"] & self[f"CR{n}"] & EVENTS for n in (1, 2)))

    # programming

    def _set(self, bank: int, filling: tuple[int, bytes, int]) -> None:
        self._filling = (filling, self._filling[1]) if bank == 0 else (self._filling[0], filling)

    def programmed(self, store: FlashStore) -> None:
        bank = self.bank_of(store.offset)
        control, status = self[f"CR{bank + 1}"], self[f"SR{bank + 1}"]
        word, at = store.offset // WORD * WORD, store.offset % WORD
        filled, data, there = self._filling[bank]
        bits = (1 << len(store.data)) - 1 << at
        if not control & PG or control & LOCK:
            self.not_open(store, f"FLASH_CR{bank + 1}.{'LOCK is set' if control & LOCK else 'PG is clear'}")
            self._fail(bank, PGSERR)
        elif status & (PGSERR | STRBERR | INCERR):
            self.refused(store, "PGSERR", f"FLASH_SR{bank + 1} has an error flag, which is to be cleared first")
            self._fail(bank, PGSERR)
        elif at + len(store.data) > WORD or (filled >= 0 and filled != word):
            self.refused(store, "INCERR", "the flash word before is not complete")
            self._fail(bank, INCERR)
        elif filled == word and there & bits:
            self.refused(store, "STRBERR", "a byte of the flash word is stored twice")
            self._fail(bank, STRBERR)
        else:
            data = data or b"\xff" * WORD
            data = data[:at] + store.data + data[at + len(store.data) :]
            self._set(bank, (word, data, there | bits))
            if there | bits == (1 << WORD) - 1:
                self._program(bank, store)

    def _program(self, bank: int, store: FlashStore | None) -> None:
        offset, data, _ = self._filling[bank]
        self._set(bank, (-1, b"", 0))
        again = self.flash.read(offset, WORD) != b"\xff" * WORD
        self.flash.program(offset, data)
        if again and store is not None:
            text = "a flash word is programmed that is not erased: its ECC no longer fits, and reads of it fail"
            fix = "erase the sector first; a flash word can be programmed once"
            self.host.report("flash-not-erased", text, fix, store.pc, store.address)
        self._operate(bank, self.flash.times.program(self[f"CR{bank + 1}"] >> 4 & 3))

    def reset(self) -> None:
        """Option bytes stay; a change of SWAP_BANK shows from now on."""
        options = {name: self[name] for pair in CURRENT.items() for name in pair}
        swapped = self._swapped
        super().reset()
        for register, word in options.items():
            self[register] = word
        self._swapped = bool(self["OPTSR_CUR"] & SWAP_BANK)
        self["OPTCR"] = self["OPTCR"] & ~SWAP_BANK | SWAP_BANK * self._swapped
        if self._swapped != swapped:
            self.flash.swap_halves()
        for second, first in SECOND.items():
            self[second] = self[first]
