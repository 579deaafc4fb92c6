"""The decoder against hand-checked rows, against the emulator's own hooks, and on bytes that mean nothing."""

from __future__ import annotations

import random
from contextlib import nullcontext, suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unicorn import (
    UC_ARCH_ARM,
    UC_HOOK_CODE,
    UC_HOOK_MEM_READ,
    UC_HOOK_MEM_WRITE,
    UC_MODE_THUMB,
    Uc,
    UcError,
)
from unicorn import arm_const as arm
from unicorn.unicorn_const import UC_MEM_WRITE

from mcusim.cpu.decode.decoder import Decoder, remaining_it
from mcusim.cpu.decode.instruction import FLAGS, PC, SINGLE, Instruction, Kind
from tests.support.code import decode_table as decoded

CODE, DATA, FLAG_Z = 0x0800_0000, 0x2000_0000, 1 << 30
START = CODE + 0x100
DECODER = Decoder()


def rows(table: str) -> list[list[str]]:
    return [[field.strip() for field in (line + " |" * 7).split("|")] for line in table.split("\n") if line]


def names(mask: int) -> str:
    def name(bit: int) -> str:
        return f"r{bit}" if bit < FLAGS else "flags" if bit == FLAGS else f"s{bit - SINGLE}"

    return " ".join(name(bit) for bit in range(mask.bit_length()) if mask >> bit & 1)


def accesses(instruction: Instruction) -> str:
    return " ".join(
        ("W" if access.write else "R") + str(access.size) + "!" * access.aligned for access in instruction.accesses
    )


def one(code: str, address: int) -> Instruction:
    instructions = DECODER.decode(bytes.fromhex(code), address)
    assert len(instructions) == 1
    return instructions[0]


@pytest.mark.parametrize("row", rows(decoded.OTHERS), ids=lambda row: row[1])
def test_registers_and_kind(row: list[str]) -> None:
    code, text, kind, reads, writes, rest = row[:6]
    address = 0x10 if "#0x" in text and kind in ("BRANCH", "CALL", "COMPARE_BRANCH") else 0
    instruction = one(code, address)
    assert address or instruction.text == text
    assert (instruction.kind.name, names(instruction.reads), names(instruction.writes)) == (kind, reads, writes)
    assert not instruction.accesses
    assert not instruction.address_reads
    found = [
        "acc " + names(instruction.accumulator_reads) if instruction.accumulator_reads else "",
        "shift " + names(instruction.shifted_reads) if instruction.shifted_reads else "",
        "double" if instruction.double else "",
    ]
    assert "".join(found) == rest
    assert instruction.branches == (instruction.writes >> PC & 1 == 1)


@pytest.mark.parametrize("row", rows(decoded.MEMORY), ids=lambda row: row[1])
def test_memory_instructions(row: list[str]) -> None:
    code, text, kind, reads, writes, address, base, made = row[:8]
    instruction = one(code, 0)
    assert instruction.text == text
    assert (instruction.kind.name, names(instruction.reads), names(instruction.writes)) == (kind, reads, writes)
    assert (names(instruction.address_reads), names(instruction.writeback)) == (address, base)
    assert accesses(instruction) == made
    assert instruction.indexed == (", r" in text.partition("[")[2])
    assert instruction.double == ("8" in made)


@pytest.mark.parametrize(
    ("code", "address", "target"),
    [
        ("fee7", 0x100, 0x100),  # b .
        ("fdd0", 0x100, 0xFE),  # beq
        ("fff7feff", 0x100, 0x100),  # bl
        ("00f00080", 0x100, 0x104),  # beq.w
        ("10b1", 0x100, 0x108),  # cbz r0
        ("7047", 0x100, None),  # bx lr
        ("dfe800f0", 0x100, None),  # tbb
    ],
)
def test_branch_targets(code: str, address: int, target: int | None) -> None:
    assert one(code, address).target == target


def test_conditional_branches_read_the_flags() -> None:
    for code in ("fdd0", "00f00080"):
        assert one(code, 0).conditional
        assert names(one(code, 0).reads) == "flags"
    for code in ("fee7", "10b1", "00df", "00be", "80f31188"):  # b, cbz, svc, bkpt, msr next to B<cond>.W
        assert not one(code, 0).conditional


