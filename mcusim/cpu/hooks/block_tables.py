"""The native tables: one record per basic block and per access, filled when a block is first executed.

Not modelled: what changes code; see :mod:`mcusim.cpu.code_cache`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.decode.instruction import LR, SP, Instruction, Kind
from mcusim.cpu.hooks import blocks as _blocks
from mcusim.cpu.pipeline.timing import Timing
from mcusim.memory.state_layout import TICK

_DOUBLE = {Kind.LOAD_DOUBLE, Kind.STORE_DOUBLE}
_FP = {kind for kind in Kind if kind.name.startswith("FP_")}


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A decoded basic block; ``first`` is the number of its first access record."""

    index: int
    instructions: tuple[Instruction, ...]
    timing: Timing
    first: int
    divides: tuple[tuple[Instruction, int], ...]  # with the number of the record that counts its further cycles
    it_state: int = 0  # in which it begins

    @property
    def address(self) -> int:
        return self.instructions[0].address

    @property
    def end(self) -> int:
        """First address after the block."""
        return self.instructions[-1].end


class Tables:
    """Blocks and accesses as int64 arrays that grow; ``moved`` says that an array has a new address.

    ``data_bus`` in bytes: one of 8 moves a doubleword in one access.
    """

    def __init__(self, data_bus: int) -> None:
        self._doubles = data_bus == 8
        self.table = _empty_hash(1 << 12)
        self._entered = 0  # places of the table that are taken
        self.blocks = np.zeros(C.BLOCK << 10, np.int64)
        self.accesses = np.zeros(C.ACCESS << 12, np.int64)
        self.known: list[CodeBlock] = []
        self.broken: list[tuple[CodeBlock, int]] = []  # blocks that broke off, after so many instructions
        self.moved = True
        self.records = 1  # the first is for accesses that decoding did not foresee

    def add(self, instructions: Sequence[Instruction], timing: Timing, it_state: int = 0) -> CodeBlock:
        """Enter a block, replacing one at the same address."""
        index = len(self.known)
        if (index + 1) * C.BLOCK > self.blocks.size:
            self.blocks = _grown(self.blocks)
            self.moved = True
        first = self.records
        end = self._accesses(instructions, timing)
        divides = tuple((i, self._divide(i, n)) for n, i in enumerate(instructions) if i.kind is Kind.DIVIDE)
        self._block(index, instructions, timing, (first, end))
        block = CodeBlock(index, tuple(instructions), timing, first, divides, it_state)
        self.known.append(block)
        self.enter(block.address, index)
        return block

    def forget(self) -> None:
        """No block is known any more at its address; what was counted stays."""
        self.table, self._entered = _empty_hash(int(self.table[0]) + 1), 0
        self.moved = True

    def enter(self, address: int, index: int) -> None:
        """The block at ``address`` is number ``index`` from now on."""
        size = int(self.table[0]) + 1
        if self._entered * 2 >= size:
            old = self.table[1:].reshape(-1, 2)
            self.table, self._entered = _empty_hash(size * 2), 0
            self.moved = True
            for known, which in old[old[:, 0] >= 0]:
                self._put(int(known), int(which))
        self._put(address, index)

    def _put(self, address: int, index: int) -> None:
        slot = int(_blocks.slot_of(self.table, address))
        self._entered += int(self.table[slot] < 0)
        self.table[slot], self.table[slot + 1] = address, index

    def _record(self) -> Any:
        if (self.records + 1) * C.ACCESS > self.accesses.size:
            self.accesses = _grown(self.accesses)
            self.moved = True
        self.records += 1
        return self.accesses[(self.records - 1) * C.ACCESS : self.records * C.ACCESS]

    def _accesses(self, instructions: Sequence[Instruction], timing: Timing) -> int:
        timings = iter(timing.accesses)
        for instruction in instructions:
            by_stack = C.BY_STACK if instruction.address_reads >> SP & 1 else 0
            for number, access in enumerate(instruction.accesses):
                second = self._doubles and number == 1 and instruction.kind in _DOUBLE
                when = next(timings)
                record = self._record()
                record[C.WRITE], record[C.BYTES], record[C.PC] = access.write, access.size, instruction.address
                record[C.AT], record[C.EXTRA] = when.at * TICK, when.extra * TICK
                record[C.ACCESS_FLAGS] = (
                    by_stack
                    | access.aligned * C.ALIGNED
                    | when.paired * C.PAIRED
                    | when.follows * C.FOLLOWS
                    | when.younger * C.YOUNGER
                    | second * C.SECOND
                    | when.even * C.EVEN
                )
        return self.records

    def _divide(self, instruction: Instruction, number: int) -> int:
        record = self._record()
        record[C.PC], record[C.BYTES] = instruction.address, 0
        return self.records - 1

    def _block(
        self, index: int, instructions: Sequence[Instruction], timing: Timing, accesses: tuple[int, int]
    ) -> None:
        head, last = instructions[0], instructions[-1]
        t = self.blocks[index * C.BLOCK : (index + 1) * C.BLOCK]
        t[C.ADDRESS], t[C.SIZE], t[C.COUNT_OF] = head.address, last.end - head.address, len(instructions)
        t[C.TICKS], t[C.FIRST], t[C.END] = timing.cycles * TICK, *accesses
        t[C.KIND], t[C.FALL], t[C.TARGET] = ending(last), last.end, last.target or 0
        t[C.SHARES], t[C.RATE] = timing.shares * TICK, (timing.cycles * TICK << 16) // (last.end - head.address)
        t[C.FLAGS] |= timing.leaves_slot[0] * C.LEAVES_SLOT | timing.leaves_slot[1] * C.LEAVES_SLOT_WITH_BRANCH
        t[C.EARLY], t[C.LAST_PC] = timing.flags_early, last.address
        if last.branches and not last.conditional and last.kind is not Kind.COMPARE_BRANCH:
            t[C.FLAGS] |= C.ALWAYS
        if any(i.conditional and i.accesses for i in instructions):
            t[C.FLAGS] |= C.CONDITIONAL_ACCESS
        if any(moves_stack(i) for i in instructions):
            t[C.FLAGS] |= C.MOVES_STACK
        if any(i.mnemonic == "mrs" and "basepri" in i.text.lower() for i in instructions):
            t[C.FLAGS] |= C.READS_BASEPRI
        if any(i.kind in _FP for i in instructions):
            t[C.FLAGS] |= C.HAS_FP
        if timing.found_in_decode:
            t[C.FLAGS] |= C.FOUND_IN_DECODE
        t[C.PREFETCH_COSTS], t[C.PREFETCH_LEAVES] = (_packed(states) for states in timing.fetched)
        latest = sorted(timing.ready.items(), key=lambda item: -item[1])[: C.READIES]
        for k, (register, cycles) in enumerate(latest):
            t[C.READY + k] = register << 32 | cycles * TICK
            t[C.READY_MASK] |= 1 << register
        soonest = sorted(timing.needs.items(), key=lambda item: item[1])[: C.NEEDED]
        for k, (register, cycles) in enumerate(soonest):
            t[C.NEEDS + k] = register << 32 | cycles * TICK + 1
            t[C.NEEDS_MASK] |= 1 << register


