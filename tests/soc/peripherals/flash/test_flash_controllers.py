"""Flash controllers: keys, errors, protection, banks and times, a cycle before an operation's end and at it."""

from __future__ import annotations

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from mcusim.soc.peripherals.flash.interface import FlashInterface
from mcusim.soc.program_flash import FlashStore

BASE = 0x0800_0000
K1, K2 = 0x4567_0123, 0xCDEF_89AB
O1, O2 = 0x0819_2A3B, 0x4C5D_6E7F
BSY = 1 << 16


class Board:
    """A flash controller of a machine, used as its bus uses it."""

    def __init__(self, name: str) -> None:
        self.emulator = Emulator(load_machine(name), caches=False)
        found = [block for block in self.emulator.peripherals.blocks if isinstance(block, FlashInterface)]
        self.block = found[0]

    def put(self, **words: int) -> None:
        for register, word in words.items():
            self.block.write(self.block._at[register], 4, word)

    def get(self, register: str) -> int:
        return self.block.read(self.block._at[register], 4)

    def store(self, offset: int, data: bytes) -> None:
        for at in range(0, len(data), 4):
            part = data[at : at + 4]
            self.block.wait_for(self.block.bank_of(offset + at), 0)
            self.block.programmed(FlashStore(offset + at, part, BASE + offset + at, BASE, 0))

    def bytes(self, offset: int, size: int) -> bytes:
        return self.emulator.read(BASE + offset, size)

    @property
    def cycles(self) -> int:
        return self.emulator.cycles

    def wait(self, cycles: int) -> None:
        self.emulator.memory.state.now += cycles * L.TICK

    @property
    def rules(self) -> list[tuple[str, int]]:
        return [(one.rule, one.count) for one in self.emulator.peripherals.findings()]


def cycles(name: str, seconds: float) -> int:
    return round(load_machine(name).core.clock * seconds)


F4, F7, F767, L4, H7 = "stm32f469i-disco", "stm32f746g-disco", "nucleo-f767zi", "nucleo-l4r5zi", "nucleo-h743zi"


def opened(name: str) -> Board:
    board = Board(name)
    board.put(**{"KEYR1" if name == H7 else "KEYR": K1})
    board.put(**{"KEYR1" if name == H7 else "KEYR": K2})
    return board


@pytest.mark.parametrize(("psize", "size"), [(0, 1), (1, 2), (2, 4), (3, 8)])
@pytest.mark.parametrize("name", [F4, F7])
def test_a_unit_of_psize_is_programmed_in_its_time(name: str, psize: int, size: int) -> None:
    board = opened(name)
    board.put(CR=psize << 8 | 1)
    board.store(0x4000, b"\x5a" * size)
    assert board.bytes(0x4000, 9) == b"\x5a" * size + b"\xff" * (9 - size)
    board.wait(cycles(name, 16e-6) - 1)
    assert board.get("SR") == BSY
    board.wait(1)
    assert board.get("SR") == 0  # EOP needs EOPIE
    wrong = 4 if size != 4 else 2
    if psize < 3:
        board.store(0x4010, bytes(wrong))
        assert board.get("SR") == 1 << 6 and board.bytes(0x4010, wrong) == b"\xff" * wrong
        board.put(SR=1 << 6)
        assert board.get("SR") == 0


@pytest.mark.parametrize("name", [F4, F7])
def test_bits_are_cleared_only_and_an_erase_sets_them(name: str) -> None:
    board = opened(name)
    board.put(CR=2 << 8 | 1)
    board.store(0x8000, b"\x0f\xf0\xff\x00")
    assert board.rules == []
    board.store(0x8000, b"\xff\xff\x00\x00")
    assert board.bytes(0x8000, 4) == b"\x0f\xf0\x00\x00" and board.rules == [("flash-not-erased", 1)]
    number, small = (2, 16 << 10) if name == F4 else (1, 32 << 10)
    board.wait(10_000)
    board.put(CR=2 << 8 | number << 3 | 2)
    start = board.cycles
    board.put(CR=2 << 8 | number << 3 | 2 | 1 << 16 | 1 << 24)
    assert board.bytes(number * small, small) == b"\xff" * small
    board.wait(start + cycles(name, 250e-3) - 1 - board.cycles)
    assert board.get("SR") == BSY
    board.wait(1)
    assert board.get("SR") == 1 and board.get("CR") & 1 << 16 == 0  # EOP, STRT is cleared


