"""System registers as a program uses them: every access here is a load or store that the emulated core makes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.support.code.register_board import POKE, PROGRAM, PUT_BYTE, RAM, SDRAM, Board, both
from tests.support.code.system_code import code

DEMCR, DWT_CTRL, CYCCNT, DWT_LAR, DWT_LSR = (
    0xE000_EDFC, 0xE000_1000, 0xE000_1004, 0xE000_1FB0, 0xE000_1FB4,
)  # fmt: skip
UNLOCK = 0xC5AC_CE55
SYST_CSR, SYST_RVR, SYST_CVR = 0xE000_E010, 0xE000_E014, 0xE000_E018
CCR, CLIDR, CTR, CCSIDR, CSSELR, CPACR, AIRCR = (
    0xE000_ED14, 0xE000_ED78, 0xE000_ED7C, 0xE000_ED80, 0xE000_ED84, 0xE000_ED88, 0xE000_ED0C,
)  # fmt: skip
MPU_TYPE, MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RASR = 0xE000_ED90, 0xE000_ED94, 0xE000_ED98, 0xE000_ED9C, 0xE000_EDA0
ICIALLU, DCIMVAC, DCISW, DCCMVAC, DCCSW, DCCIMVAC, DCCISW = (
    0xE000_EF50, 0xE000_EF5C, 0xE000_EF60, 0xE000_EF68, 0xE000_EF6C, 0xE000_EF70, 0xE000_EF74,
)  # fmt: skip


@both
def test_the_debug_unit_names_the_part(isa: str) -> None:
    device = {"cortex-m4": 0x434, "cortex-m7": 0x449}[isa]
    assert Board(isa).peek(0xE004_2000) & 0xFFF == device


@both
def test_cyccnt_reads_the_modelled_cycles(isa: str) -> None:
    board = Board(isa)
    board.poke(DWT_LAR, UNLOCK)
    board.poke(DEMCR, 1 << 24)
    board.poke(DWT_CTRL, 1)
    board.poke(CYCCNT, 0)
    board.peek(CYCCNT)  # the code is cached from here on
    values, cycles = [], []
    for _ in range(4):
        values.append(board.peek(CYCCNT))
        cycles.append(board.emulator.cycles)
    assert [b - a for a, b in pairwise(values)] == [b - a for a, b in pairwise(cycles)]
    assert 0 < values[0] < cycles[0]


@both
def test_cyccnt_is_stopped_until_both_of_its_bits_are_set(isa: str) -> None:
    board = Board(isa)
    board.poke(DWT_LAR, UNLOCK)
    board.poke(CYCCNT, 1234)
    steps = ((DWT_CTRL, 1, False), (DEMCR, 1 << 24, True), (DEMCR, 0, False), (DEMCR, 1 << 24, True))
    for register, value, runs in steps:
        board.poke(register, value)
        first, second = board.peek(CYCCNT), board.peek(CYCCNT)
        assert (second > first) == runs
        assert first >= 1234
    assert second < 1234 + 2000  # what passed while it stood is not counted
    board.poke(CYCCNT, 0xFFFF_FFFF)
    assert board.peek(CYCCNT) < 1000  # it has wrapped


@both
def test_systick_counts_down_with_the_cycles(isa: str) -> None:
    board = Board(isa)
    for register, value in ((SYST_RVR, 99), (SYST_CVR, 5), (SYST_CSR, 5)):
        board.poke(register, value)
    board.peek(SYST_CVR)
    values, cycles = [], []
    for _ in range(200):
        values.append(board.peek(SYST_CVR))
        cycles.append(board.emulator.cycles)
    assert all(value <= 99 for value in values)
    assert [(a - b) % 100 for a, b in pairwise(values)] == [(d - c) % 100 for c, d in pairwise(cycles)]
    assert any(b > a for a, b in pairwise(values))  # it was reloaded


@both
def test_systick_countflag(isa: str) -> None:
    board = Board(isa)
    for register, value in ((SYST_RVR, 4000), (SYST_CVR, 0), (SYST_CSR, 5)):
        board.poke(register, value)
    assert board.peek(SYST_CSR) == 5  # the reload of a written 0 does not set it
    start = board.emulator.cycles
    while not board.peek(SYST_CSR) >> 16 & 1:
        assert board.emulator.cycles - start < 4200
    assert board.emulator.cycles - start > 3000
    assert board.peek(SYST_CSR) == 5  # reading cleared it
    board.poke(SYST_CSR, 4)
    assert board.peek(SYST_CVR) == board.peek(SYST_CVR)  # stopped


@both
def test_cpacr_switches_the_fpu(isa: str) -> None:
    board = Board(isa)
    board.emulator.write(PROGRAM, code("vmov s0, r1; vadd.f32 s0, s0, s0; vmov r0, s0; bx lr"))
    board.poke(CPACR, 0)
    board.emulator.call(PROGRAM, (0, 0x3F80_0000))
    stop = board.emulator.run(100)
    assert stop.fault is not None and stop.fault.kind == "no coprocessor"
    on = Board(isa)
    on.poke(CPACR, 15 << 20)
    assert on.run(code("vmov s0, r1; vadd.f32 s0, s0, s0; vmov r0, s0; bx lr"), 0, 0x3F80_0000) == 0x4000_0000


def test_what_the_caches_are() -> None:
    board = Board("cortex-m7")
    cache = board.emulator.machine.data_cache
    assert cache is not None
    assert board.peek(CLIDR) & 7 == 3  # separate instruction and data caches at level 1
    assert board.peek(CTR) >> 16 & 15 == 3  # lines of 8 words
    for select, one in ((0, cache), (1, board.emulator.machine.instruction_cache)):
        assert one is not None
        board.poke(CSSELR, select)
        size = board.peek(CCSIDR)
        sets, ways, line = (size >> 13 & 0x7FFF) + 1, (size >> 3 & 0x3FF) + 1, 16 << (size & 7)
        assert (sets * ways * line, ways, line) == (one.size, one.ways, one.line)
    assert Board("cortex-m4").peek(CLIDR) == 0


def test_ccr_switches_the_modelled_caches() -> None:
    board = Board("cortex-m7", caches=False)
    assert board.peek(CCR) >> 16 & 3 == 0
    board.peek(SDRAM)
    assert board.counters() == (0, 0, 0)
    board.poke(CCR, 0x4_0200 | 1 << 16)
    board.peek(SDRAM)
    board.peek(SDRAM + 4)
    assert board.counters() == (1, 1, 0)
    board.poke(CCR, 0x4_0200)
    board.peek(SDRAM)
    assert board.counters() == (1, 1, 0)


LINE = SDRAM + 0x1000


@pytest.mark.parametrize(
    ("register", "operand", "cleaned", "stays"),
    [
        (DCIMVAC, LINE, 0, False),
        (DCCMVAC, LINE, 1, True),
        (DCCIMVAC, LINE, 1, False),
        (DCCMVAC, LINE + 0x100, 0, True),  # another line
    ],
)
def test_maintenance_by_address(register: int, operand: int, cleaned: int, stays: bool) -> None:
    board = Board("cortex-m7")
    board.poke(LINE, 0x55)
    hits, misses, written = board.counters()
    before = board.emulator.cycles
    board.poke(register, operand)
    assert board.emulator.cycles > before
    assert board.counters() == (hits, misses, written + cleaned)
    assert board.peek(LINE) == (0x55 if cleaned or stays else 0)  # a dirty line that is only invalidated is lost
    assert board.counters() == (hits + stays, misses + (not stays), written + cleaned)


@pytest.mark.parametrize(("register", "cleaned", "stays"), [(DCISW, 0, False), (DCCSW, 1, True), (DCCISW, 1, False)])
def test_maintenance_by_set_and_way(register: int, cleaned: int, stays: bool) -> None:
    board = Board("cortex-m7")
    cache = board.emulator.machine.data_cache
    assert cache is not None
    sets = cache.size // cache.ways // cache.line
    board.poke(LINE, 0x55)
    hits, misses, written = board.counters()
    for way in range(cache.ways):
        operand = way << (32 - (cache.ways - 1).bit_length()) | LINE // cache.line % sets << 5
        board.poke(register, operand ^ 1 << 5)  # another set: nothing happens to this line
    assert board.counters() == (hits, misses, written)
    for way in range(cache.ways):
        board.poke(register, way << (32 - (cache.ways - 1).bit_length()) | LINE // cache.line % sets << 5)
    board.peek(LINE)
    assert board.counters() == (hits + stays, misses + (not stays), written + cleaned)


def test_instruction_cache_invalidated() -> None:
    board = Board("cortex-m7")

    def cost() -> int:
        before = board.emulator.cycles
        board.peek(RAM)
        return board.emulator.cycles - before

    cost()
    warm = cost()
    assert cost() == warm
    board.poke(ICIALLU, 0)
    assert cost() > warm
    assert cost() == warm


@both
def test_itm_prints(isa: str) -> None:
    board = Board(isa)
    for byte in b"hi\n":
        assert board.peek(0xE000_0000) & 1  # room
        board.call(PUT_BYTE, 0xE000_0000, byte)
    board.call(PUT_BYTE, 0xE000_0004, 0x21)  # port 1 is off
    assert b"".join(board.printed) == b"hi\n"
    board.poke(0xE000_0E00, 0)
    board.call(PUT_BYTE, 0xE000_0000, 0x21)
    assert b"".join(board.printed) == b"hi\n"


def test_an_mpu_region_makes_memory_uncached() -> None:
    board = Board("cortex-m7")
    assert board.peek(MPU_TYPE) == 8 << 8
    board.peek(SDRAM)
    board.peek(SDRAM)
    hits, misses, _ = board.counters()
    assert (hits, misses) == (1, 1)
    board.poke(MPU_RNR, 2)
    board.poke(MPU_RBAR, SDRAM)
    board.poke(MPU_RASR, 3 << 24 | 1 << 19 | 19 << 1 | 1)  # 1 MiB, full access, TEX 1: uncached
    board.poke(MPU_CTRL, 5)
    assert (board.peek(MPU_RBAR) & ~31, board.peek(MPU_CTRL)) == (SDRAM, 5)
    before = board.emulator.cycles
    board.peek(SDRAM)
    uncached = board.emulator.cycles - before
    assert board.counters()[:2] == (hits, misses)
    board.poke(MPU_CTRL, 0)
    before = board.emulator.cycles
    board.peek(SDRAM)
    assert board.counters()[:2] == (hits + 1, misses)
    assert board.emulator.cycles - before < uncached


@both
def test_a_reset_request(isa: str) -> None:
    board = Board(isa)
    board.poke(AIRCR, 0x1234_0004)  # without the key nothing happens
    board.emulator.call(POKE, (AIRCR, 0x05FA_0004))
    assert board.emulator.run(100).kind == "reset"


def test_a_cortex_m7_counts_cycles_once_its_dwt_is_unlocked() -> None:
    board = Board("cortex-m7")
    board.poke(DEMCR, 1 << 24)
    assert board.peek(DWT_LSR) == 3
    board.poke(DWT_CTRL, 0x4000_0001)
    assert (board.peek(CYCCNT), board.peek(DWT_CTRL), board.peek(CYCCNT)) == (0, 0x4000_0000, 0)
    rules = [one.rule for one in board.emulator.peripherals.findings()]
    assert rules == ["locked-register"]
    board.poke(DWT_LAR, UNLOCK)
    assert board.peek(DWT_LSR) == 1
    board.poke(DWT_CTRL, 0x4000_0001)
    assert board.peek(DWT_CTRL) == 0x4000_0001 and 0 < board.peek(CYCCNT) < board.peek(CYCCNT)
    board.poke(DWT_LAR, 0)
    board.poke(DWT_CTRL, 0x4000_0000)
    assert board.peek(DWT_LSR) == 3 and board.peek(DWT_CTRL) == 0x4000_0001


def test_a_cortex_m4_has_no_lock() -> None:
    board = Board("cortex-m4")
    board.poke(DEMCR, 1 << 24)
    board.poke(DWT_CTRL, 1)
    assert board.peek(DWT_LSR) == 0 and board.peek(CYCCNT) < board.peek(CYCCNT)
    assert not board.emulator.peripherals.findings()