def moves_stack(instruction: Instruction) -> bool:
    """Whether it turns to another stack: MSR MSP or PSP, LDR sp, MOV sp (not from a frame pointer, r7)."""
    if instruction.mnemonic == "msr":
        return "sp" in instruction.text.lower()
    return (
        instruction.mnemonic in ("mov", "ldr") and instruction.writes >> SP & 1 == 1 and not instruction.reads >> 7 & 1
    )


def ending(last: Instruction) -> int:
    """How a block that closes with ``last`` ends, as the branch accounting wants it."""
    if not last.branches:
        return C.FALLS
    if last.kind is Kind.COMPARE_BRANCH:
        return C.CONDITIONAL
    if last.kind is Kind.BRANCH:
        return C.CONDITIONAL if last.conditional else C.UNCONDITIONAL
    if last.kind is Kind.CALL:
        return C.CALL
    if last.kind is Kind.TABLE_BRANCH:
        return C.TABLE
    if last.kind is Kind.BRANCH_REGISTER:
        if last.mnemonic == "blx":
            return C.INDIRECT_CALL
        return C.RETURNS if last.reads >> LR & 1 else C.INDIRECT
    return C.RETURNS if last.address_reads >> SP & 1 else C.INDIRECT


def _packed(states: Sequence[int]) -> int:
    """``STATE_BITS`` of each in one word."""
    return sum(state << C.STATE_BITS * number for number, state in enumerate(states))


def _grown(array: Any) -> Any:
    larger = np.zeros(array.size * 2, np.int64)
    larger[: array.size] = array
    return larger


def _empty_hash(size: int) -> Any:
    table = np.full(1 + 2 * size, -1, np.int64)
    table[0] = size - 1
    return table
