"""Which decoded instructions a core lacks: those of another architecture, of FPv5, of double precision.

A Cortex-M4 and a Cortex-M7 have Armv7E-M (Arm DDI0403): neither Armv8-M (SG, TT, LDA, STL, BXNS) nor NEON, nor what
only application cores have (SETEND, RFE, LDREXD), nor a coprocessor but the FPU. FPv4 (DDI0439) is without VSEL,
VMAXNM, VRINT and VCVT with a rounding mode; a single-precision unit (DDI0489, FPv5-SP) loads, stores and moves doubles,
but computes with none. The emulator executes some of these, so they are looked for here.

Not modelled: encodings that the architecture calls unpredictable and the disassembler knows (the emulator runs or
refuses them); a core without FPU.
"""

from __future__ import annotations

from mcusim.cpu.decode.instruction import Instruction, Kind
from mcusim.cpu.decode.mnemonics import KINDS

_COMPUTING = {Kind.FP_ALU, Kind.FP_MAC, Kind.FP_DIVIDE, Kind.FP_SQRT, Kind.FP_MOVE}
_FPV5 = ("vsel", "vmaxnm", "vminnm", "vrint", "vcvta", "vcvtn", "vcvtp", "vcvtm")
# of kind SYSTEM, and on every core; UDF is the emulator's to refuse
_SYSTEM = ("mrs", "msr", "cps", "svc", "bkpt", "wfi", "wfe", "sev", "clrex", "ssbb", "pssbb", "dfb")
_UDF = ("udf", "trap")


def lacked(instruction: Instruction, fpv5: bool, double: bool) -> str:
    """Why a core does not have ``instruction``, as the end of a sentence; empty when it has it.

    ``fpv5``: its FPU is that of FPv5, not FPv4; ``double``: it computes in double precision.
    """
    name = instruction.mnemonic
    if instruction.kind is Kind.SYSTEM:
        unpredictable = name in KINDS and not KINDS[name].name.startswith("FP_")
        if unpredictable or name.startswith(_SYSTEM) or name in _UDF:
            return ""
        return "it is not of Armv7E-M"
    if instruction.kind in _COMPUTING and instruction.double and not double:
        return "its floating-point unit has single precision only"
    if name.startswith(_FPV5) and not fpv5:
        return "it is of FPv5, and this core has FPv4"
    return ""
