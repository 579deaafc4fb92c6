"""The Cortex-M7's static timing: in-order issue of up to two instructions a cycle.

Which pairs may issue together and how soon a result can be read is in ``mcusim.cpu.pipeline.cortex_m7_rules``, with
sources. Besides them, from [J] jnk0le/random, pipeline cycle test, and [L] LLVM ``ARMScheduleM7.td``:

| rule | source |
|---|---|
| ADD, SUB, MOV in the older slot and plain shifts execute in the early ALU when their operands are there | J |
| an early result serves the younger in the same cycle (MOVW, MOVT of one register), an address in the next | J |
| an operand through an inline shift, a bit field or an extend-and-add is read one cycle early | J, L |
| a branch, not taken or predicted, shares its cycle with the instruction it goes to (``Timing.leaves_slot``) | J |
| flags come from the late ALU: read from the next cycle on; a predicted branch waits for nothing | J |
| LDM and STM hold the pipeline one cycle for two registers | J |
| divide 7 cycles whatever the operands | L |
| VDIV 16, VSQRT 14, in double precision 30 | L, J |
| double precision: VADD, VSUB 2 cycles, VMUL 5, VFMA and VMLA 7; their results come 4, 7 and 11 after issue | J, L |
| nothing issues meanwhile | assumed |
| VADD, VSUB, VMOV constant, VLDM, VSTM, 64-bit VLDR and VSTR not in 3 cycles behind a multiply-accumulate | J |
| VLDR, VSTR, VMOV not as the younger there; VFMA not in the cycle behind VMLA | J |
| data to address 3 cycles: from loads and multiplies; from the late ALU 2, from the early ALU and write-back 1 | Q, J |

Not modelled: alignment and compression of the code ("slippery" pairs, predicted branches that do not share their cycle,
the stall around LDM), operand-dependent double precision, the FP rules across the border of two blocks, refetch after
ISB; a loaded value read as an address in the next block comes a cycle too early. What depends on addresses and branches
is added at run time: ``mcusim.cpu.pipeline.branch_predictor``, ``mcusim.cpu.pipeline.store_buffer``; for STM of an even
number of words to an address not divisible by 8 (one cycle more, J) ``AccessTiming.even``.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.cpu.decode.instruction import FLAGS, Instruction, Kind
from mcusim.cpu.pipeline.cortex_m7_rules import (
    LATENCY,
    M7Result,
    Port,
    bits,
    cycles_held,
    in_early_alu,
    pairs,
    reads,
    results,
)
from mcusim.cpu.pipeline.timing import AccessTiming, Stall, Timing

_LOADED = {M7Result.WORD, M7Result.NARROW, M7Result.FP_LOADED}
_BLOCKED = 3  # cycles behind an FP multiply-accumulate
_NOT_YOUNGER = {Kind.FP_LOAD, Kind.FP_STORE, Kind.FP_MOVE}
_STORE_MULTIPLES = {Kind.STORE_MULTIPLE, Kind.FP_STORE_MULTIPLE}
_BEHIND_MAC = {Kind.FP_LOAD_MULTIPLE, Kind.FP_STORE_MULTIPLE}
_FLAGS_AHEAD = 3  # cycles from the flags to a branch that is then resolved early
# Cycles that a port reads behind address generation, by the late ALU's results; border values count from there.
_BEHIND_ADDRESS = {
    port: LATENCY[M7Result.LATE, Port.ADDRESS] - LATENCY[M7Result.LATE, port] for port in Port if port <= Port.FROM_CORE
} | {
    port: 1 + LATENCY[M7Result.FP_RESULT, Port.FP_OPERAND] - LATENCY[M7Result.FP_RESULT, port]
    for port in Port
    if port > Port.FROM_CORE
}
_LATEST, _LATEST_FP = 2, 6  # cycles past its block that a result can come, counted so


def _not_behind_mac(instruction: Instruction) -> bool:
    """Whether an FP multiply-accumulate keeps it from issuing for three cycles."""
    if instruction.kind is Kind.FP_ALU:
        return instruction.mnemonic in ("vadd", "vsub") and not instruction.double
    if instruction.kind is Kind.FP_MOVE:
        return instruction.mnemonic == "vmov" and not instruction.reads
    wide = instruction.kind in (Kind.FP_LOAD, Kind.FP_STORE) and instruction.double
    return wide or instruction.kind in _BEHIND_MAC


_BRANCH = Instruction(address=0, size=2, mnemonic="b", text="b", kind=Kind.BRANCH, reads=0, writes=0, branches=True)


class _Schedule:
    """One block being issued: where each instruction went, and the values on their way."""

    def __init__(self) -> None:
        self.at: list[int] = []
        self.slots: list[int] = []
        self.stalls: list[Stall] = []
        self.values: dict[int, tuple[int, M7Result]] = {}  # register: cycle its latency counts from, and its source
        self.free = 0  # first cycle for a next older instruction
        self.older: Instruction | None = None  # issued last, the slot next to it empty
        self.macs: list[int] = []  # cycles of FP multiply-accumulates
        self.mla = -2  # of the last that was VMLA or one of its relatives

    def operands_at(self, instruction: Instruction) -> tuple[int, str]:
        """Cycle from which all its operands can be read, and the cause of the wait for the last."""
        latest, cause = 0, "latency"
        for register, port in reads(instruction):
            if register not in self.values:
                continue
            since, result = self.values[register]
            ready = since + LATENCY[result, port]
            if ready > latest:
                latest = ready
                cause = "address" if port is Port.ADDRESS else "load-use" if result in _LOADED else "latency"
        return latest, cause

    def fp_at(self, instruction: Instruction) -> int:
        """First cycle that the FP multiply-accumulates before it allow."""
        if self.macs and _not_behind_mac(instruction):
            return self.macs[-1] + _BLOCKED + 1
        if instruction.kind is Kind.FP_MAC and instruction.mnemonic.startswith("vf"):
            return self.mla + 2
        return 0

    def joins_last(self, instruction: Instruction) -> bool:
        """Whether the slot next to the last instruction is free and takes this one, apart from its operands."""
        if self.older is None or not pairs(self.older, instruction):
            return False
        cycle = self.at[-1]
        moves = self.older.kind in _NOT_YOUNGER and instruction.kind is Kind.FP_MAC
        if moves or instruction.kind in _NOT_YOUNGER:
            return not any(cycle - _BLOCKED <= mac < cycle for mac in self.macs) and self.fp_at(instruction) <= cycle
        return self.fp_at(instruction) <= cycle

    def issue(self, instruction: Instruction) -> None:
        """Place it in the first slot after the instruction before it that the rules allow."""
        ready, cause = self.operands_at(instruction)
        if self.joins_last(instruction) and ready <= self.at[-1]:
            self.place(instruction, self.at[-1], 1)
            return
        allowed = self.fp_at(instruction)
        cycle = max(self.free, ready, allowed)
        if cycle > self.free:
            self.stalls.append(Stall(len(self.at), cause if ready >= allowed else "structural", cycle - self.free))
        self.place(instruction, cycle, 0)

    def place(self, instruction: Instruction, cycle: int, slot: int) -> None:
        """Issue it in ``slot`` of ``cycle`` and note what follows from that."""
        early = in_early_alu(instruction, self.older if slot else None) and self.ready_early(instruction, cycle)
        held = cycles_held(instruction)
        if held > 1:
            self.stalls.append(Stall(len(self.at), "multi-cycle", held - 1))
        for register, result, behind in results(instruction):
            source = M7Result.EARLY if early and result is M7Result.LATE else result
            self.values[register] = (cycle + behind, source)
        if instruction.kind is Kind.FP_MAC:
            self.macs.append(cycle)
            if not instruction.mnemonic.startswith("vf"):
                self.mla = cycle
        self.at.append(cycle)
        self.slots.append(slot)
        self.free = max(self.free, cycle + held)
        self.older = None if slot else instruction

    def ready_early(self, instruction: Instruction, cycle: int) -> bool:
        """Whether its operands are there for the early ALU."""
        values = (self.values[register] for register in bits(instruction.reads) if register in self.values)
        return all(since + LATENCY[result, Port.EARLY] <= cycle for since, result in values)

    def accesses(self, block: Sequence[Instruction]) -> tuple[AccessTiming, ...]:
        """When each access is made: those of one instruction two words a cycle."""
        timings = []
        for i, instruction in enumerate(block):
            younger = self.slots[i] == 1
            paired = younger and instruction.loads and block[i - 1].loads
            words = sum(access.size for access in instruction.accesses) // 4
            before = 0
            for access in instruction.accesses:
                even = before == 0 and words % 2 == 0 and instruction.kind in _STORE_MULTIPLES
                timings.append(AccessTiming(self.at[i] + before // 8, paired=paired, younger=younger, even=even))
                before += access.size
        return tuple(timings)

    def ready(self) -> dict[int, int]:
        """Values that come after the block: register -> cycles, as address generation would see a late ALU's."""
        late = {}
        for register, (since, result) in self.values.items():
            if register != FLAGS:
                port = Port.ALU if register < FLAGS else Port.FP_OPERAND
                late[register] = since + LATENCY[result, port] + 1 - self.free
        return {register: cycles for register, cycles in late.items() if cycles > 0}

    def needs(self, block: Sequence[Instruction]) -> dict[int, int]:
        """Registers that come from before the block, and when they are needed, counted as in ``ready``."""
        needs: dict[int, int] = {}
        written = 1 << FLAGS
        for cycle, instruction in zip(self.at, block, strict=True):
            for register, port in reads(instruction):
                need = cycle + _BEHIND_ADDRESS[port]
                latest = _LATEST if register < FLAGS else _LATEST_FP
                if not written >> register & 1 and need < min(latest, needs.get(register, latest)):
                    needs[register] = need
            written |= instruction.writes
        return needs

    def flags_early(self, block: Sequence[Instruction]) -> bool:
        """Whether the flags of the closing conditional branch were set three or more cycles before it."""
        if block[-1].kind is not Kind.BRANCH or not block[-1].conditional:
            return False
        setters = [cycle for cycle, instruction in zip(self.at, block, strict=True) if instruction.writes >> FLAGS & 1]
        return self.at[-1] - (setters[-1] if setters else -1) >= _FLAGS_AHEAD


