"""The operands of a disassembled Thumb-2 instruction: what follows its mnemonic.

The text is read, not the disassembler's operand records: those miss accesses of several M-profile instructions, the
text does not. Not modelled: constants in floating point, the values of offsets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mcusim.cpu.decode.instruction import LR, PC, SINGLE, SP


def _names() -> dict[str, int]:
    named = {f"r{number}": 1 << number for number in range(16)}
    named |= {"sb": 1 << 9, "sl": 1 << 10, "fp": 1 << 11, "ip": 1 << 12, "sp": 1 << SP, "lr": 1 << LR, "pc": 1 << PC}
    named |= {f"s{number}": 1 << (SINGLE + number) for number in range(32)}
    return named | {f"d{number}": 3 << (SINGLE + 2 * number) for number in range(16)}


_REGISTERS = _names()
_LANE = re.compile(r"d(\d+)\[(\d)\]")
_PARTS = re.compile(r"\[([^\]]*)\](!?)|\{([^}]*)\}|([^,\[\]{}!]+)(!?)")
_SHIFTS = ("lsl", "lsr", "asr", "ror", "rrx")


@dataclass(frozen=True, slots=True)
class Operands:
    """Masks of the registers in the order written, outside brackets and braces; then those inside.

    ``plain`` counts registers and constants outside brackets; ``names`` are words that are neither (special registers,
    barrier options, registers that an M-profile core lacks). ``writeback``: a base register gets a new value.
    """

    registers: tuple[int, ...] = ()
    listed: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    plain: int = 0
    constant: int | None = None
    memory: bool = False
    base: int = 0
    index: int = 0
    shifted: bool = False
    writeback: bool = False


def bits(masks: tuple[int, ...]) -> int:
    """All registers of the masks in one."""
    result = 0
    for mask in masks:
        result |= mask
    return result


def _constant(word: str) -> int | None:
    try:
        return int(word[1:], 0)
    except ValueError:  # a floating-point constant
        return None


class _OperandReader:
    """Collects the parts of one operand text."""

    def __init__(self) -> None:
        self.registers: list[int] = []
        self.listed: list[int] = []
        self.names: list[str] = []
        self.plain = 0
        self.constant: int | None = None
        self.memory = self.shifted = self.writeback = False
        self.base = self.index = 0

    def address(self, inside: str) -> None:
        self.memory = True
        for index, word in enumerate(inside.split(", ")):
            mask = _REGISTERS.get(word, 0)
            if index == 0:
                self.base = mask
            elif mask:
                self.index = mask

    def listing(self, inside: str) -> None:
        for word in inside.split(", "):
            if word in _REGISTERS:
                self.listed.append(_REGISTERS[word])
            else:
                self.names.append(word)

    def word(self, word: str) -> None:
        if word in _REGISTERS:
            self.registers.append(_REGISTERS[word])
            self.plain += 1
        elif word.startswith("#"):
            self.constant = _constant(word)
            self.plain += 1
            self.writeback = self.writeback or self.memory  # post-indexed
        elif word.startswith(_SHIFTS):
            self.shifted = True
        elif word:
            self.names.append(word)


@lru_cache(maxsize=1 << 15)
def parse(text: str) -> Operands:
    """The operands written in ``text``, as the disassembler prints them."""
    if "[" in text:
        text = _LANE.sub(lambda lane: f"s{2 * int(lane[1]) + int(lane[2])}", text)
    reader = _OperandReader()
    for part in _PARTS.finditer(text):
        inside, memory_bang, listing, word, bang = part.groups()
        if inside is not None:
            reader.address(inside)
        elif listing is not None:
            reader.listing(listing)
        else:
            reader.word(word.strip())
        reader.writeback = reader.writeback or bool(memory_bang or bang)
    return Operands(
        tuple(reader.registers),
        tuple(reader.listed),
        tuple(reader.names),
        reader.plain,
        reader.constant,
        reader.memory,
        reader.base,
        reader.index,
        reader.shifted,
        reader.writeback,
    )
