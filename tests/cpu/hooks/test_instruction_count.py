"""Instruction counts against Unicorn's own hook for every instruction.

The convention: an instruction is counted when it is issued, those of an IT block whose condition failed included (they
take a cycle too). Unicorn's hook does not fire for those; they show as gaps between the addresses it reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from unicorn import UC_HOOK_BLOCK, UC_HOOK_CODE

from mcusim.emulator.emulator import Emulator
from tests.support.cases import few, sample_size, sampled
from tests.support.code import random_thumb as guest
from tests.support.code.started_programs import ELFS, ISAS, started

LENGTH = 60_000


@dataclass
class Reference:
    """Counts from Unicorn's block and instruction hooks, in Python, and from the code's bytes."""

    emulator: Emulator
    executed: int = 0
    skipped: int = 0  # inside a block, from the gaps
    outside_it: list[int] = field(default_factory=list)  # instructions skipped that no IT instruction covers: none
    _left: list[int] = field(default_factory=list)  # of the block that runs
    _whole: int = 0  # instructions of that block

    def __post_init__(self) -> None:
        uc = self.emulator.core.uc
        uc.hook_add(UC_HOOK_BLOCK, lambda _, address, size, __: self.block(address, size))
        uc.hook_add(UC_HOOK_CODE, lambda _, address, __, ___: self.instruction(address))

    def block(self, address: int, size: int) -> None:
        if not self._put_off():
            self.close(self._left)
        end = address + size
        self._left = []
        while address < end:
            self._left.append(address)
            address += 4 if self.halfword(address) >= 0xE800 else 2
        self._whole = len(self._left)

    def _put_off(self) -> bool:
        """Whether no instruction of the block has executed: an exception was taken before it."""
        return 0 < len(self._left) == self._whole and not self.in_it_block(self._left[0])

    def halfword(self, address: int) -> int:
        return int.from_bytes(self.emulator.core.uc.mem_read(address, 2), "little")

    def instruction(self, address: int) -> None:
        at = self._left.index(address)
        self.close(self._left[:at])
        self._left = self._left[at + 1 :]
        self.executed += 1

    def close(self, addresses: list[int]) -> None:
        self.skipped += len(addresses)
        self.outside_it += [address for address in addresses if not self.in_it_block(address)]

    def in_it_block(self, address: int) -> bool:
        """Whether one of the 8 halfwords before may be an IT instruction that reaches so far."""
        before = [self.halfword(address - back) for back in range(2, 18, 2)]
        return any(word & 0xFF00 == 0xBF00 and word & 0xF for word in before)

    def counted(self) -> int:
        """Issued instructions; what is left of the last block was not reached or skipped."""
        return self.executed + self.skipped


def check(emulator: Emulator, reference: Reference) -> None:
    assert emulator.instructions == reference.counted()
    assert reference.outside_it == []


@few(3)
@pytest.mark.parametrize(("name", "isa"), sampled(ELFS, 7))
def test_programs_count_as_unicorn_does(name: str, isa: str) -> None:
    emulator, _ = started(name, isa)
    reference = Reference(emulator)
    stop = emulator.run(max_instructions=LENGTH)
    check(emulator, reference)
    assert stop.kind == "limit" or emulator.instructions < LENGTH
    assert reference.executed > 50
    alone, _ = started(name, isa)
    alone.run(max_instructions=LENGTH)
    assert (alone.cycles, alone.instructions) == (emulator.cycles, emulator.instructions)


@pytest.mark.parametrize("isa", ISAS)
@settings(max_examples=sample_size(50, 10), suppress_health_check=[HealthCheck.too_slow])
@given(program=guest.programs(20))
def test_random_programs_count_as_unicorn_does(isa: str, program: guest.Program) -> None:
    emulator = guest.hooked(program, isa)
    reference = Reference(emulator)
    assert emulator.run(max_instructions=100_000).kind == "returned"
    check(emulator, reference)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("value", "skipped"), [(0, 1), (1, 2)])
def test_failed_conditions_count(isa: str, value: int, skipped: int) -> None:
    """CMP r0, #0; ITTE EQ; MOVEQ, MOVEQ, MOVNE; BX LR: six issued, whichever conditions hold."""
    code = bytes.fromhex("0028 06bf 0121 0222 0323 7047")
    low = guest.RAM + 0x400
    program = guest.Program(code, guest.FLASH + 0x100, low, low, low, (value, 0, 0, 0, 0, 0))
    emulator = guest.hooked(program, isa)
    reference = Reference(emulator)
    assert emulator.run().kind == "returned"
    assert emulator.instructions == 6
    assert (reference.executed, reference.skipped) == (6 - skipped, skipped)
