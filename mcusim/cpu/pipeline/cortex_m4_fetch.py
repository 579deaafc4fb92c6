"""The Cortex-M4's prefetch unit: words on their way from memory to the decode stage.

Sources: "PFU": Arm DDI 0337G (the Cortex-M3, whose prefetch unit the Cortex-M4 has), 1.4, 12.3, 12.5, table 15-3;
"FAQ": Arm 103488664, of both cores; "KA": Arm KA006138 on the Cortex-M4; "compendium": compendium.i-0.nl, measured;
"modm": modm-io/modm issue 642, measured on an STM32F4.

=======================  ===============================================================================================
a fetch                  one aligned word; a buffer of three words; the next one is asked for while there is room (FAQ)
room                     as the buffer was when the cycle began, words on their way counted
fetch and decode         a word comes the cycle after it was asked for and is decoded the cycle after that (FAQ)
decode                   takes the halfwords of one instruction in the cycle before that issues, those that are there
                         when some are missing; only an instruction that is not complete waits
branch found in decode   B, BL, BX LR, MOV pc, LR, unless LR is written just before (PFU): its target is asked for while
                         it is decoded, so that its refill is 1 cycle; others 2
code at 0x2000_0000 up   over the system bus a fetch takes two cycles and the next one does not overlap it; loads and
                         stores go before (PFU). The loop SUBS, BNE takes 4 cycles there and 3 elsewhere (modm)
literal load             of a memory that gives code and data one at a time (SRAM below 0x2000_0000, flash without
                         lines for both): it goes before a fetch asked for in the same cycle (DDI 0337E 14.3, ST RM0090
                         3.5.2: D-Code before I-Code), which comes a cycle later; "might add a cycle" (DDI 0337I 3.3.2,
                         SWCU185G). A fetch inside the line of flash that the core is in takes nothing (RM0090 3.5.2)
=======================  ===============================================================================================

What follows from these and was measured: a branch to a wide instruction at an odd halfword costs one cycle more (PFU
12.3, compendium); of wide instructions at odd halfwords each third waits one cycle (KA, compendium), also behind one of
several cycles; two of them, or a mixture with 16-bit ones, do not wait. Code and literals that a flash accelerator has
lines for do not meet: each bus ends in its own.

Not modelled: the fetch that a conditional branch takes for its target when it then falls through (PFU: it "consumes a
slot"; the instruction table has 1 for it whatever is around), loads of other constants than literals in the cycle of a
fetch (their address is known only when they run), literals of a flash with wait states (the waits of both are counted
one after the other), cycles that wait states or the divider give the prefetch, code in SRAM whose data is in the code
region (its loads and stores count as on the system bus), STR of which compendium sees the fourth wait, not the third.
"""

from __future__ import annotations

from mcusim.cpu.decode.instruction import LR, PC, Instruction, Kind

BUFFER = 3  # words
SYSTEM_BUS = 0x2000_0000  # code from here on is fetched over the system bus
# the buffer when a block is entered: words in it, and when a word on its way comes: 0 there is none, 1 in this cycle, 2
# in the next; as for a block's first instruction, in the cycle before that can issue
_STATES = tuple((words, wait) for words in range(BUFFER + 1) for wait in range(3) if words < BUFFER or not wait)
FULL = _STATES.index((BUFFER, 0))
AFTER_BRANCH = len(_STATES)  # a taken one: the target is on its way
STATES = AFTER_BRANCH + 1


def over_system_bus(address: int) -> bool:
    """Whether code there is fetched over the system bus."""
    return address >= SYSTEM_BUS


def found_in_decode(branch: Instruction, before: Instruction | None) -> bool:
    """Whether the target of ``branch`` is known in its decode stage; ``before``: the instruction ahead of it."""
    if branch.kind is Kind.BRANCH:
        return True
    by_link = branch.kind is Kind.BRANCH_REGISTER or (branch.mnemonic == "mov" and branch.branches)
    if branch.kind is Kind.CALL or (by_link and branch.reads >> LR & 1):
        return before is None or not before.writes >> LR & 1
    return False


def is_literal_load(instruction: Instruction) -> bool:
    """Whether it loads from the memory that its code is in, at an address that the program counter gives."""
    return instruction.loads and bool(instruction.address_reads >> PC & 1)


class Prefetch:
    """The buffer from one cycle to the next; cycle 0 is the one in which the block's first instruction may issue.

    ``line``: bytes that the code's memory reads at once and keeps, where it gives code and data one at a time, else 0.
    """

    def __init__(self, address: int, entry: int, line: int = 0) -> None:
        self._latency = 2 if over_system_bus(address) else 1
        self._line = 0 if over_system_bus(address) else line
        target = (0, 1) if self._latency > 1 else (1, 1)
        self._words, self._wait = target if entry == AFTER_BRANCH else _STATES[entry]  # at the start of ``_cycle``
        self._cycle = -1
        self._at = address  # of the next halfword to decode
        self._busy: set[int] = set()  # cycles in which loads and stores have the bus that the code comes over

    def deliver(self, instruction: Instruction, earliest: int) -> int:
        """Decode ``instruction``, and the bytes left before it, so that it can issue at ``earliest``, or as soon as
        its bytes are there; returns when it issues."""
        while self._cycle < earliest - 1:
            self._step(0)
        while self._needed(instruction.end) > self._words:  # what is there is taken
            if self._words:
                self._at = ((self._at >> 2) + self._words) << 2
            self._step(self._words)
        freed = (instruction.end >> 2) - (self._at >> 2)
        self._at = instruction.end
        self._step(freed)
        return self._cycle

    def access(self, first: int, instruction: Instruction) -> None:
        """The core makes the accesses of ``instruction`` from cycle ``first`` on, a word each."""
        if self._latency > 1 or (self._line and is_literal_load(instruction)):
            self._busy.update(range(first, first + words_of(instruction)))

    @property
    def state(self) -> int:
        """The buffer's, of those a block may be entered in."""
        return _STATES.index((self._words, self._wait))

    def leave(self, end: int) -> int:
        """State in which a block entered at cycle ``end`` finds the buffer."""
        while self._cycle < end - 1:
            self._step(0)
        return self.state

    def _needed(self, end: int) -> int:
        """Words of the buffer that hold the bytes up to ``end``."""
        return ((end - 1) >> 2) - (self._at >> 2) + 1

    def _step(self, freed: int) -> None:
        """One cycle, in which decode empties ``freed`` words."""
        asked = self._words + (self._wait > 0) < BUFFER and self._wait < 2
        late = asked and self._cycle in self._busy and self._opens_a_line(freed)
        if self._wait == 1:
            self._words += 1
            self._wait = 0
        elif self._wait == 2 and self._cycle not in self._busy:
            self._wait = 1
        self._words -= freed
        if asked:
            self._wait = self._latency + late
        self._cycle += 1

    def _opens_a_line(self, freed: int) -> bool:
        """Whether the word to ask for is the first of a line; decode empties ``freed`` words in this cycle."""
        word = (self._at >> 2) - freed + self._words + (self._wait > 0)
        return self._line > 0 and word * 4 % self._line == 0


def words_of(instruction: Instruction) -> int:
    """Words that it loads or stores."""
    return sum(max(1, access.size // 4) for access in instruction.accesses)