# ite ls; mulls r0, r1; addshi.w r0, r1, r2; adds r0, r0, r1
IT_BLOCK = bytes.fromhex("94bf 4843 11eb0200 4018")


def test_it_blocks() -> None:
    it, multiply, add, after = DECODER.decode(IT_BLOCK, 0)
    assert (it.kind, it.mnemonic, it.conditional) == (Kind.IT, "it", False)
    assert (multiply.mnemonic, multiply.conditional, names(multiply.writes)) == ("mul", True, "r0")
    assert (add.mnemonic, add.conditional, names(add.writes)) == ("add", True, "r0 flags")
    assert (names(add.reads), after.conditional, names(after.writes)) == ("r1 r2 flags", False, "r0 flags")


@pytest.mark.parametrize("cut", [0, 2, 4, 8, 10])
def test_a_block_may_begin_inside_an_it_block(cut: int) -> None:
    state = remaining_it(IT_BLOCK[:cut])
    assert (state != 0) == (cut in (2, 4))
    whole = DECODER.decode(IT_BLOCK, 0)
    assert DECODER.decode(IT_BLOCK[:cut], 0) + DECODER.decode(IT_BLOCK[cut:], cut, state) == whole
    assert remaining_it(IT_BLOCK[cut:], state) == 0


def test_a_breakpoint_stops_whatever_the_condition() -> None:
    _, breakpoint_, move = DECODER.decode(bytes.fromhex("04bf 00be 0846"), 0)  # itt eq; bkpt; moveq r0, r1
    assert (breakpoint_.conditional, move.conditional) == (False, True)


def test_always_is_no_condition() -> None:
    it, move = DECODER.decode(bytes.fromhex("e8bf 0846"), 0)  # it al; mov r0, r1
    assert (it.kind, move.conditional, names(move.reads)) == (Kind.IT, False, "r1")


@pytest.mark.parametrize(
    "code",
    ["ffffffff", "ff", "2de9", "20f90f07", "b0ffd8ff", "60ee8000", "c0ec1f0b", "41ec310b"],
    ids=["ones", "half a halfword", "half of PUSH.W", "VLD1", "NEON", "coprocessor", "d16 listed", "d17"],
)
def test_what_is_no_instruction_is_a_system_one_without_effects(code: str) -> None:
    instruction = one(code, 0x40)
    assert instruction.kind is Kind.SYSTEM
    assert instruction.mnemonic
    assert not instruction.reads | instruction.writes
    assert not instruction.accesses
    assert instruction.size == len(bytes.fromhex(code))


@given(st.binary(max_size=64), st.integers(0, 2**31).map(lambda half: half * 2), st.integers(0, 255))
def test_any_bytes_decode(code: bytes, address: int, it_state: int) -> None:
    instructions = DECODER.decode(code, address, it_state)
    assert sum(instruction.size for instruction in instructions) == len(code)
    for before, after in pairwise(instructions):
        assert before.end == after.address
        assert before.size == (4 if code[before.address - address + 1] >= 0xE8 else 2)
    for instruction in instructions:
        parts = instruction.address_reads | instruction.accumulator_reads | instruction.shifted_reads
        assert parts | instruction.reads == instruction.reads
        assert instruction.writeback | instruction.writes == instruction.writes


class Emulated:
    """Unicorn with r1 and sp in the middle of a memory, r2 = 4, and logs of what its hooks report."""

    def __init__(self) -> None:
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB)
        self.uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M7)
        self.uc.mem_map(CODE, 0x10000)
        self.uc.mem_map(DATA, 0x10000)
        self.made: list[tuple[bool, int]] = []
        self.ran = 0
        self.uc.hook_add(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, self._access)
        self.uc.hook_add(UC_HOOK_CODE, self._instruction)

    def _access(self, uc: Uc, kind: int, address: int, size: int, value: int, user: object) -> None:
        self.made.append((kind == UC_MEM_WRITE, size))

    def _instruction(self, uc: Uc, address: int, size: int, user: object) -> None:
        self.ran += 1

    def run(self, code: bytes, *, zero: bool = True) -> None:
        self.made.clear()
        self.ran = 0
        self.uc.mem_write(START, code + bytes.fromhex("00bf") * 8)
        self.uc.ctl_remove_cache(START, START + len(code) + 16)
        for register in range(13):
            self.uc.reg_write(arm.UC_ARM_REG_R0 + register, DATA + 0x8000 if register != 2 else 4)
        self.uc.reg_write(arm.UC_ARM_REG_SP, DATA + 0x8000)
        self.uc.reg_write(arm.UC_ARM_REG_XPSR, 0x0100_0000 | FLAG_Z * zero)
        self.uc.emu_start(START | 1, START + len(code))


