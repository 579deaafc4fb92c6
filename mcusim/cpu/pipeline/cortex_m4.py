"""Timing of the Cortex-M4(F): a three-stage core that issues one instruction per cycle, in order.

Modelled, with cycles and source ("TRM": Arm DDI 0439D, tables 3-1, 3-2 and section 3.3.2; "jnk0le": jnk0le/random,
pipeline cycle test, cortex_m3m4.md, measured on an STM32F407; "compendium": compendium.i-0.nl, measured):

====================================  ==========================================================================
data processing, multiply, MAC, DSP   1 (TRM)
SDIV, UDIV                            2 here, to 12 by ``divide_extra``: 2 with a zero operand, 3 when the dividend
                                      has fewer bits than the divisor, else 5 + (difference of bits) // 4 (compendium)
load of one word or less              2; the second cycle is hidden by a load, a store or a NOP behind it, so that
                                      LDR LDR = 3 and LDR LDR LDR = 4 (TRM), LDR STR = 2, LDR NOP = 2 (jnk0le)
...not hidden                         when the second access takes its address from the first's result (TRM), or from
                                      the base register the first updates (jnk0le: other bases chain)
...of two memories                    one cycle more, added when it runs: ``AccessTiming.follows`` (jnk0le)
...that follows none                  the memory's ``read_arbitration`` more, added when it runs
STR, immediate offset, pre/post       1 (TRM); 2 before a load of any kind, so STR LDR = 4 in all (jnk0le: the store
                                      gets the cycle; TRM's own sum would be 3); 2 before a store whose base it updates
STR, register offset                  2; a NOP behind it hides the second (jnk0le)
LDREX, STREX                          as a load (TRM)
LDRD, STRD, LDM, STM, PUSH, POP       1 + words, nothing pipelined around them (TRM)
address from the instruction before   1 more, when that is data processing (TRM)
B, BL, BX, CBZ, MOV pc                1; when taken ``branch_refill`` of the core more, or one cycle less than that
                                      (TRM: 1 to 3): see :mod:`mcusim.cpu.pipeline.cortex_m4_fetch`
LDR pc, POP pc                        5 and 4 + words with the refill (TRM: two for the load, three for the refill)
TBB, TBH                              6 with the refill (TRM)
IT                                    0 behind a 16-bit instruction, else 1 (TRM)
condition failed                      1 for loads and stores: what they cost beyond is in ``AccessTiming.extra``
MRS, MSR, CPS; DMB, DSB; ISB          2 (TRM: 1 or 2); 1; 3
VADD, VMUL, VCVT, VMOV ...            1; VMOV of two registers 2; VLDR, VSTR, VLDM ... 1 + words
VMLA, VFMA and relatives              3, and 1 more when the next instruction uses the result
VDIV, VSQRT                           14, overlapping what follows until the next floating-point instruction
====================================  ==========================================================================

The floating-point figures are the TRM's FPU instruction set table. An instruction that is not there yet waits:
:mod:`mcusim.cpu.pipeline.cortex_m4_fetch`. Not modelled: the write buffer when memory waits, a divide under a failed
condition (2 here), interrupted LDM, results of VADD and VMUL used at once, a busy divider when the next
block starts with another floating-point instruction that does not use the quotient, a load's second cycle hidden across
a block's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcusim.cpu.decode.instruction import PC, SINGLE, Instruction, Kind
from mcusim.cpu.pipeline.cortex_m4_fetch import FULL, STATES, Prefetch, found_in_decode
from mcusim.cpu.pipeline.timing import AccessTiming, Stall, Timing
from mcusim.native.functions import native

_DATA_PROCESSING = {
    Kind.ALU,
    Kind.ALU_SHIFTED,
    Kind.ALU_CONSTANT,
    Kind.SHIFT,
    Kind.BITFIELD,
    Kind.SIMD,
    Kind.MULTIPLY,
    Kind.MAC,
    Kind.MULTIPLY_LONG,
    Kind.MAC_LONG,
    Kind.DIVIDE,
}
_LOADS = {Kind.LOAD, Kind.LOAD_DOUBLE, Kind.LOAD_MULTIPLE, Kind.FP_LOAD, Kind.FP_LOAD_MULTIPLE}
_SEVERAL_WORDS = {
    Kind.LOAD_DOUBLE,
    Kind.STORE_DOUBLE,
    Kind.LOAD_MULTIPLE,
    Kind.STORE_MULTIPLE,
    Kind.FP_LOAD,
    Kind.FP_STORE,
    Kind.FP_LOAD_MULTIPLE,
    Kind.FP_STORE_MULTIPLE,
}
MEMORY = _SEVERAL_WORDS | {Kind.LOAD, Kind.STORE}
_FIXED = {
    Kind.DIVIDE: 2,
    Kind.FP_MAC: 3,
    Kind.FP_MOVE_PAIR: 2,
    Kind.TABLE_BRANCH: 4,  # with a refill of 2: 6
}
_NAMED = {"mrs": 2, "msr": 2, "cpsie": 2, "cpsid": 2, "isb": 3}  # the table's "1 or 2"; ISB refills the pipeline


def _single_load(instruction: Instruction) -> bool:
    """One-word loads, and STREX, which the core treats like a load."""
    return instruction.kind is Kind.LOAD or instruction.mnemonic.startswith("strex")


def _single_store(instruction: Instruction) -> bool:
    return instruction.kind is Kind.STORE and not _single_load(instruction)


def issue_cycles(instruction: Instruction) -> int:
    """Cycles before the next instruction may issue, without the tail and without hazards."""
    if instruction.kind in _SEVERAL_WORDS:
        cycles = 1 + sum(access.size for access in instruction.accesses) // 4
        return cycles + instruction.branches  # POP pc: a refill of 3, one more than other branches
    if instruction.kind is Kind.LOAD and instruction.branches:
        return 3
    return _FIXED.get(instruction.kind) or _NAMED.get(instruction.mnemonic, 1)


def tail(instruction: Instruction) -> int:
    """A further cycle that the next instruction may hide: a load's data phase, a register-offset store's third read."""
    if _single_load(instruction):
        return 0 if instruction.branches else 1
    return 1 if _single_store(instruction) and instruction.indexed else 0


def pipelines(before: Instruction, after: Instruction) -> bool:
    """Whether the address phase of ``after`` runs during the data phase of the load before it."""
    if not _single_load(before) or before.branches or not (_single_load(after) or _single_store(after)):
        return False
    return not before.writes & after.address_reads


def hides_tail(before: Instruction, after: Instruction) -> bool:
    """Whether ``after`` takes the tail's cycle: pipelined accesses, and a NOP."""
    return after.kind is Kind.NOP or pipelines(before, after)


