"""Decoding of basic blocks: bytes to ``Instruction``s, from capstone's text.

Conditions come from the bytes: an IT instruction's low byte is the state the architecture keeps while its block runs,
so a block that starts inside one is decoded with that byte (``it_state``), which ``remaining_it`` gives for the block
before it. Not modelled: encodings outside ARMv7-M with DSP and FPv5, and those the architecture calls unpredictable:
they are ``SYSTEM`` and do nothing here, though the emulator executes some (NEON loads, STM of the PC).
"""

from __future__ import annotations

from collections.abc import Iterator

from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs

from mcusim.cpu.decode.effects import Effects, effects
from mcusim.cpu.decode.instruction import FLAGS, PC, Instruction, Kind
from mcusim.cpu.decode.mnemonics import KINDS, base_name
from mcusim.cpu.decode.operands import Operands, parse

_FP_KINDS = {kind for kind in Kind if kind.name.startswith("FP_")}
_BREAKPOINT = 0xBE00  # executes whatever the condition says


def _is_wide(first: int) -> bool:
    return first >= 0xE800


def _halfword(code: bytes, offset: int) -> int:
    return int.from_bytes(code[offset : offset + 2], "little")


def _is_it(first: int) -> bool:
    return first & 0xFF00 == 0xBF00 and first & 0xF != 0


def _next_state(state: int, first: int) -> int:
    """IT state after the instruction that starts with ``first``."""
    if _is_it(first):
        return first & 0xFF
    return (state & 0xE0) | (state << 1 & 0x1F) if state & 7 else 0


def remaining_it(code: bytes, it_state: int = 0) -> int:
    """The IT state that ``code`` ends in, 0 outside IT blocks; pass it on when a block falls through into the next."""
    offset = 0
    while offset + 2 <= len(code):
        first = _halfword(code, offset)
        it_state = _next_state(it_state, first)
        offset += 4 if _is_wide(first) else 2
    return it_state


def _condition(first: int, second: int, state: int) -> int | None:
    """Condition 0 to 13 of the instruction, None if it always executes."""
    if state & 0xF:
        if _is_it(first) or first & 0xFF00 == _BREAKPOINT:
            return None
        condition = state >> 4
    elif first & 0xF000 == 0xD000:
        condition = first >> 8 & 0xF
    elif first & 0xF800 == 0xF000 and second & 0xD000 == 0x8000:
        condition = first >> 6 & 0xF
    else:
        return None
    return condition if condition < 14 else None


def _is_floating(first: int, second: int) -> bool:
    """Whether the encoding is one of single or double precision; others with those names need NEON."""
    return first & 0xEC00 == 0xEC00 and first & 0x0F00 != 0x0F00 and second & 0x0E00 == 0x0A00


def _refined(kind: Kind, first: int, second: int, operands: Operands) -> Kind:
    """The kind, where the name alone does not say it."""
    if kind is Kind.ALU and operands.shifted:
        return Kind.ALU_SHIFTED
    if kind is Kind.ALU and first & 0xFA00 == 0xF000 and second & 0x8000 == 0:
        # a modified constant: its upper four bits are a pattern below 4, else the start of a rotation
        return Kind.ALU_CONSTANT if (first >> 7 & 8 | second >> 12 & 7) >= 4 else Kind.ALU
    if kind is Kind.FP_MOVE and len(operands.registers) > 2:
        return Kind.FP_MOVE_PAIR
    return kind


class Decoder:
    """Decodes Thumb-2 for Cortex-M. Keeps nothing between calls but the disassembler."""

    def __init__(self) -> None:
        self._disassembler = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8)

    def decode(self, code: bytes, address: int, it_state: int = 0) -> list[Instruction]:
        """All instructions of ``code``, whose first byte is at ``address``.

        Bytes that are no instruction become one of kind ``SYSTEM`` named ``undefined``, of the width that their first
        halfword announces or of what is left. Raises nothing, whatever the bytes are.
        """
        decoded = []
        offset = 0
        for mnemonic, words in self._texts(code, address, it_state):
            first = _halfword(code, offset)
            size = min(4 if _is_wide(first) else 2, len(code) - offset)
            second = _halfword(code, offset + 2) if size == 4 else 0
            condition = _condition(first, second, it_state)
            decoded.append(_instruction(address + offset, size, first, second, condition, mnemonic, words))
            it_state = _next_state(it_state, first)
            offset += size
        return decoded

    def _texts(self, code: bytes, address: int, it_state: int) -> Iterator[tuple[str, str]]:
        """Mnemonic and operands of each instruction; empty strings where there is none."""
        offset = 0
        while offset < len(code):
            # the disassembler learns that it starts inside an IT block from an IT instruction put in front
            front = bytes((it_state, 0xBF)) if it_state & 0xF else b""
            lines = self._disassembler.disasm_lite(front + code[offset:], address + offset - len(front))
            if front:
                next(lines, None)
            for _, size, mnemonic, words in lines:
                it_state = _next_state(it_state, _halfword(code, offset))
                offset += size
                yield mnemonic, words
            if offset < len(code):
                first = _halfword(code, offset)
                it_state = _next_state(it_state, first)
                offset += 4 if _is_wide(first) else 2
                yield "", ""


def _described(kind: Kind, name: str, first: int, second: int, words: str) -> tuple[Kind, Effects]:
    if kind in _FP_KINDS and not _is_floating(first, second):
        return Kind.SYSTEM, Effects()
    operands = parse(words)
    if kind in _FP_KINDS and operands.names and name not in ("vmrs", "vmsr"):
        return Kind.SYSTEM, Effects()  # d16 to d31
    try:
        return _refined(kind, first, second, operands), effects(kind, name, operands)
    except (LookupError, ValueError):  # registers that an M-profile core does not have
        return Kind.SYSTEM, Effects()


def _instruction(
    address: int, size: int, first: int, second: int, condition: int | None, mnemonic: str, words: str
) -> Instruction:
    name, suffix, sets_flags = base_name(mnemonic, condition)
    kind, done = _described(KINDS.get(name, Kind.SYSTEM), name, first, second, words)
    conditional = condition is not None
    return Instruction(
        address=address,
        size=size,
        mnemonic=name or "undefined",
        text=f"{mnemonic} {words}".strip() or "undefined",
        kind=kind,
        reads=done.reads | (1 << FLAGS if conditional else 0),
        writes=done.writes | (1 << FLAGS if sets_flags else 0),
        address_reads=done.address_reads,
        accumulator_reads=done.accumulator_reads,
        shifted_reads=done.shifted_reads,
        writeback=done.writeback,
        accesses=done.accesses,
        conditional=conditional,
        branches=bool(done.writes >> PC & 1),
        target=done.target,
        double="f64" in suffix or any(access.size == 8 for access in done.accesses),
        indexed=done.indexed,
    )
