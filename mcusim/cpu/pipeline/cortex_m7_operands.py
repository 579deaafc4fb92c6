"""Where in the Cortex-M7 pipeline each operand is read and each result appears: instructions against the tables.

Left out: the Q and GE flags and the floating-point status (VCMP to VMRS) as operands.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.cpu.decode.instruction import FLAGS, PC, SINGLE, Instruction, Kind
from mcusim.cpu.pipeline.cortex_m7_rules import MULTIPLY, Port, Result, cycles_held

__all__ = ["bits", "reads", "results"]

_PREDICTED = {Kind.BRANCH, Kind.CALL, Kind.BRANCH_REGISTER, Kind.COMPARE_BRANCH}  # nothing waits for what they read
_STORES = {Kind.STORE, Kind.STORE_DOUBLE, Kind.STORE_MULTIPLE}
_FP_STORES = {Kind.FP_STORE, Kind.FP_STORE_MULTIPLE}
_MOVES = {Kind.FP_MOVE, Kind.FP_MOVE_PAIR}
_ALL_SHIFTED = {"sbfx", "ubfx", "rbit", "rev", "rev16", "revsh", "pkhtb"}
_REVERSED = {"rbit", "rev", "rev16", "revsh"}
_SATURATING = ("q", "uq", "ssat", "usat", "usad")
_MULTIPLES = {Kind.LOAD_MULTIPLE, Kind.FP_LOAD_MULTIPLE}
_CORE_MASK = 0xFFFF
_NOT_PC = ~(1 << PC)


def bits(mask: int) -> Iterator[int]:
    """Numbers of the bits that are set, from the lowest."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _data_port(instruction: Instruction) -> Port:
    """Port of operands that are no address, accumulator or shifted register."""
    kind = instruction.kind
    if kind in MULTIPLY:
        return Port.FACTOR
    if kind in _STORES:
        return Port.STORE
    if kind in _FP_STORES:
        return Port.FP_STORE
    if kind is Kind.FP_MAC:
        return Port.FP_FACTOR
    if kind in (Kind.FP_ALU, Kind.FP_DIVIDE, Kind.FP_SQRT):
        return Port.FP_OPERAND
    if instruction.mnemonic in _ALL_SHIFTED:
        return Port.SHIFTER
    return Port.BESIDE_SHIFT if instruction.shifted_reads else Port.ALU


def _move_port(instruction: Instruction, register: int) -> Port:
    if register < FLAGS:
        return Port.FROM_CORE
    return Port.TO_CORE if instruction.writes & _CORE_MASK else Port.FP_COPY


def _addend_port(instruction: Instruction) -> Port:
    if instruction.kind is not Kind.FP_MAC:
        return Port.ACCUMULATOR
    return Port.FMA_ADDEND if instruction.mnemonic.startswith("vf") else Port.MLA_ADDEND


def reads(instruction: Instruction) -> list[tuple[int, Port]]:
    """Registers it waits for, and where it reads them."""
    if instruction.kind in _PREDICTED:
        return []
    found = [(register, Port.ADDRESS) for register in bits(instruction.address_reads & _NOT_PC)]
    addend = instruction.accumulator_reads
    found += [(register, _addend_port(instruction)) for register in bits(addend)]
    shifted = instruction.shifted_reads
    found += [(register, Port.SHIFTER) for register in bits(shifted)]
    rest = instruction.reads & _NOT_PC & ~(instruction.address_reads | addend | shifted)
    if instruction.kind in _MOVES:
        found += [(register, _move_port(instruction, register)) for register in bits(rest)]
    else:
        found += [(register, _data_port(instruction)) for register in bits(rest)]
    return found


def _core_result(instruction: Instruction) -> Result:
    kind = instruction.kind
    if instruction.loads:
        narrow = kind is Kind.LOAD_DOUBLE or instruction.accesses[0].size < 4
        return Result.NARROW if narrow else Result.WORD
    if instruction.mnemonic in _REVERSED:
        return Result.REVERSED
    if kind in MULTIPLY:
        return Result.SLOW
    if kind in (Kind.SIMD, Kind.BITFIELD) and instruction.mnemonic.startswith(_SATURATING):
        return Result.SLOW
    return Result.LATE


def _fp_result(instruction: Instruction) -> Result:
    kind = instruction.kind
    if kind is Kind.FP_MAC:
        return Result.FMA if instruction.mnemonic.startswith("vf") else Result.MLA
    if kind in (Kind.FP_DIVIDE, Kind.FP_SQRT):
        return Result.FP_DIVIDED
    if instruction.loads:
        return Result.FP_LOADED
    return Result.FP_MOVED if kind in _MOVES else Result.FP_RESULT


def results(instruction: Instruction) -> Iterator[tuple[int, Result, int]]:
    """Registers it writes, what each value comes from, and cycles behind its issue that the latency counts from."""
    plain = _core_result(instruction)
    floating = _fp_result(instruction)
    last = cycles_held(instruction) - 1
    values = instruction.writes & ~instruction.writeback
    for register in bits(instruction.writeback):
        yield register, Result.BASE, 0
    for i, register in enumerate(bits(values & _NOT_PC)):
        behind = min(i // 2, last) if instruction.kind in _MULTIPLES else last
        if register == FLAGS:
            yield register, Result.FLAGS, last + (instruction.kind in MULTIPLY)
        else:
            yield register, floating if register >= SINGLE else plain, behind
