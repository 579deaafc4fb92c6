"""A decoded Thumb-2 instruction, as the pipeline models and the native tables want it.

Registers are bits of one mask: 0 to 15 the core registers, 16 the flags, 17 to 48 the singles s0 to s31 (a double is
two bits). Not modelled: what an instruction computes; the emulator does that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

SP, LR, PC, FLAGS, SINGLE = 13, 14, 15, 16, 17


class Kind(Enum):
    """What an instruction occupies in a pipeline; the rows of the published timing tables."""

    ALU = auto()  # MOV, ADD, logic, compare; operand 2 a register or a plain constant
    ALU_SHIFTED = auto()  # operand 2 with an inline shift, or (ALU_CONSTANT) a shifted 8-bit constant
    ALU_CONSTANT = auto()
    SHIFT = auto()  # LSL, LSR, ASR, ROR by constant or register
    BITFIELD = auto()  # extend, bit-field, CLZ, REV, RBIT, saturate
    SIMD = auto()  # SXTB16, UADD8, QADD, PKHBT, SEL ...
    MULTIPLY = auto()  # 32-bit result, no accumulator: MUL, SMULxy, SMUAD ...
    MAC = auto()  # with an accumulator: MLA, MLS, SMLAxy, SMLAD ...
    MULTIPLY_LONG = auto()
    MAC_LONG = auto()
    DIVIDE = auto()
    LOAD = auto()
    STORE = auto()
    LOAD_DOUBLE = auto()  # LDRD
    STORE_DOUBLE = auto()
    LOAD_MULTIPLE = auto()  # LDM, POP
    STORE_MULTIPLE = auto()  # STM, PUSH
    PRELOAD = auto()  # PLD, PLI: no access
    BRANCH = auto()  # B, B<cond>
    CALL = auto()  # BL
    BRANCH_REGISTER = auto()  # BX, BLX register
    COMPARE_BRANCH = auto()  # CBZ, CBNZ
    TABLE_BRANCH = auto()  # TBB, TBH
    NOP = auto()
    IT = auto()
    BARRIER = auto()  # DMB, DSB, ISB
    SYSTEM = auto()  # MRS, MSR, CPS, CLREX, SVC, BKPT, WFI, SEV, undefined
    FP_ALU = auto()  # VADD, VSUB, VMUL, VABS, VNEG, VCMP, VCVT, VSEL, VRINT, VMAX
    FP_MAC = auto()  # VMLA, VFMA and relatives
    FP_DIVIDE = auto()
    FP_SQRT = auto()
    FP_MOVE = auto()  # VMOV of one register, VMRS, VMSR, VMOV constant
    FP_MOVE_PAIR = auto()  # two core registers and a double or two singles
    FP_LOAD = auto()  # VLDR
    FP_STORE = auto()
    FP_LOAD_MULTIPLE = auto()
    FP_STORE_MULTIPLE = auto()


@dataclass(frozen=True, slots=True)
class Access:
    """One access to memory: ``size`` in bytes; ``aligned``: the architecture faults it when it is not aligned to 4."""

    write: bool
    size: int
    aligned: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """``conditional``: inside an IT block (or B<cond>): it may be skipped. Masks as in the module's text.

    ``target`` is the address of a direct branch. ``accesses`` are in the order the emulator makes them.
    """

    address: int
    size: int  # bytes: 2 or 4
    mnemonic: str  # without condition and width suffix, lower case
    text: str  # as a disassembler prints it
    kind: Kind
    reads: int
    writes: int
    address_reads: int = 0  # of reads: base and index of a load, store or table branch
    accumulator_reads: int = 0  # of reads: the accumulator of a multiply-accumulate
    shifted_reads: int = 0  # of reads: the register that goes through an inline shift (or extend-and-add, PKH, BFI)
    writeback: int = 0  # of writes: the base register of pre- and post-indexed accesses, LDM! and STM!
    accesses: tuple[Access, ...] = ()
    conditional: bool = False
    branches: bool = False  # may set the PC (also LDR pc, POP {pc}, MOV pc)
    target: int | None = None
    double: bool = False  # works on double precision
    indexed: bool = False  # the address is a base plus an index register

    @property
    def end(self) -> int:
        """Address of the next instruction in memory."""
        return self.address + self.size

    @property
    def loads(self) -> bool:
        return any(not access.write for access in self.accesses)

    @property
    def stores(self) -> bool:
        return any(access.write for access in self.accesses)
