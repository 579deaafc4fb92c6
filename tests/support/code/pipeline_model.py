"""Cycles of a whole program from its trace, put together in Python: no native code, no hooks of this project.

The trace comes from a bare Unicorn with Python hooks. Static times of a block come from ``CortexM4`` and ``CortexM7``;
branches, divides, unaligned accesses, banks and the store buffer are written here again from the documented rules.
Memories are taken to answer at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from unicorn import UC_HOOK_BLOCK, UC_HOOK_CODE, UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, UC_MEM_WRITE
from unicorn import arm_const as arm

from mcusim.cpu.decode.decoder import Decoder
from mcusim.cpu.decode.instruction import Instruction, Kind
from mcusim.cpu.pipeline.cortex_m4 import CortexM4
from mcusim.cpu.pipeline.cortex_m4_fetch import AFTER_BRANCH
from mcusim.cpu.pipeline.cortex_m7 import CortexM7
from mcusim.cpu.pipeline.timing import AccessTiming, Timing
from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import Machine

STACK = 0x2001_0000
REGISTERS = [arm.UC_ARM_REG_R0 + i for i in range(13)] + [arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR]


@dataclass
class Made:
    """An access that was made by the instruction at ``pc``; for a divide its operands instead."""

    pc: int
    address: int = 0
    size: int = 0
    write: bool = False
    divide: tuple[int, int, bool] | None = None


@dataclass
class Ran:
    """A block that ran, in order."""

    address: int
    code: bytes = b""
    it_state: int = 0
    made: list[Made] = field(default_factory=list)


def recorded(machine: Machine, program: str, function: str, arguments: Sequence[int]) -> tuple[UnicornCore, list[Ran]]:
    """The blocks of one call, the last one its return."""
    core, isa = UnicornCore(machine), machine.core.isa
    image = load_image(program_path(program, isa))
    for place in image.placements(as_started=True):
        core.poke(place.address, place.data)
    ran: list[Ran] = []
    pc = 0

    def block(uc, address, size, _):
        xpsr = uc.reg_read(arm.UC_ARM_REG_XPSR)
        ran.append(Ran(address, bytes(uc.mem_read(address, size)), xpsr >> 8 & 0xFC | xpsr >> 25 & 3))

    def instruction(uc, address, size, _):
        nonlocal pc
        pc = address
        code = uc.mem_read(address, size)
        if size == 4 and code[1] == 0xFB and code[0] & 0xD0 == 0x90 and code[3] & 0xF0 == 0xF0:
            operands = [uc.reg_read(REGISTERS[code[i] & 15]) for i in (0, 2)]
            ran[-1].made.append(Made(pc, divide=(*operands, code[0] & 0xF0 == 0x90)))

    def access(uc, kind, address, size, value, _):
        ran[-1].made.append(Made(pc, address, size, kind == UC_MEM_WRITE))

    core.uc.hook_add(UC_HOOK_BLOCK, block)
    core.uc.hook_add(UC_HOOK_CODE, instruction)
    core.uc.hook_add(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, access)
    for i, value in enumerate(arguments):
        core[f"r{i}"] = value
    core["sp"], core["lr"] = STACK, core.return_address | 1
    core.uc.emu_start(image.symbol(function).address | 1, core.return_address)
    return core, [*ran, Ran(core.return_address)]


def divide_cycles(dividend: int, divisor: int, signed: bool) -> int:
    if signed:
        dividend, divisor = (abs(value - (value >> 31 << 32)) for value in (dividend, divisor))
    bits = dividend.bit_length() - divisor.bit_length()
    if not dividend or not divisor:
        return 2
    return 3 if bits < 0 else 5 + bits // 4


def taken(last: Instruction, to: int) -> bool:
    always = not last.conditional and last.kind is not Kind.COMPARE_BRANCH
    return last.branches and (always or to != last.end)


def unaligned(made: Made) -> bool:
    return made.address % made.size != 0 and not (made.size == 8 and made.address % 4 == 0)


class Sum:
    """Blocks one after the other; ``now`` is the time in cycles."""

    def __init__(self, pipeline: CortexM4 | CortexM7, core: UnicornCore) -> None:
        self.pipeline, self.core, self.decoder = pipeline, core, Decoder()
        self.known: dict[tuple[int, bytes, int], tuple[list[Instruction], Timing]] = {}
        self.now = self.instructions = 0

    def timed(self, ran: Ran) -> tuple[list[Instruction], Timing]:
        key = ran.address, ran.code, ran.it_state
        if key not in self.known:
            block = self.decoder.decode(ran.code, ran.address, ran.it_state)
            self.known[key] = block, self.pipeline.schedule(block)
        return self.known[key]

    def accesses(self, ran: Ran) -> Iterator[tuple[Made, AccessTiming | None]]:
        """Every access with what the schedule says of it; None: a divide."""
        block, timing = self.timed(ran)
        first, number = {}, 0
        for instruction in block:
            first[instruction.address] = number
            number += len(instruction.accesses)
        for made in ran.made:
            if made.divide:
                yield made, None
                continue
            yield made, timing.accesses[first[made.pc]]
            first[made.pc] += 1

    def carry(self, before: Timing | None, timing: Timing, end: int) -> None:
        """Wait for results of the block before, which ended at ``end``."""
        if before:
            waits = (end + late - self.now - timing.needs[r] for r, late in before.ready.items() if r in timing.needs)
            self.now += max(0, *waits, 0)

    def run(self, trace: Sequence[Ran]) -> int:
        """Cycles of the whole trace."""
        before = None
        for ran, then in pairwise(trace):
            block, timing = self.timed(ran)
            self.instructions += len(block)
            self.block(block, timing, before, ran)
            self.branch(block[-1], timing, then)
            before = timing
        return self.now

    def block(self, block: list[Instruction], timing: Timing, before: Timing | None, ran: Ran) -> None:
        raise AssertionError

    def branch(self, last: Instruction, timing: Timing, then: Ran) -> None:
        raise AssertionError


class SumM4(Sum):
    """Refill, prefetch, divides, accesses in bytes and halfwords, change of memory."""

    end = 0
    prefetched = AFTER_BRANCH
    memory = -1

    def block(self, block: list[Instruction], timing: Timing, before: Timing | None, ran: Ran) -> None:
        costs, leaves = timing.fetched
        self.now += costs[self.prefetched]
        self.prefetched = leaves[self.prefetched]
        self.carry(before, timing, self.end)
        self.now += timing.cycles
        for made, planned in self.accesses(ran):
            if planned is None:
                self.now += divide_cycles(*made.divide) - 2
                continue
            windows = self.core._windows
            memory = next(i for i, (low, high, _) in enumerate(windows) if low <= made.address < high)
            self.now += planned.extra + (planned.follows and memory != self.memory)
            if unaligned(made):
                self.now += 2 if made.size > 2 and made.address % 2 else 1
            self.memory = memory
        self.end = self.now

    def branch(self, last: Instruction, timing: Timing, then: Ran) -> None:
        if taken(last, then.address):
            self.now += 1 if timing.found_in_decode else 2
            self.prefetched = AFTER_BRANCH


class SumM7(Sum):
    """Branch prediction, the slot next to a branch, banks, unaligned loads, the store buffer."""

    def __init__(self, pipeline: CortexM7, core: UnicornCore) -> None:
        super().__init__(pipeline, core)
        self.predictor: dict[int, tuple[int, int, int]] = {}  # slot: branch, target, counter
        self.entries, self.banks, self.stores = [0] * 4, [0, 0], 0
        self.bank, self.split, self.with_branch, self.slot, self.end = -1, False, False, False, 0

    def block(self, block: list[Instruction], timing: Timing, before: Timing | None, ran: Ran) -> None:
        self.with_branch = self.slot and timing.shares != 0
        self.carry(before, timing, self.end)
        done = 0
        for made, planned in self.accesses(ran):
            if planned is None:
                continue
            self.now += max(0, planned.at - done)
            done = max(done, planned.at)
            self.now += self.access(made, planned)
        left = timing.cycles - done
        self.now += left - (min(left, timing.shares) if self.with_branch else 0)
        self.end = self.now

    def access(self, made: Made, planned: AccessTiming) -> int:
        bank, split = made.address >> 2 & 1, made.address % made.size != 0
        extra = int(planned.paired and bank == self.bank) + int(planned.even and bank)
        if unaligned(made) and not made.write:
            extra += 1 if planned.paired and self.split else 4 if planned.younger else 3
        self.bank, self.split = bank, split
        return extra + self.store(made, self.now) if made.write else extra

    def store(self, made: Made, now: int) -> int:
        slot = self.stores % 4
        self.stores += 1
        begin, done = max(now, self.entries[slot]), 0
        whole = made.size >= 4 and made.address % 4 == 0
        for word in range(made.address >> 2, (made.address + made.size - 1 >> 2) + 1):
            self.banks[word & 1] = max(self.banks[word & 1], begin) + (1 if whole else 4)
            done = max(done, self.banks[word & 1])
        self.entries[slot] = done if whole else done + 2
        return begin - now

    def branch(self, last: Instruction, timing: Timing, then: Ran) -> None:
        self.slot = False
        if last.branches:
            lost = self.lost(last, timing, then.address)
            self.now += lost
            self.slot = lost == 0 and timing.leaves_slot[self.with_branch]

    def lost(self, last: Instruction, timing: Timing, to: int) -> int:
        compare = last.kind is Kind.COMPARE_BRANCH
        conditional = compare or (last.kind is Kind.BRANCH and last.conditional)
        direct = conditional or last.kind in (Kind.BRANCH, Kind.CALL)
        went, target = taken(last, to), last.target if conditional else to
        slot = (last.address >> 1 ^ last.address >> 7) % 64
        branch, kept, counter = self.predictor.get(slot, (-1, 0, 0))
        hit = branch == last.address
        if hit:
            right = (counter >= 2) == went and (not went or direct or kept == target)
            self.predictor[slot] = (
                branch,
                target if went else kept,
                min(3, counter + 1) if went else max(0, counter - 1),
            )
        else:
            right = went == (target < last.end if conditional else direct)
            if went:
                self.predictor[slot] = last.address, target, 2
        if right:
            return int(went and not hit)
        return 6 if timing.flags_early and conditional else 8


def expected(machine: Machine, program: str, function: str, arguments: Sequence[int]) -> tuple[int, int]:
    """(cycles, instructions) of one call."""
    core, trace = recorded(machine, program, function, arguments)
    found = SumM7(CortexM7(), core) if machine.core.isa == "cortex-m7" else SumM4(CortexM4(), core)
    return found.run(trace), found.instructions
