"""The code the core has executed: decoded and timed once a block, entered in the native tables, dropped when changed.

Not modelled: code written through one alias of a memory and executed through another.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.decode.decoder import Decoder, remaining_it
from mcusim.cpu.decode.instruction import Instruction, Kind
from mcusim.cpu.decode.unsupported import lacked
from mcusim.cpu.hooks.block_tables import CodeBlock, Tables, moves_stack
from mcusim.cpu.pipeline.timing import Timing, pipeline_named
from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.machine.cores import CoreTraits
from mcusim.machine.description import Device, Flash, Machine, Sram
from mcusim.native.structs import Words

GRANULE = 6  # log2 of the bytes that one mark covers; 64 marks a word
LONGEST_STORE = 8
MOST_INSTRUCTIONS = (
    400_000  # different ones; a jump into empty memory, or new code without end, must not take all of it
)


class Code:
    """Blocks by address; ``marks`` has a bit where code was met."""

    def __init__(self, traits: CoreTraits, machine: Machine, core: UnicornCore) -> None:
        self._pipeline = traits.pipeline
        self.tables = Tables(traits.data_bus)
        self.marks = np.zeros(1 << (32 - GRANULE - 6), np.int64)
        self._early_divide = traits.early_divide
        self.traps_divide = False  # by zero: CCR.DIV_0_TRP
        self._fpv5, self._double = traits.fpv5, machine.core.fpu == "double"
        self._in_turn = _lines_in_turn(machine)
        self._core = core
        self._live: dict[int, CodeBlock] = {}
        self._instructions = 0
        self._asks_inside: set[int] = set()  # blocks whose first floating-point instruction asks for the FPU
        self._seen: dict[tuple[int, bytes, int], CodeBlock] = {}
        self.functions: Sequence[int] = ()  # first addresses, sorted

    def share(self) -> None:
        """Give the hooks the addresses of the tables."""
        tables = self.tables
        self._core.share(
            block_hash=tables.table, blocks=tables.blocks, accesses=tables.accesses, code_pages=Words(self.marks)
        )

    @property
    def full(self) -> bool:
        """More different code than a program on a microcontroller has."""
        return self._instructions >= MOST_INSTRUCTIONS

    def learn(self, address: int, code: bytes, it_state: int) -> CodeBlock:
        """Enter the block of these bytes, which begins in the middle of an IT block when ``it_state`` is not 0.

        Returns it.
        """
        key = address, code, it_state
        block = self._seen.get(key)
        if block is None:
            line = next((line for code, line in self._in_turn if address in code), 0)
            instructions, timing = _timed(self._pipeline, address, code, it_state, line)
            block = self.tables.add(instructions, timing, it_state)
            self._seen[key] = block
            if self._calls_at_its_end(instructions[-1]):
                self.tables.blocks.records[block.index].flags |= C.TAIL_CALL
            self._instructions += len(instructions)
        else:
            self.tables.enter(address, block.index)
            if block.index in self._asks_inside:
                self._asks_inside.discard(block.index)
                self.tables.blocks.records[block.index].flags |= C.HAS_FP
        self._live[address] = block
        self._mark(block)
        if self._early_divide or self.traps_divide:
            for instruction, record in block.divides:
                at = instruction.address
                self._core.watch_divide(at, block.end, code[at - address :][:4], record)
        for instruction in block.instructions:
            if self.lacked(instruction):
                self._core.refuse(instruction.address, block.end)
            if instruction.mnemonic == "sev":
                self._core.watch_event(instruction.address, block.end)
            if moves_stack(instruction):
                self._core.align_stack(instruction.end, max(block.end, instruction.end + 2))
        self.refresh()
        return block

    def lacked(self, instruction: Instruction) -> str:
        """Why the core does not have ``instruction``; empty when it has it."""
        return lacked(instruction, self._fpv5, self._double)

    def refresh(self) -> None:
        """Give the hooks the addresses of arrays that have grown."""
        if self.tables.moved:
            self.tables.moved = False
            self.share()

    def written(self, low: int, high: int) -> bool:
        """Drop the blocks that bytes from ``low`` to below ``high`` belong to; says whether there were any."""
        first, last = low >> GRANULE + 6, (high - 1) >> GRANULE + 6
        if low >= high or not self.marks[first : last + 1].any():
            return False
        gone = [block for block in self._live.values() if block.address < high and low < block.end]
        if gone:
            for block in gone:
                del self._live[block.address]
                self._core.forget_watched(block.address, block.end)
            self._rebuild()
        return bool(gone)

    def forget(self) -> None:
        """Look at all code again when it is next executed: what may be executed has changed."""
        self._live.clear()
        self._core.forget_watched(0, 1 << 32)
        self._rebuild()

    def _rebuild(self) -> None:
        self.tables.forget()
        self.marks = np.zeros_like(self.marks)
        self.tables.moved = True
        for block in self._live.values():
            self.tables.enter(block.address, block.index)
            self._mark(block)
        self.refresh()

    def _mark(self, block: CodeBlock) -> None:
        """Mark the block, and so far below it as a store into it may begin."""
        for granule in range(max(0, block.address - LONGEST_STORE + 1) >> GRANULE, ((block.end - 1) >> GRANULE) + 1):
            word, bit = granule >> 6, granule & 63
            self.marks[word] |= np.int64(-(1 << 63) if bit == 63 else 1 << bit)

    def _calls_at_its_end(self, last: Instruction) -> bool:
        """A plain branch to the first instruction of another function."""
        if last.kind is not Kind.BRANCH or last.target is None:
            return False
        index = bisect_right(self.functions, last.target)
        begins = index > 0 and self.functions[index - 1] == last.target
        return begins and bisect_right(self.functions, last.address) != index

    def known_at(self, address: int) -> CodeBlock | None:
        """The block that begins at ``address``, if it was executed and has not changed since."""
        return self._live.get(address)

    def watch_floats(self, address: int) -> bool:
        """Let the block at ``address`` run to its first floating-point instruction; False where that is its first."""
        block = self._live[address]
        first = next((i.address for i in block.instructions if i.kind.name.startswith("FP_")), address)
        if first == address:
            return False
        self.tables.blocks.records[block.index].flags &= ~C.HAS_FP
        self._asks_inside.add(block.index)
        self._core.watch_floats(first, block.end)
        return True

    def it_state_behind(self, index: int, code: bytes) -> int:
        """The IT state behind the bytes ``code``, with which the block of that index begins."""
        return remaining_it(code, self.tables.known[index].it_state)

    def unforeseen_in(self, index: int) -> int:
        """Address of the instruction that made an access unknown to decoding, as far as it can be determined."""
        block = self.tables.known[index]
        return next((i.address for i in block.instructions if i.mnemonic == "undefined"), block.address)


@lru_cache(maxsize=1 << 14)
def _timed(
    pipeline: str, address: int, code: bytes, it_state: int, line: int
) -> tuple[tuple[Instruction, ...], Timing]:
    """The instructions of a block and their static timing, kept for the other emulations of this process."""
    instructions = tuple(Decoder().decode(code, address, it_state))
    return instructions, pipeline_named(pipeline).schedule(instructions, line)


def branches_to_itself(block: CodeBlock) -> bool:
    """``for (;;)``: nothing but an exception can end it."""
    last = block.instructions[-1]
    return last.address == block.address == last.target and not last.conditional


def _lines_in_turn(machine: Machine) -> list[tuple[range, int]]:
    """Addresses whose memory gives code and literals in turn, and the bytes that it gives the prefetch at once."""
    pairs = [(region, _line_in_turn(region.device)) for region in machine.memory.values()]
    return [
        (range(at, at + region.size), line) for region, line in pairs if line for at in (region.base, *region.aliases)
    ]


def _line_in_turn(device: Device) -> int:
    """A flash's line, without wait states, without a prefetch and without lines that keep code and data apart; a word
    of an SRAM; else 0."""
    if isinstance(device, Sram):
        return device.width // 8
    if not isinstance(device, Flash) or device.wait_states:
        return 0
    held = device.accelerator
    return 0 if held and (held.instruction_lines or held.data_lines or held.prefetch) else device.line