def slows_store(before: Instruction, after: Instruction) -> bool:
    """A store is followed by a load, or by a store through the base register that it has just updated."""
    if not _single_store(before):
        return False
    if _single_load(after) or after.kind in _LOADS:
        return True
    return _single_store(after) and bool(before.writeback & after.address_reads)


def late_address(before: Instruction, after: Instruction) -> bool:
    """Whether ``after`` takes an address register that the data-processing instruction ``before`` has just made."""
    return before.kind in _DATA_PROCESSING and bool(before.writes & after.address_reads & ~(1 << PC))


FP_DIVIDE_CYCLES = 14
_FP_DIVIDES = (Kind.FP_DIVIDE, Kind.FP_SQRT)
_FP_REGISTERS = ((1 << 32) - 1) << SINGLE


@native
def divide_extra(dividend: int, divisor: int, signed: int) -> int:
    """Cycles, 0 to 10, by which this divide exceeds the 2 that ``schedule`` counts.

    Operands as the registers hold them (the lower 32 bits count), ``signed`` 1 for SDIV; compendium's formula over the
    bits of the magnitudes, see the module's text.
    """
    a = dividend & 0xFFFFFFFF
    b = divisor & 0xFFFFFFFF
    if signed and a & 0x80000000:
        a = 0x100000000 - a
    if signed and b & 0x80000000:
        b = 0x100000000 - b
    if a == 0 or b == 0:
        return 0
    difference = 0  # of the numbers of bits
    while a > 0:
        a >>= 1
        difference += 1
    while b > 0:
        b >>= 1
        difference -= 1
    return 1 if difference < 0 else 3 + difference // 4


class CortexM4:
    """The pipeline; see the module's text for its rules."""

    def schedule(self, block: Sequence[Instruction], line: int = 0) -> Timing:
        """Time one block of consecutive instructions, the first entered with nothing in flight and three words
        fetched; ``Timing.fetched`` has what other states of the prefetch cost beyond that. ``line``: see
        :class:`~mcusim.cpu.pipeline.cortex_m4_fetch.Prefetch`."""
        schedule = _Schedule(block, line)
        timing = schedule.timing()
        if not block:
            return timing
        entered = [schedule.entered(state) for state in range(STATES)]
        costs, leaves = zip(*entered, strict=True)
        early = found_in_decode(block[-1], block[-2] if len(block) > 1 else None)
        return replace(timing, fetched=(costs, leaves), found_in_decode=early)


