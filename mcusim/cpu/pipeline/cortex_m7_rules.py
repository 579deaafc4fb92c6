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
"""

from __future__ import annotations

from enum import IntEnum, auto

from mcusim.cpu.decode.instruction import Instruction, Kind

__all__ = ["LATENCY", "MULTIPLY", "Port", "Result", "cycles_held", "in_early_alu", "pairs", "uses_shifter"]


class Port(IntEnum):
    """Where an operand is read."""

    ADDRESS = auto()  # base or index of a load or store
    SHIFTER = auto()  # inline shift; all of SBFX, UBFX, RBIT, REV*; the inserted or extended operand
    ALU = auto()  # the late ALU, where most instructions execute
    BESIDE_SHIFT = auto()  # the other operand of an instruction with one in the shifter
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


class Result(IntEnum):
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
_CORE = {  # address, shifter, ALU, beside, factor, accumulator, store, early, from core
    Result.EARLY: (1, 1, 0, 0, 0, 0, 0, 1, 1),
    Result.REVERSED: (2, 2, 0, 0, 0, 0, 0, 1, 1),
    Result.BASE: (1, 1, 0, 0, 0, 0, 0, 2, 1),
    Result.LATE: (2, 2, 1, 1, 1, 0, 0, 2, 1),
    Result.SLOW: (3, 3, 2, 2, 2, 1, 0, 3, 1),
    Result.WORD: (3, 2, 1, 2, 2, 0, 0, 2, 1),
    Result.NARROW: (4, 3, 2, 2, 2, 1, 0, 3, 2),
    Result.FLAGS: (1, 1, 1, 1, 1, 1, 1, 1, 1),
}
# J's table; FMA and MLA to VADD, and MLA to an FMA addend, are not measurable there: as to VMUL, one more than MLA
_FP = {  # operand, FMA addend, MLA addend, factor, store, to core, copy
    Result.FP_RESULT: (3, 3, 2, 3, 1, 3, 3),
    Result.FMA: (5, 3, 2, 5, 3, 5, 5),
    Result.MLA: (6, 4, 3, 6, 4, 6, 6),
    Result.FP_LOADED: (1, 3, 2, 1, 1, 2, 1),
    Result.FP_MOVED: (3, 3, 3, 3, 1, 3, 3),
    Result.FP_DIVIDED: (1, 1, 1, 1, 1, 1, 1),  # behind the cycles it holds the pipeline
}
LATENCY: dict[tuple[Result, Port], int] = {
    (result, port): cycles
    for table, ports in ((_CORE, _CORE_PORTS), (_FP, _FP_PORTS))
    for result, row in table.items()
    for port, cycles in zip(ports, row, strict=True)
}
LATENCY |= {(Result.FLAGS, port): 1 for port in _FP_PORTS}

MULTIPLY = {Kind.MULTIPLY, Kind.MAC, Kind.MULTIPLY_LONG, Kind.MAC_LONG}
_STORES = {Kind.STORE, Kind.FP_STORE}
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
    if kinds & MULTIPLY and kinds & _STORES:
        return False
    if older.branches and younger.branches:
        return False
    return not (older.kind in _STORES and younger.kind in _STORES)


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
