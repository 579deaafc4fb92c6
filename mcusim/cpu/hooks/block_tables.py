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
from mcusim.cpu.state_layout import AccessTable, BlockHash, BlockRecord, BlockSlot, BlockTable, ForeseenAccess
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
    """Blocks and accesses in tables that grow; ``moved`` says that one has a new address.

    ``data_bus`` in bytes: one of 8 moves a doubleword in one access.
    """

    def __init__(self, data_bus: int) -> None:
        self._doubles = data_bus == 8
        self.table = _empty_hash(1 << 12)
        self._entered = 0  # slots of the table that are in use
        self.blocks = BlockTable(np.zeros(BlockRecord.WORDS << 10, np.int64))
        self.accesses = AccessTable(np.zeros(ForeseenAccess.WORDS << 12, np.int64))
        self.known: list[CodeBlock] = []
        self.broken: list[tuple[CodeBlock, int]] = []  # blocks that broke off, after so many instructions
        self.moved = True
        self.records = 1  # the first is for accesses that decoding did not foresee

    def add(self, instructions: Sequence[Instruction], timing: Timing, it_state: int = 0) -> CodeBlock:
        """Enter a block, replacing one at the same address."""
        index = len(self.known)
        if (index + 1) * BlockRecord.WORDS > self.blocks.array.size:
            self.blocks = BlockTable(_grown(self.blocks.array))
            self.moved = True
        first = self.records
        end = self._accesses(instructions, timing)
        divides = tuple((i, self._divide(i, n)) for n, i in enumerate(instructions) if i.kind is Kind.DIVIDE)
        self._fill(self.blocks.records[index], instructions, timing, (first, end))
        block = CodeBlock(index, tuple(instructions), timing, first, divides, it_state)
        self.known.append(block)
        self.enter(block.address, index)
        return block

    @property
    def block_records(self) -> np.ndarray[Any, Any]:
        """Of the blocks known, as an array of numpy's records."""
        return self.blocks.records.table(len(self.known))

    @property
    def access_records(self) -> np.ndarray[Any, Any]:
        """Of their accesses, as an array of numpy's records; the first is for those that were not foreseen."""
        return self.accesses.records.table(self.records)

    def forget(self) -> None:
        """No block is known any more at its address; what was counted stays."""
        self.table, self._entered = _empty_hash(self.table.mask + 1), 0
        self.moved = True

    def enter(self, address: int, index: int) -> None:
        """The block at ``address`` is number ``index`` from now on."""
        size = self.table.mask + 1
        if self._entered * 2 >= size:
            old = self.table.slots.table(size)
            self.table, self._entered = _empty_hash(size * 2), 0
            self.moved = True
            for known, which in old[old["address"] >= 0].tolist():
                self._put(known, which)
        self._put(address, index)

    def _put(self, address: int, index: int) -> None:
        slot = self.table.slots[_blocks.slot_of(self.table, address)]
        self._entered += int(slot.address < 0)
        slot.address, slot.index = address, index

    def _record(self) -> ForeseenAccess:
        if (self.records + 1) * ForeseenAccess.WORDS > self.accesses.array.size:
            self.accesses = AccessTable(_grown(self.accesses.array))
            self.moved = True
        self.records += 1
        return self.accesses.records[self.records - 1]

    def _accesses(self, instructions: Sequence[Instruction], timing: Timing) -> int:
        timings = iter(timing.accesses)
        for instruction in instructions:
            by_stack = C.BY_STACK if instruction.address_reads >> SP & 1 else 0
            for number, access in enumerate(instruction.accesses):
                second = self._doubles and number == 1 and instruction.kind in _DOUBLE
                when = next(timings)
                record = self._record()
                record.write, record.size, record.pc = access.write, access.size, instruction.address
                record.moment, record.extra = when.at * TICK, when.extra * TICK
                record.flags = (
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
        record.pc, record.size = instruction.address, 0
        return self.records - 1

    def _fill(
        self, block: BlockRecord, instructions: Sequence[Instruction], timing: Timing, accesses: tuple[int, int]
    ) -> None:
        head, last = instructions[0], instructions[-1]
        block.address, block.size, block.instruction_count = head.address, last.end - head.address, len(instructions)
        block.ticks, block.first_access, block.accesses_end = timing.cycles * TICK, *accesses
        block.kind, block.fall_through, block.target = ending(last), last.end, last.target or 0
        block.shares, block.rate = timing.shares * TICK, (timing.cycles * TICK << 16) // (last.end - head.address)
        block.flags |= timing.leaves_slot[0] * C.LEAVES_SLOT | timing.leaves_slot[1] * C.LEAVES_SLOT_WITH_BRANCH
        block.flags_early, block.last_pc = timing.flags_early, last.address
        if last.branches and not last.conditional and last.kind is not Kind.COMPARE_BRANCH:
            block.flags |= C.ALWAYS
        if any(i.conditional and i.accesses for i in instructions):
            block.flags |= C.CONDITIONAL_ACCESS
        if any(moves_stack(i) for i in instructions):
            block.flags |= C.MOVES_STACK
        if any(i.mnemonic == "mrs" and "basepri" in i.text.lower() for i in instructions):
            block.flags |= C.READS_BASEPRI
        if any(i.kind in _FP for i in instructions):
            block.flags |= C.HAS_FP
        if timing.found_in_decode:
            block.flags |= C.FOUND_IN_DECODE
        block.prefetch_costs, block.prefetch_leaves = (_packed(states) for states in timing.fetched)
        latest = sorted(timing.ready.items(), key=lambda item: -item[1])[: C.READIES]
        for k, (register, cycles) in enumerate(latest):
            block.ready[k] = register << 32 | cycles * TICK
            block.ready_mask |= 1 << register
        soonest = sorted(timing.needs.items(), key=lambda item: item[1])[: C.NEEDED]
        for k, (register, cycles) in enumerate(soonest):
            block.needs[k] = register << 32 | cycles * TICK + 1
            block.needs_mask |= 1 << register


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


def _empty_hash(size: int) -> BlockHash:
    table = BlockHash(np.full(BlockHash.WORDS + BlockSlot.WORDS * size, -1, np.int64))
    table.mask = size - 1
    return table