class _Schedule:
    """One block on its way through the pipeline."""

    def __init__(self, block: Sequence[Instruction], line: int) -> None:
        self.block = block
        self.line = line
        self.prefetch = Prefetch(block[0].address if block else 0, FULL, line)
        self.delivered: list[tuple[int, int, int, int]] = []  # instruction, cycles after the one before, when, state
        self.now = 0
        self.at: list[int] = []
        self.stalls: list[Stall] = []
        self.accesses: list[AccessTiming] = []
        self.extra = [0] * len(block)  # charged when the instruction's access is made
        self.follows = [False] * len(block)
        self.fp_free = 0
        self.late: dict[int, int] = {}  # floating-point register bit -> cycle from which it can be read
        self.needs: dict[int, int] = {}
        self.written = 0
        self.left = FULL

    def timing(self) -> Timing:
        before: int | None = None
        for index, instruction in enumerate(self.block):
            if instruction.kind is Kind.IT and before == index - 1 and self.block[before].size == 2:
                self.at.append(self.now)  # folded: the next instruction sees the one before
                continue
            if before is not None:
                self._between(before, index)
            self._wait(index)
            self._fetch(index)
            if before is not None:
                self.at[before + 1 :] = [self.now] * (index - before - 1)  # a folded IT issues with its successor
            self.at.append(self.now)
            self._issue(index)
            before = index
        if before is not None:
            self._charge(before, "multi-cycle", tail(self.block[before]))
        self.left = self.prefetch.leave(self.now)
        ready = {bit: cycle - self.now for bit, cycle in self.late.items() if cycle > self.now}
        return Timing(
            tuple(self.at), self.now, tuple(self._accesses()), tuple(self.stalls), ready=ready, needs=self.needs
        )

    def _charge(self, index: int, cause: str, cycles: int, *, always: bool = False) -> None:
        """Add cycles; a conditional access's own ones only when it is made."""
        instruction = self.block[index]
        if not cycles:
            return
        if instruction.conditional and instruction.accesses and not always:
            self.extra[index] += cycles
        else:
            self.stalls.append(Stall(index, cause, cycles))
            self.now += cycles

    def _between(self, before: int, index: int) -> None:
        """What an instruction and its neighbour cost each other."""
        first, second = self.block[before], self.block[index]
        if tail(first) and not hides_tail(first, second):
            self._charge(before, "multi-cycle", 1)
        if slows_store(first, second):
            self._charge(before, "structural", 1)
        if late_address(first, second):
            self._charge(index, "address", 1)
        self.follows[index] = pipelines(first, second)

    def _fetch(self, index: int) -> None:
        """Wait for the instruction's bytes."""
        instruction = self.block[index]
        gap = self.now - (self.delivered[-1][2] if self.delivered else 0)
        there = self.prefetch.deliver(instruction, self.now)
        self._charge(index, "alignment", there - self.now, always=True)
        self.prefetch.access(self.now, instruction)
        self.delivered.append((index, gap, self.now, self.prefetch.state))

    def entered(self, state: int) -> tuple[int, int]:
        """Cycles, at least 0, that the block costs more when entered in ``state``, and the state that it leaves."""
        prefetch, now = Prefetch(self.block[0].address, state, self.line), 0
        for index, gap, when, then in self.delivered:
            instruction = self.block[index]
            now = prefetch.deliver(instruction, now + gap)
            prefetch.access(now, instruction)
            if prefetch.state == then:  # all goes on as from a full buffer
                return max(0, now - when), self.left
        late = now - self.delivered[-1][2]
        return max(0, late), prefetch.leave(self.now + late)

    def _wait(self, index: int) -> None:
        """Floating point waits for the divider and for results in flight."""
        instruction = self.block[index]
        if not instruction.kind.name.startswith("FP_"):
            return
        free = self.fp_free
        for bit in _bits(instruction.reads & _FP_REGISTERS):
            free = max(free, self.late.get(bit, 0))
            if not self.written >> bit & 1 and self.now < FP_DIVIDE_CYCLES:
                self.needs.setdefault(bit, self.now)
        self._charge(index, "latency", max(0, free - self.now), always=True)

    def _issue(self, index: int) -> None:
        instruction = self.block[index]
        issued = self.now
        self.now += 1
        self._charge(index, "multi-cycle", issue_cycles(instruction) - 1)
        for bit in _bits(instruction.writes & _FP_REGISTERS):
            self.late.pop(bit, None)
            if instruction.kind is Kind.FP_MAC:
                self.late[bit] = self.now + 1
            elif instruction.kind in _FP_DIVIDES:
                self.late[bit] = self.fp_free = issued + FP_DIVIDE_CYCLES
        self.written |= instruction.writes

    def _accesses(self) -> list[AccessTiming]:
        timings = []
        for index, instruction in enumerate(self.block):
            at = self.at[index]
            for number, access in enumerate(instruction.accesses):
                extra = 0 if number else self.extra[index]
                timings.append(AccessTiming(at, extra, follows=bool(number) or self.follows[index]))
                # one word a cycle; under a condition the cycles come with the first access
                at += 0 if instruction.conditional or instruction.kind not in MEMORY else access.size // 4
        return timings


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