def made(instructions: list[Instruction]) -> list[tuple[bool, int]]:
    return [(access.write, access.size) for instruction in instructions for access in instruction.accesses]


def _straight() -> list[tuple[str, int]]:
    """Rows that may be in the middle of a block and keep r1, r2 and sp usable: bytes and kind."""
    kept = []
    for code, text, kind, _, writes, *_ in rows(decoded.OTHERS) + rows(decoded.MEMORY):
        stops = kind in ("SYSTEM", "BARRIER") or "r15" in writes or "strex" in text
        # those with another base than r1 or sp, or that change r1, r2, sp
        address = text.partition("[")[2] or (text.partition("{")[0] if "MULTIPLE" in kind else "")
        far = any(word in address for word in ("r0", "r2]", "[r2", "r2,")) and "r1, r2" not in address
        if not stops and not far and not {"r1", "r2", "r13"} & set(writes.split()):
            kept.append((code, kind))
    return kept


STRAIGHT = _straight()


def test_blocks_have_the_instructions_and_accesses_that_the_emulator_reports() -> None:
    emulated, dice = Emulated(), random.Random(1)
    assert len(STRAIGHT) > 120
    for _ in range(150):
        code = bytes.fromhex("".join(dice.choice(STRAIGHT)[0] for _ in range(dice.randint(1, 25))))
        emulated.run(code)
        instructions = DECODER.decode(code, START)
        assert len(instructions) == emulated.ran
        assert made(instructions) == emulated.made


@pytest.mark.parametrize("row", rows(decoded.MEMORY), ids=lambda row: row[1])
def test_each_access_is_the_emulators(row: list[str]) -> None:
    code, text = bytes.fromhex(row[0]), row[1]
    instruction = one(row[0], START)
    same_base = "0a46"  # mov r2, r1
    before = {"strex": same_base + "51e8000f", "strexb": same_base + "d1e84f0f"}.get(instruction.mnemonic, "")
    if "[r2" in text and not before:
        before = same_base
    if instruction.kind is Kind.TABLE_BRANCH:
        before = "0020"  # movs r0, #0
    emulated = Emulated()
    with suppress(UcError) if instruction.branches else nullcontext():  # it jumps to the zero it loads
        emulated.run(bytes.fromhex(before) + code)
    assert emulated.made[bool("strex" in text) :] == made([instruction])


def test_a_store_exclusive_that_fails_makes_no_access() -> None:
    emulated = Emulated()
    emulated.run(bytes.fromhex("0a46 42e80010"))
    assert emulated.made == []


@pytest.mark.parametrize("zero", [True, False])
def test_conditional_instructions_are_those_that_may_be_skipped(zero: bool) -> None:
    emulated, dice = Emulated(), random.Random(2)
    narrow = [code for code, kind in STRAIGHT if kind in ("LOAD", "STORE", "LOAD_DOUBLE", "FP_LOAD", "ALU", "MAC")]
    plain = [code for code in narrow if names(one(code, 0).writes).find("flags") < 0]
    for _ in range(60):
        inside = [dice.choice(plain) for _ in range(4)]
        code = bytes.fromhex("01bf" + "".join(inside))  # itttt eq
        emulated.run(code, zero=zero)
        instructions = DECODER.decode(code, START)
        ran = [instruction for instruction in instructions if zero or not instruction.conditional]
        assert [instruction.conditional for instruction in instructions] == [False, True, True, True, True]
        assert emulated.ran == len(ran)
        assert emulated.made == made(ran)
