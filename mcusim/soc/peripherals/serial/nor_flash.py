"""A serial NOR flash as drivers see it behind QUADSPI: status, identification, write enable, program, erase.

Instructions of Micron's N25Q128A (MT25Q), the part of ST's discovery boards, written down from memory: assumed, like
the times, which are its typical ones. Its bytes are those of the machine's region with the device ``qspi``.

Not modelled: protection of sectors, suspend, one-time programmable memory, SFDP, wear; an instruction counts whatever
its number of lines and dummy cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

WIP, WEL, READY = 1, 2, 0x80
READS = {0x03, 0x0B, 0x13, 0x0C, 0x3B, 0xBB, 0x6B, 0xEB, 0x3C, 0xBC, 0x6C, 0xEC, 0x0D, 0xED}
PROGRAMS = {0x02, 0x12, 0x32, 0x34, 0x38, 0xA2, 0xD2}
ERASES = {0x20: 4 << 10, 0x21: 4 << 10, 0x52: 32 << 10, 0xD8: 64 << 10, 0xDC: 64 << 10}
BULK = {0xC7, 0x60}
IDENTIFY = {0x9E, 0x9F, 0xAF}
STORED = {0x85: 0x81, 0x65: 0x61, 0xB5: 0xB1}  # registers that are read by one instruction and written by another
RESET_VALUES = {0x81: 0xFB, 0x61: 0xDF, 0xB1: 0xFF}
WITHOUT_EFFECT = {0x66, 0x35, 0xF5, 0xB7, 0xE9, 0x50, 0xAB, 0xB9, 0xFF}
PAGE, LARGE = 256, 64 << 10
PROGRAM_S, STATUS_S, SMALL_S, LARGE_S, BULK_S = 0.5e-3, 1.3e-3, 0.25, 0.7, 170.0
MAKER, KIND = 0x20, 0xBA


class NorMemory(Protocol):
    """What the flash uses of the part around it."""

    @property
    def cycles(self) -> int: ...
    @property
    def core_clock(self) -> int: ...
    @property
    def flash_size(self) -> int: ...
    def read_flash(self, offset: int, size: int) -> bytes: ...
    def write_flash(self, offset: int, data: bytes) -> None: ...
    def warn(self, text: str) -> object: ...


class NorFlash:
    """``ready_at``: the cycle from which it is no longer busy."""

    def __init__(self, host: NorMemory) -> None:
        self._host = host
        self.ready_at = 0
        self._enabled = False
        self._registers = dict(RESET_VALUES)
        self._work: Callable[[], None] | None = None

    def status(self, cycle: int) -> int:
        """The status register at ``cycle``; the write enable latch falls when the work is done."""
        busy = cycle < self.ready_at
        return WIP * busy | WEL * (self._enabled or busy)

    def read(self, instruction: int, address: int, first: int, size: int, cycle: int) -> bytes:
        """``size`` bytes that the instruction reads from its byte ``first`` on, that one at ``cycle``."""
        if instruction == 0x05:
            return bytes([self.status(cycle)]) * size
        if instruction == 0x70:
            return bytes([READY * (cycle >= self.ready_at)]) * size
        if instruction in IDENTIFY:
            capacity = max(0, self._host.flash_size - 1).bit_length()
            return (bytes([MAKER, KIND, capacity, 0x10]) + bytes(first + size))[first : first + size]
        if instruction in STORED:
            return bytes([self._registers[STORED[instruction]]]) * size
        if instruction in READS:
            whole = self._host.flash_size
            places = range(address + first, address + first + size)
            return b"".join(self._host.read_flash(at % whole, 1) for at in places) if whole else b"\xff" * size
        self._unknown(instruction)
        return b"\xff" * size

    def write(self, instruction: int, address: int, data: bytes) -> None:
        """The instruction has been sent with its ``data``."""
        if self._host.cycles < self.ready_at:
            return  # it takes nothing but reads of its status
        if instruction in (0x06, 0x04):
            self._enabled = instruction == 0x06
        elif instruction == 0x99:
            self._enabled, self._registers = False, dict(RESET_VALUES)
        elif instruction in PROGRAMS and data:
            self._begin(PROGRAM_S, lambda: self._program(address, data))
        elif instruction in ERASES:
            size = ERASES[instruction]
            self._begin(SMALL_S if size < LARGE else LARGE_S, lambda: self._erase(address // size * size, size))
        elif instruction in BULK:
            self._begin(BULK_S, lambda: self._erase(0, self._host.flash_size))
        elif instruction == 0x01 or instruction in RESET_VALUES:
            self._begin(STATUS_S if instruction in (0x01, 0xB1) else 0.0, lambda: self._configure(instruction, data))
        elif instruction not in WITHOUT_EFFECT:
            self._unknown(instruction)

    def _begin(self, seconds: float, work: Callable[[], None]) -> None:
        if self._enabled:
            self._enabled = False
            self.ready_at = self._host.cycles + int(seconds * self._host.core_clock)
            work()

    def _program(self, address: int, data: bytes) -> None:
        """A page, from ``address`` on and round to its beginning; bits become 0 only."""
        page, at = address // PAGE * PAGE, address % PAGE
        held = bytearray(self._host.read_flash(page, PAGE))
        for n, byte in enumerate(data):
            held[(at + n) % PAGE] &= byte
        self._host.write_flash(page, bytes(held))

    def _erase(self, address: int, size: int) -> None:
        self._host.write_flash(address, b"\xff" * size)

    def _configure(self, instruction: int, data: bytes) -> None:
        if instruction in self._registers and data:
            self._registers[instruction] = data[0]

    def _unknown(self, instruction: int) -> None:
        self._host.warn(f"QUADSPI: the flash here does not know instruction {instruction:#04x}")