def _issued(block: Sequence[Instruction]) -> _Schedule:
    schedule = _Schedule()
    for instruction in block:
        schedule.issue(instruction)
    return schedule


class CortexM7:
    """Times a block as a Cortex-M7 with zero-wait memories issues it."""

    def schedule(self, block: Sequence[Instruction], line: int = 0) -> Timing:
        """Time one block of consecutive instructions, the first entered with nothing in flight; ``line`` changes
        nothing: its prefetch queue is longer than a literal's turn.

        ``cycles`` is the number of different ``at`` plus that of all stalls. ``ready`` and ``needs`` both count one
        cycle more than a plain ALU instruction would: their difference stays, and addresses have room below it.
        Raises ``ValueError`` for an empty block.
        """
        if not block:
            raise ValueError("a block to time holds at least one instruction; this one is empty")
        schedule = _issued(block)
        with_branch = _issued([_BRANCH, *block]) if pairs(_BRANCH, block[0]) else schedule
        leaves = tuple(order.older is not None and block[-1].branches for order in (schedule, with_branch))
        return Timing(
            at=tuple(schedule.at),
            cycles=schedule.free,
            accesses=schedule.accesses(block),
            stalls=tuple(schedule.stalls),
            ready=schedule.ready(),
            needs=schedule.needs(block),
            flags_early=schedule.flags_early(block),
            leaves_slot=(leaves[0], leaves[1]),
            shares=0 if with_branch is schedule else schedule.free - (with_branch.free - 1),
        )
