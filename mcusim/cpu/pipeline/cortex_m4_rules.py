"""What single instructions and neighbours cost on a Cortex-M4; ``cortex_m4`` says where each rule comes from."""

from __future__ import annotations

from mcusim.cpu.decode.instruction import PC, Instruction, Kind

__all__ = [
    "MEMORY",
    "hides_tail",
    "issue_cycles",
    "late_address",
    "odd_halfword",
    "pipelines",
    "slows_store",
    "stalls_alone",
    "tail",
]

_DATA_PROCESSING = {
    Kind.ALU,
    Kind.ALU_SHIFTED,
    Kind.ALU_CONSTANT,
    Kind.SHIFT,
    Kind.BITFIELD,
    Kind.SIMD,
    Kind.MULTIPLY,
    Kind.MAC,
    Kind.MULTIPLY_LONG,
    Kind.MAC_LONG,
    Kind.DIVIDE,
}
_LOADS = {Kind.LOAD, Kind.LOAD_DOUBLE, Kind.LOAD_MULTIPLE, Kind.FP_LOAD, Kind.FP_LOAD_MULTIPLE}
_SEVERAL_WORDS = {
    Kind.LOAD_DOUBLE,
    Kind.STORE_DOUBLE,
    Kind.LOAD_MULTIPLE,
    Kind.STORE_MULTIPLE,
    Kind.FP_LOAD,
    Kind.FP_STORE,
    Kind.FP_LOAD_MULTIPLE,
    Kind.FP_STORE_MULTIPLE,
}
MEMORY = _SEVERAL_WORDS | {Kind.LOAD, Kind.STORE}
_SINGLE_CYCLE_FP = {Kind.FP_ALU, Kind.FP_MOVE}
_FIXED = {
    Kind.DIVIDE: 2,
    Kind.FP_MAC: 3,
    Kind.FP_MOVE_PAIR: 2,
    Kind.TABLE_BRANCH: 4,  # with a refill of 2: 6
}
_NAMED = {"mrs": 2, "msr": 2, "cpsie": 2, "cpsid": 2, "isb": 3}  # the table's "1 or 2"; ISB refills the pipeline


def _single_load(instruction: Instruction) -> bool:
    """One-word loads, and STREX, which the core treats like a load."""
    return instruction.kind is Kind.LOAD or instruction.mnemonic.startswith("strex")


def _single_store(instruction: Instruction) -> bool:
    return instruction.kind is Kind.STORE and not _single_load(instruction)


def issue_cycles(instruction: Instruction) -> int:
    """Cycles before the next instruction may issue, without the tail and without hazards."""
    if instruction.kind in _SEVERAL_WORDS:
        cycles = 1 + sum(access.size for access in instruction.accesses) // 4
        return cycles + instruction.branches  # POP pc: a refill of 3, one more than other branches
    if instruction.kind is Kind.LOAD and instruction.branches:
        return 3
    return _FIXED.get(instruction.kind) or _NAMED.get(instruction.mnemonic, 1)


def tail(instruction: Instruction) -> int:
    """A further cycle that the next instruction may hide: a load's data phase, a register-offset store's third read."""
    if _single_load(instruction):
        return 0 if instruction.branches else 1
    return 1 if _single_store(instruction) and instruction.indexed else 0


def pipelines(before: Instruction, after: Instruction) -> bool:
    """Whether the address phase of ``after`` runs during the data phase of the load before it."""
    if not _single_load(before) or before.branches or not (_single_load(after) or _single_store(after)):
        return False
    return not before.writes & after.address_reads


def hides_tail(before: Instruction, after: Instruction) -> bool:
    """Whether ``after`` takes the tail's cycle: pipelined accesses, and a NOP."""
    return after.kind is Kind.NOP or pipelines(before, after)


def slows_store(before: Instruction, after: Instruction) -> bool:
    """A store is followed by a load, or by a store through the base register that it has just updated."""
    if not _single_store(before):
        return False
    if _single_load(after) or after.kind in _LOADS:
        return True
    return _single_store(after) and bool(before.writeback & after.address_reads)


def late_address(before: Instruction, after: Instruction) -> bool:
    """Whether ``after`` takes an address register that the data-processing instruction ``before`` has just made."""
    return before.kind in _DATA_PROCESSING and bool(before.writes & after.address_reads & ~(1 << PC))


def odd_halfword(instruction: Instruction) -> bool:
    """A wide instruction that does not start on a word boundary."""
    return instruction.size == 4 and instruction.address % 4 == 2


def stalls_alone(instruction: Instruction) -> bool:
    """Wide loads, stores and single-cycle floating point, which an odd halfword delays without company."""
    return odd_halfword(instruction) and instruction.kind in MEMORY | _SINGLE_CYCLE_FP