def test_sectors_of_a_second_bank_and_mass_erase() -> None:
    board = opened(F4)
    board.put(CR=2 << 8 | 1)
    for offset in (0x10_0000, 0x11_0000, 0x1E_0000, 0xE_0000):
        board.store(offset, bytes(4))
    board.wait(10_000)
    board.put(CR=2 << 8 | 16 + 4 << 3 | 2 | 1 << 16)  # 64 KiB from 0x11_0000 on
    board.wait(cycles(F4, 0.55))
    assert [board.bytes(at, 4) for at in (0x10_0000, 0x11_0000)] == [bytes(4), b"\xff" * 4]
    board.put(CR=12 << 3 | 2 | 1 << 16)  # no such sector
    assert board.get("SR") == 1 << 7
    board.put(SR=1 << 7, CR=2 << 8 | 1 << 15 | 1 << 16)  # the second bank
    board.wait(cycles(F4, 8))
    assert [board.bytes(at, 4) for at in (0x10_0000, 0x1E_0000, 0xE_0000)] == [b"\xff" * 4, b"\xff" * 4, bytes(4)]


def test_a_wrong_key_locks_until_the_next_reset() -> None:
    board = Board(F7)
    board.put(KEYR=K2)
    board.put(KEYR=K1)
    board.put(KEYR=K2, CR=1)
    assert board.get("CR") == 1 << 31
    board.block.reset()
    board.put(KEYR=K1)
    board.put(KEYR=K2)
    assert board.get("CR") == 0
    board.put(CR=1 << 31)
    board.put(CR=1)
    assert board.get("CR") == 1 << 31
    board.put(KEYR=K1)
    board.put(KEYR=K2, CR=1)
    assert board.get("CR") == 1


@pytest.mark.parametrize("name", [F4, F7, L4, H7])
def test_a_store_without_pg_is_a_flag_and_a_finding(name: str) -> None:
    board = opened(name)
    board.store(0x4000, bytes(4))
    flag = 1 << 18 if name == H7 else 1 << 7
    assert board.get("SR1" if name == H7 else "SR") == flag
    assert board.bytes(0x4000, 4) == b"\xff" * 4 and board.rules == [("flash-store", 1)]


def test_write_protection_by_option_bytes() -> None:
    board = opened(F7)
    board.put(OPTCR=0)
    assert board.get("OPTCR") == 0xFFFF_AAFD  # locked
    board.put(OPTKEYR=O1)
    board.put(OPTKEYR=O2)
    board.put(OPTCR=0xFFFF_AAFC & ~(1 << 16 + 2))
    board.put(OPTCR=board.get("OPTCR") | 2)
    assert board.get("SR") == BSY
    board.wait(cycles(F7, 250e-3))
    board.put(CR=2 << 8 | 1)
    board.store(2 * (32 << 10), bytes(4))
    assert board.get("SR") == 1 << 4
    board.put(SR=1 << 4, CR=2 << 3 | 2 | 1 << 16)
    assert board.get("SR") == 1 << 4
    board.block.reset()
    assert board.get("OPTCR") == 0xFFFF_AAFD & ~(1 << 16 + 2)


def test_an_f767_has_two_banks_when_ndbank_is_clear() -> None:
    board = opened(F767)
    assert [size for *_, size in board.block.sectors()][:5] == [32 << 10] * 4 + [128 << 10]
    board.put(OPTKEYR=O1)
    board.put(OPTKEYR=O2, OPTCR=0xFFFF_AAFC & ~(1 << 29))
    sectors = list(board.block.sectors())
    assert [size for *_, size in sectors][:5] == [16 << 10] * 4 + [64 << 10]
    assert sectors[12] == (16, 1 << 20, 16 << 10) and len(sectors) == 24


