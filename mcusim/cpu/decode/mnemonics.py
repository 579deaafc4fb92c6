"""Which mnemonic is of which kind; what each load and store moves. ARMv7-M with the DSP and FPv5 extensions."""

from __future__ import annotations

from mcusim.cpu.decode.instruction import Access, Kind

CONDITIONS = ("eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")

_HALVES = ("bb", "bt", "tb", "tt")
_PARALLEL = [
    prefix + operation
    for prefix in ("s", "q", "sh", "u", "uq", "uh")
    for operation in ("add16", "asx", "sax", "sub16", "add8", "sub8")
]
_WORDS: dict[Kind, str] = {
    Kind.ALU: "mov movw movt mvn add addw sub subw adr rsb adc sbc and orr orn bic eor cmp cmn tst teq",
    Kind.SHIFT: "lsl lsr asr ror rrx",
    Kind.BITFIELD: "uxtb uxth sxtb sxth uxtab uxtah sxtab sxtah bfi bfc ubfx sbfx clz rbit rev rev16 revsh ssat usat",
    Kind.SIMD: "uxtb16 sxtb16 uxtab16 sxtab16 ssat16 usat16 pkhbt pkhtb sel qadd qsub qdadd qdsub usad8 usada8",
    Kind.MULTIPLY: "mul smulwb smulwt smuad smuadx smusd smusdx smmul smmulr",
    Kind.MAC: "mla mls smlawb smlawt smlad smladx smlsd smlsdx smmla smmlar smmls smmlsr",
    Kind.MULTIPLY_LONG: "smull umull",
    Kind.MAC_LONG: "smlal umlal umaal smlald smlaldx smlsld smlsldx",
    Kind.DIVIDE: "sdiv udiv",
    Kind.LOAD: "ldr ldrb ldrh ldrsb ldrsh ldrt ldrbt ldrht ldrsbt ldrsht ldrex ldrexb ldrexh",
    Kind.STORE: "str strb strh strt strbt strht strex strexb strexh",
    Kind.LOAD_DOUBLE: "ldrd",
    Kind.STORE_DOUBLE: "strd",
    Kind.LOAD_MULTIPLE: "ldm ldmdb pop",
    Kind.STORE_MULTIPLE: "stm stmdb push",
    Kind.PRELOAD: "pld pldw pli",
    Kind.BRANCH: "b",
    Kind.CALL: "bl",
    Kind.BRANCH_REGISTER: "bx blx",
    Kind.COMPARE_BRANCH: "cbz cbnz",
    Kind.TABLE_BRANCH: "tbb tbh",
    Kind.NOP: "nop yield dbg hint csdb sevl",
    Kind.IT: "it",
    Kind.BARRIER: "dmb dsb isb",
    Kind.FP_ALU: "vadd vsub vmul vnmul vabs vneg vcmp vcmpe vcvt vcvtr vcvtb vcvtt vcvta vcvtn vcvtp vcvtm vsel vmaxnm "
    "vminnm vrinta vrintn vrintp vrintm vrintz vrintr vrintx",
    Kind.FP_MAC: "vmla vmls vnmla vnmls vfma vfms vfnma vfnms",
    Kind.FP_DIVIDE: "vdiv",
    Kind.FP_SQRT: "vsqrt",
    Kind.FP_MOVE: "vmov vmrs vmsr",
    Kind.FP_LOAD: "vldr",
    Kind.FP_STORE: "vstr",
    Kind.FP_LOAD_MULTIPLE: "vldm vldmia vldmdb vpop fldmiax fldmdbx",
    Kind.FP_STORE_MULTIPLE: "vstm vstmia vstmdb vpush fstmiax fstmdbx",
}
KINDS: dict[str, Kind] = {word: kind for kind, words in _WORDS.items() for word in words.split()}
KINDS |= dict.fromkeys(_PARALLEL, Kind.SIMD)
KINDS |= {f"smul{halves}": Kind.MULTIPLY for halves in _HALVES}
KINDS |= {f"smla{halves}": Kind.MAC for halves in _HALVES}
KINDS |= {f"smlal{halves}": Kind.MAC_LONG for halves in _HALVES}

_MAY_SET_FLAGS = (
    *("adc", "add", "and", "asr", "bic", "eor", "lsl", "lsr", "mov", "mul", "mvn", "orn", "orr", "ror", "rrx", "rsb"),
    *("sbc", "sub"),
)
FLAG_SETTING = {f"{name}s": name for name in _MAY_SET_FLAGS}


def _size(name: str) -> int:
    stem = name[3:].removeprefix("ex").removesuffix("t")
    return {"": 4, "b": 1, "sb": 1, "h": 2, "sh": 2}[stem]


# one access of LDR and its relatives; word-sized exclusives fault when not aligned, plain accesses need not
ACCESSES: dict[str, Access] = {
    word: Access(kind is Kind.STORE, _size(word), word in ("ldrex", "strex"))
    for kind in (Kind.LOAD, Kind.STORE)
    for word in _WORDS[kind].split()
}


def base_name(mnemonic: str, condition: int | None) -> tuple[str, str, bool]:
    """Name without condition, width and flag suffix, the type suffixes, and whether it sets the flags.

    ``condition`` is the instruction's (0 to 13), None when it is not conditional: only then can the letters be
    separated from the name (``bls``, ``mls``, ``teq``).
    """
    name, _, suffix = mnemonic.partition(".")
    if condition is not None:
        name = name.removesuffix(CONDITIONS[condition])
    if name in FLAG_SETTING:
        return FLAG_SETTING[name], suffix, True
    if name.startswith("vsel"):
        return "vsel", suffix, False
    if name.startswith("it"):
        return "it", suffix, False
    return name, suffix, False
