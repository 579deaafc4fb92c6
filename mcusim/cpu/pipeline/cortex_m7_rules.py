"""What the Cortex-M7 pipeline allows: which two instructions issue together, and how soon a result can be read.

Sources: [J] jnk0le/random, pipeline cycle test (measured, STM32H743 rev Y); [L] LLVM ``ARMScheduleM7.td``; [Q]
quinapalus cm7cycles (measured, STM32H730). Arm publishes no table.

| pairing: the older (first in memory) and the younger | source |
|---|---|
| LDRD, STRD, LDM, STM, VLDM, VSTM, 64-bit VLDR and VSTR, VMOV of two registers: alone | J, L |
| divide alone | L |
| barriers, MRS, MSR and their like, TBB and TBH alone | assumed |
| extends, bit fields, CLZ, REV, saturation, SIMD arithmetic only as the older, so never two of them | J |
| an inline shift or shifted constant not as the younger of an inline shift, a shifted constant or a plain shift | J |
| nor as that of BFI, BFC, SBFX, UBFX, RBIT, REV*, extend-and-add, PKH | J |
| one multiply a cycle; no multiply with a store; otherwise in either slot | J, L, Q |
| one store a cycle; load with load (same bank: a cycle more, the hooks') or store | J, L |
| one FP arithmetic instruction a cycle | J |
| FP multiply-accumulate with VLDR, VSTR or VMOV only when none was issued in the three cycles before | J |
| double-precision arithmetic as the older only; multiply-accumulate not with a load or store | J |
| two VMOV constants: no | J |
| one branch a cycle | L |
| IT takes a slot; an instruction whose condition fails costs as if it passed | J |

Latencies are cycles from issue to the issue of the reader; 0 is the younger slot of the same cycle. Readers differ by
where in the pipeline they take an operand, hence a table of results against ports.
Not modelled: the Q and GE flags and the floating-point status (VCMP to VMRS) as operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum, auto

from mcusim.cpu.decode.instruction import FLAGS, PC, SINGLE, Instruction, Kind

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
    return Port.NEXT_TO_SHIFT if instruction.shifted_reads else Port.ALU


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
    result = [(register, Port.ADDRESS) for register in bits(instruction.address_reads & _NOT_PC)]
    addend = instruction.accumulator_reads
    result += [(register, _addend_port(instruction)) for register in bits(addend)]
    shifted = instruction.shifted_reads
    result += [(register, Port.SHIFTER) for register in bits(shifted)]
    rest = instruction.reads & _NOT_PC & ~(instruction.address_reads | addend | shifted)
    if instruction.kind in _MOVES:
        result += [(register, _move_port(instruction, register)) for register in bits(rest)]
    else:
        result += [(register, _data_port(instruction)) for register in bits(rest)]
    return result


def _core_result(instruction: Instruction) -> M7Result:
    kind = instruction.kind
    if instruction.loads:
        narrow = kind is Kind.LOAD_DOUBLE or instruction.accesses[0].size < 4
        return M7Result.NARROW if narrow else M7Result.WORD
    if instruction.mnemonic in _REVERSED:
        return M7Result.REVERSED
    if kind in MULTIPLY:
        return M7Result.SLOW
    if kind in (Kind.SIMD, Kind.BITFIELD) and instruction.mnemonic.startswith(_SATURATING):
        return M7Result.SLOW
    return M7Result.LATE


def _fp_result(instruction: Instruction) -> M7Result:
    kind = instruction.kind
    if kind is Kind.FP_MAC:
        return M7Result.FMA if instruction.mnemonic.startswith("vf") else M7Result.MLA
    if kind in (Kind.FP_DIVIDE, Kind.FP_SQRT):
        return M7Result.FP_DIVIDED
    if instruction.loads:
        return M7Result.FP_LOADED
    return M7Result.FP_MOVED if kind in _MOVES else M7Result.FP_RESULT


def results(instruction: Instruction) -> Iterator[tuple[int, M7Result, int]]:
    """Registers it writes, what each value comes from, and cycles after its issue that the latency counts from."""
    plain = _core_result(instruction)
    floating = _fp_result(instruction)
    last = cycles_held(instruction) - 1
    values = instruction.writes & ~instruction.writeback
    for register in bits(instruction.writeback):
        yield register, M7Result.BASE, 0
    for i, register in enumerate(bits(values & _NOT_PC)):
        behind = min(i // 2, last) if instruction.kind in _MULTIPLES else last
        if register == FLAGS:
            yield register, M7Result.FLAGS, last + (instruction.kind in MULTIPLY)
        else:
            yield register, floating if register >= SINGLE else plain, behind


class Port(IntEnum):
    """Where an operand is read."""

    ADDRESS = auto()  # base or index of a load or store
    SHIFTER = auto()  # inline shift; all of SBFX, UBFX, RBIT, REV*; the inserted or extended operand
    ALU = auto()  # the late ALU, where most instructions execute
    NEXT_TO_SHIFT = auto()  # the other operand of an instruction with one in the shifter
    FACTOR = auto()
    ACCUMULATOR = auto()
    STORE = auto()
    EARLY = auto()  # the early ALU, taken when the operands are there
    FROM_CORE = auto()  # VMOV to a floating-point register
    FP_OPERAND = auto()
    FMA_ADDEND = auto()
    MLA_ADDEND = auto()
    FP_FACTOR = auto()
    FP_STORE = auto()
    TO_CORE = auto()  # VMOV to a core register
    FP_COPY = auto()


class M7Result(IntEnum):
    """What a value comes from."""

    EARLY = auto()  # ADD, SUB, MOV or a shift that found its operands ready in time for the early ALU
    REVERSED = auto()  # REV, REV16, REVSH, RBIT
    BASE = auto()  # address written back
    LATE = auto()
    SLOW = auto()  # multiplies, multiply-accumulates, saturating arithmetic
    WORD = auto()  # loaded
    NARROW = auto()  # loaded byte or half-word; LDRD
    FLAGS = auto()
    FP_RESULT = auto()
    FMA = auto()
    MLA = auto()
    FP_LOADED = auto()
    FP_MOVED = auto()
    FP_DIVIDED = auto()


_CORE_PORTS = list(Port)[:9]
_FP_PORTS = list(Port)[9:]
# EARLY, REVERSED, BASE, LATE, multiplies, loads: J. WORD to ADDRESS: Q's data to address. SLOW for saturation: L.
# LDRD as NARROW: L and others give 2 to 3. NARROW to ADDRESS: a cycle more than WORD, as everywhere else.
_CORE = {  # address, shifter, ALU, second issue, factor, accumulator, store, early, from core
    M7Result.EARLY: (1, 1, 0, 0, 0, 0, 0, 1, 1),
    M7Result.REVERSED: (2, 2, 0, 0, 0, 0, 0, 1, 1),
    M7Result.BASE: (1, 1, 0, 0, 0, 0, 0, 2, 1),
    M7Result.LATE: (2, 2, 1, 1, 1, 0, 0, 2, 1),
    M7Result.SLOW: (3, 3, 2, 2, 2, 1, 0, 3, 1),
    M7Result.WORD: (3, 2, 1, 2, 2, 0, 0, 2, 1),
    M7Result.NARROW: (4, 3, 2, 2, 2, 1, 0, 3, 2),
    M7Result.FLAGS: (1, 1, 1, 1, 1, 1, 1, 1, 1),
}
# J's table; FMA and MLA to VADD, and MLA to an FMA addend, are not measurable there: as to VMUL, one more than MLA
_FP = {  # operand, FMA addend, MLA addend, factor, store, to core, copy
    M7Result.FP_RESULT: (3, 3, 2, 3, 1, 3, 3),
    M7Result.FMA: (5, 3, 2, 5, 3, 5, 5),
    M7Result.MLA: (6, 4, 3, 6, 4, 6, 6),
    M7Result.FP_LOADED: (1, 3, 2, 1, 1, 2, 1),
    M7Result.FP_MOVED: (3, 3, 3, 3, 1, 3, 3),
    M7Result.FP_DIVIDED: (1, 1, 1, 1, 1, 1, 1),  # behind the cycles it holds the pipeline
}
LATENCY: dict[tuple[M7Result, Port], int] = {
    (result, port): cycles
    for table, ports in ((_CORE, _CORE_PORTS), (_FP, _FP_PORTS))
    for result, row in table.items()
    for port, cycles in zip(ports, row, strict=True)
}
LATENCY |= {(M7Result.FLAGS, port): 1 for port in _FP_PORTS}

MULTIPLY = {Kind.MULTIPLY, Kind.MAC, Kind.MULTIPLY_LONG, Kind.MAC_LONG}
_SINGLE_STORES = {Kind.STORE, Kind.FP_STORE}
_ALONE = {
    Kind.DIVIDE,
    Kind.LOAD_DOUBLE,
    Kind.STORE_DOUBLE,
    Kind.LOAD_MULTIPLE,
    Kind.STORE_MULTIPLE,
    Kind.FP_LOAD_MULTIPLE,
    Kind.FP_STORE_MULTIPLE,
    Kind.FP_MOVE_PAIR,
    Kind.BARRIER,
    Kind.SYSTEM,
    Kind.TABLE_BRANCH,
}
_TRANSFERS = {Kind.FP_LOAD, Kind.FP_STORE}
_FP_ARITHMETIC = {Kind.FP_ALU, Kind.FP_MAC, Kind.FP_DIVIDE, Kind.FP_SQRT}
_WITH_SHIFT = {Kind.ALU_SHIFTED, Kind.ALU_CONSTANT}
_SHIFTING = set(
    ["bfi", "bfc", "sbfx", "ubfx", "rbit", "rev", "rev16", "revsh", "pkhbt", "pkhtb"]
    + [sign + "xta" + part for sign in "su" for part in ("b", "h", "b16")]
)
_EARLY = {"add", "addw", "sub", "subw", "mov", "movw", "adr"}

_DIVIDE = 7  # [L]; that it depends on the operands is not known
_FP_HELD = {  # kind: single, double
    Kind.FP_DIVIDE: (16, 30),
    Kind.FP_SQRT: (14, 30),
    Kind.FP_MAC: (1, 7),
}
_DOUBLE_HELD = {"vmul": 5, "vnmul": 5, "vadd": 2, "vsub": 2}  # exponents that differ [J]


def uses_shifter(instruction: Instruction) -> bool:
    """Whether it takes the shifter of the early ALU besides executing in the late one, so that a younger one cannot."""
    return instruction.kind in _WITH_SHIFT or instruction.mnemonic in _SHIFTING


def in_early_alu(instruction: Instruction, older: Instruction | None) -> bool:
    """Whether it may execute in the early ALU; ``older``: the one in the slot before it, None when it is there."""
    if instruction.conditional:
        return False
    if instruction.kind is Kind.SHIFT:
        return instruction.mnemonic != "rrx" and not (older and uses_shifter(older))
    return older is None and instruction.kind is Kind.ALU and instruction.mnemonic in _EARLY


def _alone(instruction: Instruction) -> bool:
    return instruction.kind in _ALONE or (instruction.kind in _TRANSFERS and instruction.double)


def _integer_pairs(older: Instruction, younger: Instruction) -> bool:
    kinds = {older.kind, younger.kind}
    if younger.kind in (Kind.BITFIELD, Kind.SIMD):
        return False
    if younger.kind in _WITH_SHIFT and (older.kind is Kind.SHIFT or uses_shifter(older)):
        return False
    if older.kind in MULTIPLY and younger.kind in MULTIPLY:
        return False
    if kinds & MULTIPLY and kinds & _SINGLE_STORES:
        return False
    if older.branches and younger.branches:
        return False
    return not (older.kind in _SINGLE_STORES and younger.kind in _SINGLE_STORES)


def _is_constant_move(instruction: Instruction) -> bool:
    return instruction.kind is Kind.FP_MOVE and instruction.mnemonic == "vmov" and not instruction.reads


def _fp_pairs(older: Instruction, younger: Instruction) -> bool:
    if older.kind in _FP_ARITHMETIC and younger.kind in _FP_ARITHMETIC:
        return False
    if younger.double and younger.kind in _FP_ARITHMETIC:
        return False
    if older.double and older.kind is Kind.FP_MAC and younger.accesses:
        return False
    return not (_is_constant_move(older) and _is_constant_move(younger))


def pairs(older: Instruction, younger: Instruction) -> bool:
    """Whether two consecutive instructions may issue in one cycle, their operands aside."""
    if _alone(older) or _alone(younger):
        return False
    return _integer_pairs(older, younger) and _fp_pairs(older, younger)


def cycles_held(instruction: Instruction) -> int:
    """Cycles from its issue to the next instruction that could issue as an older one."""
    kind = instruction.kind
    if kind is Kind.DIVIDE:
        return _DIVIDE
    if kind in _FP_HELD:
        return _FP_HELD[kind][instruction.double]
    if kind is Kind.FP_ALU and instruction.double:
        return _DOUBLE_HELD.get(instruction.mnemonic, 1)
    words = sum(access.size for access in instruction.accesses) // 4
    return max(1, (words + 1) // 2)