def test_doublewords_of_an_l4() -> None:
    board = opened(L4)
    board.put(CR=1)
    board.store(0x8000, b"\x11" * 4)
    assert board.bytes(0x8000, 4) == b"\xff" * 4 and not board.block.busy()
    board.store(0x8004, b"\x22" * 4)
    board.wait(cycles(L4, 81.69e-6) - 1)
    assert board.get("SR") == BSY and board.bytes(0x8000, 8) == b"\x11" * 4 + b"\x22" * 4
    board.wait(2)
    assert board.get("SR") == 0
    for data, flag in ((b"\x11" * 8, 1 << 3), (bytes(2), 1 << 6), (b"\x11" * 8, 1 << 7)):
        board.store(0x8000, data)
        if flag == 1 << 7:  # SIZERR is still set
            assert board.get("SR") == 1 << 6 | flag
        else:
            assert board.get("SR") == flag
            board.put(SR=flag if flag == 1 << 3 else 0)
    board.put(SR=0xFF)
    board.store(0x8000, bytes(8))  # zeros may be programmed over anything
    assert board.bytes(0x8000, 8) == bytes(8)
    board.store(0x8014, bytes(4))
    assert board.get("SR") & 1 << 5  # the upper word first


def test_pages_of_an_l4_by_bank() -> None:
    board = opened(L4)
    board.put(CR=1)
    for offset in (0x3000, 0x10_3000):
        board.store(offset, bytes(8))
    board.wait(20_000)
    board.put(CR=1 << 11 | 3 << 3 | 2)
    board.put(CR=1 << 16 | 1 << 11 | 3 << 3 | 2 | 1 << 24)
    assert [board.bytes(at, 8) for at in (0x3000, 0x10_3000)] == [bytes(8), b"\xff" * 8]
    board.wait(cycles(L4, 22.02e-3))
    assert board.get("SR") == 1
    board.put(SR=1, CR=1 << 18)
    assert board.emulator.peripherals.ending.kind == "fast programming"


def test_flash_words_of_an_h7() -> None:
    board = opened(H7)
    board.put(CR1=3 << 4 | 2)
    board.store(0x2_0000, bytes(range(28)))
    assert board.get("SR1") == 2 and board.bytes(0x2_0000, 32) == b"\xff" * 32  # WBNE
    board.store(0x2_001C, bytes(range(28, 32)))
    board.wait(cycles(H7, 100e-6) - 1)
    assert board.get("SR1") == 5 and board.bytes(0x2_0000, 32) == bytes(range(32))
    board.wait(1)
    assert board.get("SR1") == 1 << 16
    board.put(CCR1=1 << 16)
    board.store(0x2_0040, bytes(4))
    board.store(0x2_0060, bytes(4))
    assert board.get("SR1") == 1 << 21  # INCERR
    board.put(CCR1=1 << 21)
    board.store(0x2_0000, bytes(32))
    assert board.rules == [("flash-error", 1), ("flash-not-erased", 1)]
    board.put(CR1=3 << 4 | 2 | 1 << 6)  # FW with nothing in the buffer
    board.store(0x2_0080, b"\x01\x02\x03\x04")
    board.put(CR1=3 << 4 | 2 | 1 << 6)
    assert board.bytes(0x2_0080, 5) == b"\x01\x02\x03\x04\xff"


def test_banks_of_an_h7_work_by_themselves_and_change_places() -> None:
    board = opened(H7)
    board.put(KEYR2=K1)
    board.put(KEYR2=K2, CR2=3 << 4 | 2)
    board.store(0x10_0000, bytes(range(32)))
    assert (board.get("SR1"), board.get("SR2")) == (0, 5)
    board.put(CR1=3 << 4 | 1 << 8 | 4 | 1 << 7)
    assert (board.get("SR1"), board.get("SR2")) == (5, 5)
    board.wait(cycles(H7, 1))
    assert (board.get("SR1"), board.get("SR2")) == (1 << 16, 1 << 16)
    board.put(OPTKEYR=O1)
    board.put(OPTKEYR=O2)
    board.put(OPTSR_PRG=board.get("OPTSR_PRG") | 1 << 31)
    board.put(OPTCR=2)
    board.wait(cycles(H7, 1))
    board.block.look()
    assert board.bytes(0x10_0000, 32) == bytes(range(32))
    board.block.reset()
    assert board.bytes(0, 32) == bytes(range(32)) and board.get("OPTCR") == 1 << 31 | 1
    board.put(KEYR2=K1)
    board.put(KEYR2=K2)
    board.put(CR2=3 << 4 | 4 | 1 << 7)  # bank 2, which is at the beginning now
    assert board.bytes(0, 32) == b"\xff" * 32
