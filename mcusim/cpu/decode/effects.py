"""What an instruction reads, writes and accesses, from its name and its operands.

Accesses are those of Unicorn 2.1.4, found by running each form under its load/store hook: a double-precision transfer
is one access of 8 bytes, LDRD and STRD are two of 4, multiple transfers go upwards from the lowest address in either
direction; STREX reads and then writes, one that fails does neither. Not modelled: the Q and GE flags, the
floating-point status, the half that a conversion to half precision keeps, a conditional instruction's dependence on its
old destination.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcusim.cpu.decode.instruction import FLAGS, LR, PC, SP, Access, Kind
from mcusim.cpu.decode.mnemonics import ACCESSES
from mcusim.cpu.decode.operands import Operands, bits

_FLAGS, _PC, _LR, _SP = 1 << FLAGS, 1 << PC, 1 << LR, 1 << SP
_CORE = 0xFFFF
_COMPARE = {"cmp", "cmn", "tst", "teq"}
_CARRY = {"adc", "sbc", "rrx"}
_PARTIAL = {"movt", "bfi", "bfc"}  # the destination keeps some of its bits
_TWO_SOURCES = frozenset(
    ("add", "addw", "adc", "sub", "subw", "sbc", "rsb", "and", "orr", "orn", "bic", "eor", "lsl", "lsr", "asr", "ror")
)
_THROUGH_SHIFTER = frozenset(("uxtab", "uxtah", "sxtab", "sxtah", "uxtab16", "sxtab16", "pkhbt", "pkhtb", "bfi"))


@dataclass(slots=True)
class Effects:
    """The fields of an instruction that its operands decide; masks as in ``Instruction``."""

    reads: int = 0
    writes: int = 0
    address_reads: int = 0
    accumulator_reads: int = 0
    shifted_reads: int = 0
    writeback: int = 0
    accesses: tuple[Access, ...] = ()
    target: int | None = None
    indexed: bool = False


def _alu(name: str, operands: Operands) -> Effects:
    registers = operands.registers
    done = Effects(reads=bits(registers[1:]), writes=registers[0])
    if name in _COMPARE:
        return Effects(bits(registers), _FLAGS, shifted_reads=registers[-1] if operands.shifted else 0)
    if name in _PARTIAL or (name in _TWO_SOURCES and operands.plain < 3):
        done.reads |= registers[0]
    if name in _CARRY:
        done.reads |= _FLAGS
    if name == "adr":
        done.reads |= _PC
    if operands.shifted or name in _THROUGH_SHIFTER:
        done.shifted_reads = registers[-1]
    return done


def _multiply(name: str, operands: Operands) -> Effects:
    return Effects(reads=bits(operands.registers[1:]), writes=operands.registers[0])


def _accumulate(name: str, operands: Operands) -> Effects:
    target, first, second, accumulator = operands.registers
    return Effects(first | second | accumulator, target, accumulator_reads=accumulator & ~(first | second))


def _multiply_long(name: str, operands: Operands) -> Effects:
    return Effects(reads=bits(operands.registers[2:]), writes=bits(operands.registers[:2]))


def _accumulate_long(name: str, operands: Operands) -> Effects:
    accumulator, factors = bits(operands.registers[:2]), bits(operands.registers[2:])
    return Effects(accumulator | factors, accumulator, accumulator_reads=accumulator & ~factors)


def _addressed(operands: Operands) -> Effects:
    address = operands.base | operands.index
    back = operands.base if operands.writeback else 0
    return Effects(address, back, address, writeback=back, indexed=operands.index != 0)


def _load(name: str, operands: Operands) -> Effects:
    done = _addressed(operands)
    done.writes |= bits(operands.registers)
    done.accesses = (ACCESSES[name],)
    return done


def _store(name: str, operands: Operands) -> Effects:
    done = _addressed(operands)
    status = name.startswith("strex")  # the first register says whether it was stored
    done.reads |= bits(operands.registers[status:])
    done.writes |= bits(operands.registers[:status])
    stored = ACCESSES[name]
    # the emulator compares what is there before it stores
    done.accesses = (Access(False, stored.size, stored.aligned), stored) if status else (stored,)
    return done


def _double(name: str, operands: Operands) -> Effects:
    done = _addressed(operands)
    writes = name == "strd"
    if writes:
        done.reads |= bits(operands.registers)
    else:
        done.writes |= bits(operands.registers)
    done.accesses = (Access(writes, 4, True),) * 2
    return done


def _multiple(operands: Operands, writes: bool) -> Effects:
    on_stack = not operands.registers
    base = _SP if on_stack else operands.registers[0]
    back = base if on_stack or operands.writeback else 0
    listed = bits(operands.listed)
    accesses = tuple(Access(writes, 4 * mask.bit_count() if mask > _CORE else 4, True) for mask in operands.listed)
    return Effects(
        base | (listed if writes else 0), back | (0 if writes else listed), base, writeback=back, accesses=accesses
    )


def _load_multiple(name: str, operands: Operands) -> Effects:
    return _multiple(operands, writes=False)


def _store_multiple(name: str, operands: Operands) -> Effects:
    return _multiple(operands, writes=True)


def _preload(name: str, operands: Operands) -> Effects:
    return _addressed(operands)


def _branch(name: str, operands: Operands) -> Effects:
    return Effects(writes=_PC, target=operands.constant)


def _call(name: str, operands: Operands) -> Effects:
    return Effects(writes=_PC | _LR, target=operands.constant)


def _branch_register(name: str, operands: Operands) -> Effects:
    return Effects(reads=operands.registers[0], writes=_PC | (_LR if name == "blx" else 0))


def _compare_branch(name: str, operands: Operands) -> Effects:
    return Effects(reads=operands.registers[0], writes=_PC, target=operands.constant)


def _table_branch(name: str, operands: Operands) -> Effects:
    done = _addressed(operands)
    done.reads |= _PC
    done.writes = _PC
    done.accesses = (Access(False, 1 if name == "tbb" else 2, False),)
    return done


def _nothing(name: str, operands: Operands) -> Effects:
    return Effects()


def _system(name: str, operands: Operands) -> Effects:
    registers = bits(operands.registers)
    if name == "mrs":
        return Effects(reads=_FLAGS if any("psr" in word for word in operands.names) else 0, writes=registers)
    if name == "msr":
        return Effects(reads=registers, writes=_FLAGS if any("nzcv" in word for word in operands.names) else 0)
    return Effects()


def _fp_alu(name: str, operands: Operands) -> Effects:
    registers = operands.registers
    if name in ("vcmp", "vcmpe"):
        return Effects(reads=bits(registers))
    return Effects(reads=bits(registers[1:]) | (_FLAGS if name == "vsel" else 0), writes=registers[0])


def _fp_mac(name: str, operands: Operands) -> Effects:
    accumulator, *others = operands.registers
    factors = bits(tuple(others))
    return Effects(accumulator | factors, accumulator, accumulator_reads=accumulator & ~factors)


def _fp_move(name: str, operands: Operands) -> Effects:
    if name == "vmrs":
        return Effects(writes=bits(operands.registers) or _FLAGS)
    if name == "vmsr":
        return Effects(reads=bits(operands.registers))
    # of two core registers and a double or two singles, those on the other side of the first are the sources
    to_core = operands.registers[0] <= _CORE
    everything = bits(operands.registers)
    if len(operands.registers) > 2:
        core, floating = everything & _CORE, everything & ~_CORE
        return Effects(floating, core) if to_core else Effects(core, floating)
    return Effects(bits(operands.registers[1:]), operands.registers[0])


def _fp_load(name: str, operands: Operands) -> Effects:
    done = _addressed(operands)
    done.writes |= operands.registers[0]
    done.accesses = (Access(False, 4 * operands.registers[0].bit_count(), True),)
    return done


def _fp_store(name: str, operands: Operands) -> Effects:
    done = _addressed(operands)
    done.reads |= operands.registers[0]
    done.accesses = (Access(True, 4 * operands.registers[0].bit_count(), True),)
    return done


_RULES: dict[Kind, Callable[[str, Operands], Effects]] = {
    Kind.ALU: _alu,
    Kind.SHIFT: _alu,
    Kind.BITFIELD: _alu,
    Kind.SIMD: _alu,
    Kind.MULTIPLY: _multiply,
    Kind.DIVIDE: _multiply,
    Kind.MAC: _accumulate,
    Kind.MULTIPLY_LONG: _multiply_long,
    Kind.MAC_LONG: _accumulate_long,
    Kind.LOAD: _load,
    Kind.STORE: _store,
    Kind.LOAD_DOUBLE: _double,
    Kind.STORE_DOUBLE: _double,
    Kind.LOAD_MULTIPLE: _load_multiple,
    Kind.STORE_MULTIPLE: _store_multiple,
    Kind.PRELOAD: _preload,
    Kind.BRANCH: _branch,
    Kind.CALL: _call,
    Kind.BRANCH_REGISTER: _branch_register,
    Kind.COMPARE_BRANCH: _compare_branch,
    Kind.TABLE_BRANCH: _table_branch,
    Kind.NOP: _nothing,
    Kind.IT: _nothing,
    Kind.BARRIER: _nothing,
    Kind.SYSTEM: _system,
    Kind.FP_ALU: _fp_alu,
    Kind.FP_MAC: _fp_mac,
    Kind.FP_DIVIDE: _fp_alu,
    Kind.FP_SQRT: _fp_alu,
    Kind.FP_MOVE: _fp_move,
    Kind.FP_MOVE_PAIR: _fp_move,
    Kind.FP_LOAD: _fp_load,
    Kind.FP_STORE: _fp_store,
    Kind.FP_LOAD_MULTIPLE: _load_multiple,
    Kind.FP_STORE_MULTIPLE: _store_multiple,
}


def effects(kind: Kind, name: str, operands: Operands) -> Effects:
    """What an instruction of this kind does; raises ``LookupError`` or ``ValueError`` on operands it cannot have."""
    return _RULES[kind](name, operands)
